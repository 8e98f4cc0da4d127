package alibaba

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// Apply implements mirror.Provider: one call after the other, in the order of the
// groups and of their changes.
func (p *provider) Apply(ctx context.Context, zone mirror.Zone, batch []mirror.Group) []mirror.Result {
	results := make([]mirror.Result, len(batch))
	for i := range batch {
		if ctx.Err() != nil {
			copy(results[i:], mirror.Fail(batch[i:], givenUp(ctx)))
			break
		}
		w := &writer{provider: p, zone: zone}
		now, err := w.group(ctx, &batch[i])
		if err == nil {
			results[i].Now = now
			continue
		}
		class := mirror.ClassOf(err, mirror.Unknown)
		results[i].Err = err
		if w.wrote && class != mirror.Unknown {
			results[i].Err = &mirror.Error{Class: mirror.Conflict, Err: fmt.Errorf("a part of the change was made: %w", err)}
		}
		if class == mirror.Unknown {
			err = &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("not tried, since nobody knows what became of the change before it")}
		}
		if class == mirror.Throttled || class == mirror.Denied || class == mirror.Failed || class == mirror.Unknown {
			copy(results[i+1:], mirror.Fail(batch[i+1:], err))
			break
		}
	}
	return results
}

// A writer makes the changes of one group.
type writer struct {
	*provider
	zone  mirror.Zone
	wrote bool // something was changed
}

func (w *writer) group(ctx context.Context, group *mirror.Group) ([]mirror.Record, error) {
	now := []mirror.Record{}
	for i := range group.Changes {
		change := &group.Changes[i]
		objects, err := w.change(ctx, change)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", change, err)
		}
		if change.New == nil {
			continue
		}
		r := *change.New
		r.Handle, r.Resource = &set{objects}, ""
		now = append(now, r)
	}
	return now, nil
}

// change makes one change and returns the objects that are there then.
func (w *writer) change(ctx context.Context, change *mirror.Change) ([]object, error) {
	var old, want []object
	if change.Old != nil {
		handle, ok := change.Old.Handle.(*set)
		switch {
		case !ok:
			return nil, &mirror.Error{Class: mirror.Conflict, Err: errors.New("the record was not read from this zone")}
		case change.Old.Locked != "":
			return nil, &mirror.Error{Class: mirror.BadChange, Err: errors.New(change.Old.Locked)}
		}
		old = slices.Clone(handle.objects)
	}
	if change.New != nil {
		var err error
		if want, err = objectsOf(w.zone, change.New); err != nil {
			return nil, &mirror.Error{Class: mirror.BadChange, Err: err}
		}
	}
	return w.turn(ctx, old, want)
}

// turn makes old into want with as few calls as there can be. Objects that stay
// are left alone but for their TTL; others are given new content in place, of
// another type too, so that no moment is without an answer. What is left over goes
// last, since until then both answer; where the type changes it goes first, since
// types may exclude one another.
func (w *writer) turn(ctx context.Context, old, want []object) ([]object, error) {
	var stay, fresh []object
	slices.SortFunc(old, compareIDs)
	ttl := uint32(0) // that new values take where none is wished
	for _, o := range want {
		i := slices.IndexFunc(old, func(have object) bool { return sameData(have, o) })
		if i < 0 {
			fresh = append(fresh, o)
			continue
		}
		have := old[i]
		old = slices.Delete(old, i, i+1)
		ttl = have.ttl
		if o.ttl == 0 || o.ttl == have.ttl {
			stay = append(stay, have)
			continue
		}
		have.ttl = o.ttl
		if err := w.update(ctx, have); err != nil {
			return nil, err
		}
		stay = append(stay, have)
	}
	reused := min(len(old), len(fresh))
	spare := old[reused:]
	turns := len(old) > 0 && len(want) > 0 && old[0].kind != want[0].kind
	if turns {
		if err := w.remove(ctx, spare); err != nil {
			return nil, err
		}
	}
	for i, o := range fresh {
		if i < reused && o.ttl == 0 {
			ttl = old[i].ttl
		}
		if o.ttl == 0 {
			o.ttl = ttl
		}
		var err error
		if i < reused {
			o.id = old[i].id
			err = w.update(ctx, o)
		} else {
			o, err = w.add(ctx, o)
		}
		if err != nil {
			return nil, err
		}
		stay = append(stay, o)
	}
	if turns {
		return stay, nil
	}
	return stay, w.remove(ctx, spare)
}

// add makes an object. One with the same content may be there: what was made by a
// call whose reply was lost, or by another hand. It is taken as it is.
func (w *writer) add(ctx context.Context, o object) (object, error) {
	id, err := w.api.write(ctx, w.zone, mirror.Create, o)
	if err == nil {
		w.wrote = true
		o.id = id
		return o, nil
	}
	list, readErr := w.taken(ctx, o, err)
	if readErr != nil {
		return object{}, readErr
	}
	i := slices.IndexFunc(list, func(have object) bool { return have.locked == "" && sameData(have, o) })
	if i < 0 {
		return object{}, refused(list, o, err)
	}
	if o.ttl == 0 || o.ttl == list[i].ttl {
		return list[i], nil
	}
	o.id = list[i].id
	return o, w.update(ctx, o)
}

// update gives an object new content. That it has it already is no error.
func (w *writer) update(ctx context.Context, o object) error {
	_, err := w.api.write(ctx, w.zone, mirror.Update, o)
	if err == nil {
		w.wrote = true
		return nil
	}
	list, readErr := w.taken(ctx, o, err)
	if readErr != nil {
		return readErr
	}
	if slices.ContainsFunc(list, func(have object) bool {
		return have.id == o.id && sameData(have, o) && (o.ttl == 0 || have.ttl == o.ttl)
	}) {
		return nil
	}
	return refused(list, o, err)
}

// taken returns the objects of o's name where a write of o was refused since its
// place is taken, and otherwise the error of the write.
func (w *writer) taken(ctx context.Context, o object, err error) ([]object, error) {
	if e := (*apiError)(nil); !errors.As(err, &e) || !e.taken() {
		return nil, err
	}
	return w.at(ctx, w.zone, o.rr)
}

// refused says what stands in o's way, of the objects of its name, where err says
// that something does. Where it is none of them, the zone isn't as it is listed.
func refused(list []object, o object, err error) error {
	for _, have := range list {
		if have.id != o.id && (have.kind == "CNAME" || o.kind == "CNAME" || have.locked != "") {
			return &mirror.Error{Class: mirror.BadChange, Err: fmt.Errorf("a record of type %s stands in its way: %w", have.kind, err)}
		}
	}
	return &mirror.Error{Class: mirror.Conflict, Err: fmt.Errorf("another hand has written to this name: %w", err)}
}

// remove takes objects away. That one is gone already is no error; the codes for it
// differ, so that after any refusal it is looked for.
func (w *writer) remove(ctx context.Context, objects []object) error {
	for _, o := range objects {
		_, err := w.api.write(ctx, w.zone, mirror.Delete, o)
		if err == nil {
			w.wrote = true
			continue
		}
		if class := mirror.ClassOf(err, mirror.Unknown); class != mirror.BadChange && class != mirror.Conflict {
			return err
		}
		list, readErr := w.at(ctx, w.zone, o.rr)
		if readErr != nil {
			return readErr
		}
		if slices.ContainsFunc(list, func(have object) bool { return have.id == o.id }) {
			return err
		}
	}
	return nil
}
