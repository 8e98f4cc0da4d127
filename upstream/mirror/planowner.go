package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// A problem is why no ownership record can be written.
type problem struct{ owner, message string }

// ownership returns the changes that make the ownership records of a wish right:
// none where they are.
func (p *planner) ownership(want *Record) ([]Change, *problem) {
	if p.Registry.options.Noop {
		return nil, nil
	}
	if c := p.own.of(want); c != nil && !p.own.ours(c) && !p.ClaimDangling && !p.migrates(c, want) {
		return nil, &problem{c.labels.owner(), fmt.Sprintf("the name is reserved by the ownership record %s of the owner %q, whose record is gone: delete that record, or take over dangling ones", c.record.Name, c.labels.owner())}
	}
	var changes []Change
	for _, form := range p.Registry.forms(want) {
		change, problem := p.ownershipForm(want, form)
		if problem != nil {
			return nil, problem
		}
		if change != nil {
			changes = append(changes, *change)
		}
	}
	return changes, nil
}

// migrates reports whether an ownership record of another owner becomes ours.
func (p *planner) migrates(c *claim, want *Record) bool {
	return p.MigrateFrom != "" && c != nil && c.labels.owner() == p.MigrateFrom &&
		want.Resource != "" && c.labels.pairs[labelResource] == want.Resource &&
		(p.Protected == nil || !p.Protected(want.Name))
}

func (p *planner) ownershipForm(want *Record, form zones.Type) (*Change, *problem) {
	name, err := p.Registry.affix.name(want.Name, form)
	switch {
	case err != nil:
		return nil, &problem{message: err.Error() + ": shorten it, or the prefix of ownership records"}
	case !name.In(p.Zone.Name):
		return nil, &problem{message: fmt.Sprintf("its ownership record %s would lie outside of the zone %s: use a --txt-prefix with %s that ends in a dot", name, p.Zone.Name, typeTemplate)}
	case p.Limits.NoAsterisk && strings.Contains(name.String(), "*"):
		return nil, &problem{message: fmt.Sprintf("its ownership record would be called %s, which this cloud can't hold: set --txt-wildcard-replacement", name)}
	}
	if other := p.texts[name]; other != nil && other.Name != want.Name {
		return nil, &problem{message: fmt.Sprintf("its ownership record would have the name of that of %s: choose another --txt-wildcard-replacement", other.Name)}
	}
	if twin := p.Registry.affix.twin(want.Name); twin != "" && slices.ContainsFunc(p.at[twin], func(r *Record) bool {
		return p.own.texts[r] == nil && r.Type == want.Type && r.SetIdentifier == want.SetIdentifier
	}) {
		return nil, &problem{message: fmt.Sprintf("its ownership record would have the name of that of %s, which is in the zone: choose another --txt-wildcard-replacement", twin)}
	}
	var have *Record
	for _, record := range p.at[name] {
		switch {
		case record.Type == zones.TypeTXT && record.SetIdentifier == want.SetIdentifier:
			have = record
		case record.Type == zones.TypeCNAME:
			return nil, &problem{message: fmt.Sprintf("its ownership record %s can't stand beside the CNAME that is there", name)}
		}
	}
	change, problem := p.ownershipChange(want, name, have)
	if problem == nil {
		if p.texts == nil {
			p.texts = map[zones.Name]*Record{}
		}
		p.texts[name] = want
	}
	return change, problem
}

