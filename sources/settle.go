package sources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// claimKey tells the claims of one object apart.
type claimKey struct {
	name          zones.Name
	kind          zones.Type
	setIdentifier string
}

// settlement makes claims of a draft's wishes.
type settlement struct {
	*draft
	judged  map[zones.Name]string // why each name is not admitted, or ""
	claims  map[claimKey]*zones.Claim
	hosts   map[zones.Name]bool        // names that have an address
	waiting map[zones.Name]zones.Claim // of type TypeNone, for names that exist without records
}

// newSettlement returns a settlement with empty maps. Most objects have one name, for
// which the maps would take more memory than all else.
func (tr *Translator) newSettlement(d *draft) *settlement {
	if s, ok := tr.settlements.Get().(*settlement); ok {
		s.draft = d
		return s
	}
	return &settlement{
		draft:   d,
		judged:  make(map[zones.Name]string),
		claims:  make(map[claimKey]*zones.Claim),
		hosts:   make(map[zones.Name]bool),
		waiting: make(map[zones.Name]zones.Claim),
	}
}

// fewNames bounds the maps that are used again: a map keeps the room that its
// largest content took.
const fewNames = 64

// giveBack ends a settlement.
func (s *settlement) giveBack() {
	if len(s.judged) > fewNames || len(s.claims) > fewNames {
		return
	}
	tr := s.tr
	s.draft = nil
	clear(s.judged)
	clear(s.claims)
	clear(s.hosts)
	clear(s.waiting)
	tr.settlements.Put(s)
}

// settle applies stand-ins and filters to the wishes, in the order of
// external-dns' pipeline, unites those of one name and type, and returns the
// outcome.
func (d *draft) settle() zones.Object {
	s := d.tr.newSettlement(d)
	defer s.giveBack()
	for i := range d.wishes {
		s.grant(&d.wishes[i])
	}
	for i := range d.ports {
		s.grantPort(&d.ports[i])
	}
	s.spreadNotes()
	claims := s.filterTypes()
	s.tidySkipped()
	return d.object(claims)
}

// admits asks the domain filter and the domains of the namespace, and skips a
// name that they refuse once.
func (s *settlement) admits(name zones.Name) bool {
	why, known := s.judged[name]
	if known {
		return why == ""
	}
	reason := zones.ReasonDomain
	if why = s.tr.domains.judge(name); why == "" {
		reason, why = zones.ReasonNamespaceDomain, s.tr.judgeNamespace(s.owner.Namespace, name)
	}
	s.judged[name] = why
	if why != "" {
		s.skip(name, zones.TypeNone, reason, why)
	}
	return why == ""
}

// says returns the properties that hold for w.
func (s *settlement) says(w *wish) properties {
	switch {
	case w.own != nil:
		return *w.own
	case w.bare:
		return properties{word: s.word}
	}
	return s.properties
}

func (s *settlement) grant(w *wish) {
	p := s.says(w)
	if !s.admits(w.name) {
		// The filter judges each name by itself: the addresses' PTR records may
		// be wanted where the name is not.
		if s.tr.judgeNamespace(s.owner.Namespace, w.name) == "" {
			targets, _ := s.tr.standIn.apply(w)
			targets, _ = s.tr.nets.divide(targets)
			s.reverse(w.named, targets, p)
		}
		return
	}
	if len(w.problems) > 0 {
		s.skip(w.name, w.kind, zones.ReasonInvalidTarget, listProblems(w.problems))
	}
	targets, from := s.tr.standIn.apply(w)
	if len(targets) == 0 {
		if w.reason != "" {
			s.skip(w.name, w.kind, w.reason, w.why)
		}
		s.wait(w.named, w.targetsFrom)
		return
	}
	targets, dropped := s.tr.nets.divide(targets)
	for kind, whys := range dropped {
		s.skip(w.name, kind, zones.ReasonTargetNet, some(whys))
	}
	for _, t := range targets {
		s.add(w.named, t.kind, t.text, from, p)
	}
	s.reverse(w.named, targets, p)
}

// listProblems joins what is wrong with targets into one sentence.
func listProblems(problems []string) string {
	if len(problems) > 3 {
		problems = append(slices.Clone(problems[:3]), "and more of the kind")
	}
	return strings.Join(problems, "; ")
}

func (s *settlement) grantPort(p *portWish) {
	if !s.admits(p.name) {
		return
	}
	if s.hosts[p.host] {
		s.add(p.named, zones.TypeSRV, p.data, fromNodePorts, s.properties)
		return
	}
	s.skip(p.name, zones.TypeNone, zones.ReasonNoAddress, p.host.String()+" has no address, so that no SRV record can point at it")
	if _, ok := s.waiting[p.host]; ok {
		s.wait(p.named, fromNodePorts)
	}
}

