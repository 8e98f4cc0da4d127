package main

import (
	"slices"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A zonesAnswer is the body of /api/v1/zones.
type zonesAnswer struct {
	Ready bool `json:"ready"`
	// Waiting names what is waited for while Ready is false.
	Waiting   string        `json:"waiting,omitempty"`
	Committed time.Time     `json:"committed,omitzero"`
	Zones     []zoneSummary `json:"zones"`
	Next      string        `json:"next,omitempty"`
}

type zoneSummary struct {
	Zone    zones.Name     `json:"zone"`
	Serial  uint32         `json:"serial"`
	Names   int            `json:"names"`
	Records map[string]int `json:"records"`
}

// listZones gives the zones in canonical order, as they are served.
func (p *pipeline) listZones(q *question) (any, error) {
	limit, from, err := q.page()
	if err != nil {
		return nil, err
	}
	snap := p.store.Load()
	answer := zonesAnswer{Ready: snap.Ready, Waiting: snap.Waiting, Committed: snap.Committed.UTC(), Zones: []zoneSummary{}}
	origins := snap.Origins()
	if from != "" {
		first, err := zones.ParseName(from)
		if err != nil {
			return nil, errCursor
		}
		at, _ := slices.BinarySearchFunc(origins, first, zones.Name.Compare)
		origins = origins[at:]
	}
	for i, origin := range origins {
		if i == limit {
			answer.Next = cursor(origin.String())
			break
		}
		zone := snap.Zone(origin)
		summary := zoneSummary{Zone: origin, Serial: zone.Serial(), Names: zone.Names(), Records: map[string]int{}}
		for kind, count := range zone.Records() {
			summary.Records[kind.String()] = count
		}
		answer.Zones = append(answer.Zones, summary)
	}
	return answer, nil
}
