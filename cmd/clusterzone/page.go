package main

import (
	"cmp"
	"slices"

	"github.com/clusterzone/clusterzone/adminpage"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// pageData shows a pipeline on the admin page.
type pageData struct{ *pipeline }

// Overview implements adminpage.Data.
func (p pageData) Overview() adminpage.Overview {
	snap, status := p.store.Load(), p.feed.Status()
	o := adminpage.Overview{Ready: snap.Ready, Waiting: snap.Waiting, Committed: snap.Committed, LastEvent: status.LastEvent, Saved: status.Saved, Changes: p.recent.List()}
	broken := map[zones.Name]string{}
	for _, problem := range p.files.Problems() {
		broken[problem.Origin] = problem.Err.Error()
	}
	for _, origin := range snap.Origins() {
		zone := snap.Zone(origin)
		o.Zones = append(o.Zones, adminpage.Zone{Name: origin, Serial: zone.Serial(), Names: zone.Names(), Records: zone.Records(), Problem: broken[origin]})
	}
	for _, source := range status.Sources {
		one := adminpage.Source{Name: source.Source, Synced: source.Synced, Objects: source.Objects}
		for _, kind := range source.Kinds {
			shown := adminpage.Kind{Name: string(kind.Kind), Synced: kind.Synced, Absent: kind.Absent, Objects: kind.Objects, Since: kind.Since, LastEvent: kind.LastEvent}
			if kind.Problem != nil {
				shown.Problem = kind.Problem.Error()
			}
			one.Kinds = append(one.Kinds, shown)
		}
		o.Sources = append(o.Sources, one)
	}
	o.Mirrors = p.mirrors.shown()
	p.feed.View(func(table *zones.Table, _ objectOf) {
		o.Skipped = table.AllSkipped(func(*zones.Skipped) bool { return true })
	})
	slices.SortFunc(o.Skipped, func(a, b zones.Skipped) int {
		return cmp.Or(cmp.Compare(a.Owner.Namespace, b.Owner.Namespace), cmp.Compare(a.Owner.String(), b.Owner.String()), a.Name.Compare(b.Name), cmp.Compare(a.Message, b.Message))
	})
	o.Skipped = slices.CompactFunc(o.Skipped, func(a, b zones.Skipped) bool { return a == b })
	return o
}

// shown returns how each mirror is, for the page. A nil set has none.
func (s *mirrorSet) shown() (list []adminpage.Mirror) {
	for i, status := range s.statuses() {
		m := adminpage.Mirror{
			Name: status.Name, Provider: status.Provider, Policy: string(status.Policy), Owner: status.Owner, DryRun: status.DryRun,
			Waiting: status.Waiting, Problem: status.Problem, Doubt: status.Doubt, LastCycle: status.LastCycle, LastSuccess: status.LastSuccess, Leads: true,
		}
		if lease := s.of[i]; lease != nil {
			m.Leads, m.Writer = lease.Leads()
		}
		for _, zone := range status.Zones {
			m.Zones = append(m.Zones, shownZone(&zone))
		}
		list = append(list, m)
	}
	return list
}

func shownZone(zone *mirror.ZoneStatus) adminpage.MirrorZone {
	z := adminpage.MirrorZone{
		Name: zone.Zone, ID: zone.ID, Problem: zone.Problem, Warning: zone.Warning,
		Owned: zone.Owned, Foreign: zone.Foreign, Wanted: zone.Wanted, Planned: zone.Planned, Done: zone.Done,
	}
	for _, h := range zone.Held {
		z.Held = append(z.Held, adminpage.MirrorHeld{Name: h.Name, Change: h.Change, Guard: string(h.Guard), Why: h.Why, Until: h.Until, Asked: slices.Contains(loud(), h.Guard)})
	}
	for _, b := range zone.Blocked {
		z.Blocked = append(z.Blocked, adminpage.MirrorBlocked{Name: b.Name, Type: b.Type, Object: b.Resource, Why: b.Message})
	}
	return z
}

// Explain implements adminpage.Data.
func (p pageData) Explain(name zones.Name, kind zones.Type) zones.Explanation {
	return p.explain(name, kind).Explanation
}

// Records implements adminpage.Data.
func (p pageData) Records(origin, from zones.Name, limit int) (sets []zones.ListedSet, next zones.Name, known bool) {
	if p.store.Load().Zone(origin) == nil {
		return nil, "", false
	}
	p.feed.View(func(table *zones.Table, _ objectOf) { sets, next = table.Records(origin, from, limit) })
	return sets, next, true
}