// wait notes that a name exists, and where its targets are awaited from.
func (s *settlement) wait(n named, targetsFrom string) {
	c, ok := s.waiting[n.name]
	if !ok {
		s.waiting[n.name] = zones.Claim{Name: n.name, NameFrom: n.from, TargetsFrom: targetsFrom}
		return
	}
	c.TargetsFrom = withOrigin(c.TargetsFrom, targetsFrom)
	s.waiting[n.name] = c
}

// add unites one target with the claim of its name and type.
func (s *settlement) add(n named, kind zones.Type, text, from string, p properties) {
	options, aliasDropped := s.tr.optionsFor(kind, p.options)
	if aliasDropped {
		s.skip(n.name, kind, zones.ReasonIgnoredProperty,
			fmt.Sprintf("the alias %s has no effect on %s records; the record stands without it", p.word, kind))
	}
	ttl := p.ttl
	if !ttl.Set {
		ttl = s.tr.minTTL
	}
	key := claimKey{name: n.name, kind: kind, setIdentifier: p.setIdentifier}
	c := s.claims[key]
	if c == nil {
		c = &zones.Claim{Name: n.name, Type: kind, TTL: ttl, SetIdentifier: key.setIdentifier, Options: options, NameFrom: n.from, TargetsFrom: from, Derived: n.derived}
		s.claims[key] = c
	}
	c.Targets = append(c.Targets, text)
	c.Derived = c.Derived && n.derived
	s.hosts[n.name] = s.hosts[n.name] || kind == zones.TypeA || kind == zones.TypeAAAA
	c.NameFrom = withOrigin(c.NameFrom, n.from)
	c.TargetsFrom = withOrigin(c.TargetsFrom, from)
	if ttl.Set && (!c.TTL.Set || ttl.Seconds < c.TTL.Seconds) {
		c.TTL = ttl
	}
}

func withOrigin(origins, origin string) string {
	if origins == origin || slices.Contains(strings.Split(origins, ", "), origin) {
		return origins
	}
	return origins + ", " + origin
}

// filterTypes takes out records of unwanted types, gives names that exist
// without records a claim of TypeNone, and returns the claims in order.
func (s *settlement) filterTypes() []zones.Claim {
	claims := make([]zones.Claim, 0, len(s.claims)+len(s.waiting))
	for key, c := range s.claims {
		if why := s.tr.recordTypes.judge(key.kind); why != "" {
			s.skip(key.name, key.kind, zones.ReasonRecordType, why)
			continue
		}
		slices.Sort(c.Targets)
		c.Targets = slices.Compact(c.Targets)
		claims = append(claims, *c)
		delete(s.waiting, key.name)
	}
	for _, c := range s.waiting {
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b zones.Claim) int {
		return claimKey{a.Name, a.Type, a.SetIdentifier}.compare(claimKey{b.Name, b.Type, b.SetIdentifier})
	})
	return claims
}

func (k claimKey) compare(other claimKey) int {
	return cmp.Or(
		k.name.Compare(other.name),
		cmp.Compare(k.kind, other.kind),
		cmp.Compare(k.setIdentifier, other.setIdentifier),
	)
}

// spreadNotes gives each remark on the object to each of its names.
func (s *settlement) spreadNotes() {
	names := make(map[zones.Name]bool, len(s.wishes))
	for i := range s.wishes {
		if name := s.wishes[i].name; s.judged[name] == "" {
			names[name] = true
		}
	}
	for _, note := range s.notes {
		for name := range names {
			note.Name = name
			s.skipped = append(s.skipped, note)
		}
		if len(names) == 0 {
			s.skipped = append(s.skipped, note)
		}
	}
}

// tidySkipped drops what a better reason covers: any other word on a name that
// admits refuses, and the leaving out of an origin whose name the
// object also has from elsewhere.
func (s *settlement) tidySkipped() {
	wished := make(map[zones.Name]bool, len(s.wishes))
	for i := range s.wishes {
		wished[s.wishes[i].name] = true
	}
	s.skipped = slices.DeleteFunc(s.skipped, func(k zones.Skipped) bool {
		switch {
		case k.Name == "" || k.Reason == zones.ReasonDomain || k.Reason == zones.ReasonNamespaceDomain:
			return false
		case k.Reason == zones.ReasonHostnameSource:
			return wished[k.Name]
		}
		return s.judged[k.Name] != ""
	})
}
