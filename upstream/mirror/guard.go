package mirror

import (
	"fmt"
	"slices"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// Guards are the bounds that keep a mistake elsewhere from becoming a mass
// deletion. DefaultGuards has what they should be.
type Guards struct {
	// MaxDeleteShare is the largest share of a zone's own records that one cycle may
	// delete or replace, where there are MinOwned at least; MaxDeletes is the largest
	// number. Above either, no deletion of the zone is made.
	MaxDeleteShare float64
	MinOwned       int
	MaxDeletes     int
	// DeleteAfter is how long, and DeleteCycles in how many complete cycles one
	// after the other, nothing must have asked for a record before it is deleted.
	DeleteAfter  time.Duration
	DeleteCycles int
	// ObserveCycles is how many complete cycles after the start delete nothing.
	ObserveCycles int
	// HoldAwaited is how long a record is kept while an object asks for its name and
	// has no targets.
	HoldAwaited time.Duration
	// FreshFor is how old a listing may be for deletions planned from it.
	FreshFor time.Duration
	// AllowEmpty tells the zones that may lose all their records; nil for none.
	AllowEmpty func(Zone) bool
	// Window is the time in which MaxEdits changes by another hand freeze a record,
	// and more than MaxFlaps returns to an earlier state hold it.
	Window   time.Duration
	MaxEdits int
	MaxFlaps int
	// MaxRepeats is how often the very same change may succeed before it is given up.
	MaxRepeats int
}

// DefaultGuards returns the bounds of a program that nobody has told otherwise.
func DefaultGuards() Guards {
	return Guards{
		MaxDeleteShare: 0.3, MinOwned: 10, MaxDeletes: 100,
		DeleteAfter: 5 * time.Minute, DeleteCycles: 2, ObserveCycles: 2,
		HoldAwaited: 24 * time.Hour, FreshFor: time.Minute,
		Window: 30 * time.Minute, MaxEdits: 3, MaxFlaps: 6, MaxRepeats: 3,
	}
}

// A GuardName is what holds a step back: a fixed word, for metrics.
type GuardName string

// What holds steps back.
const (
	GuardPolicy     GuardName = "policy"
	GuardUnsure     GuardName = "wishes-incomplete"
	GuardDoubt      GuardName = "unacknowledged"
	GuardObserve    GuardName = "observing"
	GuardEmpty      GuardName = "empty"
	GuardShare      GuardName = "too-many"
	GuardAwaited    GuardName = "awaited"
	GuardRefused    GuardName = "refused-wish"
	GuardDelay      GuardName = "delay"
	GuardStale      GuardName = "listing-old"
	GuardQuarantine GuardName = "quarantine"
	GuardEdited     GuardName = "edited-by-others"
	GuardFlap       GuardName = "flapping"
	GuardRepeat     GuardName = "not-converging"
)

// GuardNames returns all of them.
func GuardNames() []GuardName {
	return []GuardName{
		GuardPolicy, GuardUnsure, GuardDoubt, GuardObserve, GuardEmpty, GuardShare, GuardAwaited, GuardRefused, GuardDelay, GuardStale,
		GuardQuarantine, GuardEdited, GuardFlap, GuardRepeat,
	}
}

// Held is a step that was planned and not made, and why.
type Held struct {
	Name   zones.Name `json:"name"`
	Change string     `json:"change"` // in words
	Delete bool       `json:"delete"`
	Guard  GuardName  `json:"guard"`
	Why    string     `json:"why"`
	// Until is when it may be made if nothing changes; zero where nobody knows.
	Until time.Time `json:"until,omitzero"`
}

// A judgement holds what the guards judge by, beside a zone's own memory.
type judgement struct {
	guards  *Guards
	policy  Policy
	unsure  string
	doubt   string // why the mirror may take others' records for its own; "" for no doubt
	awaited map[zones.Name]bool
	refused map[zones.Name]string // names whose wish can't be a record of the cloud, and why
	names   map[zones.Name]bool   // nil for a complete cycle
	now     time.Time
}

// guard parts the steps of a plan into those that may be made and those that are
// held. It keeps in z how long each deletion has been waiting.
func (z *zoneState) guard(plan *Plan, j *judgement) (steps []Step, held []Held) {
	z.remember(plan, j)
	stop := func(step *Step, guard GuardName, why string, until time.Time) {
		held = append(held, Held{Name: step.Name, Change: step.Change.String(), Delete: step.Deletes(), Guard: guard, Why: why, Until: until})
	}
	holds := z.holdNames(plan, j)
	var deletes []Step
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if !j.policy.allows(step) {
			stop(step, GuardPolicy, "--policy="+string(j.policy)+" leaves it out", time.Time{})
			continue
		}
		if h, ok := holds[step.Name]; ok {
			stop(step, h.guard, h.why, h.until)
			continue
		}
		if step.Deletes() {
			deletes = append(deletes, *step)
			continue
		}
		steps = append(steps, *step)
	}
	guard, why := z.holdsDeletes(plan, deletes, j)
	for i := range deletes {
		step := &deletes[i]
		one, oneWhy, until := guard, why, time.Time{}
		if one == "" {
			one, oneWhy, until = z.holdsDelete(step, j)
		}
		if one != "" {
			stop(step, one, oneWhy, until)
			continue
		}
		steps = append(steps, *step)
	}
	return steps, held
}

