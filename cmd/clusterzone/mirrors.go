package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A mirrorSet is all mirrors of a process. Its methods are safe for concurrent
// use, but for those that say when they are called.
type mirrorSet struct {
	log      *slog.Logger
	wishes   feedWishes
	mirrors  []*mirror.Mirror
	settings []*mirrorSettings         // of each
	leases   map[string]*cluster.Lease // by name; empty where one process writes alone
	of       []*cluster.Lease          // each mirror's; nil without
	events   mirrorEvents
}

// mirrorOptions are the parts that a mirrorSet is made of.
type mirrorOptions struct {
	log      *slog.Logger
	pipeline *pipeline
	client   kubernetes.Interface // for Leases; nil for none
	// stateFile is the file of --state-file, "" for none; preview makes mirrors that
	// never run.
	stateFile string
	preview   bool
}

// build checks the settings and makes the mirrors. Nil, where none is asked for.
func (s *mirrorsSettings) build(ctx context.Context, o mirrorOptions) (*mirrorSet, error) {
	chosen, err := s.chosen()
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	getenv := s.getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	set := &mirrorSet{log: o.log, wishes: feedWishes{o.pipeline.feed}, leases: map[string]*cluster.Lease{}, settings: chosen}
	set.events.init(o.pipeline, s.emit)
	shared := map[string]any{}
	for _, settings := range chosen {
		options, err := settings.options(ctx, o, getenv, shared)
		if err == nil {
			options.Memory, err = s.memory(settings, o, shared)
		}
		if err == nil {
			err = s.addLease(set, settings, o, options)
		}
		if err == nil {
			set.events.hook(settings.name, options)
			var m *mirror.Mirror
			m, err = mirror.New(*options)
			set.mirrors = append(set.mirrors, m)
		}
		switch {
		case err != nil && len(s.list.items) > 0:
			return nil, fmt.Errorf("mirror %s: %w", settings.name, err)
		case err != nil:
			return nil, err
		}
		if settings.registry != "noop" && settings.owner == "default" {
			o.log.Warn("the owner's ID is \"default\": a second instance with it would take these records for its own; set --txt-owner-id", "mirror", settings.name)
		}
	}
	return set, nil
}

// options turns settings into a mirror's.
func (m *mirrorSettings) options(ctx context.Context, o mirrorOptions, getenv func(string) string, shared map[string]any) (*mirror.Options, error) {
	policy, err := mirror.ParsePolicy(m.policy)
	if err != nil {
		return nil, err
	}
	registry, err := m.newRegistry()
	if err != nil {
		return nil, err
	}
	types, err := m.recordTypes(&o.pipeline.settings.source)
	if err != nil {
		return nil, err
	}
	guards, err := m.guards.build()
	if err != nil {
		return nil, err
	}
	if err := m.checkAcknowledged(); err != nil {
		return nil, err
	}
	covers, err := m.covers(o.pipeline)
	if err != nil {
		return nil, err
	}
	protected, err := inDomains("mirror-protect", m.protect)
	if err != nil {
		return nil, err
	}
	adopt, err := inDomains("mirror-adopt", m.adopt)
	if err != nil {
		return nil, err
	}
	filter, err := m.zoneFilter(o.pipeline.origins)
	if err != nil {
		return nil, err
	}
	cloud, err := m.clouds[m.provider].open(ctx, cloudOptions{
		log: o.log, zoneIDs: m.zoneIDs, domains: originNames(o.pipeline.origins), covers: inOrigins(o.pipeline.origins), relevant: relevant(o.pipeline.origins), batchSize: m.batchSize, batchPause: m.batchPause, getenv: getenv,
		retain: func(key string, make func() any) any {
			if shared[key] == nil {
				shared[key] = make()
			}
			return shared[key]
		},
	})
	if err != nil {
		return nil, err
	}
	switch most := cloud.Limits.BatchChanges; {
	case m.batchSize < 0 || most > 0 && m.batchSize > most:
		return nil, fmt.Errorf("--batch-change-size=%d is out of range; %s takes 1 to %d changes at once", m.batchSize, m.provider, most)
	case m.batchSize > 0:
		cloud.Limits.BatchChanges = m.batchSize
	}
	cloud.Limits.Pause = max(cloud.Limits.Pause, m.batchPause)
	var zonesEvery time.Duration
	if of, ok := m.clouds[m.provider].(zoneRememberer); ok {
		zonesEvery = of.rememberZones()
	}
	return &mirror.Options{
		Name: m.name, Cloud: cloud, Registry: registry, Wishes: feedWishes{o.pipeline.feed}, Log: o.log,
		Policy: policy, DryRun: m.dryRun, Types: types, Zones: filter, Covers: covers, Protected: protected, Adopt: adopt,
		ClaimDangling: m.claim, MigrateFrom: m.migrateFrom, Guards: guards, Interval: m.interval, PushEvery: m.pushEvery, ZonesEvery: zonesEvery,
		Identity: m.identity(&o.pipeline.settings.source, o.pipeline.origins, types), Acknowledged: m.acknowledged,
	}, nil
}

