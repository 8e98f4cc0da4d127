package zones

import "time"

// An ExplainedTarget says what is known of a name outside of our zones.
type ExplainedTarget struct {
	Name Name `json:"name"`
	// State is "resolved", "stale" (the last good addresses are served, since
	// lookups fail), "failed", or "waiting" for the first lookup; the worst of both
	// families.
	State string `json:"state"`
	// Addresses are those that are served, TTL theirs in seconds.
	Addresses []string `json:"addresses,omitempty"`
	TTL       uint32   `json:"ttl,omitempty"`
	// Problem says why the last lookup failed.
	Problem string `json:"problem,omitempty"`
	// Good is when a lookup last succeeded.
	Good time.Time `json:"good,omitzero"`
}

// unresolvedHint is what to check next about a target that can't be resolved.
const unresolvedHint = "ask the resolver for the target itself (dig @RESOLVER TARGET), and compare --resolver; with --resolver=none the CNAME is served as it is"

// State returns the worst state of both families: "resolved", "stale", "failed" or
// "waiting".
func (t *Target) State() string {
	state := "resolved"
	for _, family := range [...]Family{t.A, t.AAAA} {
		switch {
		case !family.Known && family.Problem == "":
			return "waiting"
		case !family.Known:
			state = "failed"
		case family.Stale && state == "resolved":
			state = "stale"
		}
	}
	return state
}

// addOutside tells of the outside target of the alias at the name.
func (x *Explanation) addOutside(snap *Snapshot, link *alias) {
	if link == nil || snap.targets == nil || x.Type == TypeCNAME && !link.flat || snap.ZoneOf(link.target()) != nil {
		return
	}
	x.Outside = &ExplainedTarget{Name: link.target(), State: "waiting"}
	known := snap.targets.Get(link.target())
	if known == nil {
		return
	}
	x.Outside.State = known.State()
	for _, family := range [...]Family{known.A, known.AAAA} {
		if x.Outside.Problem == "" {
			x.Outside.Problem = family.Problem
		}
		if family.Good.After(x.Outside.Good) {
			x.Outside.Good = family.Good
		}
		if family.Set == nil {
			continue
		}
		x.Outside.TTL = family.Set.TTL
		for _, data := range family.Set.Data {
			x.Outside.Addresses = append(x.Outside.Addresses, data.Text(family.Set.Type))
		}
	}
}

// addFlattened lists the addresses that are served in place of a CNAME.
func (x *Explanation) addFlattened(snap *Snapshot, link *alias, kind Type, kept []contribution) {
	var a Answer
	for _, t := range [...]Type{TypeA, TypeAAAA} {
		if kind != TypeNone && kind != TypeANY && kind != t {
			continue
		}
		snap.Lookup(x.Name, t, &a)
		if a.Kind != Hit {
			continue
		}
		set := a.Section[len(a.Section)-1].Set
		explained := describeSet(set)
		for _, c := range kept {
			if c.claim.Type == TypeCNAME {
				from := c.explained()
				from.FlattenedTo = link.target()
				explained.From = append(explained.From, from)
			}
		}
		x.Records = append(x.Records, explained)
	}
}

// unresolved makes a the answer to a question for addresses, where there is none
// because an outside target can't be resolved.
func unresolved(snap *Snapshot, name Name, a *Answer) {
	for _, t := range [...]Type{TypeA, TypeAAAA} {
		var of Answer
		if snap.Lookup(name, t, &of); of.Kind == Unresolved {
			*a = of
			return
		}
	}
}
