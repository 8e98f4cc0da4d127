package zones

import (
	"iter"
	"time"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// Targets are the names outside of our zones that CNAMEs of ours lead to, with
// the addresses that a lookup beyond this server found. A Targets is immutable:
// With makes the next one and shares what stayed. The nil Targets means that
// nobody looks outside targets up: answers then end with the CNAME.
type Targets struct {
	radix *iradix.Tree[*Target]
}

// A Target is one outside name at one moment. It is frozen.
type Target struct {
	Name    Name
	A, AAAA Family
}

// A Family is what is known of one address family of a target.
type Family struct {
	// Known says that Set holds: a lookup has succeeded, and its outcome is
	// still served.
	Known bool
	// Set holds the addresses under the target's name, with the TTL to be
	// served; nil where the target has none of the family.
	Set *RRSet
	// Stale says that the TTL of Set is over and lookups have failed since.
	Stale bool
	// Problem says why the last lookup failed, without final stop; "" where it
	// did not.
	Problem string
	// Good is when a lookup last succeeded; zero for never.
	Good time.Time
}

// NewTargets returns an empty Targets.
func NewTargets() *Targets { return &Targets{radix: iradix.New[*Target]()} }

// With returns a Targets in which the targets of put stand, and those of gone
// don't.
func (t *Targets) With(put []*Target, gone []Name) *Targets {
	txn := t.radix.Txn()
	var buf keyBuffer
	for _, name := range gone {
		txn.Delete(buf.key(name))
	}
	for _, target := range put {
		// The tree keeps the key: it needs memory of its own.
		txn.Insert(append([]byte(nil), buf.key(target.Name)...), target)
	}
	return &Targets{radix: txn.Commit()}
}

// Get returns the target of that name, or nil.
func (t *Targets) Get(name Name) *Target {
	if t == nil {
		return nil
	}
	var buf keyBuffer
	target, _ := t.radix.Get(buf.key(name))
	return target
}

// All yields the targets in canonical order.
func (t *Targets) All() iter.Seq[*Target] {
	return func(yield func(*Target) bool) {
		if t == nil {
			return
		}
		it := t.radix.Root().Iterator()
		for {
			_, target, ok := it.Next()
			if !ok || !yield(target) {
				return
			}
		}
	}
}

// Family returns what is known of the addresses of type A or AAAA.
func (t *Target) Family(kind Type) Family {
	if kind == TypeAAAA {
		return t.AAAA
	}
	return t.A
}

// Outside lists the outside targets that the last commit's zones need, in no
// order. The slice is the caller's.
func (t *Table) Outside() []Name {
	names := make([]Name, 0, len(t.outside))
	for name := range t.outside {
		names = append(names, name)
	}
	return names
}

// noteAlias keeps count of how many names lead to each outside target, and notes
// which targets were needed after the last commit.
func (t *Table) noteAlias(old, next *alias) {
	count := func(a *alias, by int) {
		if a == nil {
			return
		}
		target := a.target()
		if t.zoneOf(target) != nil {
			return
		}
		if _, noted := t.needed[target]; !noted {
			t.needed[target] = t.outside[target] > 0
		}
		if t.outside[target] += by; t.outside[target] == 0 {
			delete(t.outside, target)
		}
	}
	if old != next {
		count(next, +1)
		count(old, -1)
	}
}

// outsideChanges fills in which outside targets came and went.
func (c *Commit) outsideChanges(t *Table) {
	for name, was := range t.needed {
		switch needed := t.outside[name] > 0; {
		case needed && !was:
			c.Wanted = append(c.Wanted, name)
		case was && !needed:
			c.Unwanted = append(c.Unwanted, name)
		}
	}
	clear(t.needed)
}
