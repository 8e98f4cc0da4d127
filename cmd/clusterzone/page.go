package main

import (
	"cmp"
	"slices"

	"github.com/clusterzone/clusterzone/adminpage"
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
	p.feed.View(func(table *zones.Table, _ objectOf) {
		o.Skipped = table.AllSkipped(func(*zones.Skipped) bool { return true })
	})
	slices.SortFunc(o.Skipped, func(a, b zones.Skipped) int {
		return cmp.Or(cmp.Compare(a.Owner.Namespace, b.Owner.Namespace), cmp.Compare(a.Owner.String(), b.Owner.String()), a.Name.Compare(b.Name), cmp.Compare(a.Message, b.Message))
	})
	o.Skipped = slices.CompactFunc(o.Skipped, func(a, b zones.Skipped) bool { return a == b })
	return o
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