func (m *mirrorSettings) checkRegistry() error {
	switch m.registry {
	case "txt", "noop":
		return nil
	case "dynamodb", "aws-sd", "crd":
		return fmt.Errorf("--registry=%s is not kept by clusterzone: ownership stands in TXT records; write --registry=txt", m.registry)
	}
	return fmt.Errorf("--registry=%s is no registry; %s", m.registry, sources.Suggest(m.registry, []string{"txt", "noop"}))
}

func (m *mirrorSettings) newRegistry() (*mirror.Registry, error) {
	if err := m.checkRegistry(); err != nil {
		return nil, err
	}
	key := m.key
	switch {
	case m.encrypt && key == "":
		return nil, errors.New("--txt-encrypt-enabled needs a key: give --txt-encrypt-aes-key")
	case !m.encrypt && key != "":
		return nil, errors.New("--txt-encrypt-aes-key has no use without --txt-encrypt-enabled; give both or neither")
	}
	return mirror.NewRegistry(mirror.RegistryOptions{
		Noop: m.registry == "noop", Owner: m.owner, Prefix: m.prefix, Suffix: m.suffix, Wildcard: m.wildcard, Key: key, SingleAlias: m.singleAlias,
	})
}

// recordTypes are what the mirror manages: A, AAAA and CNAME unless something else
// is said, as external-dns has it.
func (m *mirrorSettings) recordTypes(program *sources.Options) ([]zones.Type, error) {
	wanted, excluded := m.types, m.excludeTypes
	if len(wanted) == 0 {
		wanted = program.ManagedRecordTypes
	}
	if len(wanted) == 0 {
		wanted = []string{"A", "AAAA", "CNAME"}
	}
	without, err := recordTypes("exclude-record-types", slices.Concat(excluded, program.ExcludeRecordTypes))
	if err != nil {
		return nil, err
	}
	types, err := recordTypes("managed-record-types", wanted)
	if err != nil {
		return nil, err
	}
	types = slices.DeleteFunc(types, func(t zones.Type) bool { return slices.Contains(without, t) })
	if len(types) == 0 {
		return nil, errors.New("--exclude-record-types leaves the mirror no record type; exclude fewer")
	}
	return types, nil
}

func recordTypes(flag string, texts []string) (types []zones.Type, err error) {
	for _, text := range texts {
		for item := range strings.SplitSeq(text, ",") {
			t, err := zones.ParseType(strings.TrimSpace(item))
			if err != nil {
				return nil, fmt.Errorf("--%s=%s: %w; write one like A, AAAA or CNAME", flag, text, err)
			}
			types = append(types, t)
		}
	}
	slices.Sort(types)
	return slices.Compact(types), nil
}

func (g *guardSettings) build() (*mirror.Guards, error) {
	if g.maxPercent < 0 || g.maxPercent > 100 {
		return nil, fmt.Errorf("--mirror-max-delete-percent=%d is out of range; write a number from 0 to 100", g.maxPercent)
	}
	if g.maxDeletes < 0 {
		return nil, fmt.Errorf("--mirror-max-deletes=%d can't be negative; write 0 for no deletion at all", g.maxDeletes)
	}
	guards := mirror.DefaultGuards()
	guards.MaxDeleteShare, guards.MaxDeletes = float64(g.maxPercent)/100, g.maxDeletes
	guards.DeleteAfter, guards.HoldAwaited = g.deleteAfter, g.holdAwaited
	empty := g.allowEmpty
	guards.AllowEmpty = func(zone mirror.Zone) bool {
		return slices.ContainsFunc(empty, func(text string) bool { return text == zone.ID || strings.TrimSuffix(text, ".") == zone.Name.String() })
	}
	return &guards, nil
}

