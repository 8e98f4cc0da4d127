package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/upstream/resolver"
	"github.com/clusterzone/clusterzone/zonefile"
	"github.com/clusterzone/clusterzone/zones"
)

const serveHelp = `Answer DNS queries for the zones, from the objects of a cluster or of files.

Until every kind of object was read once, queries get SERVFAIL (never a
negative answer that others would cache), unless --state-file has what was
served before. Once read, answers go on without the API server.

Example, in a cluster:

  clusterzone serve --zone corp.example --nameserver ns1.corp.example=10.96.0.53

Example, without a cluster:

  clusterzone serve --zone corp.test --manifests ./manifests --listen 127.0.0.1:5353`

func newServe() *cobra.Command {
	var objects objectSettings
	var serving serveSettings
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the server",
		Long:  serveHelp,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := resolve(cmd, os.LookupEnv); err != nil {
				return err
			}
			return serve(cmd.Context(), &objects, &serving, cmd.InOrStdin(), cmd.ErrOrStderr())
		},
	}
	serving.add(cmd)
	objects.add(cmd)
	return cmd
}

// A daemon is one running server.
type daemon struct {
	log      *slog.Logger
	serving  *serveSettings
	pipeline *pipeline
	client   kubernetes.Interface // nil with manifests
	events   *cluster.Recorder    // nil without --events
	registry *prometheus.Registry
	servingParts
	resolver *resolver.Resolver // nil where outside targets are not looked up
	began    time.Time
	// secondaries is nil where nobody may transfer zones.
	secondaries *secondaries
	// tsigFiles is nil where no key is in a file.
	tsigFiles *tsigFiles
	leaving   leaving
	bound     atomic.Bool   // DNS is answered
	synced    bool          // a commit was ready; the feed's goroutine's own
	ready     chan struct{} // closed then
}

func serve(ctx context.Context, objects *objectSettings, serving *serveSettings, stdin io.Reader, stderr io.Writer) error {
	collectAt(gcPercent) // zone files are read before anything runs
	log, err := objects.general.logger(stderr)
	if err != nil {
		return err
	}
	if err := objects.prepare(log, os.LookupEnv); err != nil {
		return err
	}
	d, err := newDaemon(log, objects, serving)
	if err != nil {
		return err
	}
	d.dns.Readers = spareSome()
	return d.run(ctx, stdin)
}

// newDaemon checks every setting and builds the parts; it starts nothing. The
// objects' settings have been prepared.
func newDaemon(log *slog.Logger, objects *objectSettings, serving *serveSettings) (*daemon, error) {
	d := &daemon{log: log, serving: serving, registry: prometheus.NewRegistry(), ready: make(chan struct{}), began: time.Now()}
	if err := serving.mirrors.prepare(log, slog.LevelWarn, objects); err != nil {
		return nil, err
	}
	parts, err := serving.parse(log)
	if err != nil {
		return nil, err
	}
	d.servingParts = *parts
	dns := d.dns
	switch {
	case objects.alone():
	case len(objects.origin.manifests) == 0:
		if d.client, err = objects.origin.client(); err != nil {
			return nil, err
		}
	case serving.events || serving.crdStatus:
		log.Warn("--events and --crd-status have no effect with --manifests: there is no cluster to write to; changes are served at once without them")
	}
	d.pipeline, err = objects.assemble(log, pipelineOptions{
		listen:    serving.listen,
		stateFile: serving.stateFile,
		hold:      serving.hold,
		crdStatus: serving.crdStatus,
		onCommit:  d.committed,
		passing:   &passWorld{d.resolvers, d.ours},
	})
	if err != nil {
		return nil, err
	}
	if len(d.pipeline.origins) == 0 {
		return nil, errNoZone
	}
	if objects.alone() {
		log.Info("the zone files are all that is served; name a --source to serve a cluster's objects beside them")
	}
	zonefile.LogFindings(log, d.pipeline.files.Findings())
	if err := passOn(dns, d.pipeline.passes); err != nil {
		return nil, err
	}
	d.dns.Metrics = server.NewMetrics(d.registry)
	var publisher resolver.Publisher = d.pipeline.store
	if d.secondaries = serving.transfers.build(d, d.allowed); d.secondaries != nil {
		publisher = d.secondaries
	}
	d.resolver, err = serving.targets.build(log, publisher, d.resolvers)
	if err != nil {
		return nil, err
	}
	if d.pipeline.mirrors, err = serving.mirrors.build(context.Background(), mirrorOptions{log: log, pipeline: d.pipeline, client: d.client, stateFile: serving.stateFile}); err != nil {
		return nil, err
	}
	if d.pipeline.mirrors != nil {
		d.registry.MustRegister(newMirrorCollector(d.pipeline.mirrors))
	}
	if d.tap != nil {
		dns.Tap = tap{d.tap}
		d.registry.MustRegister(newTapCollector(d.tap))
	}
	if d.resolver != nil {
		d.registry.MustRegister(newTargetCollector(d.pipeline.store, d.resolver))
	}
	d.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		assembly.NewCollector(assembly.CollectorParts{
			Store: d.pipeline.store, Feed: d.pipeline.feed, Files: d.pipeline.files,
		}),
	)
	d.dns.View = d.pipeline.store
	d.dns.Log = log
	serving.encrypted.equip(log, dns, d.certificates, d.registry)
	d.dns.Bound = func(addrs []netip.AddrPort) {
		d.bound.Store(true)
		for _, addr := range addrs {
			log.Info("answering", "address", addr.String(), "zones", originsText(d.pipeline.origins))
		}
	}
	return d, nil
}

