package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// A verdict says whether a record may be changed.
type verdict struct {
	ours  bool
	owner string // whose it is, where it is another's
	why   string // in words, where it isn't ours
}

// judge says whether a record that was observed is this mirror's to change.
func (p *planner) judge(record *Record) verdict {
	twin := p.Registry.affix.twin(record.Name)
	c := p.own.of(record)
	switch {
	case record.Locked != "":
		return verdict{why: "the record in the zone can't be changed: " + record.Locked}
	case p.Protected != nil && p.Protected(record.Name):
		return verdict{why: "the name is on the list of protected names"}
	case p.Registry.options.Noop:
		return verdict{ours: true}
	case c == nil:
		return verdict{why: "the record in the zone has no owner"}
	case !p.own.ours(c):
		return verdict{owner: c.labels.owner(), why: fmt.Sprintf("the record in the zone belongs to the owner %q", c.labels.owner())}
	case twin != "" && slices.ContainsFunc(p.at[twin], func(r *Record) bool { return r.Type == record.Type && r.SetIdentifier == record.SetIdentifier }):
		return verdict{why: fmt.Sprintf("nobody can tell who owns it, since its ownership record has the name of that of %s: choose another --txt-wildcard-replacement", twin)}
	}
	return verdict{ours: true}
}

// planRow plans one name under one set identifier.
func (p *planner) planRow(r *row) {
	turned := p.turned(r)
	var fresh []*Record // to be created
	for _, want := range r.want {
		if have := r.haves(want.Type); have != nil {
			p.planKept(r, have, want)
		} else {
			fresh = append(fresh, want)
		}
	}
	for _, have := range r.have {
		if r.wants(have.Type) == nil && !slices.Contains(turned, have) && p.judge(have).ours {
			p.add(Step{Change: Change{Verb: Delete, Old: have, Why: "nothing asks for it any longer"}, After: p.disown(r, have)})
		}
	}
	p.planFresh(r, fresh, turned)
}

// turned are the records of a row that can't stand beside what is wished: a CNAME
// beside other types, or these beside a CNAME.
func (p *planner) turned(r *row) []*Record {
	var list []*Record
	for _, have := range r.have {
		if len(r.want) > 0 && r.wants(have.Type) == nil && (have.Type == zones.TypeCNAME) != (r.wants(zones.TypeCNAME) != nil) {
			list = append(list, have)
		}
	}
	return list
}

// planKept plans a record that is there and shall be.
func (p *planner) planKept(r *row, have, want *Record) {
	differences := Differences(have, want)
	v := p.judge(have)
	if !v.ours {
		switch adopt := p.adopts(r, have, want, differences); {
		case adopt:
			p.planOwnership(want, "the record is taken over as it stands")
		case have.Locked == "" && p.migrates(p.own.of(have), want):
			p.planOwnership(want, fmt.Sprintf("the owner %q is migrated", v.owner))
		default:
			b := blocked(want, v.owner, v.why)
			b.Adoptable = p.own.of(have) == nil && len(differences) == 0 && have.Locked == ""
			p.plan.Blocked = append(p.plan.Blocked, b)
		}
		return
	}
	if len(differences) == 0 {
		p.plan.Verified[have.Type]++
		// Any form with a type will do: the other one of an alias is written with the
		// next change.
		if !slices.ContainsFunc(p.own.all(have), func(c *claim) bool { return c.key.kind != zones.TypeNone }) {
			p.planOwnership(want, "its ownership record has the form of old versions alone")
		}
		return
	}
	before, why := p.ownership(want)
	if why != nil && why.owner != "" {
		p.block(want, why.owner, why.message)
		return
	}
	p.add(Step{Change: Change{Verb: Update, Old: have, New: want, Why: strings.Join(differences, "; ")}, Before: before})
}

// adopts reports whether a record without owner may be taken over: where that was
// asked for, and for the AAAA beside an alias that external-dns v0.14 and v0.15
// left without ownership record of its own.
func (p *planner) adopts(r *row, have, want *Record, differences []string) bool {
	if len(differences) > 0 || have.Locked != "" || p.own.of(have) != nil || p.Protected != nil && p.Protected(have.Name) {
		return false
	}
	if p.Adopt != nil && p.Adopt(have.Name) {
		return true
	}
	a := r.haves(zones.TypeA)
	if want.Type != zones.TypeAAAA || !have.alias() || a == nil || !a.alias() || !slices.Equal(targetKeys(a), targetKeys(have)) {
		return false
	}
	c := p.own.of(a)
	return p.own.ours(c) && c.labels.pairs[labelDualstack] == "true"
}

// planOwnership writes the ownership records of a record that stays as it is.
// Where that can't be done the record stays owned as it was.
func (p *planner) planOwnership(want *Record, why string) {
	changes, problem := p.ownership(want)
	if problem != nil || len(changes) == 0 {
		return
	}
	for i := range changes {
		changes[i].Why = why
	}
	p.add(Step{Name: want.Name, Change: changes[0], Before: changes[1:]})
}

// planFresh creates records, the first in place of what can't stand beside it.
func (p *planner) planFresh(r *row, fresh, turned []*Record) {
	if len(fresh) == 0 {
		return
	}
	for _, have := range r.have {
		if v := p.judge(have); !v.ours {
			for _, want := range fresh {
				p.block(want, v.owner, fmt.Sprintf("%s (%s)", v.why, have.Type))
			}
			return
		}
	}
	var steps []Step
	for _, want := range fresh {
		if message := p.bars(r, want); message != "" {
			p.block(want, "", message)
			continue
		}
		before, problem := p.ownership(want)
		if problem != nil {
			p.block(want, problem.owner, problem.message)
			continue
		}
		steps = append(steps, Step{Change: Change{Verb: Create, New: want, Why: want.Resource}, Before: before, Turn: len(turned) > 0})
	}
	if len(steps) == 0 || len(turned) == 0 {
		p.add(steps...)
		return
	}
	last := turned[len(turned)-1]
	for _, have := range turned[:len(turned)-1] {
		p.add(Step{Change: Change{Verb: Delete, Old: have, Why: "it can't stand beside what is asked for now"}, After: p.disown(r, have), Turn: true})
	}
	steps[0].Change = Change{Verb: Replace, Old: last, New: steps[0].Change.New, Why: "the type changes"}
	steps[0].After = p.disown(r, last)
	p.add(steps...)
}

func (p *planner) add(steps ...Step) {
	for _, step := range steps {
		if step.Name == "" {
			step.Name = step.Change.Record().Name
		}
		p.plan.Steps = append(p.plan.Steps, step)
	}
}

// bars says what at the name, beside the row, a new record can't stand beside.
func (p *planner) bars(r *row, want *Record) string {
	for _, other := range p.at[want.Name] {
		if slices.Contains(r.have, other) || other.Type == want.Type || other.Type != zones.TypeCNAME && want.Type != zones.TypeCNAME {
			continue
		}
		if c := p.own.texts[other]; p.own.ours(c) && slices.ContainsFunc(r.have, func(h *Record) bool {
			return slices.Contains(p.disown(r, h), Change{Verb: Delete, Old: other, Ownership: true})
		}) {
			continue // it goes with what is replaced
		}
		return fmt.Sprintf("a %s can't stand beside the %s record that is at the name in the zone", want.Type, other.Type)
	}
	return ""
}
