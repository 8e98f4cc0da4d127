package cloudflare

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// refused judges the groups of a batch that wasn't applied. Cloudflare says what was
// wrong, but seldom with what: where it doesn't, nobody is blamed, and the mirror
// halves the batch.
func (p *provider) refused(ctx context.Context, zone mirror.Zone, groups []mirror.Group, b *batch, err error) []mirror.Result {
	what := fmt.Sprintf("the zone %s can't be written", zone)
	wrong, refusal := p.client.writingError(what, err)
	if refusal == nil {
		return mirror.Fail(groups, wrong)
	}
	if refusal.has(codeQuota) {
		return p.full(zone, b, len(groups))
	}
	culprits := b.culprits(refusal)
	if len(groups) == 1 {
		culprits = []int{0}
	}
	if len(culprits) == 0 {
		return mirror.Fail(groups, &mirror.Error{Class: mirror.Undone, Err: wrong.Err})
	}
	results := blame(len(groups), nil)
	for _, i := range culprits {
		results[i] = p.judge(ctx, zone, &groups[i], refusal, wrong.Err)
	}
	return results
}

// culprits are the groups that the refusal points at: "/posts/3/content".
func (b *batch) culprits(refusal *callError) []int {
	var list []int
	for i := range refusal.faults {
		words := strings.Split(strings.TrimPrefix(refusal.faults[i].Source.Pointer, "/"), "/")
		if len(words) < 2 {
			return nil
		}
		at, err := strconv.Atoi(words[1])
		of := map[string][]int{"deletes": b.deletes, "patches": b.patches, "posts": b.posts}[words[0]]
		if err != nil || at < 0 || at >= len(of) {
			return nil
		}
		list = append(list, of[at])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// judge gives the result of the group that is to blame. Where the zone is not as it
// was listed, its names are read again: what is as it should be by now is success.
func (p *provider) judge(ctx context.Context, zone mirror.Zone, group *mirror.Group, refusal *callError, cause error) mirror.Result {
	moved := refusal.has(codeGone)
	for code := codeHostExists; code <= codeIdentical; code++ {
		moved = moved || refusal.has(code)
	}
	if !moved {
		return mirror.Result{Err: &mirror.Error{Class: mirror.BadChange, Err: cause}}
	}
	var names []zones.Name
	for i := range group.Changes {
		names = append(names, group.Changes[i].Record().Name)
	}
	slices.SortFunc(names, zones.Name.Compare)
	records, err := p.RecordsAt(ctx, zone, slices.Compact(names))
	if err != nil {
		return mirror.Result{Err: &mirror.Error{Class: mirror.Unknown, Err: err}}
	}
	if now, done := settled(group, records); done {
		return mirror.Result{Now: now}
	}
	return mirror.Result{Err: &mirror.Error{Class: mirror.Conflict, Err: cause}}
}

// settled reports whether the zone has what a group would make of it, and returns
// the records.
func settled(group *mirror.Group, records []mirror.Record) (now []mirror.Record, done bool) {
	find := func(want *mirror.Record) *mirror.Record {
		at := slices.IndexFunc(records, func(r mirror.Record) bool { return r.Name == want.Name && r.Type == want.Type })
		if at < 0 {
			return nil
		}
		return &records[at]
	}
	for i := range group.Changes {
		change := &group.Changes[i]
		if change.New != nil {
			have := find(change.New)
			if have == nil || len(mirror.Differences(have, change.New)) > 0 {
				return nil, false
			}
			now = append(now, *have)
		}
		if change.Old != nil && change.Verb != mirror.Update && find(change.Old) != nil {
			return nil, false
		}
	}
	return now, true
}

// full blames the groups that a zone has no room for. It takes as many as the plan
// has room for; where that leaves none to blame, the zone holds less than the plan
// says, and all that make it grow wait.
func (p *provider) full(zone mirror.Zone, b *batch, groups int) []mirror.Result {
	z := zoneOf(zone)
	count, known := p.count(zone.ID)
	most := z.plan().records(z.Created)
	text := fmt.Sprintf("the zone %s is full", zone)
	if known {
		text += fmt.Sprintf(" with %d records", count)
	}
	if most > 0 {
		text += fmt.Sprintf(" (the plan %s has %d)", z.plan(), most)
	}
	err := &mirror.Error{Class: mirror.BadChange, Err: fmt.Errorf("%s, and each mirrored record takes another for its ownership: delete records, or change the zone's plan", text)}
	for _, room := range []int{most - count, 0} {
		faults := map[int]error{}
		for i := range groups {
			if b.net[i] > 0 && b.net[i] > room {
				faults[i] = err
				continue
			}
			room -= max(b.net[i], 0)
		}
		if len(faults) > 0 {
			return blame(groups, faults)
		}
	}
	return mirror.Fail(make([]mirror.Group, groups), &mirror.Error{Class: mirror.Failed, Err: err.Err})
}
