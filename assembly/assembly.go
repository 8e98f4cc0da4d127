package assembly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/sources/manifest"
	"github.com/clusterzone/clusterzone/zonefile"
	"github.com/clusterzone/clusterzone/zones"
)

// Settings say what is served, and from which objects. Zones and Log must be
// set; the other zero values turn things off, but for those that say otherwise.
type Settings struct {
	// Zones are the origins, each once; those of Files need not be among them.
	Zones []zones.Name
	// Files are master files whose records win over those of objects.
	Files []zonefile.File
	// NameServers are those of every zone. Without any, each zone has its ns1
	// with the addresses of Own.
	NameServers []zones.NameServer
	Own         []netip.Addr
	// Hostmaster is the mailbox of the SOAs; the zero Name means hostmaster.ZONE.
	Hostmaster zones.Name
	// TTL is that of records for which no object sets one.
	TTL time.Duration
	// NegativeTTL is how long others may remember that a name is missing.
	NegativeTTL time.Duration
	Policy      zones.Policy
	Flatten     bool
	// Passes are the names that another server is asked for.
	Passes *zones.Passes

	// Manifests are the files that objects come from, in place of a cluster.
	Manifests []string
	// Cluster is the API server that objects come from, and RequestTimeout how
	// long one request may take.
	Cluster        cluster.Connection
	RequestTimeout time.Duration
	// Source says which objects there are and what becomes of them. New adds the
	// reverse zones.
	Source sources.Options

	// StateFile is where claims are saved for the next start.
	StateFile string
	// Hold is how long the last good addresses stay when a status loses them.
	Hold time.Duration
	// OnCommit is called after each commit, on the feed's goroutine.
	OnCommit func(zones.Commit)
	Log      *slog.Logger
}

// A Pipeline leads from objects to snapshots. Its fields are set by New and
// don't change.
type Pipeline struct {
	Origins    []zones.Origin
	Translator *sources.Translator
	Store      *zones.Store
	Feed       *sources.Feed
	Files      *zonefile.Set // empty without any

	settings Settings
	watch    func(context.Context) error
}

// New checks the settings, reads zone files, manifests and the saved state, and
// returns a Pipeline that has started nothing. The Store holds a snapshot: one
// that isn't ready, or that of the saved state.
//
// An error about a setting starts with the name of the program's flag and its
// value, "--source=ingres ..."; others name the file.
func New(s Settings) (*Pipeline, error) {
	p := &Pipeline{settings: s, Store: &zones.Store{}}
	names := slices.Clone(s.Zones)
	for _, file := range s.Files {
		if !slices.Contains(names, file.Origin) {
			names = append(names, file.Origin)
		}
	}
	p.settings.Source.ReverseZones = Reverse(names)
	var err error
	if p.Translator, err = sources.New(p.settings.Source); err != nil {
		return nil, err
	}
	p.Origins = s.origins(names)
	table := zones.NewTable(zones.Options{
		Origins:    p.Origins,
		Sources:    p.Translator.Sources(),
		Policy:     s.Policy,
		DefaultTTL: uint32(s.TTL / time.Second),
		Flatten:    s.Flatten,
		Passes:     s.Passes,
	})
	if p.Files, err = zonefile.Load(s.Files); err != nil {
		return nil, err
	}
	zonefile.LogFindings(s.Log, p.Files.Findings())
	p.Files.Report(table.SetStatic)
	from := "the API server"
	if len(s.Manifests) > 0 {
		from = "the manifests"
	}
	if err := p.openOrigin(); err != nil {
		return nil, err
	}
	p.Feed, err = sources.NewFeed(sources.FeedOptions{
		Table:         table,
		Store:         p.Store,
		Translator:    p.Translator,
		Needs:         p.Translator.Needs(),
		From:          from,
		Log:           s.Log,
		OnCommit:      s.OnCommit,
		StateFile:     s.StateFile,
		HoldAddresses: s.Hold,
	})
	if err != nil {
		return nil, fmt.Errorf("--state-file=%s: %w", s.StateFile, err)
	}
	return p, nil
}