// covers returns which names are the mirror's to manage: those that could be
// wished for. A record elsewhere would else look like one that nobody wants.
func (m *mirrorSettings) covers(p *pipeline) (func(zones.Name) bool, error) {
	include, err := inDomains("domain-filter", m.domains)
	if err != nil {
		return nil, err
	}
	exclude, err := inDomains("exclude-domains", m.exclude)
	if err != nil {
		return nil, err
	}
	served, covers := inOrigins(p.origins), p.translator.Covers
	return func(name zones.Name) bool {
		return served(name) && covers(name) && (include == nil || include(name)) && (exclude == nil || !exclude(name))
	}, nil
}

// inDomains returns whether a name lies in one of the domains (.domain: below it
// only); nil for no domains.
func inDomains(flag string, texts []string) (func(zones.Name) bool, error) {
	type domain struct {
		name  zones.Name
		below bool
	}
	var domains []domain
	for _, text := range texts {
		for item := range strings.SplitSeq(text, ",") {
			host, below := strings.CutPrefix(strings.TrimSpace(item), ".")
			name, err := assembly.ParseZone(host)
			if err != nil {
				return nil, fmt.Errorf("--%s=%s %w", flag, text, err)
			}
			domains = append(domains, domain{name, below})
		}
	}
	if len(domains) == 0 {
		return nil, nil
	}
	return func(name zones.Name) bool {
		return slices.ContainsFunc(domains, func(d domain) bool { return name.In(d.name) && !(d.below && name == d.name) })
	}, nil
}

// inOrigins returns whether a name lies in one of the zones that are served.
func inOrigins(origins []zones.Origin) func(zones.Name) bool {
	served := make(map[zones.Name]bool, len(origins))
	for _, origin := range origins {
		served[origin.Name] = true
	}
	return func(name zones.Name) bool {
		for ; name != ""; name = name.Parent() {
			if served[name] {
				return true
			}
		}
		return false
	}
}

// relevant returns whether a zone of a cloud has to do with one that is served: the
// one lies in the other.
func relevant(origins []zones.Origin) func(zones.Name) bool {
	served := inOrigins(origins)
	return func(name zones.Name) bool {
		return served(name) || slices.ContainsFunc(origins, func(o zones.Origin) bool { return o.Name.In(name) })
	}
}

func originNames(origins []zones.Origin) []zones.Name {
	var names []zones.Name
	for _, origin := range origins {
		names = append(names, origin.Name)
	}
	return names
}

// zoneFilter returns which zones of the cloud are written to: those that hold names
// of served zones and pass the filters.
func (m *mirrorSettings) zoneFilter(origins []zones.Origin) (func(mirror.Zone) bool, error) {
	named, err := inDomains("zone-name-filter", m.zoneNames)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, text := range m.zoneIDs {
		for id := range strings.SplitSeq(text, ",") {
			if id = strings.TrimSpace(id); id == "" {
				return nil, errors.New("--zone-id-filter is empty; name the end of a zone's ID, or leave it out")
			}
			ids = append(ids, id)
		}
	}
	holds := relevant(origins)
	return func(zone mirror.Zone) bool {
		return holds(zone.Name) && (named == nil || named(zone.Name)) &&
			(len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return strings.HasSuffix(zone.ID, id) }))
	}, nil
}

// addLease gives a mirror the Lease of its provider and owner, which mirrors of
// this process share.
func (s *mirrorsSettings) addLease(set *mirrorSet, m *mirrorSettings, o mirrorOptions, options *mirror.Options) error {
	if o.client == nil || !s.lease || m.dryRun || o.preview {
		set.of = append(set.of, nil)
		return nil
	}
	name := leaseName(m.provider, m.owner)
	lease := set.leases[name]
	if lease == nil {
		namespace, err := s.namespace(o)
		if err != nil {
			return err
		}
		lease, err = cluster.NewLease(o.client, cluster.LeaseOptions{Namespace: namespace, Name: name, Log: o.log, Won: set.wake})
		if err != nil {
			return err
		}
		set.leases[name] = lease
	}
	set.of = append(set.of, lease)
	options.Gate = lease
	return nil
}

