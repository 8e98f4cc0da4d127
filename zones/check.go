package zones

import (
	"fmt"
	"slices"

	"github.com/miekg/dns"
)

// Check returns an error if a zone breaks one of the invariants that lookups
// rely on: every ancestor of a node up to the apex is a node; no node is there
// without records, claim or descendants; no CNAME stands beside other data; sets
// are sorted, not empty and of their node's name; each cut is among the cuts; the
// counts are right. It walks the whole zone: it is for tests.
func Check(z *Zone) error {
	parents := map[Name]bool{}
	records := map[Type]int{}
	nodes, cuts, wildcards := 0, 0, 0
	var previous Name
	for n := range z.tree.walk() {
		if previous != "" && previous.Compare(n.name) >= 0 {
			return fmt.Errorf("%s stands after %s", n.name, previous)
		}
		previous = n.name
		nodes++
		if n.name.IsWildcard() {
			wildcards++
		}
		if !n.name.In(z.origin.Name) {
			return fmt.Errorf("%s lies outside the zone %s", n.name, z.origin.Name)
		}
		if z.tree.packed(n.name) == "" {
			return fmt.Errorf("%s is not found", n.name)
		}
		if n.name != z.origin.Name {
			parents[n.name.Parent()] = true
			if z.tree.packed(n.name.Parent()) == "" {
				return fmt.Errorf("%s has no parent node", n.name)
			}
		}
		if cut := z.cuts.get(n.name); n.isCut(z.origin.Name) {
			cuts++
			if cut == nil || !sameSet(cut.set(TypeNS), n.set(TypeNS)) || !sameSet(cut.set(TypeDNAME), n.set(TypeDNAME)) {
				return fmt.Errorf("%s is a cut and does not stand among them as it is", n.name)
			}
		}
		if err := checkSets(n, records); err != nil {
			return err
		}
	}
	for n := range z.tree.walk() {
		if n.empty() && !parents[n.name] && n.name != z.origin.Name {
			return fmt.Errorf("%s is an empty terminal", n.name)
		}
	}
	if cuts != z.cuts.nodes || nodes != z.tree.nodes || wildcards != z.tree.wildcards {
		return fmt.Errorf("zone %s says %d cuts, %d nodes and %d wildcards, it has %d, %d and %d", z.origin.Name, z.cuts.nodes, z.tree.nodes, z.tree.wildcards, cuts, nodes, wildcards)
	}
	for t, count := range records {
		if z.records[t] != count {
			return fmt.Errorf("zone %s says %d %s records, it has %d", z.origin.Name, z.records[t], t, count)
		}
	}
	return nil
}

func sameSet(a, b *RRSet) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.equal(b)
}

// besideNoAlias reports whether the set can't stand beside a CNAME: signatures
// and denials of DNSSEC can (RFC 4034, RFC 2181 section 10.1).
func besideNoAlias(set *RRSet) bool {
	switch uint16(set.Type) {
	case dns.TypeCNAME, dns.TypeRRSIG, dns.TypeNSEC, dns.TypeKEY, dns.TypeSIG, dns.TypeNXT:
		return false
	}
	return true
}

func checkSets(n *node, records map[Type]int) error {
	for i, set := range n.sets {
		if set.Name != n.name || len(set.Data) == 0 {
			return fmt.Errorf("%s has a bad %s set", n.name, set.Type)
		}
		if i > 0 && n.sets[i-1].Type >= set.Type {
			return fmt.Errorf("the sets of %s are out of order", n.name)
		}
		if set.Type == TypeCNAME && (n.alias == nil || n.alias.flat) {
			return fmt.Errorf("%s has a CNAME that is not its alias", n.name)
		}
		if n.flattened() != nil && (set.Type == TypeCNAME || isAddress(set.Type)) {
			return fmt.Errorf("%s is flattened and has a %s set of its own", n.name, set.Type)
		}
		if set.Type == TypeCNAME && (len(set.Data) > 1 || slices.ContainsFunc(n.sets, besideNoAlias)) {
			return fmt.Errorf("%s has a CNAME beside other data", n.name)
		}
		for j := 1; j < len(set.Data); j++ {
			if set.Data[j-1] >= set.Data[j] {
				return fmt.Errorf("the %s data of %s are out of order", set.Type, n.name)
			}
		}
		records[set.Type] += len(set.Data)
	}
	return nil
}
