package zones

// A ListedSet is one record set of a zone with the objects that it comes from.
type ListedSet struct {
	Name Name `json:"name"`
	ExplainedSet
}

// Records lists the record sets of a zone in canonical order as the last commit
// left them: from the name from on (the zero Name stands for the first one), as
// many whole names as give limit sets or a little more. next is the name to go
// on from, the zero Name at the end. A zone that the Table doesn't have has no
// records. The slice is the caller's.
func (t *Table) Records(origin, from Name, limit int) (sets []ListedSet, next Name) {
	b := t.zones[origin]
	if b == nil {
		return nil, ""
	}
	if from == "" {
		from = origin
	}
	for n := range b.zone.tree.walkFrom(from) {
		if len(sets) >= limit && len(n.sets) > 0 {
			return sets, n.name
		}
		sets = t.listNode(sets, n, b)
	}
	return sets, ""
}

func (t *Table) listNode(sets []ListedSet, n *node, b *building) []ListedSet {
	kept := t.kept(n.name)
	for _, set := range n.sets {
		sets = append(sets, ListedSet{n.name, explainSet(set, kept, b)})
	}
	return sets
}

// AllSkipped returns what objects asked for and do not get, as of the last
// commit, as far as want holds: what their sources skipped, and what they lost
// in contests. It comes in no order; the slice is the caller's.
func (t *Table) AllSkipped(want func(*Skipped) bool) []Skipped {
	var all []Skipped
	keep := func(skips []Skipped) {
		for i := range skips {
			if want(&skips[i]) {
				all = append(all, skips[i])
			}
		}
	}
	for _, o := range t.objects {
		keep(o.Skipped)
	}
	for _, e := range t.names {
		keep(e.lost)
	}
	return all
}

// RecordsAt lists the record sets of one name in a zone. The slice is the
// caller's.
func (t *Table) RecordsAt(origin, name Name) []ListedSet {
	b := t.zones[origin]
	if b == nil {
		return nil
	}
	n := b.zone.tree.get(name)
	if n == nil {
		return nil
	}
	return t.listNode(nil, n, b)
}

// Reasons returns all reasons that there are.
func Reasons() []Reason {
	return []Reason{
		ReasonNoAddress, ReasonNotPublished, ReasonNoHostname, ReasonInvalidName, ReasonInvalidTarget, ReasonInvalidType, ReasonInvalidTTL,
		ReasonInvalidValue, ReasonTemplate, ReasonOptOut, ReasonClass, ReasonNamespace, ReasonAnnotation, ReasonLabel, ReasonServiceType,
		ReasonHostnameSource, ReasonDomain, ReasonNamespaceDomain, ReasonTargetNet, ReasonRecordType, ReasonNotReady, ReasonParent,
		ReasonGatewayFilter, ReasonNotAccepted, ReasonListener, ReasonHeld, ReasonStaleStatus, ReasonUnreadable, ReasonOutOfZone,
		ReasonConflict, ReasonCNAMEConflict, ReasonStatic, ReasonIgnoredProperty,
	}
}
