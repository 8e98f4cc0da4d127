package zones

import (
	"slices"
	"sync"
	"time"
)

// A Journal keeps, for each zone, the Edition that secondaries get, and the
// steps that led to it from earlier ones. A serial names one content: what the
// zone held at the commit that gave the serial out.
//
// It has one writer, which calls Note after each commit; any number of
// goroutines may read.
type Journal struct {
	limit int
	start uint32

	mu      sync.RWMutex // guards zones and the editions in it
	zones   map[Name]*history
	started bool // the writer's own
}

// A history is what a Journal knows of one zone.
type history struct {
	edition *Edition
	// The writer's own: what became of the zone's sets since the edition, and
	// which flattened names without addresses have been told.
	changes map[setKey]Change
	told    map[Name]bool
}

// NewJournal returns a Journal that keeps at most limit records of steps for
// each zone, SOAs included; with 0 it keeps editions alone. start is when this
// process began: a process that ended within the same second may have given the
// serial of that second to other content, so that it makes no edition here.
func NewJournal(limit int, start time.Time) *Journal {
	return &Journal{limit: limit, start: uint32(start.Unix())}
}

// Noted is what Journal.Note made of a commit.
type Noted struct {
	// Stepped are the zones that have a new edition, in no order.
	Stepped []Name
	// Missing are the flattened names that an edition leaves out for the first
	// time: the addresses of their target were never known.
	Missing []Flattened
}

// Note takes in what a commit did; snap is the commit's snapshot with the outside
// targets of that moment, as Store.Load gives it. The first snapshot that is ready
// gives each zone its first edition: nobody can have got anything before.
func (j *Journal) Note(commit Commit, snap *Snapshot) Noted {
	var noted Noted
	if !snap.Ready {
		return noted
	}
	if !j.started {
		j.started = true
		histories := make(map[Name]*history, len(snap.Origins()))
		for _, origin := range snap.Origins() {
			histories[origin] = &history{changes: map[setKey]Change{}, told: map[Name]bool{}}
		}
		j.mu.Lock()
		j.zones = histories
		j.mu.Unlock()
		for _, origin := range snap.Origins() {
			j.renew(snap, origin, &noted)
		}
		return noted
	}
	for _, change := range commit.Changes {
		h := j.zones[change.Zone]
		key := setKey{change.set().Name, change.set().Type}
		if before, again := h.changes[key]; again {
			change.Old = before.Old
		}
		h.changes[key] = change
	}
	for _, origin := range commit.Stepped {
		j.renew(snap, origin, &noted)
	}
	return noted
}

// renew gives a zone the edition of its serial.
func (j *Journal) renew(snap *Snapshot, origin Name, noted *Noted) {
	h, zone := j.zones[origin], snap.Zone(origin)
	switch {
	case h.edition == nil && zone.serial == j.start:
		return // Outdated asks for another one
	case h.edition != nil && h.edition.Serial() == zone.serial:
		return
	}
	next := &Edition{zone: zone}
	for _, count := range zone.records {
		next.records += count
	}
	next.flat = snap.flatten(zone, h.edition)
	for flat := range zone.flattenedNames() {
		found := next.flat[flat.Name]
		if found.unknown {
			next.missing++
			if !h.told[flat.Name] {
				h.told[flat.Name] = true
				noted.Missing = append(noted.Missing, flat)
			}
		}
		for _, set := range found.sets {
			if set != nil {
				next.records += len(set.Data)
			}
		}
	}
	if h.edition != nil && j.limit > 0 {
		next.follow(h.edition, h.changes, j.limit)
	}
	clear(h.changes)
	j.mu.Lock()
	h.edition = next
	j.mu.Unlock()
	noted.Stepped = append(noted.Stepped, origin)
}

// Edition returns what secondaries of the zone get now; nil for a zone that is
// not ours or not ready.
func (j *Journal) Edition(origin Name) *Edition {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if h := j.zones[origin]; h != nil {
		return h.edition
	}
	return nil
}

