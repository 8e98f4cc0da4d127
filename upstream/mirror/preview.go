package mirror

import (
	"context"

	"github.com/clusterzone/clusterzone/zones"
)

// A ZonePlan is what a mirror would do to one zone now, in words.
type ZonePlan struct {
	Zone zones.Name `json:"zone"`
	ID   string     `json:"id"`
	Kind string     `json:"kind,omitempty"`
	// Problem is why the zone can't be planned, or read; the rest is empty then.
	Problem string          `json:"problem,omitempty"`
	Changes []PlannedChange `json:"changes"`
	Held    []Held          `json:"held,omitempty"`
	Blocked []Blocked       `json:"blocked,omitempty"`
	Owned   int             `json:"owned"`
	Foreign int             `json:"foreign"`
	Wanted  int             `json:"wanted"`
}

// A PlannedChange is one change in words.
type PlannedChange struct {
	Verb Verb       `json:"verb"`
	Name zones.Name `json:"name"`
	Type zones.Type `json:"type"`
	// Ownership says that the change concerns who owns a record, and no answer.
	Ownership bool   `json:"ownership,omitempty"`
	Change    string `json:"change"`
	Why       string `json:"why,omitempty"`
}

// Preview lists the zones and plans them without writing anything: what would be
// done in time, once every deletion has waited as long as it must. It is called in
// place of Run.
func (m *Mirror) Preview(ctx context.Context) ([]ZonePlan, error) {
	wanted := m.options.Wishes.Read(nil)
	states, err := m.discover(ctx)
	if err != nil {
		return nil, err
	}
	m.guards.ObserveCycles, m.guards.DeleteCycles, m.guards.DeleteAfter = 0, 0, 0
	if wanted.Unready != "" {
		wanted.Unsure = wanted.Unready
	}
	m.doubts(m.recall(ctx, false))
	shares := m.shares(states, &wanted)
	plans := make([]ZonePlan, 0, len(states))
	for _, z := range states {
		result := ZonePlan{Zone: z.zone.Name, ID: z.zone.ID, Kind: z.zone.Kind, Changes: []PlannedChange{}}
		if err := m.list(ctx, z); err != nil {
			result.Problem = err.Error()
			plans = append(plans, result)
			continue
		}
		plan, steps := m.planZone(z, shares[z.zone.ID], &wanted, nil)
		result.Held, result.Blocked = z.status.Held, plan.Blocked
		result.Owned, result.Foreign, result.Wanted = plan.Owned, plan.Foreign, plan.Wanted
		for _, group := range groups(steps) {
			for i := range group.Changes {
				c := &group.Changes[i]
				r := c.Record()
				result.Changes = append(result.Changes, PlannedChange{Verb: c.Verb, Name: r.Name, Type: r.Type, Ownership: c.Ownership, Change: c.String(), Why: c.Why})
			}
		}
		plans = append(plans, result)
	}
	return plans, nil
}

// Once makes one complete cycle and returns the error that ended it, or a zone's:
// for a command that runs once. It is called in place of Run.
func (m *Mirror) Once(ctx context.Context) error {
	m.cycle(ctx)
	status := m.Status()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case status.Waiting != "":
		return &Error{Class: Failed, Err: errText("nothing was mirrored: " + status.Waiting)}
	case status.Problem != "":
		return &Error{Class: Failed, Err: errText(status.Problem)}
	}
	for i := range status.Zones {
		if z := &status.Zones[i]; z.Problem != "" {
			return &Error{Class: Failed, Err: errText(z.Zone.String() + ": " + z.Problem)}
		}
	}
	return nil
}

type errText string

// Error returns the text.
func (e errText) Error() string { return string(e) }
