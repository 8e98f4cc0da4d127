package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// markForm is what mirror.Identity.Mark returns.
const markForm = `^[0-9a-f]{12}$`

func (m *mirrorSettings) checkAcknowledged() error {
	if m.acknowledged != "" && !regexp.MustCompile(markForm).MatchString(m.acknowledged) {
		return fmt.Errorf("--mirror-acknowledge=%s is no mark; copy the 12 digits and letters a to f from the message that asks for it", m.acknowledged)
	}
	return nil
}

// identity is what decides beside the registry which records are the mirror's: the
// zones, and what filters let through of objects and names.
func (m *mirrorSettings) identity(o *sources.Options, origins []zones.Origin, types []zones.Type) mirror.Identity {
	var served, kinds []string
	for _, origin := range origins {
		served = append(served, origin.Name.String())
	}
	for _, kind := range types {
		kinds = append(kinds, kind.String())
	}
	identity := mirror.Identity{}
	for setting, values := range map[string][]string{
		"zones": served, "record types": kinds, "source": o.Sources, "namespace": {o.Namespace}, "annotation-filter": {o.AnnotationFilter}, "label-filter": {o.LabelFilter},
		"annotation-prefix": o.AnnotationPrefixes, "ingress-class": o.IngressClasses, "routegroup-class": o.RouteGroupClasses,
		"gateway-name": {o.GatewayName}, "gateway-namespace": {o.GatewayNamespace}, "gateway-label-filter": {o.GatewayLabelFilter},
		"service-type-filter": o.ServiceTypeFilter, "namespace-domains": o.NamespaceDomains,
		"domain-filter": slices.Concat(o.DomainFilters, m.domains), "exclude-domains": slices.Concat(o.ExcludeDomains, m.exclude),
		"regex-domain-filter": {o.RegexDomainFilter}, "regex-domain-exclusion": {o.RegexDomainExclusion},
		"target-net-filter": o.TargetNetFilters, "exclude-target-net": o.ExcludeTargetNets,
		"zone-name-filter": m.zoneNames, "zone-id-filter": m.zoneIDs,
	} {
		if text := settingText(values); text != "" {
			identity[setting] = text
		}
	}
	return identity
}

// settingText writes values in an order of their own; many of them as their number
// and a sum, since what is kept must be small.
func settingText(values []string) string {
	const most = 300
	values = slices.Sorted(slices.Values(values))
	text := strings.Join(slices.Compact(values), ",")
	if len(text) > most {
		sum := sha256.Sum256([]byte(text))
		return fmt.Sprintf("%d values with the sum %x", len(values), sum[:6])
	}
	return text
}

// memory returns where a mirror's identity is kept: in the cluster, where processes
// take turns, else beside the state file; nil where there is neither.
func (s *mirrorsSettings) memory(m *mirrorSettings, o mirrorOptions, shared map[string]any) (mirror.Memory, error) {
	if o.client != nil && s.lease {
		namespace, err := s.namespace(o)
		if err != nil {
			return nil, err
		}
		return noteMemory{cluster.NewNotes(o.client, namespace, leaseName("mirror", m.name))}, nil
	}
	if o.stateFile == "" {
		return nil, nil
	}
	path := o.stateFile + ".mirrors"
	if shared[path] == nil {
		shared[path] = &memoryFile{path: path}
	}
	return fileMemory{shared[path].(*memoryFile), m.name}, nil
}

// noteMemory keeps an identity in the cluster. It implements mirror.Memory.
type noteMemory struct{ notes *cluster.Notes }

// Recall implements mirror.Memory.
func (n noteMemory) Recall(ctx context.Context) (mirror.Identity, error) {
	text, err := n.notes.Read(ctx)
	if err != nil || text == "" {
		return nil, err
	}
	return n.parse(text)
}

func (noteMemory) parse(text string) (mirror.Identity, error) {
	var identity mirror.Identity
	if err := json.Unmarshal([]byte(text), &identity); err != nil || identity == nil {
		return nil, errors.New("the note on the mirror's Lease is damaged; delete the Lease clusterzone-mirror-... of this mirror once its settings are right")
	}
	return identity, nil
}

// Remember implements mirror.Memory.
func (n noteMemory) Remember(ctx context.Context, identity mirror.Identity) error {
	text, err := json.Marshal(identity)
	if err != nil {
		return err
	}
	return n.notes.Write(ctx, string(text))
}

// A memoryFile keeps the identities of all mirrors of a process.
type memoryFile struct {
	mu   sync.Mutex
	path string
}

// read returns the identities by mirror. A file that isn't there yet has none.
func (f *memoryFile) read() (map[string]mirror.Identity, error) {
	content, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return map[string]mirror.Identity{}, nil
	case err != nil:
		return nil, err
	}
	var all map[string]mirror.Identity
	decoder := json.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&all); err != nil || all == nil || decoder.More() {
		return nil, fmt.Errorf("%s is damaged; delete it once the mirrors' settings are right", f.path)
	}
	return all, nil
}

// fileMemory is one mirror's part of the file. It implements mirror.Memory.
type fileMemory struct {
	file *memoryFile
	name string
}

// Recall implements mirror.Memory.
func (m fileMemory) Recall(context.Context) (mirror.Identity, error) {
	m.file.mu.Lock()
	defer m.file.mu.Unlock()
	all, err := m.file.read()
	return all[m.name], err
}

// Remember implements mirror.Memory. A reader finds the old file or the new one.
func (m fileMemory) Remember(_ context.Context, identity mirror.Identity) error {
	m.file.mu.Lock()
	defer m.file.mu.Unlock()
	all, err := m.file.read()
	if err != nil {
		return err
	}
	all[m.name] = identity
	content, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(m.file.path), "."+filepath.Base(m.file.path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone already when all went well
	_, err = temp.Write(append(content, '\n'))
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), m.file.path)
}
