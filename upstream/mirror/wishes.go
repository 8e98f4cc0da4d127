package mirror

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// Wishes tell what the mirror shall have. Read is called from the mirror's
// goroutine; it must not block for long.
type Wishes interface {
	// Read returns what is asked for now, at the given names alone or, where names
	// is nil, at all names. The outcome is the caller's.
	Read(names []zones.Name) Wanted
}

// Wanted is what is asked for at one moment.
type Wanted struct {
	// Endpoints are the settled claims.
	Endpoints []zones.Endpoint
	// Awaited are names at which an object waits for targets.
	Awaited []zones.Name
	// Unready says what is waited for until every source has been read once;
	// nothing is written then. "" when all have.
	Unready string
	// Unsure says why the wishes may lack something now: a kind can't be read, a
	// watch is broken, the state is an older one out of a file. Nothing is deleted
	// then. "" when they are whole.
	Unsure string
}

// resource is the object that asks, as external-dns' label spells it.
func resource(owner zones.Owner) string {
	kind := strings.TrimPrefix(strings.TrimPrefix(owner.Source, "gateway-"), "skipper-")
	if owner.Namespace == "" {
		return kind + "/" + owner.Name
	}
	return kind + "/" + owner.Namespace + "/" + owner.Name
}

// A placement puts wishes into the zones of a cloud. It is immutable.
type placement struct {
	cloud  *Cloud
	types  []zones.Type
	covers func(zones.Name) bool // nil for every name
	byName map[zones.Name][]Zone // those of one name by ID
}

func newPlacement(cloud *Cloud, types []zones.Type, covers func(zones.Name) bool, list []Zone) *placement {
	p := &placement{cloud: cloud, types: types, covers: covers, byName: map[zones.Name][]Zone{}}
	for _, zone := range list {
		p.byName[zone.Name] = append(p.byName[zone.Name], zone)
	}
	for _, same := range p.byName {
		slices.SortFunc(same, func(a, b Zone) int { return cmp.Compare(a.ID, b.ID) })
	}
	return p
}

// candidates are the zones that a name lies in, the longest first.
func (p *placement) candidates(name zones.Name) []Zone {
	var list []Zone
	for rest := name; rest != ""; rest = rest.Parent() {
		list = append(list, p.byName[rest]...)
	}
	return list
}

// A share is what is asked of one zone.
type share struct {
	wishes  []Record
	blocked []Blocked
	awaited map[zones.Name]bool
}

// shares parts the wishes among the zones, by ID, in the provider's normal form.
// Names outside of all zones are left out: the cloud has nothing to do with them.
func (p *placement) shares(wanted *Wanted) map[string]*share {
	shares := map[string]*share{}
	of := func(zone Zone) *share {
		s := shares[zone.ID]
		if s == nil {
			s = &share{awaited: map[zones.Name]bool{}}
			shares[zone.ID] = s
		}
		return s
	}
	for _, record := range p.records(wanted.Endpoints) {
		candidates := p.candidates(record.Name)
		if len(candidates) == 0 {
			continue
		}
		chosen := candidates[:1]
		if p.cloud.Place != nil {
			chosen = p.cloud.Place(&record, candidates)
		}
		for _, zone := range chosen {
			s := of(zone)
			list, err := p.normal(zone, record)
			if err != nil {
				s.blocked = append(s.blocked, blocked(&record, "", err.Error()))
				continue
			}
			s.wishes = append(s.wishes, list...)
		}
	}
	for _, name := range wanted.Awaited {
		for _, zone := range p.candidates(name) {
			of(zone).awaited[name] = true
		}
	}
	return shares
}

// records makes records of endpoints. A cloud without routing policies gets one
// of those that differ in the set identifier alone, as the server answers them.
func (p *placement) records(endpoints []zones.Endpoint) []Record {
	var list []Record
	at := map[recordKey]int{}
	for _, e := range endpoints {
		if !slices.Contains(p.types, e.Type) || p.covers != nil && !p.covers(e.Name) {
			continue
		}
		record := Record{
			Name: e.Name, Type: e.Type, Targets: e.Targets, TTL: e.TTL, SetIdentifier: e.SetIdentifier,
			Options: p.options(e.Options), Resource: resource(e.Owner),
		}
		if !p.cloud.Limits.Routing && record.SetIdentifier != "" {
			record.SetIdentifier = ""
		}
		i, double := at[record.key()]
		if !double {
			at[record.key()] = len(list)
			list = append(list, record)
			continue
		}
		list[i].Targets = slices.Compact(slices.Sorted(slices.Values(slices.Concat(list[i].Targets, record.Targets))))
		if record.TTL.Set && (!list[i].TTL.Set || record.TTL.Seconds < list[i].TTL.Seconds) {
			list[i].TTL = record.TTL
		}
	}
	return list
}

// options leaves out what belongs to other providers.
func (p *placement) options(all []zones.Option) []zones.Option {
	if p.cloud.Family == "" {
		return all
	}
	var list []zones.Option
	for _, option := range all {
		if family, _, ok := strings.Cut(option.Key, "/"); !ok || family == p.cloud.Family {
			list = append(list, option)
		}
	}
	return list
}

func (p *placement) normal(zone Zone, record Record) ([]Record, error) {
	limits := &p.cloud.Limits
	if !slices.Contains(limits.Types, record.Type) {
		return nil, fmt.Errorf("%s holds no records of type %s", p.cloud.Name, record.Type)
	}
	if record.TTL.Set && record.TTL.Seconds > 0 {
		record.TTL.Seconds = max(record.TTL.Seconds, limits.MinTTL)
		if limits.MaxTTL > 0 {
			record.TTL.Seconds = min(record.TTL.Seconds, limits.MaxTTL)
		}
	}
	if p.cloud.Normalize == nil {
		return []Record{record}, nil
	}
	list, err := p.cloud.Normalize(zone, record)
	for i := range list {
		list[i].Resource = record.Resource
	}
	// A wish for CNAMEs may become aliases of types that nobody manages.
	list = slices.DeleteFunc(list, func(r Record) bool { return !slices.Contains(p.types, r.Type) })
	return list, err
}
