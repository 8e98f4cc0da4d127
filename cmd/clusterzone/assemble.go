package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/clusterzone/clusterzone/adminpage"
	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/sources/manifest"
	"github.com/clusterzone/clusterzone/zonefile"
	"github.com/clusterzone/clusterzone/zones"
)

// objectSettings are what every command needs that looks at objects.
type objectSettings struct {
	general generalSettings
	origin  originSettings
	source  sources.Options
	zone    zoneSettings
	// external are the flags of external-dns that are known and not ours.
	external externalFlags
}

// add defines the flags. A command that has others defines them before.
func (s *objectSettings) add(cmd *cobra.Command) {
	s.origin.add(cmd)
	addSourceFlags(cmd, &s.source)
	s.zone.add(cmd)
	s.general.add(cmd)
	s.external.add(cmd)
}

// prepare checks what stands in the settings, puts what external-dns' flags mean
// into them, and logs which of these have no effect. lookup reads the
// environment.
func (s *objectSettings) prepare(log *slog.Logger, lookup func(string) (string, bool)) error {
	if err := s.origin.check(); err != nil {
		return err
	}
	if err := s.external.apply(s); err != nil {
		return err
	}
	s.external.report(log)
	if variables := externalEnvironment(lookup); variables != "" {
		log.Warn("environment variables of external-dns are not read", "variables", variables)
	}
	return nil
}

// A pipeline leads from an origin of objects to snapshots.
type pipeline struct {
	settings   *objectSettings
	log        *slog.Logger
	translator *sources.Translator
	origins    []zones.Origin
	store      *zones.Store
	feed       *sources.Feed
	crdStatus  bool
	passes     *zones.Passes // of --fallthrough; nil without any
	mirrors    *mirrorSet    // nil without any; set before anything runs
	files      *zonefile.Set // of --zone-file; empty without any
	recent     adminpage.Recent
	readLarge  atomic.Bool // a large zone file was read anew, and not yet published
}

// pipelineOptions are what differs between the commands.
type pipelineOptions struct {
	listen    []string // where the server answers, for its own address records
	stateFile string
	hold      time.Duration // of the last good addresses
	onCommit  func(zones.Commit)
	crdStatus bool        // write the status of DNSEndpoints
	passing   *passWorld  // where names may be passed on to; nil where nobody asks
	zoneFault func(error) // gets what stops a zone file's reading; nil lets it stop the program
}

// assemble builds the pipeline from settings. An error says which flag can't
// be honoured.
func (s *objectSettings) assemble(log *slog.Logger, o pipelineOptions) (*pipeline, error) {
	p := &pipeline{settings: s, log: log, store: &zones.Store{}, crdStatus: o.crdStatus}
	var err error
	if s.source.ReverseZones, err = s.zone.reverse(); err != nil {
		return nil, err
	}
	if p.translator, err = sources.New(s.source); err != nil {
		return nil, err
	}
	if p.origins, err = s.zone.build(p.translator.ZonesFromFilters(), o.listen); err != nil {
		return nil, err
	}
	if p.passes, err = s.zone.passes.build(p.origins, o.passing); err != nil {
		return nil, err
	}
	policy, err := assembly.ParsePolicy(s.zone.policy)
	if err != nil {
		return nil, fmt.Errorf("--conflict-policy=%s %w", s.zone.policy, err)
	}
	table := zones.NewTable(zones.Options{
		Origins:    p.origins,
		Sources:    p.translator.Sources(),
		Policy:     policy,
		DefaultTTL: uint32(s.zone.ttl / time.Second),
		Flatten:    s.zone.flatten,
		Passes:     p.passes,
	})
	if err := p.loadZoneFiles(table, o.zoneFault); err != nil {
		return nil, err
	}
	from, needs := "the API server", p.translator.Needs()
	if s.alone() {
		from, needs = "the zone files", nil
	}
	if len(s.origin.manifests) > 0 {
		from = "the manifests"
	}
	p.feed, err = sources.NewFeed(sources.FeedOptions{
		Table:      table,
		Store:      p.store,
		Translator: p.translator,
		Needs:      needs,
		From:       from,
		Log:        log,
		OnCommit:   o.onCommit,
		StateFile:  o.stateFile,

		HoldAddresses: o.hold,
	})
	if err != nil {
		return nil, fmt.Errorf("--state-file=%s: %w", o.stateFile, err)
	}
	return p, nil
}

// where says how the cluster's API server is found.
func (s *originSettings) where() cluster.Connection {
	return cluster.Connection{
		Kubeconfig: s.kubeconfig,
		Context:    s.context,
		Server:     s.server,
		QPS:        float32(s.qps),
		Burst:      s.burst,
		UserAgent:  "clusterzone/" + programVersion(),
	}
}

