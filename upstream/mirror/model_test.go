package mirror_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// Random wishes, records of others, faults and restarts, against a model: what
// others have never changes, nothing is deleted in doubt, and when the faults stop the
// zone becomes what is wished and stays so without a write.
func TestRandomWorldsAgainstAModel(t *testing.T) {
	t.Parallel()
	loose := memory.DefaultLimits()
	loose.Atomic, loose.CreateExclusive, loose.BatchChanges = false, false, 7
	small := memory.DefaultLimits()
	small.BatchChanges = 9
	for seed := range uint64(24) {
		limits := [...]mirror.Limits{memory.DefaultLimits(), loose, small}[seed%3]
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inWorld(t, limits, func(w *world) {
				(&model{world: w, rand: rand.New(rand.NewPCG(seed, 1)), theirs: map[string]mirror.Record{}, limits: limits}).play()
			})
		})
	}
}

type model struct {
	*world
	rand   *rand.Rand
	limits mirror.Limits
	theirs map[string]mirror.Record // records of others by key, as they made them
	fresh  *mirror.Mirror
}

func modelKey(r *mirror.Record) string {
	return r.Name.String() + " " + r.Type.String() + " " + r.SetIdentifier
}

func (m *model) play() {
	guards := mirror.DefaultGuards()
	guards.MaxDeleteShare, guards.MaxDeletes = 1, 1000
	guards.MaxFlaps, guards.MaxEdits, guards.MaxRepeats = 1000, 1000, 1000
	guards.AllowEmpty = func(mirror.Zone) bool { return true }
	m.options.Guards = &guards
	m.restart()
	for range 80 {
		m.step()
		m.check()
	}
	m.store.SetFault(nil)
	m.wishes.change(func() { m.wishes.unready, m.wishes.unsure = "", "" })
	for range 20 { // quarantines of an hour must end
		m.pass(5 * time.Minute)
		m.cycle()
	}
	m.check()
	m.converged()
	sent := m.store.Count(memory.OpApply)
	m.pass(time.Minute)
	if m.cycle(); m.store.Count(memory.OpApply) != sent {
		m.Errorf("a second cycle writes: %v", m.store.Calls()[len(m.store.Calls())-1].Batch)
	}
}

func (m *model) restart() {
	next, err := mirror.New(m.options)
	if err != nil {
		m.Fatal(err)
	}
	m.fresh = next
}

func (m *model) cycle() {
	before := len(m.store.Calls())
	doubt := m.wishes.unready != "" || m.wishes.unsure != ""
	if err := m.fresh.Once(m.Context()); err != nil && m.Context().Err() != nil {
		m.Fatal(err)
	}
	for _, call := range m.store.Calls()[before:] {
		for _, group := range call.Batch {
			gone := slices.ContainsFunc(group.Changes, func(c mirror.Change) bool { return c.Verb == mirror.Delete && !c.Ownership })
			come := slices.ContainsFunc(group.Changes, func(c mirror.Change) bool { return c.New != nil && !c.Ownership })
			if doubt && gone && !come {
				m.Errorf("in doubt, %s", &group.Changes[0])
			}
		}
	}
}

func (m *model) step() {
	name := fmt.Sprintf("n%d.%s", m.rand.IntN(8), origin)
	switch m.rand.IntN(12) {
	case 0, 1, 2, 3:
		m.want(m.wish(name))
	case 4:
		m.foreign(name)
	case 5:
		m.restart()
	case 6:
		m.store.SetFault(m.fault())
	case 7:
		m.store.SetFault(nil)
	case 8:
		m.wishes.change(func() { m.wishes.unsure = [...]string{"", "", "a watch is broken"}[m.rand.IntN(3)] })
	case 9:
		m.wishes.change(func() { m.wishes.unready = [...]string{"", "", "Services"}[m.rand.IntN(3)] })
	default:
		m.pass(time.Duration(m.rand.IntN(300)) * time.Second)
		m.cycle()
	}
}

// wish returns lines that say what is asked for at a name from now on.
func (m *model) wish(name string) string {
	address := func() string { return fmt.Sprintf("192.0.2.%d", m.rand.IntN(4)+1) }
	switch m.rand.IntN(5) {
	case 0:
		return name
	case 1:
		return fmt.Sprintf("%s 60 CNAME lb%d.example.net", name, m.rand.IntN(2))
	case 2:
		return fmt.Sprintf("%s 60 A %s\n%s 60 AAAA 2001:db8::%d", name, address(), name, m.rand.IntN(3))
	case 3:
		return fmt.Sprintf("%s - AAAA 2001:db8::%d", name, m.rand.IntN(3))
	}
	return fmt.Sprintf("%s %d A %s,198.51.100.1", name, 60+m.rand.IntN(2), address())
}

