package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// cycle lists, plans and writes all zones once, and returns when the next complete
// cycle is due.
func (m *Mirror) cycle(ctx context.Context) time.Time {
	m.askMu.Lock()
	all, names := m.full, m.names
	m.full, m.names = false, map[zones.Name]bool{} // a complete cycle sees them all
	m.askMu.Unlock()
	start := time.Now()
	next := start.Add(m.options.Interval + time.Duration((m.jitter()-0.5)*float64(m.options.Interval)/5))
	wanted, ok := m.wanted(nil)
	if ok {
		m.doubts(m.recall(ctx, true))
		var left bool
		if next, left = m.cycleZones(ctx, &wanted, next, all); left {
			m.Notify(slices.Collect(maps.Keys(names)))
		}
	}
	m.mu.Lock()
	m.status.NextCycle = next
	m.mu.Unlock()
	return next
}

// wanted reads the wishes; ok is false where nothing may be written yet.
func (m *Mirror) wanted(names []zones.Name) (wanted Wanted, ok bool) {
	why := ""
	if gate := m.options.Gate; gate != nil {
		if leads, who := gate.Leads(); !leads {
			why = "another process writes: " + who
			m.mu.Lock()
			for _, z := range m.zones {
				// What the other one writes isn't known here.
				z.listed, z.retryAt, z.fails = time.Time{}, time.Time{}, 0
			}
			m.mu.Unlock()
		}
	}
	if why == "" {
		wanted = m.options.Wishes.Read(names)
		if wanted.Unready != "" {
			why = "the sources are not read yet: " + wanted.Unready
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if why != m.status.Waiting {
		m.status.Waiting = why
	}
	return wanted, why == ""
}

// cycleZones goes through the zones that are due, or through all. left says that some
// weren't looked at.
func (m *Mirror) cycleZones(ctx context.Context, wanted *Wanted, next time.Time, all bool) (_ time.Time, left bool) {
	states, err := m.discover(ctx)
	if err != nil {
		m.failed(ctx, err)
		return time.Now().Add(m.backoff(err)), true
	}
	shares := m.shares(states, wanted)
	var failed error
	wrote := false
	for _, z := range states {
		if ctx.Err() != nil {
			return next, true
		}
		// Where one zone is tried again soon, the others wait for their own time.
		if !all && z.fails == 0 && time.Since(z.listed) < m.options.Interval/2 {
			left = true
			continue
		}
		if time.Now().Before(z.retryAt) {
			left = true
			failed = cmp.Or(failed, errors.New(z.status.Problem))
			if z.retryAt.Before(next) {
				next = z.retryAt
			}
			continue
		}
		did, err := m.syncZone(ctx, z, shares[z.zone.ID], wanted, nil)
		wrote = wrote || did
		if err != nil {
			failed = err
			if retry := m.zoneFailed(ctx, z, err); retry.Before(next) {
				next = retry
			}
			if ClassOf(err, Failed) == Throttled {
				left = true
				break // it is the credential's rate, and the other zones share it
			}
		}
	}
	m.cycled(failed, wrote)
	return next, left
}

// cycled keeps how a complete cycle ended.
func (m *Mirror) cycled(failed error, wrote bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.status.LastCycle = now
	m.status.Counts.Cycles++
	if failed != nil {
		m.status.Counts.SoftErrors++
		return
	}
	m.status.Counts.SoftErrors, m.status.Problem = 0, ""
	m.status.LastSuccess = now
	if !wrote {
		m.status.Counts.NoChanges++
	}
}

// syncZone plans and writes one zone, or some names of it. wrote says that a batch
// was sent.
func (m *Mirror) syncZone(ctx context.Context, z *zoneState, of *share, wanted *Wanted, names map[zones.Name]bool) (wrote bool, err error) {
	if names == nil {
		if err := m.list(ctx, z); err != nil {
			return false, err
		}
	} else if err := m.refresh(ctx, z, names); err != nil {
		return false, err
	}
	plan, steps := m.planZone(z, of, wanted, names)
	m.report(z, &plan, names == nil)
	if len(steps) == 0 {
		m.settled(z, nil, names == nil)
		return false, nil
	}
	err = m.write(ctx, z, groups(steps))
	m.settled(z, err, names == nil)
	return true, err
}

// list reads a zone whole.
func (m *Mirror) list(ctx context.Context, z *zoneState) error {
	records, err := m.options.Cloud.Provider.Records(ctx, z.zone)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Counts.Listings++
	if err != nil {
		m.status.Counts.Incomplete++
		z.listed = time.Time{}
		return err
	}
	z.take(records, time.Now())
	return nil
}

// planZone plans a zone and asks the guards. The plan of a large zone takes a while,
// in which Status and Explain go on.
func (m *Mirror) planZone(z *zoneState, of *share, wanted *Wanted, names map[zones.Name]bool) (Plan, []Step) {
	o := &m.options
	in := Input{
		Zone: z.zone, Wishes: of.wishes, Names: names, Registry: o.Registry, Limits: o.Cloud.Limits, Types: o.Types,
		Covers: o.Covers, Protected: o.Protected, Adopt: o.Adopt, ClaimDangling: o.ClaimDangling, MigrateFrom: o.MigrateFrom, Normalize: o.Cloud.Normalize,
	}
	if names == nil {
		in.Observed = z.all()
	} else {
		in.Observed = z.near(names, o.Registry.affix, o.Types)
	}
	plan := NewPlan(in)
	plan.Blocked = append(plan.Blocked, of.blocked...)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	steps, held := z.guard(&plan, &judgement{guards: &m.guards, policy: o.Policy, unsure: wanted.Unsure, doubt: m.status.Doubt, awaited: of.awaited, refused: of.refused(), names: names, now: now})
	z.statusOf(&plan, held, len(groups(steps)), names)
	if names == nil {
		z.status.Warning = z.warning(&plan, m.guards.MinOwned, o.Cloud.Limits.MaxRecords)
	}
	if names == nil {
		planned := map[recordKey]bool{}
		for i := range plan.Steps {
			planned[plan.Steps[i].key()] = true
		}
		z.forget(now, m.guards.Window, planned)
	}
	return plan, steps
}

// statusOf brings a plan into the zone's status: a complete one replaces it, one of
// single names what it said of these.
func (z *zoneState) statusOf(plan *Plan, held []Held, planned int, names map[zones.Name]bool) {
	s := &z.status
	s.Records = 0
	for _, records := range z.observed {
		s.Records += len(records)
	}
	s.Planned, s.Done = planned, 0
	if names != nil {
		s.Held = append(slices.DeleteFunc(slices.Clone(s.Held), func(h Held) bool { return names[h.Name] }), held...)
		s.Blocked = append(slices.DeleteFunc(slices.Clone(s.Blocked), func(b Blocked) bool { return names[b.Name] }), plan.Blocked...)
		return
	}
	s.Owned, s.Foreign, s.Wanted, s.Dangling = plan.Owned, plan.Foreign, plan.Wanted, plan.Dangling
	s.OwnedTypes, s.Verified = plan.OwnedTypes, plan.Verified
	s.Held, s.Blocked = held, plan.Blocked
}

// warning says what an operator should look at though nothing is held: many updates
// at once, or a zone that is nearly full.
func (z *zoneState) warning(plan *Plan, enough, most int) string {
	updates, used := 0, 0
	for i := range plan.Steps {
		if plan.Steps[i].Change.Verb == Update {
			updates++
		}
	}
	for _, records := range z.observed {
		for i := range records {
			used += len(records[i].Targets)
		}
	}
	switch {
	case most > 0 && 10*used >= 9*most:
		return fmt.Sprintf("the zone holds %d of the %d records that it may hold", used, most)
	case plan.Owned >= enough && 2*updates > plan.Owned:
		return fmt.Sprintf("%d of %d records change at once", updates, plan.Owned)
	}
	return ""
}

// settled keeps how the writing of a zone ended.
func (m *Mirror) settled(z *zoneState, err error, complete bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		z.fails, z.retryAt, z.status.Problem = 0, time.Time{}, ""
		if complete {
			z.cycles++
		}
	}
}

// report tells of wishes that are blocked, each once until it is blocked no longer
// for the same reason.
func (m *Mirror) report(z *zoneState, plan *Plan, complete bool) {
	told := map[string]bool{}
	for _, b := range plan.Blocked {
		key := b.Name.String() + " " + b.Type.String() + " " + b.SetIdentifier + " " + b.Message
		told[key] = true
		if z.told[key] {
			continue
		}
		m.options.Log.Warn("a mirror can't write a record", "mirror", m.options.Name, "zone", z.zone.String(), "name", b.Name.String(), "type", b.Type.String(), "object", b.Resource, "why", b.Message)
		if m.options.OnBlocked != nil {
			m.options.OnBlocked(z.zone, b)
		}
	}
	if !complete {
		maps.Copy(told, z.told)
	}
	z.told = told
}
