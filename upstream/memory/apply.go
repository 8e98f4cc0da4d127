package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// Apply implements mirror.Provider.
func (s *Store) Apply(ctx context.Context, zone mirror.Zone, batch []mirror.Group) []mirror.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.note(ctx, Call{Op: OpApply, Zone: zone.ID, Batch: batch})
	held, err := s.zone(zone.ID)
	if err != nil {
		return mirror.Fail(batch, err)
	}
	if err := s.fits(batch); err != nil {
		return mirror.Fail(batch, err)
	}
	if fault.Err != nil && !fault.Applied && (s.limits.Atomic || fault.Groups+fault.Part == 0) {
		return mirror.Fail(batch, fault.Err)
	}
	results := s.write(held, batch, fault)
	if fault.Err != nil {
		return mirror.Fail(batch, fault.Err)
	}
	return results
}

func (s *Store) write(held content, batch []mirror.Group, fault Fault) []mirror.Result {
	results := make([]mirror.Result, len(batch))
	before := content{}
	failed := false
	for i := range batch {
		if !s.limits.Atomic && fault.Err != nil && !fault.Applied && i >= fault.Groups {
			part := batch[i]
			part.Changes = part.Changes[:min(fault.Part, len(part.Changes))]
			s.writeGroup(held, &part, before)
			break
		}
		if fault.Bad != nil {
			results[i].Err = fault.Bad(&batch[i])
		}
		if results[i].Err == nil {
			results[i] = s.writeGroup(held, &batch[i], before)
		}
		failed = failed || results[i].Err != nil
	}
	if !failed || !s.limits.Atomic {
		return results
	}
	for name, records := range before {
		if len(records) == 0 {
			delete(held, name)
		} else {
			held[name] = records
		}
	}
	for i := range results {
		if results[i].Err == nil {
			results[i] = mirror.Result{Err: &mirror.Error{Class: mirror.Undone, Err: fmt.Errorf("another change of the batch was refused")}}
		}
	}
	return results
}

// writeGroup keeps in before what stood at the names that it changes.
func (s *Store) writeGroup(held content, group *mirror.Group, before content) mirror.Result {
	var result mirror.Result
	for i := range group.Changes {
		change := &group.Changes[i]
		if err := s.check(held, change); err != nil {
			return mirror.Result{Err: err}
		}
		name := change.Record().Name
		if _, kept := before[name]; !kept {
			before[name] = held[name]
		}
		if change.Old != nil {
			held.drop(keyOf(change.Old))
		}
		if change.New != nil {
			result.Now = append(result.Now, s.join(held, change.New))
		}
	}
	return result
}

// join writes a record and returns what stands there then. One that stands there
// already is left as it is; a cloud that keeps each target as a record of its own
// adds to what is there.
func (s *Store) join(held content, r *mirror.Record) mirror.Record {
	next := *r
	if have, ok := held.get(keyOf(r)); ok {
		if len(mirror.Differences(&have, r)) == 0 {
			return have
		}
		next.Targets = slices.Compact(slices.Sorted(slices.Values(slices.Concat(have.Targets, r.Targets))))
	}
	return s.put(held, next)
}

// check refuses what a cloud refuses.
func (s *Store) check(held content, change *mirror.Change) error {
	if change.Old != nil {
		have, ok := held.get(keyOf(change.Old))
		switch {
		case !ok && change.Verb == mirror.Delete:
			return nil // it is gone already
		case !ok || have.Handle != change.Old.Handle:
			return &mirror.Error{Class: mirror.Conflict, Err: fmt.Errorf("%s %s isn't as it was read", change.Old.Type, change.Old.Name)}
		case have.Locked != "":
			return &mirror.Error{Class: mirror.BadChange, Err: fmt.Errorf("%s %s is locked: %s", have.Type, have.Name, have.Locked)}
		}
	}
	if change.New == nil {
		return nil
	}
	if !slices.Contains(s.limits.Types, change.New.Type) {
		return &mirror.Error{Class: mirror.BadChange, Err: fmt.Errorf("records of type %s can't be held", change.New.Type)}
	}
	if have, ok := held.get(keyOf(change.New)); ok && s.limits.CreateExclusive && change.Verb == mirror.Create && len(mirror.Differences(&have, change.New)) > 0 {
		return &mirror.Error{Class: mirror.Conflict, Err: fmt.Errorf("%s %s stands there already", have.Type, have.Name)}
	}
	return s.coexists(held, change)
}

// coexists lets no CNAME stand beside other data (RFC 1034 section 3.6.2).
func (s *Store) coexists(held content, change *mirror.Change) error {
	for _, have := range held[change.New.Name] {
		k := keyOf(&have)
		if change.Old != nil && k == keyOf(change.Old) || k.kind == change.New.Type {
			continue
		}
		if k.kind == zones.TypeCNAME || change.New.Type == zones.TypeCNAME {
			return &mirror.Error{Class: mirror.BadChange, Err: fmt.Errorf("%s %s can't stand beside a record of type %s", change.New.Type, change.New.Name, k.kind)}
		}
	}
	return nil
}

// fits refuses a batch above the limits, whole.
func (s *Store) fits(batch []mirror.Group) error {
	changes := 0
	for _, group := range batch {
		changes += len(group.Changes)
	}
	if limit := s.limits.BatchChanges; limit > 0 && changes > limit {
		return &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("a batch of %d changes is above the limit of %d", changes, limit)}
	}
	return nil
}