// run serves until a signal comes or a part fails.
func (d *daemon) run(ctx context.Context, stdin io.Reader) error {
	if !d.pipeline.settings.alone() {
		collectAt(loadingGCPercent)
	}
	set, err := d.pipeline.loadManifests(stdin)
	if err != nil {
		return err
	}
	web, err := d.openWeb()
	if err != nil {
		return err
	}
	defer web.close()

	// Before anything answers: whoever sees an answer may send a signal.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	// Parts stop in this order: readiness fails, the delay passes, then the
	// DNS server drains and the rest ends.
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	parts, working := errgroup.WithContext(stop)
	if d.serving.events && d.client != nil {
		d.events = cluster.NewRecorder(working, d.client, d.log)
	}
	if d.resolver != nil {
		// What a saved state needs, before the first commit tells of more.
		d.pipeline.feed.View(func(table *zones.Table, _ objectOf) { d.resolver.Update(table.Outside(), nil) })
		parts.Go(func() error { return d.resolver.Run(working) })
	}
	if d.secondaries != nil {
		// What a saved state holds is served before the first commit.
		d.secondaries.committed(zones.Commit{})
		parts.Go(func() error { return d.secondaries.run(working) })
	}
	parts.Go(func() error { return d.pipeline.feed.Run(working) })
	parts.Go(func() error { return d.pipeline.watch(working, d.client, set) })
	parts.Go(func() error { return d.pipeline.watchZoneFiles(working) })
	if d.tap != nil {
		parts.Go(func() error { return d.tap.Run(working) })
	}
	if d.pipeline.mirrors != nil {
		parts.Go(func() error { return d.mirror(working) })
	}
	parts.Go(func() error { return d.answer(working) })
	parts.Go(func() error { return web.serve(working) })
	if d.cookieFile != nil {
		parts.Go(func() error {
			d.cookieFile.follow(working, d.log)
			return nil
		})
	}
	if d.tsigFiles != nil {
		parts.Go(func() error {
			d.tsigFiles.follow(working)
			return nil
		})
	}
	if d.certificates != nil {
		parts.Go(func() error {
			d.certificates.follow(working, d.log)
			return nil
		})
	}
	parts.Go(func() error {
		defer cancel()
		d.waitForSignal(working, signals)
		return nil
	})
	return parts.Wait()
}

// answer serves DNS until ctx ends. Who shares a port waits until it can answer:
// it would take its part of the queries from a process that can.
func (d *daemon) answer(ctx context.Context) error {
	if d.serving.reusePort && !d.pipeline.store.Load().Ready {
		d.log.Info("listening as soon as everything was read, since the port may be another process' until then (--reuse-port)")
		select {
		case <-ctx.Done():
			return nil
		case <-d.ready:
		}
	}
	return d.dns.Serve(ctx)
}