func (p *planner) ownershipChange(want *Record, name zones.Name, have *Record) (*Change, *problem) {
	var nonce []byte
	if have != nil {
		c := p.own.texts[have]
		switch {
		case c == nil:
			return nil, &problem{message: fmt.Sprintf("the name %s of its ownership record is taken by another TXT record", name)}
		case len(have.Targets) > 1 && p.own.ours(c):
			return nil, nil // read as ours, and never written: it holds others' data
		case len(have.Targets) > 1 || have.Locked != "":
			return nil, &problem{c.labels.owner(), fmt.Sprintf("its ownership record %s holds data of others", name)}
		case !p.own.ours(c) && !p.ClaimDangling && !p.migrates(c, want):
			return nil, &problem{c.labels.owner(), fmt.Sprintf("its ownership record %s belongs to the owner %q", name, c.labels.owner())}
		}
		nonce = c.labels.nonce
	}
	text, err := p.Registry.text(want.Resource, nonce)
	if err != nil {
		return nil, &problem{message: err.Error()}
	}
	record := Record{Name: name, Type: zones.TypeTXT, Targets: []string{text}, TTL: p.Limits.OwnershipTTL, SetIdentifier: want.SetIdentifier}
	for _, option := range want.Options {
		if option.Key != OptionAlias {
			record.Options = append(record.Options, option)
		}
	}
	if p.Normalize != nil {
		list, err := p.Normalize(p.Zone, record)
		if err != nil || len(list) != 1 {
			return nil, &problem{message: fmt.Sprintf("its ownership record can't be written: %v", err)}
		}
		record = list[0]
	}
	switch {
	case have == nil:
		return &Change{Verb: Create, New: &record, Ownership: true}, nil
	case len(Differences(have, &record)) > 0:
		return &Change{Verb: Update, Old: have, New: &record, Ownership: true}, nil
	}
	return nil, nil
}

// disown returns the changes that take away all ownership records of a record of
// ours that goes, of every form, but for one without type that another record of
// the row still needs.
func (p *planner) disown(r *row, have *Record) []Change {
	if p.Registry.options.Noop {
		return nil
	}
	var changes []Change
	for _, c := range p.own.all(have) {
		shared := c.key.kind == zones.TypeNone && slices.ContainsFunc(r.have, func(other *Record) bool {
			return other != have && other.Type != zones.TypeAAAA && r.wants(other.Type) != nil
		})
		if p.own.ours(c) && !shared && len(c.record.Targets) == 1 && c.record.Locked == "" && p.removable(r, have, c.record) {
			changes = append(changes, Change{Verb: Delete, Old: c.record, Ownership: true})
		}
	}
	return changes
}

// removable reports whether no wish of the row keeps the ownership record: an
// alias that becomes a CNAME has that form already.
func (p *planner) removable(r *row, have, text *Record) bool {
	for _, want := range r.want {
		if want == have {
			continue
		}
		for _, form := range p.Registry.forms(want) {
			if name, err := p.Registry.affix.name(want.Name, form); err == nil && name == text.Name {
				return false
			}
		}
	}
	return true
}

// planDangling deletes our ownership records whose record is gone and that no
// wish needs.
func (p *planner) planDangling() {
	used := map[*claim]bool{}
	for i := range p.Observed {
		if record := &p.Observed[i]; p.own.texts[record] == nil {
			for _, c := range p.own.all(record) {
				used[c] = true
			}
		}
	}
	for i := range p.Wishes {
		for _, c := range p.own.all(&p.Wishes[i]) {
			used[c] = true
		}
	}
	for _, claims := range p.own.claims {
		for _, c := range claims {
			if used[c] || !p.own.ours(c) || len(c.record.Targets) != 1 || c.record.Locked != "" || !p.concerns(c) {
				continue
			}
			// What reads as the record of www may be the old one of a record called
			// a-www, which is there.
			if plain := p.Registry.affix.typeless(c.record.Name); slices.ContainsFunc(p.at[plain], func(r *Record) bool { return p.own.texts[r] == nil && r.Type != zones.TypeTXT }) {
				continue
			}
			p.plan.Dangling++
			p.add(Step{
				Name:     c.key.name,
				Change:   Change{Verb: Delete, Old: c.record, Ownership: true, Why: "the record that it speaks of is gone"},
				Dangling: true,
			})
		}
	}
}

// concerns reports whether a dangling ownership record speaks of a name and type
// that the mirror manages.
func (p *planner) concerns(c *claim) bool {
	if c.key.kind != zones.TypeNone && !slices.Contains(p.Types, c.key.kind) {
		return false
	}
	if !c.key.name.In(p.Zone.Name) || p.Protected != nil && p.Protected(c.key.name) || p.Covers != nil && !p.Covers(c.key.name) {
		return false
	}
	twin := p.Registry.affix.twin(c.key.name)
	return p.Names == nil || p.Names[c.key.name] || p.Names[twin]
}