// Outdated returns the zones that need a new serial beside those that other
// changes give them (Table.Step): a flattened name has other addresses in snap than
// in the zone's edition, or the zone has no edition, since its serial is of the
// second in which the process began. It costs two lookups for each flattened name.
func (j *Journal) Outdated(snap *Snapshot) []Name {
	j.mu.RLock()
	started := j.zones != nil
	j.mu.RUnlock()
	if !started || !snap.Ready {
		return nil
	}
	var outdated []Name
	for _, origin := range snap.Origins() {
		edition, zone := j.Edition(origin), snap.Zone(origin)
		if edition == nil {
			outdated = append(outdated, origin)
			continue
		}
		if zone.flats == 0 && len(edition.flat) == 0 {
			continue
		}
		if now := snap.flatten(zone, edition); !sameFlat(now, edition.flat) {
			outdated = append(outdated, origin)
		}
	}
	return outdated
}

// A JournalSize is how much a Journal holds.
type JournalSize struct {
	// Steps and Records count what is kept for IXFR, Missing the flattened names
	// that editions leave out.
	Steps, Records, Missing int
}

// Size returns how much the journals of all zones hold.
func (j *Journal) Size() JournalSize {
	j.mu.RLock()
	defer j.mu.RUnlock()
	var size JournalSize
	for _, h := range j.zones {
		if h.edition != nil {
			size.Steps += len(h.edition.steps)
			size.Records += h.edition.kept
			size.Missing += h.edition.missing
		}
	}
	return size
}

// flatSets are the addresses of a flattened name. They are frozen.
type flatSets struct {
	target  Name
	sets    [2]*RRSet // A and AAAA; nil where the target has none
	unknown bool      // neither is known, and one of them could not be resolved
}

// flatten returns the addresses that the flattened names of a zone have. Where
// before has the same addresses, its sets stay, so that TTLs that count down
// change nothing; where a target can't be resolved any longer, they stay too: a
// secondary has no way to say SERVFAIL, and the name must not vanish (DESIGN rule 4).
func (s *Snapshot) flatten(zone *Zone, before *Edition) map[Name]flatSets {
	if zone.flats == 0 {
		return nil
	}
	flat := make(map[Name]flatSets, zone.flats)
	var answer Answer
	for f := range zone.flattenedNames() {
		was := flatSets{}
		if before != nil {
			was = before.flat[f.Name]
		}
		is := flatSets{target: f.Target}
		unresolved := false
		for i, kind := range [...]Type{TypeA, TypeAAAA} {
			s.Lookup(f.Name, kind, &answer)
			switch answer.Kind {
			case Hit:
				is.sets[i] = flatSet(f, kind, &answer, was.sets[i])
			case Unresolved:
				unresolved = true
				if was.target == f.Target {
					is.sets[i] = was.sets[i]
				}
			}
		}
		is.unknown = unresolved && is.sets == [2]*RRSet{}
		flat[f.Name] = is
	}
	return flat
}

// flatSet returns the addresses in the answer for a flattened name as its own
// set, nil without any.
func flatSet(f Flattened, kind Type, answer *Answer, was *RRSet) *RRSet {
	for _, entry := range answer.Section {
		if entry.Set.Type != kind || entry.Owner != f.Name {
			continue
		}
		data := canonicalData(slices.Clone(entry.Set.Data))
		if was != nil && was.TTL <= f.TTL && slices.Equal(was.Data, data) {
			return was
		}
		return &RRSet{Name: f.Name, Type: kind, TTL: entry.Set.TTL, Data: data}
	}
	return nil
}

func sameFlat(a, b map[Name]flatSets) bool {
	for name, is := range a {
		if is.sets != b[name].sets {
			return false
		}
	}
	for name, was := range b {
		if _, stays := a[name]; !stays && was.sets != [2]*RRSet{} {
			return false
		}
	}
	return true
}

// flattenedNames is Flattened without a walk where there are none.
func (z *Zone) flattenedNames() func(func(Flattened) bool) {
	if z.flats == 0 {
		return func(func(Flattened) bool) {}
	}
	return z.Flattened()
}
