package mirror

import (
	"maps"
	"slices"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A Status says how a mirror is, for the API, metrics and readiness. It is
// frozen, holds no credentials, and counts everything since the start.
type Status struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Policy   Policy `json:"policy"`
	Owner    string `json:"owner,omitempty"`
	DryRun   bool   `json:"dryRun,omitempty"`
	// Waiting says why nothing is written at the moment, "" where nothing stands in
	// the way: sources that were not read yet, a lease that another process has, a
	// cloud that asked to wait.
	Waiting string `json:"waiting,omitempty"`
	// Problem is the last error that concerned all zones; "" after a good cycle.
	Problem string `json:"problem,omitempty"`
	// Doubt is why nothing is deleted until an operator has acknowledged it: what
	// decides which records are the mirror's has changed.
	Doubt string `json:"doubt,omitempty"`
	// LastCycle is when the last complete cycle ended, LastSuccess when one ended
	// that had no error in any zone; NextCycle is when the next begins.
	LastCycle   time.Time    `json:"lastCycle,omitzero"`
	LastSuccess time.Time    `json:"lastSuccess,omitzero"`
	NextCycle   time.Time    `json:"nextCycle,omitzero"`
	Zones       []ZoneStatus `json:"zones"`
	Counts      Counts       `json:"counts"`
}

// Counts are what a mirror has done since the start.
type Counts struct {
	Cycles     uint64 `json:"cycles"`     // complete ones
	NoChanges  uint64 `json:"noChanges"`  // of them, those that had nothing to write
	SoftErrors uint64 `json:"softErrors"` // cycles with an error one after the other, now
	Batches    uint64 `json:"batches"`    // sent
	Listings   uint64 `json:"listings"`
	// Incomplete counts listings that failed, Throttled calls that the cloud put off,
	// Failed groups that it refused.
	Incomplete uint64          `json:"incomplete"`
	Throttled  uint64          `json:"throttled"`
	Failed     uint64          `json:"failed"`
	Applied    map[Verb]uint64 `json:"applied"` // changes, ownership records among them
}

// A ZoneStatus says how one zone of a mirror is.
type ZoneStatus struct {
	Zone zones.Name `json:"zone"`
	ID   string     `json:"id"`
	Kind string     `json:"kind,omitempty"`
	// Problem is why the last cycle left the zone, or a part of it, undone.
	Problem string    `json:"problem,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"`
	Listed  time.Time `json:"listed,omitzero"` // when it was last read whole
	// Records are all in the zone, Owned this mirror's, Foreign others' of types that
	// are managed, Wanted the wishes, Dangling our ownership records without record.
	Records  int `json:"records"`
	Owned    int `json:"owned"`
	Foreign  int `json:"foreign"`
	Wanted   int `json:"wanted"`
	Dangling int `json:"dangling"`
	// OwnedTypes counts the owned records by type, Verified those of them that are as
	// wished.
	OwnedTypes map[zones.Type]int `json:"ownedTypes,omitempty"`
	Verified   map[zones.Type]int `json:"verified,omitempty"`
	// Planned are the groups of the last cycle, Done those applied so far: the
	// progress of a first sync.
	Planned int `json:"planned"`
	Done    int `json:"done"`
	// Warning is what an operator should look at though nothing is held.
	Warning     string    `json:"warning,omitempty"`
	Held        []Held    `json:"held,omitempty"`
	Blocked     []Blocked `json:"blocked,omitempty"`
	Quarantined int       `json:"quarantined"`
}

// HeldBy counts what the zone's guards hold, by guard.
func (z ZoneStatus) HeldBy() map[GuardName]int {
	counts := map[GuardName]int{}
	for i := range z.Held {
		counts[z.Held[i].Guard]++
	}
	return counts
}

// Status returns how the mirror is now. It never waits for the cloud.
func (m *Mirror) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	status := m.status
	status.Counts.Applied = maps.Clone(status.Counts.Applied)
	for _, id := range slices.Sorted(maps.Keys(m.zones)) {
		z := m.zones[id]
		zone := z.status
		zone.Zone, zone.ID, zone.Kind = z.zone.Name, z.zone.ID, z.zone.Kind
		zone.Listed, zone.RetryAt, zone.Quarantined = z.listed, z.retryAt, len(z.quarantine)
		status.Zones = append(status.Zones, zone)
	}
	return status
}

// A NameState says how a name is in one zone of a mirror, for explain.
type NameState struct {
	Mirror string     `json:"mirror"`
	Zone   zones.Name `json:"zone"`
	ID     string     `json:"id"`
	// State is "in sync", "blocked", "held", "failing", "pending" or "absent" (nothing
	// of ours is there, and nothing was planned).
	State string `json:"state"`
	// Detail says why in one sentence, where there is something to say.
	Detail string `json:"detail,omitempty"`
	// Records are those of managed types at the name, in words.
	Records []string `json:"records,omitempty"`
}

// Explain returns how a name is in each zone that it lies in, as the last cycle
// left it. It never waits for the cloud.
func (m *Mirror) Explain(name zones.Name) []NameState {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []NameState
	for _, id := range slices.Sorted(maps.Keys(m.zones)) {
		if z := m.zones[id]; name.In(z.zone.Name) {
			list = append(list, m.explain(z, name))
		}
	}
	return list
}

func (m *Mirror) explain(z *zoneState, name zones.Name) NameState {
	x := NameState{Mirror: m.options.Name, Zone: z.zone.Name, ID: z.zone.ID, State: "absent"}
	for _, r := range z.observed[name] {
		if slices.Contains(m.options.Types, r.Type) {
			x.State = "in sync"
			x.Records = append(x.Records, r.Type.String()+" "+r.content())
		}
	}
	for _, h := range z.status.Held {
		if h.Name == name && h.Guard != GuardPolicy {
			x.State, x.Detail = "held", h.Change+": "+h.Why
		}
	}
	if q := z.quarantine[name]; q != nil && x.Detail == "" {
		x.State, x.Detail = "held", "the cloud refused it: "+q.err.Error()
	}
	for _, b := range z.status.Blocked {
		if b.Name == name {
			x.State, x.Detail = "blocked", b.Message
		}
	}
	switch {
	case z.status.Problem != "" && x.Detail == "":
		x.State, x.Detail = "failing", z.status.Problem
	case z.listed.IsZero() || m.status.Waiting != "":
		x.State, x.Detail = "pending", m.status.Waiting
	}
	return x
}
