package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A Store is the cloud. All its methods are safe for concurrent use.
type Store struct {
	limits mirror.Limits

	mu     sync.Mutex
	zones  []mirror.Zone
	held   map[string]content // by the zones' IDs
	fault  func(Call) Fault
	calls  []Call
	handle int // the last one given out
}

// New returns a cloud with empty zones of the given names and the given limits.
// The ID of a zone is its name as text.
func New(limits mirror.Limits, names ...zones.Name) *Store {
	s := &Store{limits: limits, held: map[string]content{}}
	for _, name := range names {
		s.AddZone(mirror.Zone{ID: name.String(), Name: name})
	}
	return s
}

// DefaultLimits are those of a cloud without quirks: transactions, creates that
// fail where a record stands, and routing policies.
func DefaultLimits() mirror.Limits {
	return mirror.Limits{
		Types:           []zones.Type{zones.TypeA, zones.TypeAAAA, zones.TypeCNAME, zones.TypeTXT, zones.TypeMX, zones.TypeNS, zones.TypeSRV, zones.TypePTR, zones.TypeNAPTR},
		Routing:         true,
		Atomic:          true,
		CreateExclusive: true,
		BatchChanges:    1000,
		ReadNames:       20,
		OwnershipTTL:    zones.TTL{Seconds: 300, Set: true},
	}
}

// AddZone adds an empty zone; one with the ID of another takes its place.
func (s *Store) AddZone(zone mirror.Zone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones = slices.DeleteFunc(s.zones, func(z mirror.Zone) bool { return z.ID == zone.ID })
	s.zones = append(s.zones, zone)
	s.held[zone.ID] = content{}
}

// Cloud returns the store as a provider.
func (s *Store) Cloud() mirror.Cloud {
	return mirror.Cloud{Name: "inmemory", Provider: s, Limits: s.limits}
}

// Zones implements mirror.Provider.
func (s *Store) Zones(ctx context.Context) ([]mirror.Zone, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault := s.note(ctx, Call{Op: OpZones}); fault.Err != nil {
		return nil, fault.Err
	}
	return slices.Clone(s.zones), nil
}

// Records implements mirror.Provider.
func (s *Store) Records(ctx context.Context, zone mirror.Zone) ([]mirror.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault := s.note(ctx, Call{Op: OpRecords, Zone: zone.ID}); fault.Err != nil {
		return nil, fault.Err
	}
	held, err := s.zone(zone.ID)
	if err != nil {
		return nil, err
	}
	return held.at(nil), nil
}

// RecordsAt implements mirror.NameReader.
func (s *Store) RecordsAt(ctx context.Context, zone mirror.Zone, names []zones.Name) ([]mirror.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(names) > s.limits.ReadNames {
		return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("%d names were asked for at once, and %d are allowed", len(names), s.limits.ReadNames)}
	}
	if fault := s.note(ctx, Call{Op: OpRecordsAt, Zone: zone.ID}); fault.Err != nil {
		return nil, fault.Err
	}
	held, err := s.zone(zone.ID)
	if err != nil {
		return nil, err
	}
	return held.at(slices.Compact(slices.Sorted(slices.Values(names)))), nil
}

func (s *Store) zone(id string) (content, error) {
	if held := s.held[id]; held != nil {
		return held, nil
	}
	return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("there is no zone %s", id)}
}

// Put makes a record by another's hand, in place of one of its name, type and
// set identifier. The zone must be there.
func (s *Store) Put(id string, records ...mirror.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.put(s.held[id], r)
	}
}

func (s *Store) put(held content, r mirror.Record) mirror.Record {
	s.handle++
	r.Handle, r.Resource = s.handle, ""
	held.put(r)
	return r
}

// Take takes a record away by another's hand.
func (s *Store) Take(id string, name zones.Name, kind zones.Type, set string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[id].drop(key{name, kind, set})
}

// Held returns the records of a zone, sorted by name, type and set identifier.
func (s *Store) Held(id string) []mirror.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[id].at(nil)
}

var errCancelled = errors.New("the call was given up")
