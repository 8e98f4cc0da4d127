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
	m.mu.Lock()
	m.full = false
	clear(m.names) // a complete cycle sees them all
	m.mu.Unlock()
	start := time.Now()
	next := start.Add(m.options.Interval + time.Duration((m.jitter()-0.5)*float64(m.options.Interval)/5))
	wanted, ok := m.wanted(nil)
	if ok {
		next = m.cycleZones(ctx, &wanted, next)
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

func (m *Mirror) cycleZones(ctx context.Context, wanted *Wanted, next time.Time) time.Time {
	states, err := m.discover(ctx)
	if err != nil {
		m.failed(ctx, err)
		return time.Now().Add(m.backoff(err))
	}
	shares := m.shares(states, wanted)
	var failed error
	wrote := false
	for _, z := range states {
		if ctx.Err() != nil {
			return next
		}
		if time.Now().Before(z.retryAt) {
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
				break // it is the credential's rate, and the other zones share it
			}
		}
	}
	m.cycled(failed, wrote)
	return next
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

// failed keeps an error that concerns all zones.
func (m *Mirror) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	fresh := m.status.Problem != err.Error()
	m.status.Problem = err.Error()
	m.status.Counts.SoftErrors++
	m.count(err)
	m.mu.Unlock()
	if fresh {
		m.options.Log.Error("a mirror can't list its zones", "mirror", m.options.Name, "error", err)
	}
}

func (m *Mirror) count(err error) {
	if ClassOf(err, Failed) == Throttled {
		m.status.Counts.Throttled++
	}
}

// backoff is how long to wait after an error: from the interval on, twice as long
// each time, 16 intervals at most, and as long as the cloud asks for.
func (m *Mirror) backoff(err error) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	fails := min(max(m.status.Counts.SoftErrors, 1)-1, 4)
	return max(m.options.Interval<<fails, retryAfter(err))
}

// zoneFailed keeps a zone's error and returns when it is tried again.
func (m *Mirror) zoneFailed(ctx context.Context, z *zoneState, err error) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if ctx.Err() != nil {
		return now.Add(m.options.Interval)
	}
	m.count(err)
	fresh := z.status.Problem != err.Error()
	z.status.Problem = err.Error()
	wait := max(m.options.Interval<<min(z.fails, 4), retryAfter(err))
	if class := ClassOf(err, Failed); class == Conflict || class == Unknown {
		// Nothing is wrong with the cloud: it only has to be read again.
		wait = min(wait, time.Second<<min(z.fails, 10))
	}
	z.fails++
	z.retryAt = now.Add(wait)
	if fresh {
		m.options.Log.Error("a mirror can't write a zone", "mirror", m.options.Name, "zone", z.zone.String(), "class", ClassOf(err, Failed), "error", err)
	}
	return z.retryAt
}

// discover returns the zones, those that the cloud lists no longer left out.
func (m *Mirror) discover(ctx context.Context) ([]*zoneState, error) {
	if len(m.zones) == 0 || time.Since(m.listed) >= m.options.ZonesEvery {
		list, err := m.options.Cloud.Provider.Zones(ctx)
		if err != nil {
			return nil, err
		}
		m.takeZones(list)
	}
	var states []*zoneState
	for _, id := range slices.Sorted(maps.Keys(m.zones)) {
		if !m.zones[id].missing {
			states = append(states, m.zones[id])
		}
	}
	if len(states) == 0 {
		return nil, &Error{Class: Failed, Err: errors.New("the cloud has no zone that this mirror may write to: create it there, or widen --domain-filter and the zone filters")}
	}
	return states, nil
}

func (m *Mirror) takeZones(list []Zone) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listed = time.Now()
	there := map[string]bool{}
	for _, zone := range list {
		if m.options.Zones != nil && !m.options.Zones(zone) {
			continue
		}
		z := m.zones[zone.ID]
		if z == nil {
			z = newZoneState(zone)
			m.zones[zone.ID] = z
		}
		there[zone.ID] = true
		z.zone = zone
		if z.missing {
			z.missing, z.status.Problem = false, ""
		}
	}
	for id, z := range m.zones {
		if !there[id] {
			z.missing, z.listed, z.status.Problem = true, time.Time{}, "the cloud lists the zone no longer: it is left alone until it does"
		}
	}
}