// namespace is that of the Leases.
func (s *mirrorsSettings) namespace(o mirrorOptions) (string, error) {
	if s.leaseNamespace != "" {
		return s.leaseNamespace, nil
	}
	namespace, err := cluster.Namespace(o.pipeline.settings.origin.where())
	if err != nil {
		return "", fmt.Errorf("the namespace for the mirror's Lease is not known (%w); give --mirror-lease-namespace", err)
	}
	return namespace, nil
}

// leaseName is a name that Kubernetes takes, for a provider and an owner's ID: two
// owners have two, whatever their letters.
func leaseName(provider, owner string) string {
	const most = 30
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, owner)
	if plain != owner || len(plain) > most || strings.Trim(plain, "-") != plain {
		sum := sha256.Sum256([]byte(owner))
		plain = strings.Trim(plain[:min(len(plain), most)], "-") + "-" + hex.EncodeToString(sum[:4])
	}
	return "clusterzone-" + provider + "-" + strings.TrimPrefix(plain, "-")
}

// run mirrors until ctx is done. An error of a cloud ends nothing.
func (s *mirrorSet) run(ctx context.Context) error {
	campaign, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	var holders errgroup.Group
	for _, lease := range s.leases {
		holders.Go(func() error {
			lease.Run(campaign)
			return nil
		})
	}
	var parts errgroup.Group
	for _, m := range s.mirrors {
		parts.Go(func() error { return m.Run(ctx) })
	}
	parts.Go(func() error {
		s.wakeWhenReady(ctx)
		return nil
	})
	parts.Go(func() error {
		s.watch(ctx)
		return nil
	})
	err := parts.Wait()
	release() // nothing is written any more: another process may begin
	return errors.Join(err, holders.Wait())
}

// wakeWhenReady starts the mirrors as soon as the sources have been read.
func (s *mirrorSet) wakeWhenReady(ctx context.Context) {
	const look = 100 * time.Millisecond
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for s.wishes.unready() != "" {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	s.wake()
}

func (s *mirrorSet) wake() {
	for _, m := range s.mirrors {
		m.Wake()
	}
}

// notify tells of names at which objects changed what they ask for. A nil set has
// nobody to tell.
func (s *mirrorSet) notify(names []zones.Name) {
	if s == nil {
		return
	}
	for _, m := range s.mirrors {
		m.Notify(names)
	}
}

// explain returns how a name is in each mirror. A nil set knows nothing.
func (s *mirrorSet) explain(name zones.Name) []mirror.NameState {
	if s == nil {
		return nil
	}
	var states []mirror.NameState
	for _, m := range s.mirrors {
		states = append(states, m.Explain(name)...)
	}
	return states
}

// statuses returns how each mirror is. A nil set has none.
func (s *mirrorSet) statuses() []mirror.Status {
	if s == nil {
		return nil
	}
	var all []mirror.Status
	for _, m := range s.mirrors {
		all = append(all, m.Status())
	}
	return all
}

// feedWishes are what the objects of a feed ask for. It implements mirror.Wishes.
type feedWishes struct{ feed *sources.Feed }

// Read implements mirror.Wishes. It holds up the feed while it looks.
func (w feedWishes) Read(names []zones.Name) (wanted mirror.Wanted) {
	unready, problems := w.unready(), problemsText(w.feed.Status())
	w.feed.View(func(table *zones.Table, _ objectOf) { wanted = mirror.FromTable(table, names) })
	wanted.Unready = unready
	if problems != "" {
		wanted.Unsure = "not all objects can be read" + problems
	}
	return wanted
}

// unready says what is waited for until all objects were read; a saved state that
// answers queries is none that clouds are written from.
func (w feedWishes) unready() string {
	status := w.feed.Status()
	switch {
	case !status.Ready:
		return "waiting for " + status.Waiting
	case !status.Saved.IsZero():
		return "the state saved at " + status.Saved.UTC().Format(time.RFC3339) + " is served until the cluster is read"
	}
	return ""
}
