package route53

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A step is one change of a request, and the group that it belongs to.
type step struct {
	change types.Change
	group  int
}

// Apply implements mirror.Provider: one batch is one request.
func (p *provider) Apply(ctx context.Context, zone mirror.Zone, batch []mirror.Group) []mirror.Result {
	h, ok := zone.Handle.(*hosted)
	if !ok {
		return mirror.Fail(batch, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the zone %s is none that was listed", zone)})
	}
	results := make([]mirror.Result, len(batch))
	var steps []step
	for i := range batch {
		of, now, err := p.normal.steps(h, &batch[i])
		if err != nil {
			return blame(len(batch), map[int]error{i: &mirror.Error{Class: mirror.BadChange, Err: err}})
		}
		for _, change := range of {
			steps = append(steps, step{change, i})
		}
		results[i].Now = now
	}
	if len(steps) == 0 {
		return results
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(order(&a.change), order(&b.change)) })
	in := &sdk.ChangeResourceRecordSetsInput{HostedZoneId: aws.String(h.id), ChangeBatch: &types.ChangeBatch{Comment: aws.String("clusterzone")}}
	for _, s := range steps {
		in.ChangeBatch.Changes = append(in.ChangeBatch.Changes, s.change)
	}
	if _, err := h.account.client.ChangeResourceRecordSets(ctx, in, h.account.writes); err != nil {
		return h.account.refused(batch, steps, err)
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
			results[i].Err = &mirror.Error{Class: mirror.Undone, Err: fmt.Errorf("another change of the request was refused")}
		}
	}
	return results
}

// order has record sets deleted before others take their place, and the targets of
// aliases there before these: Route 53 looks at the changes of a request one by one,
// though it makes all or none.
func order(change *types.Change) int {
	alias := change.ResourceRecordSet.AliasTarget != nil
	switch {
	case change.Action == types.ChangeActionDelete && alias:
		return 1
	case change.Action == types.ChangeActionDelete:
		return 2
	case alias:
		return 5
	case change.Action == types.ChangeActionUpsert:
		return 3
	}
	return 4
}

// steps are the changes that a group is made of, and the records as they are after
// it.
func (n *normalizer) steps(h *hosted, group *mirror.Group) (list []types.Change, now []mirror.Record, err error) {
	for i := range group.Changes {
		change := &group.Changes[i]
		var next *types.ResourceRecordSet
		if change.New != nil {
			made := *change.New
			if made.TTL.Seconds == 0 {
				made.TTL = zones.TTL{} // unset
			}
			if old := change.Old; !made.TTL.Set && old != nil && change.Verb == mirror.Update {
				made.TTL = old.TTL
			}
			if next, err = n.set(h, &made); err != nil {
				return nil, nil, err
			}
			made.Handle, made.Resource = next, ""
			if next.TTL != nil {
				made.TTL = zones.TTL{Seconds: uint32(*next.TTL), Set: true}
			}
			now = append(now, made)
		}
		if change.Verb == mirror.Update && sameShape(change.Old, change.New) {
			list = append(list, types.Change{Action: types.ChangeActionUpsert, ResourceRecordSet: next})
			continue
		}
		if change.Old != nil {
			old, err := n.read(h, change.Old)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: old})
		}
		if next != nil {
			list = append(list, types.Change{Action: types.ChangeActionCreate, ResourceRecordSet: next})
		}
	}
	return list, now, nil
}

// sameShape reports whether one record set can be written over the other: Route 53
// doesn't turn an alias into values, or one routing policy into another.
func sameShape(old, next *mirror.Record) bool {
	return old.Name == next.Name && old.Type == next.Type && old.SetIdentifier == next.SetIdentifier &&
		isAlias(old) == isAlias(next) && policyOf(old) == policyOf(next)
}

func isAlias(r *mirror.Record) bool {
	value, there := r.Option(mirror.OptionAlias)
	return there && value != "false"
}

// read returns the record set as it was read or written last. Its name is written
// anew: a listing escapes what a request needn't.
func (n *normalizer) read(h *hosted, r *mirror.Record) (*types.ResourceRecordSet, error) {
	raw, ok := r.Handle.(*types.ResourceRecordSet)
	if !ok {
		return n.set(h, r)
	}
	set := *raw
	set.Name = aws.String(formatName(r.Name))
	return &set, nil
}

// set makes a record set of a record in its normal form.
func (n *normalizer) set(h *hosted, r *mirror.Record) (*types.ResourceRecordSet, error) {
	set := &types.ResourceRecordSet{Name: aws.String(formatName(r.Name)), Type: types.RRType(r.Type.String())}
	if r.SetIdentifier != "" {
		set.SetIdentifier = aws.String(r.SetIdentifier)
	}
	if err := route(set, r); err != nil {
		return nil, err
	}
	if !isAlias(r) {
		set.TTL = aws.Int64(defaultTTL)
		if r.TTL.Set {
			set.TTL = aws.Int64(int64(r.TTL.Seconds))
		}
		for _, target := range r.Targets {
			set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: aws.String(writeTarget(r.Type, target))})
		}
		return set, nil
	}
	if len(r.Targets) != 1 {
		return nil, fmt.Errorf("an alias has one target, and this one has %d", len(r.Targets))
	}
	id, explicit := r.Option(optionTargetZone)
	if !explicit {
		id = n.zoneOf(h.id, r.Targets[0])
	}
	evaluate, _ := r.Option(optionEvaluate)
	set.AliasTarget = &types.AliasTarget{
		DNSName: aws.String(writeTarget(zones.TypeCNAME, r.Targets[0])), HostedZoneId: aws.String(id), EvaluateTargetHealth: evaluate == "true",
	}
	return set, nil
}