// shares parts the wishes among all zones that were ever seen: what belongs to one
// that is missing goes nowhere else.
func (m *Mirror) shares(states []*zoneState, wanted *Wanted) map[string]*share {
	var list []Zone
	for _, z := range m.zones {
		list = append(list, z.zone)
	}
	shares := newPlacement(&m.options.Cloud, m.options.Types, m.options.Covers, list).shares(wanted)
	for _, z := range states {
		if shares[z.zone.ID] == nil {
			shares[z.zone.ID] = &share{}
		}
	}
	return shares
}

// push writes what has changed at single names, from what is known of the zones,
// and returns when a complete cycle should follow.
func (m *Mirror) push(ctx context.Context) time.Time {
	m.mu.Lock()
	names := m.names
	m.names = map[zones.Name]bool{}
	m.mu.Unlock()
	next := time.Now().Add(m.options.Interval)
	wanted, ok := m.wanted(slices.Collect(maps.Keys(names)))
	if !ok {
		return next
	}
	if len(m.zones) == 0 {
		m.Wake()
	}
	var states []*zoneState
	for _, id := range slices.Sorted(maps.Keys(m.zones)) {
		states = append(states, m.zones[id])
	}
	shares := m.shares(states, &wanted)
	for _, z := range states {
		own := map[zones.Name]bool{}
		for name := range names {
			if name.In(z.zone.Name) {
				own[name] = true
			}
		}
		if len(own) == 0 || z.missing || time.Now().Before(z.retryAt) || ctx.Err() != nil {
			continue
		}
		if z.listed.IsZero() {
			// All of it is planned anew, and needs all wishes.
			m.Wake()
			continue
		}
		if _, err := m.syncZone(ctx, z, shares[z.zone.ID], &wanted, own); err != nil {
			if retry := m.zoneFailed(ctx, z, err); retry.Before(next) {
				next = retry
			}
		}
	}
	return next
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

// refresh reads names again where a create would add to what another hand has put
// there meanwhile. A cloud that can't read single names lists the zone.
func (m *Mirror) refresh(ctx context.Context, z *zoneState, names map[zones.Name]bool) error {
	limits := &m.options.Cloud.Limits
	if limits.CreateExclusive {
		return nil
	}
	var all []zones.Name
	for name := range names {
		all = append(all, name)
		all = append(all, m.options.Registry.affix.related(name, m.options.Types)...)
	}
	slices.SortFunc(all, zones.Name.Compare)
	all = slices.Compact(all)
	reader, ok := m.options.Cloud.Provider.(NameReader)
	const mostReads = 5 // of names, before a listing is the cheaper way
	if !ok || limits.ReadNames == 0 || len(all) > mostReads*limits.ReadNames {
		return m.list(ctx, z)
	}
	for part := range slices.Chunk(all, limits.ReadNames) {
		records, err := reader.RecordsAt(ctx, z.zone, part)
		if err != nil {
			return err
		}
		m.mu.Lock()
		z.takeAt(part, records)
		m.mu.Unlock()
	}
	return nil
}

// planZone plans a zone and asks the guards.
func (m *Mirror) planZone(z *zoneState, of *share, wanted *Wanted, names map[zones.Name]bool) (Plan, []Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := &m.options
	in := Input{
		Zone: z.zone, Wishes: of.wishes, Names: names, Registry: o.Registry, Limits: o.Cloud.Limits, Types: o.Types,
		Covers: o.Covers, Protected: o.Protected, Adopt: o.Adopt, ClaimDangling: o.ClaimDangling, Normalize: o.Cloud.Normalize,
	}
	if names == nil {
		in.Observed = z.all()
	} else {
		in.Observed = z.near(names, o.Registry.affix, o.Types)
	}
	plan := NewPlan(in)
	plan.Blocked = append(plan.Blocked, of.blocked...)
	now := time.Now()
	steps, held := z.guard(&plan, &judgement{guards: &m.guards, policy: o.Policy, unsure: wanted.Unsure, awaited: of.awaited, names: names, now: now})
	z.statusOf(&plan, held, len(groups(steps)), names, m.guards.MinOwned)
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
func (z *zoneState) statusOf(plan *Plan, held []Held, planned int, names map[zones.Name]bool, enough int) {
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
	s.Held, s.Blocked, s.Warning = held, plan.Blocked, ""
	updates := 0
	for i := range plan.Steps {
		if plan.Steps[i].Change.Verb == Update {
			updates++
		}
	}
	if plan.Owned >= enough && 2*updates > plan.Owned {
		s.Warning = fmt.Sprintf("%d of %d records change at once", updates, plan.Owned)
	}
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
