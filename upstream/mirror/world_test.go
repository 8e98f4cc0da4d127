package mirror_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A world is a cloud in memory and what is wished of it. It lives in a bubble of
// testing/synctest: time passes only when everybody waits for it.
type world struct {
	*testing.T
	store   *memory.Store
	wishes  *wishes
	options mirror.Options
	mirror  *mirror.Mirror
}

const origin = "ex.com"

// inWorld runs a test in a bubble of its own.
func inWorld(t *testing.T, limits mirror.Limits, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, wishes: &wishes{at: map[zones.Name][]zones.Endpoint{}, awaited: map[zones.Name]bool{}}}
		w.store = memory.New(limits, w.name(origin))
		registry, err := mirror.NewRegistry(mirror.RegistryOptions{Owner: "prod"})
		if err != nil {
			t.Fatal(err)
		}
		guards := mirror.DefaultGuards()
		guards.ObserveCycles = 0
		w.options = mirror.Options{
			Name: "test", Cloud: w.store.Cloud(), Registry: registry, Wishes: w.wishes,
			Log: slog.New(slog.DiscardHandler), Policy: mirror.Sync, Guards: &guards,
		}
		test(w)
	})
}

func (w *world) name(text string) zones.Name {
	w.Helper()
	name, err := zones.ParseName(text)
	if err != nil {
		w.Fatal(err)
	}
	return name
}

// run starts the mirror with the options as they are now, and stops it with the test.
func (w *world) run() {
	w.Helper()
	w.Cleanup(w.runUntil())
}

// runUntil starts the mirror with the options as they are now, until stop is called,
// once.
func (w *world) runUntil() (stop func()) {
	w.Helper()
	m, err := mirror.New(w.options)
	if err != nil {
		w.Fatal(err)
	}
	w.mirror = m
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// want replaces what is asked for at the names of the lines, and tells the mirror:
// name ttl type targets [set=...]. A line with a name alone asks for nothing there.
func (w *world) want(lines string) {
	w.Helper()
	changed := map[zones.Name][]zones.Endpoint{}
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		name := w.name(fields[0])
		if len(fields) == 1 {
			changed[name] = nil
			continue
		}
		kind, err := zones.ParseType(fields[2])
		if err != nil {
			w.Fatal(err)
		}
		e := zones.Endpoint{Name: name, Type: kind, Targets: strings.Split(fields[3], ","), Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "web"}}
		if fields[1] != "-" {
			seconds, err := strconv.ParseUint(fields[1], 10, 32)
			if err != nil {
				w.Fatal(err)
			}
			e.TTL = zones.TTL{Seconds: uint32(seconds), Set: true}
		}
		for _, field := range fields[4:] {
			if set, ok := strings.CutPrefix(field, "set="); ok {
				e.SetIdentifier = set
			}
		}
		changed[name] = append(changed[name], e)
	}
	w.wishes.change(func() { maps.Copy(w.wishes.at, changed) })
	if w.mirror != nil {
		w.mirror.Notify(slices.Collect(maps.Keys(changed)))
	}
}

// addresses are lines for n names.
func addresses(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString("n" + strconv.Itoa(i) + "." + origin + " 60 A 192.0.2." + strconv.Itoa(i%250+1) + "\n")
	}
	return text.String()
}

// holds returns the records of the zone in words, ownership records left out.
func (w *world) holds() string {
	var lines []string
	for _, r := range w.store.Held(origin) {
		if r.Type != zones.TypeTXT {
			lines = append(lines, r.Type.String()+" "+r.Name.String()+" "+strings.Join(r.Targets, ","))
		}
	}
	return strings.Join(lines, "\n")
}

// has fails where the zone doesn't hold exactly these.
func (w *world) has(want ...string) {
	w.Helper()
	slices.Sort(want)
	got := strings.Split(w.holds(), "\n")
	slices.Sort(got)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.Errorf("the zone holds\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// zone returns the status of the one zone.
func (w *world) zone() mirror.ZoneStatus {
	w.Helper()
	status := w.mirror.Status()
	if len(status.Zones) != 1 {
		w.Fatalf("there are %d zones: %+v", len(status.Zones), status)
	}
	return status.Zones[0]
}

// held fails where the guard doesn't hold that many steps.
func (w *world) held(guard mirror.GuardName, count int) {
	w.Helper()
	zone := w.zone()
	if got := zone.HeldBy()[guard]; got != count {
		w.Errorf("the guard %s holds %d steps and not %d: %+v", guard, got, count, zone.Held)
	}
}

// wishes are what the mirror reads.
type wishes struct {
	mu      sync.Mutex
	at      map[zones.Name][]zones.Endpoint
	awaited map[zones.Name]bool
	unready string
	unsure  string
}

func (w *wishes) change(how func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	how()
}

// Read implements mirror.Wishes.
func (w *wishes) Read(names []zones.Name) mirror.Wanted {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := mirror.Wanted{Unready: w.unready, Unsure: w.unsure}
	if names == nil {
		names = slices.SortedFunc(maps.Keys(w.at), zones.Name.Compare)
		for name := range w.awaited {
			if _, ok := w.at[name]; !ok {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		wanted.Endpoints = append(wanted.Endpoints, w.at[name]...)
		if w.awaited[name] {
			wanted.Awaited = append(wanted.Awaited, name)
		}
	}
	return wanted
}

// gate is a lease that a test gives and takes.
type gate struct {
	mu  sync.Mutex
	who string
}

func (g *gate) give(who string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.who = who
}

// Leads implements mirror.Gate.
func (g *gate) Leads() (bool, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.who == "", g.who
}