// waitForSignal returns when the server is to stop: at once after an
// interrupt, some time after SIGTERM, so that whoever sends queries here can
// notice that readiness fails.
func (d *daemon) waitForSignal(ctx context.Context, signals <-chan os.Signal) {
	select {
	case <-ctx.Done():
		return
	case got := <-signals:
		d.leaving.Store(true)
		if got == os.Interrupt || d.serving.shutdownDelay == 0 {
			d.log.Info("stopping")
			return
		}
		d.log.Info("stopping after a delay; readiness fails meanwhile", "delay", d.serving.shutdownDelay)
	}
	delay := time.NewTimer(d.serving.shutdownDelay)
	defer delay.Stop()
	select {
	case <-ctx.Done():
	case <-signals:
	case <-delay.C:
	}
}

// committed logs what is new, and posts events.
func (d *daemon) committed(commit zones.Commit) {
	if d.resolver != nil {
		d.resolver.Update(commit.Wanted, commit.Unwanted)
	}
	if d.secondaries != nil {
		d.secondaries.committed(commit)
	}
	d.pipeline.mirrors.notify(commit.Names)
	logSkipped(d.log, commit.Skipped)
	d.pipeline.recent.Note(commit.Snapshot.Committed, commit.Changes)
	if d.synced {
		logChanges(d.log, commit.Changes, d.pipeline.store.Load())
	}
	if !d.synced && commit.Snapshot.Ready {
		d.synced = true
		logApexWildcards(d.log, commit.Snapshot)
		close(d.ready)
		go giveBack()
	}
	d.pipeline.tidy()
	if d.events == nil {
		return
	}
	d.pipeline.feed.View(func(_ *zones.Table, object objectOf) {
		d.events.Record(commit.Skipped, object)
	})
}

func originsText(origins []zones.Origin) string {
	var names []string
	for i, origin := range origins {
		if i == 8 {
			names = append(names, fmt.Sprintf("and %d more", len(origins)-i))
			break
		}
		names = append(names, origin.Name.String())
	}
	return strings.Join(names, ",")
}

// logSkipped logs each Skipped once, when it comes up: what an author can mend
// as a warning, the rest for those who look closer, and counted.
func logSkipped(log *slog.Logger, skips []zones.Skipped) {
	quiet := map[zones.Reason]int{}
	for _, skip := range skips {
		name := skip.Asked
		if skip.Name != "" {
			name = skip.Name.String()
		}
		if skip.Reason.Mendable() {
			log.Warn("skipped", "object", skip.Owner.String(), "name", name, "reason", string(skip.Reason), "message", skip.Message)
			continue
		}
		quiet[skip.Reason]++
		log.Debug("skipped", "object", skip.Owner.String(), "name", name, "reason", string(skip.Reason), "message", skip.Message)
	}
	if len(quiet) == 0 {
		return
	}
	var counted []any
	for reason, count := range quiet {
		counted = append(counted, slog.Int(string(reason), count))
	}
	log.Info("skipped for reasons that are no fault of the objects; \"clusterzone explain NAME\" tells more", counted...)
}

// logChanges logs record sets at debug level, and warns of wildcards at an
// apex: with a search domain they catch every name (PAINS 120).
func logChanges(log *slog.Logger, changes []zones.Change, snap *zones.Snapshot) {
	for _, change := range changes {
		if change.New != nil && change.Old == nil && change.New.Name == change.Zone.Wildcard() {
			logApexWildcard(log, change.Zone, change.New)
		}
		if !log.Enabled(context.Background(), slog.LevelDebug) {
			continue
		}
		set, what := change.New, "set"
		if set == nil {
			set, what = change.Old, "removed"
		}
		log.Debug("record set "+what, "zone", change.Zone.String(), "serial", snap.Zone(change.Zone).Serial(), "name", set.Name.String(), "type", set.Type.String(), "records", len(set.Data))
	}
}

// logApexWildcards logs the wildcards at apexes that the zones begin with: of many
// zones the first few, and how many there are beside.
func logApexWildcards(log *slog.Logger, snap *zones.Snapshot) {
	const listed = 8
	found := 0
	for _, origin := range snap.Origins() {
		sets := snap.Zone(origin).At(origin.Wildcard())
		if len(sets) == 0 {
			continue
		}
		if found++; found <= listed {
			logApexWildcard(log, origin, sets[0])
		}
	}
	if found > listed {
		log.Warn("wildcards stand at the apexes of more zones", "zones", found-listed)
	}
}

func logApexWildcard(log *slog.Logger, zone zones.Name, set *zones.RRSet) {
	log.Warn("a wildcard stands at the zone's apex: every name in the zone exists, also those that clients make with a search domain, like api.github.com."+zone.String(),
		"name", set.Name.String(), "type", set.Type.String())
}
