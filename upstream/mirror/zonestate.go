package mirror

import (
	"slices"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A zoneState is what the mirror remembers of one zone. The mirror's goroutine
// alone changes it, under the mirror's lock.
type zoneState struct {
	zone Zone
	// missing says that the cloud no longer lists the zone. It is not forgotten:
	// what belongs to it must not go to a zone above it.
	missing bool
	// observed is the last listing with what was written since; listed is when it
	// was read whole, the zero time where it must be read before anything is written.
	observed map[zones.Name][]Record
	listed   time.Time
	cycles   int // complete cycles since the start

	tombs      map[recordKey]*tomb
	awaited    map[zones.Name]time.Time
	quarantine map[zones.Name]*quarantine
	history    map[recordKey]*history
	conflicts  map[zones.Name]bool // names whose last change found the zone other than listed

	told    map[string]bool // blocked wishes that were told of; the mirror's goroutine's own
	fails   int
	retryAt time.Time
	status  ZoneStatus
}

// A tomb is a deletion that waits: since when, and for how many complete cycles.
type tomb struct {
	since  time.Time
	cycles int
	name   zones.Name
}

// A quarantine is a name whose changes the cloud refused.
type quarantine struct {
	until time.Time
	fails int
	err   error
}

// A history is what happened to a record that this process has written.
type history struct {
	states  []state     // that we left it in, the newest last
	toggles []time.Time // when we put it back into an earlier state
	edits   []time.Time // by another hand
	text    string      // the last change
	repeats int         // how often it succeeded in a row
	content *Record     // as we left it; nil where we deleted it
}

// A state is what a record was at some time: its content in words, "" for none.
type state struct {
	at   time.Time
	text string
}

func newZoneState(zone Zone) *zoneState {
	return &zoneState{
		zone: zone, observed: map[zones.Name][]Record{}, tombs: map[recordKey]*tomb{}, awaited: map[zones.Name]time.Time{},
		quarantine: map[zones.Name]*quarantine{}, history: map[recordKey]*history{}, conflicts: map[zones.Name]bool{},
	}
}

// take replaces all that was observed by a listing.
func (z *zoneState) take(records []Record, now time.Time) {
	z.observed = make(map[zones.Name][]Record, len(records))
	for _, r := range records {
		z.observed[r.Name] = append(z.observed[r.Name], r)
	}
	z.listed = now
	z.noteEdits(now)
}

// takeAt replaces what was observed at some names.
func (z *zoneState) takeAt(names []zones.Name, records []Record) {
	for _, name := range names {
		delete(z.observed, name)
	}
	for _, r := range records {
		z.observed[r.Name] = append(z.observed[r.Name], r)
	}
}

// noteEdits finds the records that another hand has changed since this process
// wrote them.
func (z *zoneState) noteEdits(now time.Time) {
	for key, h := range z.history {
		have := z.at(key)
		switch {
		case h.content == nil && have == nil:
		case h.content != nil && have != nil && len(Differences(have, h.content)) == 0:
		default:
			h.edits = append(h.edits, now)
			// Counted once, until it is written or changed again.
			h.content = have
		}
	}
}

func (z *zoneState) at(key recordKey) *Record {
	records := z.observed[key.name]
	for i := range records {
		if records[i].key() == key {
			return &records[i]
		}
	}
	return nil
}

// put writes a record into what is observed; drop takes one out.
func (z *zoneState) put(r Record) {
	z.drop(r.key())
	r.Resource = ""
	z.observed[r.Name] = append(z.observed[r.Name], r)
}

func (z *zoneState) drop(key recordKey) {
	var rest []Record
	for _, r := range z.observed[key.name] {
		if r.key() != key {
			rest = append(rest, r)
		}
	}
	if len(rest) == 0 {
		delete(z.observed, key.name)
		return
	}
	z.observed[key.name] = rest
}

// all returns everything that was observed; near what was at the names and at
// all that are related to them.
func (z *zoneState) all() []Record {
	var list []Record
	for _, records := range z.observed {
		list = append(list, records...)
	}
	return list
}

func (z *zoneState) near(names map[zones.Name]bool, affix affix, kinds []zones.Type) []Record {
	var list []Record
	seen := map[zones.Name]bool{}
	add := func(name zones.Name) {
		if !seen[name] {
			seen[name] = true
			list = append(list, z.observed[name]...)
		}
	}
	for name := range names {
		add(name)
		for _, related := range affix.related(name, kinds) {
			add(related)
		}
	}
	return list
}

// applied brings a group that the cloud took into what is known.
func (z *zoneState) applied(group *Group, result *Result, now time.Time) {
	made := 0
	delete(z.quarantine, group.Name)
	delete(z.conflicts, group.Name)
	for i := range group.Changes {
		change := &group.Changes[i]
		if change.Old != nil {
			z.drop(change.Old.key())
		}
		if change.New != nil {
			next := *change.New
			if result.Now != nil {
				next = result.Now[made]
			}
			made++
			z.put(next)
		}
		if !change.Ownership {
			z.note(change, now)
		}
	}
}

// note keeps the change in the history of its records.
func (z *zoneState) note(change *Change, now time.Time) {
	key := change.Record().key()
	if change.Old != nil && change.New != nil && change.Old.key() != key {
		delete(z.history, change.Old.key())
	}
	h := z.history[key]
	if h == nil {
		h = &history{}
		z.history[key] = h
	}
	next := state{at: now}
	if change.New != nil {
		next.text = change.New.content()
	}
	if slices.ContainsFunc(h.states, func(s state) bool { return s.text == next.text }) {
		h.toggles = append(h.toggles, now)
	}
	h.states = append(h.states, next)
	if text := change.String(); text == h.text {
		h.repeats++
	} else {
		h.text, h.repeats = text, 1
	}
	h.content = change.New
}

// forget drops what is older than any guard looks back, so that memory stays in
// proportion to what changes.
func (z *zoneState) forget(now time.Time, window time.Duration, planned map[recordKey]bool) {
	for key, h := range z.history {
		h.toggles, h.edits = within(h.toggles, now, window), within(h.edits, now, window)
		h.states = slices.DeleteFunc(h.states, func(s state) bool { return now.Sub(s.at) >= window })
		if !planned[key] {
			h.text, h.repeats = "", 0
		}
		if len(h.states)+len(h.toggles)+len(h.edits) == 0 && h.repeats == 0 {
			delete(z.history, key)
		}
	}
	for name, q := range z.quarantine {
		if now.Sub(q.until) > maxQuarantine {
			delete(z.quarantine, name)
		}
	}
}

const (
	firstQuarantine = time.Minute
	maxQuarantine   = time.Hour
)

// refused puts a name into quarantine, each time for twice as long.
func (z *zoneState) refused(name zones.Name, err error, now time.Time) {
	q := z.quarantine[name]
	if q == nil {
		q = &quarantine{}
		z.quarantine[name] = q
	}
	q.until = now.Add(min(firstQuarantine<<min(q.fails, 10), maxQuarantine))
	q.fails++
	q.err = err
}
