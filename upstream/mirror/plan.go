package mirror

import (
	"cmp"
	"slices"

	"github.com/clusterzone/clusterzone/zones"
)

// An Input is all that a plan is made from.
type Input struct {
	Zone Zone
	// Wishes are what the zone shall have, in the provider's normal form.
	Wishes []Record
	// Observed are all records of the zone; where Names is set, at least those at
	// the names and at all that are related to them.
	Observed []Record
	// Names are those to be planned; nil for all of the zone.
	Names    map[zones.Name]bool
	Registry *Registry
	Limits   Limits
	// Types are the record types that are managed. Others are never touched.
	Types []zones.Type
	// Covers tells the names that are managed, Protected those that are never
	// touched though they are; nil stands for all and for none.
	Covers, Protected func(zones.Name) bool
	// Adopt tells the names at which records without owner that are already as
	// wished may be taken over; nil for none.
	Adopt func(zones.Name) bool
	// ClaimDangling takes over ownership records of others where their record is gone.
	ClaimDangling bool
	// MigrateFrom is an owner whose records become this mirror's where they are wished
	// by the very object that their ownership record names; "" for none. Nothing is
	// deleted that is still that owner's.
	MigrateFrom string
	// Normalize is Cloud.Normalize.
	Normalize func(Zone, Record) ([]Record, error)
}

// A Plan is what would have to be changed in one zone, before policy and guards.
type Plan struct {
	Zone Zone
	// Steps are sorted by name, type and set identifier.
	Steps   []Step
	Blocked []Blocked
	// Owned counts this mirror's records, Foreign those of managed types that are
	// others', Wanted the wishes, Dangling our ownership records without a record.
	Owned, Foreign, Wanted, Dangling int
	// OwnedTypes counts this mirror's records by type, Verified those of them that are
	// as wished.
	OwnedTypes, Verified map[zones.Type]int
}

// A Step is one change of a record with the ownership records that go with it.
type Step struct {
	// Name is that of the record that the step is about.
	Name zones.Name
	// Change is the record's; a step that concerns ownership alone has that of an
	// ownership record here.
	Change Change
	// Before and After are changes of ownership records: what is created comes
	// before the record, what is deleted after it, so that a cloud without
	// transactions never has a record of ours without an owner.
	Before, After []Change
	// Turn says that the step is part of a change between types that can't stand
	// beside one another: all steps of the name happen, or none.
	Turn bool
	// Dangling says that the step deletes an ownership record whose record is gone.
	Dangling bool
}

// Deletes reports whether the step takes a name's record (or a dangling ownership
// record) away for good.
func (s *Step) Deletes() bool { return s.Change.Verb == Delete && !s.Turn }

func (s *Step) key() recordKey { return s.Change.Record().key() }

// Blocked is a wish that can't be fulfilled, and why.
type Blocked struct {
	Name          zones.Name `json:"name"`
	Type          zones.Type `json:"type"`
	SetIdentifier string     `json:"setIdentifier,omitempty"`
	// Resource is the object that asks.
	Resource string `json:"resource,omitempty"`
	// Owner is whom the record in the cloud belongs to, where it is another's.
	Owner string `json:"owner,omitempty"`
	// Message is one sentence without capital and final stop.
	Message string `json:"message"`
	// Adoptable says that the record has no owner and is already as wished.
	Adoptable bool `json:"adoptable,omitempty"`
}

func blocked(want *Record, owner, message string) Blocked {
	return Blocked{Name: want.Name, Type: want.Type, SetIdentifier: want.SetIdentifier, Resource: want.Resource, Owner: owner, Message: message}
}

