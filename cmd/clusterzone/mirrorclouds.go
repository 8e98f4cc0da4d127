package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A cloudKind is one provider that mirrors can write to.
type cloudKind struct {
	name string // as --provider has it
	// settings returns the provider's own flags, unset.
	settings func() cloudSettings
}

// cloudSettings are the flags of one provider alone.
type cloudSettings interface {
	// add defines them.
	add(f flags)
	// open checks them and returns the cloud. It sends nothing: what only the
	// cloud can refuse shows in the mirror's first cycle.
	open(ctx context.Context, o cloudOptions) (mirror.Cloud, error)
}

// A zoneRememberer is the cloudSettings of a provider that has a flag for how long
// its list of zones is remembered; 0 is the mirror's default.
type zoneRememberer interface{ rememberZones() time.Duration }

// cloudOptions are what a provider may want to know beside its own flags.
type cloudOptions struct {
	log *slog.Logger
	// zoneIDs are those of --zone-id-filter. The mirror looks at them too.
	zoneIDs []string
	// domains are the zones that are served: what the cloud's must have to do with.
	domains []zones.Name
	// covers reports whether a zone's name lies in one of them.
	covers func(zones.Name) bool
	// relevant reports whether a zone's name lies in one of them, or one of them in
	// it.
	relevant func(zones.Name) bool
	// batchSize and batchPause are those of the flags; 0 for none. The mirror keeps to
	// them too.
	batchSize  int
	batchPause time.Duration
	// getenv reads the environment, for credentials.
	getenv func(string) string
	// retain returns what mirrors of this process share under a key, which make
	// makes once: the budget of one set of credentials, say. The key holds no secret.
	retain func(key string, make func() any) any
}

// cloudKinds are all providers. A new one is a line here, a file with its flags,
// and the fate honoured for them in externaldns_providers.go.
func cloudKinds() []cloudKind {
	return []cloudKind{
		{"aws", func() cloudSettings { return &awsSettings{} }},
		{"cloudflare", func() cloudSettings { return &cloudflareSettings{} }},
		{"alibabacloud", func() cloudSettings { return &alibabaSettings{} }},
		{"inmemory", func() cloudSettings { return &memorySettings{} }},
	}
}

func kindNames(kinds []cloudKind) []string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.name)
	}
	return names
}

// memorySettings are those of a cloud in memory, to try a mirror with.
type memorySettings struct{ zones []string }

func (s *memorySettings) add(f flags) {
	f.list(&s.zones, "inmemory-zone", "`domain` that is a zone of --provider=inmemory, a cloud in this process' memory to try with; repeatable (default: the zones that are served)")
}

func (s *memorySettings) open(_ context.Context, o cloudOptions) (mirror.Cloud, error) {
	var names []zones.Name
	for _, text := range s.zones {
		name, err := assembly.ParseZone(text)
		if err != nil {
			return mirror.Cloud{}, fmt.Errorf("--inmemory-zone=%s %w", text, err)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		names = o.domains
	}
	return memory.New(memory.DefaultLimits(), names...).Cloud(), nil
}