// foreign has another hand make, change or take away a record of its own, where
// nothing of ours is.
func (m *model) foreign(name string) {
	held := m.store.Held(origin)
	near := func(r mirror.Record) bool { return strings.HasSuffix(r.Name.String(), name) }
	mine := slices.ContainsFunc(held, func(r mirror.Record) bool {
		_, theirs := m.theirs[modelKey(&r)]
		return near(r) && !theirs
	})
	if mine {
		return
	}
	for key, r := range m.theirs {
		if near(r) {
			if m.rand.IntN(2) == 0 {
				m.store.Take(origin, r.Name, r.Type, "")
				delete(m.theirs, key)
			}
			return
		}
	}
	put := func(name string, kind zones.Type, target string) {
		r := mirror.Record{Name: m.name(name), Type: kind, Targets: []string{target}, TTL: zones.TTL{Seconds: 300, Set: true}}
		m.store.Put(origin, r)
		m.theirs[modelKey(&r)] = r
	}
	switch m.rand.IntN(4) {
	case 0: // without owner
		put(name, zones.TypeA, "203.0.113.1")
	case 1: // with another owner
		put(name, zones.TypeA, "203.0.113.2")
		put("a-"+name, zones.TypeTXT, `"heritage=external-dns,external-dns/owner=other"`)
	case 2: // an ownership record alone
		put("cname-"+name, zones.TypeTXT, `"heritage=external-dns,external-dns/owner=other"`)
	case 3: // of a type that nobody manages
		put(name, zones.TypeMX, "10 mx.example.net")
	}
}

// fault returns what goes wrong from now on.
func (m *model) fault() func(memory.Call) memory.Fault {
	op := [...]memory.Op{memory.OpApply, memory.OpApply, memory.OpRecords, memory.OpZones}[m.rand.IntN(4)]
	class := [...]mirror.Class{mirror.Unknown, mirror.Throttled, mirror.Denied, mirror.Failed, mirror.Conflict, mirror.Undone, mirror.BadChange}[m.rand.IntN(7)]
	applied, part := m.rand.IntN(2) == 0, m.rand.IntN(3)
	return func(call memory.Call) memory.Fault {
		if call.Op != op {
			return memory.Fault{}
		}
		fault := memory.Fault{Err: &mirror.Error{Class: class, Err: errors.New("the cloud has trouble")}}
		if op == memory.OpApply && class == mirror.Unknown {
			fault.Applied, fault.Part = applied, part
		}
		return fault
	}
}

// check holds what must be true at any time.
func (m *model) check() {
	m.Helper()
	held := map[string]mirror.Record{}
	for _, r := range m.store.Held(origin) {
		held[modelKey(&r)] = r
	}
	for key, theirs := range m.theirs {
		have, ok := held[key]
		if !ok || len(mirror.Differences(&have, &theirs)) > 0 {
			m.Fatalf("%s of another is now %v", key, have)
		}
	}
}

// converged compares the zone with the wishes, where no other hand is near.
func (m *model) converged() {
	m.Helper()
	held := m.store.Held(origin)
	disputed := func(name zones.Name) bool {
		for _, r := range m.theirs {
			if strings.HasSuffix(r.Name.String(), name.String()) {
				return true
			}
		}
		return false
	}
	owned := 0
	for _, r := range held {
		if _, theirs := m.theirs[modelKey(&r)]; theirs || r.Type == zones.TypeTXT {
			continue
		}
		owned++
		// Where what is wished can't be made, what it would replace stays.
		if len(m.wishes.at[r.Name]) > 0 && disputed(r.Name) {
			continue
		}
		if !slices.ContainsFunc(m.wishes.at[r.Name], func(e zones.Endpoint) bool { return e.Type == r.Type && slices.Equal(e.Targets, r.Targets) }) {
			m.Errorf("%s %v is there and not wished", modelKey(&r), r.Targets)
		}
	}
	texts := 0
	for _, r := range held {
		if _, theirs := m.theirs[modelKey(&r)]; !theirs && r.Type == zones.TypeTXT {
			texts++
		}
	}
	if texts != owned {
		m.Errorf("%d records have %d ownership records: %s", owned, texts, m.holds())
	}
	for name, list := range m.wishes.at {
		for _, e := range list {
			there := slices.ContainsFunc(held, func(r mirror.Record) bool {
				return r.Name == name && r.Type == e.Type && slices.Equal(r.Targets, e.Targets)
			})
			if !there && !disputed(name) {
				m.Errorf("%s %s %v is wished and not there: %+v", e.Type, name, e.Targets, m.fresh.Explain(name))
			}
		}
	}
}
