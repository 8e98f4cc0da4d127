package main

import "github.com/clusterzone/clusterzone/upstream/mirror"

// A mirrorsAnswer is the body of /api/v1/mirrors.
type mirrorsAnswer struct {
	Mirrors []mirrorState `json:"mirrors"`
}

// A mirrorState is one mirror's status. Of what is held and blocked it has the
// first of each zone, and the number of all.
type mirrorState struct {
	mirror.Status
	Zones []mirrorZone `json:"zones"`
}

type mirrorZone struct {
	mirror.ZoneStatus
	HeldTotal    int `json:"heldTotal"`
	BlockedTotal int `json:"blockedTotal"`
}

// listMirrors gives the mirrors' states: of all, or of the one that is named.
func (p *pipeline) listMirrors(q *question) (any, error) {
	limit, from, err := q.page()
	if err != nil {
		return nil, err
	}
	if from != "" {
		return nil, errCursor
	}
	answer := mirrorsAnswer{Mirrors: []mirrorState{}}
	name := q.text("mirror")
	for _, status := range p.mirrors.statuses() {
		if name == "" || name == status.Name {
			answer.Mirrors = append(answer.Mirrors, newMirrorState(status, limit))
		}
	}
	if name != "" && len(answer.Mirrors) == 0 {
		return nil, notFound("there is no mirror %s; /api/v1/mirrors lists those that there are", name)
	}
	return answer, nil
}

func newMirrorState(status mirror.Status, limit int) mirrorState {
	state := mirrorState{Status: status, Zones: []mirrorZone{}}
	for _, zone := range status.Zones {
		z := mirrorZone{ZoneStatus: zone, HeldTotal: len(zone.Held), BlockedTotal: len(zone.Blocked)}
		z.Held, z.Blocked = z.Held[:min(limit, len(z.Held))], z.Blocked[:min(limit, len(z.Blocked))]
		state.Zones = append(state.Zones, z)
	}
	return state
}
