package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/zonefile"
	"github.com/clusterzone/clusterzone/zones"
)

// files reads --zone-file ORIGIN=PATH.
func (s *zoneSettings) files() ([]zonefile.File, error) {
	files := make([]zonefile.File, 0, len(s.zoneFiles))
	seen := make(map[zones.Name]bool, len(s.zoneFiles))
	for _, text := range s.zoneFiles {
		originText, path, ok := strings.Cut(text, "=")
		if !ok || path == "" {
			return nil, fmt.Errorf("--zone-file=%s names no file; write it like corp.test=/etc/zones/corp.test.zone", text)
		}
		origin, err := assembly.ParseFileZone(originText)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--zone-file=%s: %s %w", text, originText, err)
		case seen[origin]:
			return nil, fmt.Errorf("--zone-file=%s: %s has a file already; give each zone one, which can $INCLUDE others", text, origin)
		}
		seen[origin] = true
		files = append(files, zonefile.File{Origin: origin, Path: path})
	}
	return files, nil
}

// withFiles adds the zones of the files to others, each once.
func withFiles(names []zones.Name, files []zonefile.File) []zones.Name {
	if len(files) == 0 {
		return names
	}
	known := make(map[zones.Name]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	names = append([]zones.Name(nil), names...)
	for _, file := range files {
		if !known[file.Origin] {
			names = append(names, file.Origin)
		}
	}
	return names
}

// alone reports whether zone files are all that is served: nothing in the
// settings speaks of a cluster, of objects or of a zone for them.
func (s *objectSettings) alone() bool {
	return len(s.zone.zoneFiles) > 0 && len(s.zone.zones) == 0 && len(s.source.DomainFilters) == 0 && len(s.source.Sources) == 0 &&
		len(s.origin.manifests) == 0 && s.origin.kubeconfig == "" && s.origin.context == "" && s.origin.server == ""
}

// loadZoneFiles reads the zone files into the table. fault gets the faults; where
// it is nil, they are the error.
func (p *pipeline) loadZoneFiles(table *zones.Table, fault func(error)) error {
	files, err := p.settings.zone.files()
	if err != nil {
		return err
	}
	p.files, err = zonefile.Load(files)
	if err := stopping(split(err), fault); err != nil {
		return err
	}
	p.files.Report(table.SetStatic)
	return nil
}

// maxFaults is how many faults of zone files a message names.
const maxFaults = 20

// stopping joins the faults that stop the program: those that fault, if there is
// one, doesn't get.
func stopping(all []error, fault func(error)) error {
	var errs []error
	for _, one := range all {
		if fault != nil && errors.As(one, new(zonefile.Finding)) {
			fault(one)
			continue
		}
		errs = append(errs, one)
	}
	if more := len(errs) - maxFaults; more > 0 {
		errs = append(errs[:maxFaults], fmt.Errorf("and %d more zone files can't be read", more))
	}
	return errors.Join(errs...)
}

// watchZoneFiles keeps the zone files up to date until ctx is done.
func (p *pipeline) watchZoneFiles(ctx context.Context) error {
	if len(p.settings.zone.zoneFiles) > 0 {
		p.files.Run(ctx, p.log, func(origin zones.Name, static *zones.Static) {
			p.noteReading(static)
			p.feed.SetStatic(origin, static)
		})
	}
	return nil
}

// A lineError is an error in one line of the config file.
type lineError struct {
	line int
	error
}

// zonesKey is what the config file may hold in place of a list of zone-file.
const zonesKey = "zones"

// zoneFileValues turns the config file's list of {origin, file} into values of
// --zone-file.
func zoneFileValues(node *yaml.Node) ([]string, error) {
	shape := fmt.Errorf("write %s as a list of {origin: corp.test, file: /etc/zones/corp.test.zone}", zonesKey)
	if node.Kind != yaml.SequenceNode {
		return nil, shape
	}
	values := make([]string, 0, len(node.Content))
	for _, item := range node.Content {
		if item.Kind != yaml.MappingNode {
			return nil, lineError{item.Line, shape}
		}
		parts := map[string]string{}
		for i := 0; i+1 < len(item.Content); i += 2 {
			key, value := item.Content[i], item.Content[i+1]
			if key.Value != "origin" && key.Value != "file" || value.Kind != yaml.ScalarNode || parts[key.Value] != "" {
				return nil, lineError{key.Line, fmt.Errorf("%s is not expected here; %w", key.Value, shape)}
			}
			parts[key.Value] = value.Value
		}
		if parts["origin"] == "" || parts["file"] == "" {
			return nil, lineError{item.Line, fmt.Errorf("origin and file are both needed; %w", shape)}
		}
		values = append(values, parts["origin"]+"="+parts["file"])
	}
	return values, nil
}
