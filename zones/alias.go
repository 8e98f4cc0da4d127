package zones

import (
	"fmt"
	"iter"
)

// An alias is the CNAME of a node. It is frozen.
type alias struct {
	set *RRSet
	// from is the object that it comes from, in words.
	from string
	// flat says that the CNAME is not among the node's sets: the addresses of
	// its target are served in its place.
	flat bool
}

func (a *alias) target() Name { return a.set.Data[0].Target(TypeCNAME) }

func (a *alias) equal(other *alias) bool {
	if a == nil || other == nil {
		return a == other
	}
	return a.flat == other.flat && a.from == other.from && a.set.equal(other.set)
}

// isAddress reports whether t is a type that an alias is followed for beyond
// our zones.
func isAddress(t Type) bool { return t == TypeA || t == TypeAAAA }

// flattened returns the alias whose target answers for the node's own addresses,
// or nil.
func (n *node) flattened() *alias {
	if n.alias != nil && n.alias.flat {
		return n.alias
	}
	return nil
}

// A Flattened is a CNAME that is not served: the addresses of its target are.
type Flattened struct {
	Name   Name
	Target Name
	TTL    uint32 // seconds, at most
}

// Flattened yields the flattened names of the zone in canonical order.
func (z *Zone) Flattened() iter.Seq[Flattened] {
	return func(yield func(Flattened) bool) {
		for n := range z.tree.walk() {
			if a := n.flattened(); a != nil && !yield(Flattened{n.name, a.target(), a.set.TTL}) {
				return
			}
		}
	}
}

// A flattening is the place in an answer where a flattened alias began.
type flattening struct {
	on   bool
	zone *Zone
	mark int // len(Section) before it
}

// follow appends the addresses of an outside target to a chain whose last link
// leads to it; link is the alias of the last node, nil where a DNAME made it.
// What can't be resolved makes the whole answer a failure: a CNAME without
// addresses would be taken for a name without any.
func (s *Snapshot) follow(a *Answer, target Name, t Type, link *alias) {
	a.Kind = Hit
	if !isAddress(t) || s.targets == nil && !a.flat.on {
		return
	}
	known := s.targets.Get(target)
	if known == nil && link == nil {
		return // nobody can list the names below a DNAME
	}
	problem := "it has not been looked up yet"
	switch {
	case s.targets == nil:
		problem = "only a running server with a resolver looks targets outside of the zones up"
	case known == nil:
	case known.Family(t).Known:
		family := known.Family(t)
		if family.Set != nil {
			a.Section = append(a.Section, Entry{target, family.Set})
			a.Stale = family.Stale
		}
		return
	case known.Family(t).Problem != "":
		problem = known.Family(t).Problem
	}
	from := "a CNAME here"
	if link != nil {
		from = link.from
	}
	a.fail(fmt.Sprintf("target %s of %s can't be resolved: %s", target, from, problem))
}

// fail makes the answer a failure.
func (a *Answer) fail(reason string) {
	a.Kind, a.Reason, a.Authoritative, a.Stale = Unresolved, reason, false, false
	a.Section, a.Authority, a.Additional = a.Section[:0], a.Authority[:0], a.Additional[:0]
}

// collapse puts the addresses at the end of a chain in the place of the links
// from the flattened alias on. A chain that ends without addresses is NODATA:
// the flattened name itself exists.
func (s *Snapshot) collapse(a *Answer, t Type) {
	flat := a.flat
	switch a.Kind {
	case Unresolved:
		return
	case Delegation:
		a.fail(fmt.Sprintf("target %s can't be resolved: it is delegated at %s; give addresses, or a target outside of the zones",
			a.Section[len(a.Section)-1].Set.Data[0].Target(TypeCNAME), a.Authority[0].Owner))
		return
	}
	owner := a.Section[flat.mark].Owner
	var found *RRSet
	ttl := ^uint32(0)
	for _, entry := range a.Section[flat.mark:] {
		ttl = min(ttl, entry.Set.TTL)
		if entry.Set.Type == t {
			found = entry.Set
		}
	}
	clear(a.Section[flat.mark:])
	a.Section = a.Section[:flat.mark]
	a.Authority, a.Additional = a.Authority[:0], a.Additional[:0]
	a.End = flat.zone
	if found == nil {
		a.Kind, a.Reason = NoData, ""
		s.negative(a, flat.zone, owner, t)
		return
	}
	if ttl < found.TTL {
		lower := *found
		lower.TTL = ttl
		found = &lower
	}
	a.Kind = Hit
	a.Section = append(a.Section, Entry{owner, found})
}

// flatAddresses returns the addresses that a flattened name has, where its target
// lies outside of the zones and they are known: what an additional section may
// hold. It is not worth to follow a chain for it.
func (s *Snapshot) flatAddresses(link *alias, t Type) *RRSet {
	known := s.targets.Get(link.target())
	if known == nil || known.Family(t).Set == nil || s.ZoneOf(known.Name) != nil {
		return nil
	}
	set := known.Family(t).Set
	if link.set.TTL < set.TTL {
		lower := *set
		lower.TTL = link.set.TTL
		set = &lower
	}
	return set
}
