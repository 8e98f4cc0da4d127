package mirror

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// push writes what has changed at single names, from what is known of the zones,
// and returns when a complete cycle should follow.
func (m *Mirror) push(ctx context.Context) time.Time {
	m.askMu.Lock()
	names := m.names
	m.names = map[zones.Name]bool{}
	m.askMu.Unlock()
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
