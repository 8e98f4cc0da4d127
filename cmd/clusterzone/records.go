package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

const recordsHelp = `Print the records that "serve" would serve with the same flags, and exit.

Formats (-o):
  zone       master files (RFC 1035), one after another; the default
  json       the zones with their record sets
  endpoints  the settled claims as external-dns would see them, one a line:
             name, TTL (0: unset), type, targets, options, set-identifier,
             separated by tabs; without --zone and --domain-filter those of
             every name

The exit status is 1 when not all objects could be read.`

func newRecords() *cobra.Command {
	var settings objectSettings
	var format string
	cmd := &cobra.Command{
		Use:   "records [flags]",
		Short: "Print what would be served, and exit",
		Long:  recordsHelp,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := resolve(cmd, os.LookupEnv); err != nil {
				return err
			}
			return printRecords(cmd, &settings, format)
		},
	}
	f := flagsOf(cmd, groupOutput)
	cmd.Flags().StringVarP(&format, "output", "o", "", "`format`: zone, json or endpoints (default: zone, or endpoints where there is no zone)")
	f.done("output")
	settings.add(cmd)
	return cmd
}

func printRecords(cmd *cobra.Command, settings *objectSettings, format string) error {
	log, err := settings.general.logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := settings.prepare(quiet(log), os.LookupEnv); err != nil {
		return err
	}
	p, err := settings.assemble(quiet(log), pipelineOptions{})
	if err != nil {
		return err
	}
	if format == "" {
		format = "zone"
		if len(p.origins) == 0 {
			format = "endpoints"
		}
	}
	print, ok := recordPrinters[format]
	if !ok {
		return fmt.Errorf("--output=%s is no format; %s", format, sources.Suggest(format, []string{"zone", "json", "endpoints"}))
	}
	if format != "endpoints" && len(p.origins) == 0 {
		return errNoZone
	}
	readErr := p.once(cmd.Context(), cmd.InOrStdin())
	if readErr != nil && !errors.As(readErr, new(failure)) {
		return readErr
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if err := print(out, p); err != nil {
		return failure{err}
	}
	return errors.Join(out.Flush(), readErr)
}

var recordPrinters = map[string]func(io.Writer, *pipeline) error{
	"zone":      printZones,
	"json":      printJSON,
	"endpoints": printEndpoints,
}

// printZones writes master files (RFC 1035 section 5): the SOA first.
func printZones(w io.Writer, p *pipeline) error {
	snap := p.store.Load()
	for _, origin := range snap.Origins() {
		zone := snap.Zone(origin)
		fmt.Fprintf(w, "$ORIGIN %s\n", origin.FQDN())
		printSet(w, zone.SOA())
		for set := range zone.RRSets() {
			if set.Type != zones.TypeSOA {
				printSet(w, set)
			}
		}
		// No file can hold the addresses that a running server looks up.
		for flat := range zone.Flattened() {
			fmt.Fprintf(w, "; %s has the addresses of %s, for %d seconds at most\n", flat.Name.FQDN(), flat.Target.FQDN(), flat.TTL)
		}
	}
	return nil
}

func printSet(w io.Writer, set *zones.RRSet) {
	for _, data := range set.Data {
		fmt.Fprintf(w, "%s\t%d\tIN\t%s\t%s\n", set.Name.FQDN(), set.TTL, set.Type, data.Text(set.Type))
	}
}

type jsonZone struct {
	Zone    zones.Name `json:"zone"`
	Serial  uint32     `json:"serial"`
	Records []jsonSet  `json:"records"`
	// Flattened are the names that have the addresses of their target.
	Flattened []jsonFlattened `json:"flattened,omitempty"`
}

type jsonFlattened struct {
	Name   zones.Name `json:"name"`
	Target zones.Name `json:"target"`
	TTL    uint32     `json:"ttl"`
}

type jsonSet struct {
	Name zones.Name `json:"name"`
	Type zones.Type `json:"type"`
	TTL  uint32     `json:"ttl"`
	Data []string   `json:"data"`
}

func printJSON(w io.Writer, p *pipeline) error {
	all := []jsonZone{}
	snap := p.store.Load()
	for _, origin := range snap.Origins() {
		zone := jsonZone{Zone: origin, Serial: snap.Zone(origin).Serial()}
		for set := range snap.Zone(origin).RRSets() {
			record := jsonSet{Name: set.Name, Type: set.Type, TTL: set.TTL}
			for _, data := range set.Data {
				record.Data = append(record.Data, data.Text(set.Type))
			}
			zone.Records = append(zone.Records, record)
		}
		for flat := range snap.Zone(origin).Flattened() {
			zone.Flattened = append(zone.Flattened, jsonFlattened(flat))
		}
		all = append(all, zone)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

// printEndpoints writes one line a settled claim, sorted after escaping.
func printEndpoints(w io.Writer, p *pipeline) error {
	var lines []string
	p.feed.View(func(table *zones.Table, _ objectOf) {
		for _, endpoint := range table.Endpoints() {
			lines = append(lines, endpointLine(endpoint))
		}
	})
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	return nil
}

// fieldEscapes keep separators inside of fields apart from those between them.
var fieldEscapes = strings.NewReplacer(`\`, `\\`, ",", `\,`, "\t", `\t`, "\n", `\n`)

func endpointLine(e zones.Endpoint) string {
	var targets, options []string
	for _, target := range e.Targets {
		targets = append(targets, fieldEscapes.Replace(target))
	}
	for _, option := range e.Options {
		options = append(options, fieldEscapes.Replace(option.Key+"="+option.Value))
	}
	slices.Sort(targets)
	slices.Sort(options)
	return strings.Join([]string{
		fieldEscapes.Replace(e.Name.String()),
		fmt.Sprint(e.TTL.Seconds),
		e.Type.String(),
		strings.Join(targets, ","),
		orDash(strings.Join(options, ",")),
		orDash(fieldEscapes.Replace(e.SetIdentifier)),
	}, "\t")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