// remember notes which deletions are planned since when.
func (z *zoneState) remember(plan *Plan, j *judgement) {
	planned := map[recordKey]bool{}
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if !step.Deletes() {
			continue
		}
		key := step.key()
		planned[key] = true
		t := z.tombs[key]
		if t == nil {
			t = &tomb{since: j.now, name: step.Name}
			z.tombs[key] = t
		}
		switch {
		case j.unsure != "":
			t.since, t.cycles = j.now, 0 // nobody knows whether anything asks for it
		case j.names == nil:
			t.cycles++
		}
	}
	for key, t := range z.tombs {
		if !planned[key] && (j.names == nil || j.names[t.name]) {
			delete(z.tombs, key)
		}
	}
	for name := range z.awaited {
		if !j.awaited[name] && (j.names == nil || j.names[name]) {
			delete(z.awaited, name)
		}
	}
	for name := range j.awaited {
		if _, known := z.awaited[name]; !known {
			z.awaited[name] = j.now
		}
	}
}

// A hold is why a step isn't made.
type hold struct {
	guard GuardName
	why   string
	until time.Time
}

// holdNames says for which names any guard holds all changes: where one record of
// a name is held, what belongs together must not be made in part.
func (z *zoneState) holdNames(plan *Plan, j *judgement) map[zones.Name]hold {
	holds := map[zones.Name]hold{}
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if _, held := holds[step.Name]; held {
			continue
		}
		if h, held := z.holdName(step, j); held {
			holds[step.Name] = h
		}
	}
	return holds
}

func (z *zoneState) holdName(step *Step, j *judgement) (hold, bool) {
	g := j.guards
	if q := z.quarantine[step.Name]; q != nil && j.now.Before(q.until) {
		return hold{GuardQuarantine, "the cloud refused it: " + q.err.Error(), q.until}, true
	}
	h := z.history[step.key()]
	if h == nil {
		return hold{}, false
	}
	if h.text == step.Change.String() && h.repeats >= g.MaxRepeats {
		return hold{GuardRepeat, fmt.Sprintf("the same change has succeeded %d times and the zone still differs: the cloud keeps something else than it was given, or another hand sets it back", h.repeats), time.Time{}}, true
	}
	if edits := within(h.edits, j.now, g.Window); len(edits) >= g.MaxEdits {
		return hold{GuardEdited, fmt.Sprintf("another hand has changed the record %d times within %v: find who else writes as this owner", len(edits), g.Window), edits[0].Add(g.Window)}, true
	}
	if toggles := within(h.toggles, j.now, g.Window); len(toggles) > g.MaxFlaps {
		return hold{GuardFlap, fmt.Sprintf("the record has gone back to an earlier state %d times within %v", len(toggles), g.Window), toggles[0].Add(g.Window)}, true
	}
	return hold{}, false
}

// within returns the times of a window that ends now.
func within(list []time.Time, now time.Time, window time.Duration) []time.Time {
	i := slices.IndexFunc(list, func(t time.Time) bool { return now.Sub(t) < window })
	if i < 0 {
		return nil
	}
	return list[i:]
}

// holdsDeletes says whether any guard holds all deletions of the zone.
func (z *zoneState) holdsDeletes(plan *Plan, deletes []Step, j *judgement) (GuardName, string) {
	g := j.guards
	count := 0
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if step.Deletes() && !step.Dangling && !z.keepsAwaited(step, j) && j.refused[step.Name] == "" || step.Change.Verb == Replace {
			count++
		}
	}
	switch share := float64(count) / float64(max(plan.Owned, 1)); {
	case len(deletes) == 0:
		return "", ""
	case j.unsure != "":
		return GuardUnsure, j.unsure
	case j.doubt != "":
		return GuardDoubt, j.doubt
	case j.names != nil:
		return GuardDelay, "only a complete cycle deletes"
	case z.cycles < g.ObserveCycles:
		return GuardObserve, fmt.Sprintf("the first %d cycles after a start delete nothing", g.ObserveCycles)
	case plan.Wanted == 0 && plan.Owned > 0 && (g.AllowEmpty == nil || !g.AllowEmpty(plan.Zone)):
		return GuardEmpty, fmt.Sprintf("nothing at all is asked for in the zone, which has %d records of ours: allow the zone to become empty if that is meant", plan.Owned)
	case plan.Owned >= g.MinOwned && share > g.MaxDeleteShare:
		return GuardShare, fmt.Sprintf("%d of %d records would be deleted or replaced, more than %.0f %%", count, plan.Owned, 100*g.MaxDeleteShare)
	case count > g.MaxDeletes:
		return GuardShare, fmt.Sprintf("%d records would be deleted or replaced, more than %d", count, g.MaxDeletes)
	}
	return "", ""
}

func (z *zoneState) keepsAwaited(step *Step, j *judgement) bool {
	since, ok := z.awaited[step.Name]
	return ok && j.awaited[step.Name] && j.now.Sub(since) < j.guards.HoldAwaited
}

// holdsDelete says whether a guard holds one deletion.
func (z *zoneState) holdsDelete(step *Step, j *judgement) (GuardName, string, time.Time) {
	t := z.tombs[step.key()]
	switch {
	case z.keepsAwaited(step, j):
		return GuardAwaited, "an object still asks for the name and has no targets now", z.awaited[step.Name].Add(j.guards.HoldAwaited)
	case j.refused[step.Name] != "":
		// A mistake in what is asked for must not take away what is there.
		return GuardRefused, "an object asks for the name, but for what can't be there: " + j.refused[step.Name], time.Time{}
	case t.cycles < j.guards.DeleteCycles || j.now.Sub(t.since) < j.guards.DeleteAfter:
		return GuardDelay, fmt.Sprintf("nothing must ask for it in %d cycles and for %v", j.guards.DeleteCycles, j.guards.DeleteAfter), t.since.Add(j.guards.DeleteAfter)
	}
	return "", "", time.Time{}
}