// connection says how the cluster's API server is reached.
func (s *originSettings) connection() (*rest.Config, error) { return cluster.Config(s.where()) }

// client returns a client of the cluster's API server.
func (s *originSettings) client() (kubernetes.Interface, error) {
	config, err := s.connection()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// customClient returns a client for the kinds that come with a
// CustomResourceDefinition.
func (s *originSettings) customClient() (dynamic.Interface, error) {
	config, err := s.connection()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// check refuses flags of the origin that exclude each other.
func (s *originSettings) check() error {
	if len(s.manifests) == 0 {
		return nil
	}
	for _, other := range []struct{ name, value string }{
		{"--kubeconfig", s.kubeconfig}, {"--context", s.context}, {"--server", s.server},
	} {
		if other.value != "" {
			return fmt.Errorf("%s=%s and --manifests exclude each other: objects come from a cluster or from files", other.name, other.value)
		}
	}
	return nil
}

// watch feeds the pipeline until ctx is done. set holds the manifests, and is
// nil where the objects come from a cluster.
func (p *pipeline) watch(ctx context.Context, client kubernetes.Interface, set *manifest.Set) error {
	if p.settings.alone() {
		return nil
	}
	if set != nil {
		return set.Run(ctx, p.log, p.feed)
	}
	custom, err := p.settings.origin.customClient()
	if err != nil {
		return err
	}
	var sink sources.Sink = p.feed
	if p.crdStatus {
		writer := cluster.NewStatusWriter(p.feed, custom, p.log)
		go func() { _ = writer.Run(ctx) }() // ends with ctx, and has no errors of its own
		sink = writer
	}
	return cluster.Run(ctx, client, cluster.Options{
		Namespace:          p.settings.source.Namespace,
		GatewayNamespace:   p.settings.source.GatewayNamespace,
		Kinds:              sources.Kinds(p.translator.Needs()),
		Custom:             custom,
		AnnotationPrefixes: assembly.KeptAnnotations(p.translator, p.settings.source.AnnotationPrefixes),
		RequestTimeout:     p.settings.origin.timeout,
		Log:                p.log,
	}, sink)
}

// loadManifests reads the files of --manifests; nil without any. What is odd
// about them is logged.
func (p *pipeline) loadManifests(stdin io.Reader) (*manifest.Set, error) {
	paths := p.settings.origin.manifests
	if len(paths) == 0 {
		return nil, nil
	}
	set, err := manifest.Load(paths, stdin)
	if err != nil {
		return nil, err
	}
	for _, finding := range set.Findings() {
		p.log.Warn("manifest", "file", finding.File, "line", finding.Line, "message", finding.Message)
	}
	if ignored := set.Ignored(); len(ignored) > 0 {
		p.log.Info("documents of kinds that are not read", "kinds", strings.Join(ignored, ", "))
	}
	return set, nil
}

// once reads all objects, applies them, and returns. Its error says what could
// not be read; it is a failure where only a part of the objects is missing.
func (p *pipeline) once(ctx context.Context, stdin io.Reader) error {
	set, err := p.loadManifests(stdin)
	if err != nil {
		return err
	}
	if set != nil {
		set.Report(p.feed)
	}
	if set != nil || p.settings.alone() {
		p.feed.Apply()
		return nil
	}
	client, err := p.settings.origin.client()
	if err != nil {
		return err
	}
	return p.readCluster(ctx, client)
}

// readCluster waits until every kind was read, or the request timeout ends.
func (p *pipeline) readCluster(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := limited(ctx, p.settings.origin.timeout)
	defer cancel()
	done := make(chan error, 2)
	go func() { done <- p.watch(ctx, client, nil) }()
	go func() { done <- p.feed.Run(ctx) }()
	ready := time.NewTicker(10 * time.Millisecond)
	defer ready.Stop()
	for !p.feed.Status().Ready {
		select {
		case <-ready.C:
		case err := <-done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return failure{fmt.Errorf("the cluster could not be read within --request-timeout=%s: waiting for %s%s", p.settings.origin.timeout, p.feed.Status().Waiting, problemsText(p.feed.Status()))}
		}
	}
	if problems := problemsText(p.feed.Status()); problems != "" {
		return failure{errors.New("not all objects could be read" + problems)}
	}
	return nil
}

// limited is context.WithTimeout; a timeout of 0 is none, as --request-timeout
// has it.
func limited(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}

// problemsText lists the kinds that can't be read, each after a semicolon.
func problemsText(status sources.Status) string {
	var text strings.Builder
	seen := map[sources.Kind]bool{}
	for _, source := range status.Sources {
		for _, kind := range source.Kinds {
			if kind.Problem != nil && !seen[kind.Kind] {
				seen[kind.Kind] = true
				fmt.Fprintf(&text, "; %s: %v", kind.Kind, kind.Problem)
			}
		}
	}
	return text.String()
}
