package mirror

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

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