// NewPlan says how one zone becomes what is wished, touching nothing that isn't
// this mirror's. It is a pure function but for the nonces of new encrypted
// texts; it keeps pointers into Wishes and Observed.
func NewPlan(in Input) Plan {
	p := newPlanner(&in)
	for _, key := range p.sortedRows() {
		p.planRow(p.rows[key])
	}
	p.planDangling()
	slices.SortStableFunc(p.plan.Steps, func(a, b Step) int {
		return cmp.Or(a.Name.Compare(b.Name), cmp.Compare(a.key().set, b.key().set), cmp.Compare(a.Change.order(), b.Change.order()), cmp.Compare(a.key().kind, b.key().kind), a.key().name.Compare(b.key().name))
	})
	slices.SortFunc(p.plan.Blocked, func(a, b Blocked) int {
		return cmp.Or(a.Name.Compare(b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(a.SetIdentifier, b.SetIdentifier), cmp.Compare(a.Resource, b.Resource))
	})
	return p.plan
}

// A rowKey tells rows apart: names are planned by set identifier.
type rowKey struct {
	name zones.Name
	set  string
}

// A row is what a name has and shall have under one set identifier.
type row struct {
	key        rowKey
	have, want []*Record
}

func (r *row) haves(kind zones.Type) *Record { return ofType(r.have, kind) }
func (r *row) wants(kind zones.Type) *Record { return ofType(r.want, kind) }

func ofType(list []*Record, kind zones.Type) *Record {
	for _, record := range list {
		if record.Type == kind {
			return record
		}
	}
	return nil
}

// A planner holds what one NewPlan reads and writes.
type planner struct {
	*Input
	own   *ownership
	at    map[zones.Name][]*Record // all that was observed
	rows  map[rowKey]*row
	names map[zones.Name][]*Record // wishes by name, of all set identifiers
	texts map[zones.Name]*Record   // ownership names of wishes, and whose they are
	plan  Plan
}

func newPlanner(in *Input) *planner {
	p := &planner{
		Input: in, own: in.Registry.ownership(in.Observed),
		at: map[zones.Name][]*Record{}, rows: map[rowKey]*row{}, names: map[zones.Name][]*Record{},
		plan: Plan{Zone: in.Zone, Wanted: len(in.Wishes), OwnedTypes: map[zones.Type]int{}, Verified: map[zones.Type]int{}},
	}
	for i := range in.Observed {
		record := &in.Observed[i]
		p.at[record.Name] = append(p.at[record.Name], record)
		if p.manages(record) {
			r := p.row(record)
			r.have = append(r.have, record)
		}
	}
	for _, r := range p.rows {
		for _, have := range r.have {
			if p.judge(have).ours {
				p.plan.Owned++
				p.plan.OwnedTypes[have.Type]++
			} else {
				p.plan.Foreign++
			}
		}
	}
	for i := range in.Wishes {
		want := &in.Wishes[i]
		p.names[want.Name] = append(p.names[want.Name], want)
	}
	for _, wishes := range p.names {
		for _, want := range p.oneEach(wishes) {
			r := p.row(want)
			r.want = append(r.want, want)
		}
	}
	return p
}

func (p *planner) row(record *Record) *row {
	key := rowKey{record.Name, record.SetIdentifier}
	r := p.rows[key]
	if r == nil {
		r = &row{key: key}
		p.rows[key] = r
	}
	return r
}

func (p *planner) sortedRows() []rowKey {
	keys := make([]rowKey, 0, len(p.rows))
	for key := range p.rows {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		return cmp.Or(a.name.Compare(b.name), cmp.Compare(a.set, b.set))
	})
	return keys
}

// manages reports whether a record that was observed may concern the mirror at
// all. What the zone itself lives on never does.
func (p *planner) manages(record *Record) bool {
	switch {
	case p.own.texts[record] != nil, !slices.Contains(p.Types, record.Type), record.Type == zones.TypeSOA:
		return false
	case record.Type == zones.TypeNS && record.Name == p.Zone.Name:
		return false
	case p.Names != nil && !p.Names[record.Name]:
		return false
	}
	return p.Covers == nil || p.Covers(record.Name)
}

// oneEach leaves one wish for each type and set identifier of a name: that of the
// object that has the record already, else the lowest. A CNAME gives way to
// other types.
func (p *planner) oneEach(wishes []*Record) []*Record {
	slices.SortStableFunc(wishes, func(a, b *Record) int { return cmp.Or(p.incumbent(b)-p.incumbent(a), lower(a, b)) })
	other := slices.IndexFunc(wishes, func(r *Record) bool { return r.Type != zones.TypeCNAME })
	var kept []*Record
	for _, want := range wishes {
		switch first := slices.IndexFunc(kept, func(r *Record) bool { return r.key() == want.key() }); {
		case want.Type == zones.TypeCNAME && other >= 0:
			p.block(want, "", "a CNAME can't stand beside the "+wishes[other].Type.String()+" records of the name")
		case first >= 0:
			if len(Differences(kept[first], want)) > 0 {
				p.block(want, "", "another object's wish for the same record goes first: "+kept[first].content())
			}
		default:
			kept = append(kept, want)
		}
	}
	return kept
}

// incumbent is 1 for the wish of the object that the ownership record names.
func (p *planner) incumbent(want *Record) int {
	if c := p.own.of(want); c != nil && want.Resource != "" && c.labels.pairs[labelResource] == want.Resource {
		return 1
	}
	return 0
}

// lower puts fewer targets first, then lower ones.
func lower(a, b *Record) int {
	return cmp.Or(
		cmp.Compare(len(a.Targets), len(b.Targets)),
		slices.Compare(targetKeys(a), targetKeys(b)),
		cmp.Compare(a.Resource, b.Resource),
	)
}

func (p *planner) block(want *Record, owner, message string) {
	p.plan.Blocked = append(p.plan.Blocked, blocked(want, owner, message))
}