func (s *Settings) origins(names []zones.Name) []zones.Origin {
	var origins []zones.Origin
	for _, name := range names {
		origin := zones.Origin{
			Name:        name,
			NS:          s.NameServers,
			Hostmaster:  s.Hostmaster,
			TTL:         uint32(s.TTL / time.Second),
			NegativeTTL: uint32(s.NegativeTTL / time.Second),
		}
		if len(origin.NS) == 0 {
			origin.NS = []zones.NameServer{{Name: name.Child("ns1"), Addresses: s.Own}}
		}
		origins = append(origins, origin)
	}
	return origins
}

// openOrigin reads the manifests, or makes the clients of the API server, which
// asks nothing yet.
func (p *Pipeline) openOrigin() error {
	if len(p.settings.Manifests) > 0 {
		return p.loadManifests()
	}
	clients, err := cluster.Connect(p.settings.Cluster)
	if err != nil {
		return err
	}
	options := cluster.Options{
		Namespace:          p.settings.Source.Namespace,
		GatewayNamespace:   p.settings.Source.GatewayNamespace,
		Kinds:              sources.Kinds(p.Translator.Needs()),
		Custom:             clients.Custom,
		AnnotationPrefixes: KeptAnnotations(p.Translator, p.settings.Source.AnnotationPrefixes),
		RequestTimeout:     p.settings.RequestTimeout,
		Log:                p.settings.Log,
	}
	p.watch = func(ctx context.Context) error { return cluster.Run(ctx, clients.Core, options, p.Feed) }
	return nil
}

// KeptAnnotations are the prefixes, of those that count, whose annotations are
// kept on Pods and Nodes. Where these have names of their own, filters and
// templates may look at any: then there is no list, and all are kept.
func KeptAnnotations(translator *sources.Translator, prefixes []string) []string {
	for _, source := range translator.Sources() {
		if source == sources.SourcePod || source == sources.SourceNode {
			return nil
		}
	}
	return prefixes
}

func (p *Pipeline) loadManifests() error {
	log := p.settings.Log
	set, err := manifest.Load(p.settings.Manifests, noInput{})
	if err != nil {
		return err
	}
	for _, finding := range set.Findings() {
		log.Warn("manifest", "file", finding.File, "line", finding.Line, "message", finding.Message)
	}
	if ignored := set.Ignored(); len(ignored) > 0 {
		log.Info("documents of kinds that are not read", "kinds", strings.Join(ignored, ", "))
	}
	p.watch = func(ctx context.Context) error { return set.Run(ctx, log, p.Feed) }
	return nil
}

// noInput is standard input to whoever has none.
type noInput struct{}

func (noInput) Read([]byte) (int, error) { return 0, io.EOF }

// Run reads objects and zone files and publishes what they give, until ctx is
// done; then it saves the state and returns nil. It is called once.
func (p *Pipeline) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return p.Feed.Run(ctx) })
	parts.Go(func() error { return p.watch(ctx) })
	if len(p.settings.Files) > 0 {
		parts.Go(func() error {
			p.Files.Run(ctx, p.settings.Log, p.Feed.SetStatic)
			return nil
		})
	}
	return parts.Wait()
}

// Settled reports whether every kind was read, or is refused: what is served then
// is no saved state that the API server would correct at once.
func (p *Pipeline) Settled() bool {
	status := p.Feed.Status()
	if !status.Ready {
		return false
	}
	for _, source := range status.Sources {
		for _, kind := range source.Kinds {
			waiting := kind.Problem == nil || errors.As(kind.Problem, new(*sources.Unreachable))
			if !kind.Synced && !kind.Absent && waiting {
				return false
			}
		}
	}
	return true
}
