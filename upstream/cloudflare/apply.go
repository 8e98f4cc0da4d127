package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A batch collects the operations of all groups. Cloudflare makes deletes, patches
// and posts in that order, in one transaction.
type batch struct {
	body batchBody
	// Groups of the operations, in the order of the body's lists.
	deletes, patches, posts []int
	now                     []pending
	net                     []int // objects more than before, by group
}

// A pending is a record as it will be, but for the IDs of what is created.
type pending struct {
	group   int
	record  mirror.Record
	objects []heldObject
	post    []int // of objects: index into body.Posts, or -1
}

// Apply implements mirror.Provider: one batch is one call of the batch API.
func (p *provider) Apply(ctx context.Context, zone mirror.Zone, groups []mirror.Group) []mirror.Result {
	if err := ctx.Err(); err != nil {
		return mirror.Fail(groups, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the zone %s was not written, since that was given up: %w", zone, err)})
	}
	b := &batch{net: make([]int, len(groups))}
	for i := range groups {
		for j := range groups[i].Changes {
			if err := b.add(i, &groups[i].Changes[j]); err != nil {
				return blame(len(groups), map[int]error{i: err})
			}
		}
	}
	switch size, most := len(b.body.Deletes)+len(b.body.Patches)+len(b.body.Posts), zoneOf(zone).plan().batch(); {
	case size == 0:
		return b.results(len(groups), nil)
	case size > most && len(groups) > 1:
		// The mirror halves it: the limit is the zone's and not the cloud's.
		return mirror.Fail(groups, &mirror.Error{Class: mirror.Undone, Err: fmt.Errorf("a batch of %d is too large for the zone's plan", size)})
	case size > most:
		return mirror.Fail(groups, &mirror.Error{Class: mirror.BadChange, Err: fmt.Errorf("the changes are %d values at once, and the zone's plan takes %d: ask for fewer targets", size, most)})
	}
	reply, err := p.client.batch(ctx, zone.ID, &b.body)
	if err != nil {
		return p.refused(ctx, zone, groups, b, err)
	}
	p.addCount(zone.ID, len(b.body.Posts)-len(b.body.Deletes))
	if err := b.agrees(reply); err != nil {
		return mirror.Fail(groups, &mirror.Error{Class: mirror.Unknown, Err: fmt.Errorf("the zone %s was written, but %w", zone, err)})
	}
	return b.results(len(groups), reply.Result.Posts)
}

// add adds the operations of a change.
func (b *batch) add(group int, change *mirror.Change) error {
	var old []heldObject
	if change.Old != nil {
		h, ok := change.Old.Handle.(*held)
		if !ok {
			return &mirror.Error{Class: mirror.Conflict, Err: fmt.Errorf("%s %s wasn't read from Cloudflare, so that its IDs aren't known", change.Old.Type, change.Old.Name)}
		}
		old = h.objects
	}
	if change.Verb != mirror.Update {
		for i := range old {
			b.remove(group, old[i].id)
		}
		old = nil
	}
	if change.New == nil {
		return nil
	}
	if err := b.write(group, change.New, old); err != nil {
		return &mirror.Error{Class: mirror.BadChange, Err: err}
	}
	return nil
}

func (b *batch) remove(group int, id string) {
	b.body.Deletes, b.deletes = append(b.body.Deletes, objectID{id}), append(b.deletes, group)
	b.net[group]--
}

// write makes the objects of a record of those that there are: the ones with a
// target that stays are kept, the others take over the new targets in place.
func (b *batch) write(group int, want *mirror.Record, old []heldObject) error {
	ttl := uint32(automatic)
	if len(old) > 0 {
		ttl = old[0].ttl
	}
	a := attributesOf(want, ttl)
	missing := map[string]bool{}
	for _, target := range want.Targets {
		missing[target] = true
	}
	next := pending{group: group, record: *want}
	var free []heldObject
	for _, o := range old {
		if !missing[o.target] {
			free = append(free, o)
			continue
		}
		delete(missing, o.target)
		if err := b.patch(&next, o, o.target, a); err != nil {
			return err
		}
	}
	for _, target := range want.Targets {
		if !missing[target] {
			continue
		}
		delete(missing, target)
		var err error
		if len(free) > 0 {
			err = b.patch(&next, free[0], target, a)
			free = free[1:]
		} else {
			err = b.post(&next, target, a)
		}
		if err != nil {
			return err
		}
	}
	for _, o := range free {
		b.remove(group, o.id)
	}
	b.now = append(b.now, next)
	return nil
}

// patch changes an object in place, where anything of it changes.
func (b *batch) patch(of *pending, o heldObject, target string, a attributes) error {
	of.objects, of.post = append(of.objects, heldObject{o.id, target, a}), append(of.post, -1)
	if o.target == target && o.attributes == a {
		return nil
	}
	body, err := bodyOf(&of.record, target)
	if err != nil {
		return err
	}
	body.ID = o.id
	a.put(&body, o.attributes)
	b.body.Patches, b.patches = append(b.body.Patches, body), append(b.patches, of.group)
	return nil
}

func (b *batch) post(of *pending, target string, a attributes) error {
	body, err := bodyOf(&of.record, target)
	if err != nil {
		return err
	}
	a.put(&body, attributes{})
	of.objects, of.post = append(of.objects, heldObject{"", target, a}), append(of.post, len(b.body.Posts))
	b.body.Posts, b.posts = append(b.body.Posts, body), append(b.posts, of.group)
	b.net[of.group]++
	return nil
}

func bodyOf(r *mirror.Record, target string) (object, error) {
	body := object{Name: r.Name.String(), Type: r.Type.String()}
	err := body.setTarget(r.Type, target)
	return body, err
}

// agrees returns an error where a reply isn't about what was asked for, so that IDs
// can't be told from it. The batch was applied.
func (b *batch) agrees(reply *batchReply) error {
	same := len(reply.Result.Posts) == len(b.body.Posts) && len(reply.Result.Patches) == len(b.body.Patches)
	for i := 0; same && i < len(b.body.Patches); i++ {
		same = reply.Result.Patches[i].ID == b.body.Patches[i].ID
	}
	for i := 0; same && i < len(b.body.Posts); i++ {
		got, sent := &reply.Result.Posts[i], &b.body.Posts[i]
		same = got.ID != "" && got.Type == sent.Type && strings.EqualFold(got.Name, sent.Name)
	}
	if !same {
		return errors.New("the reply of Cloudflare doesn't say which records")
	}
	return nil
}

// results give each group the records as they are now.
func (b *batch) results(groups int, posts []object) []mirror.Result {
	results := make([]mirror.Result, groups)
	for i := range b.now {
		next := &b.now[i]
		for j, post := range next.post {
			if post >= 0 {
				next.objects[j].id = posts[post].ID
			}
		}
		record := mirror.Record{Name: next.record.Name, Type: next.record.Type}
		if len(next.objects) > 0 {
			(&held{next.objects}).fill(&record)
		} else {
			record.TTL = zones.TTL{}
		}
		results[next.group].Now = append(results[next.group].Now, record)
	}
	return results
}

// blame returns results in which groups failed for faults of their own, and the
// others for theirs.
func blame(groups int, faults map[int]error) []mirror.Result {
	results := make([]mirror.Result, groups)
	for i := range results {
		results[i].Err = faults[i]
		if results[i].Err == nil {
			results[i].Err = &mirror.Error{Class: mirror.Undone, Err: errors.New("another change of the batch was refused")}
		}
	}
	return results
}
