package route53

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// pageSize is how many record sets Route 53 gives at once at most.
const pageSize = 300

// Records implements mirror.Provider. Where the count doesn't add up, the zone may
// just have been changed: the count is asked for again once the listing is there.
func (p *provider) Records(ctx context.Context, zone mirror.Zone) ([]mirror.Record, error) {
	h, ok := zone.Handle.(*hosted)
	if !ok {
		return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the zone %s is none that was listed", zone)}
	}
	before, err := h.count(ctx)
	if err != nil {
		return nil, err
	}
	sets, err := h.list(ctx)
	if err != nil {
		return nil, err
	}
	if int64(len(sets)) != before {
		after, err := h.count(ctx)
		if err != nil {
			return nil, err
		}
		if int64(len(sets)) != after {
			return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the listing of %s isn't whole: it has %d record sets, and Route 53 counts %d", zone, len(sets), after)}
		}
	}
	records := make([]mirror.Record, 0, len(sets))
	for i := range sets {
		r, err := p.normal.record(&zone, h, &sets[i])
		if err != nil {
			return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the listing of %s can't be read: %w", zone, err)}
		}
		records = append(records, r)
	}
	return records, nil
}

// count returns how many record sets the zone has. A role made for external-dns may
// list zones and not read one by itself.
func (h *hosted) count(ctx context.Context) (int64, error) {
	a := h.account
	if !a.counts.Load() {
		out, err := a.client.GetHostedZone(ctx, &sdk.GetHostedZoneInput{Id: aws.String(h.id)})
		switch {
		case err == nil && out.HostedZone != nil:
			return aws.ToInt64(out.HostedZone.ResourceRecordSetCount), nil
		case err != nil && !slices.Contains([]string{"AccessDenied", "AccessDeniedException"}, codeOf(err)):
			return 0, a.listingError(a.what("the hosted zone "+h.id+" can't be read"), err)
		}
		a.counts.Store(true)
	}
	all, err := a.hostedZones(ctx)
	if err != nil {
		return 0, err
	}
	for i := range all {
		if bare(aws.ToString(all[i].Id)) == h.id {
			return aws.ToInt64(all[i].ResourceRecordSetCount), nil
		}
	}
	return 0, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the hosted zone %s is gone", h.id)}
}

// list returns the record sets of all pages. A page that doesn't lead on, or one
// that repeats what was there, is an error.
func (h *hosted) list(ctx context.Context) ([]types.ResourceRecordSet, error) {
	a := h.account
	var sets []types.ResourceRecordSet
	seen := map[setKey]bool{}
	in := &sdk.ListResourceRecordSetsInput{HostedZoneId: aws.String(h.id), MaxItems: aws.Int32(pageSize)}
	for {
		page, err := a.client.ListResourceRecordSets(ctx, in)
		if err != nil {
			return nil, a.listingError(a.what("the record sets of "+h.id+" can't be listed"), err)
		}
		for i := range page.ResourceRecordSets {
			key := keyOf(&page.ResourceRecordSets[i])
			if seen[key] {
				return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the listing of %s has the record set %s %s twice", h.id, key.kind, key.name)}
			}
			seen[key] = true
		}
		sets = append(sets, page.ResourceRecordSets...)
		if !page.IsTruncated {
			return sets, nil
		}
		if len(page.ResourceRecordSets) == 0 || aws.ToString(page.NextRecordName) == "" {
			return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the listing of %s has a page that doesn't lead to the next", h.id)}
		}
		in.StartRecordName, in.StartRecordType, in.StartRecordIdentifier = page.NextRecordName, page.NextRecordType, page.NextRecordIdentifier
	}
}

// A setKey tells the record sets of a zone apart.
type setKey struct {
	name string
	kind types.RRType
	set  string
}

func keyOf(set *types.ResourceRecordSet) setKey {
	return setKey{strings.ToLower(decimal(aws.ToString(set.Name))), set.Type, aws.ToString(set.SetIdentifier)}
}

// record returns a record set in the normal form.
func (n *normalizer) record(zone *mirror.Zone, h *hosted, set *types.ResourceRecordSet) (mirror.Record, error) {
	name, err := parseName(aws.ToString(set.Name))
	if err != nil {
		return mirror.Record{}, fmt.Errorf("%q is no name: %w", aws.ToString(set.Name), err)
	}
	kind, err := typeOf(set.Type)
	if err != nil {
		return mirror.Record{}, err
	}
	r := mirror.Record{Name: name, Type: kind, SetIdentifier: aws.ToString(set.SetIdentifier), Options: routingOf(set), Locked: locked(zone, name, kind, set), Handle: set}
	if target := set.AliasTarget; target != nil {
		text := aws.ToString(target.DNSName)
		if parsed, err := parseName(text); err == nil {
			text = parsed.String()
		}
		r.Targets = []string{text}
		r.Options = append(r.Options, zones.Option{Key: mirror.OptionAlias, Value: "true"}, zones.Option{Key: optionEvaluate, Value: fmt.Sprint(target.EvaluateTargetHealth)})
		if id := bare(aws.ToString(target.HostedZoneId)); id != n.zoneOf(h.id, text) {
			r.Options = append(r.Options, zones.Option{Key: optionTargetZone, Value: id})
		}
	} else {
		for _, value := range set.ResourceRecords {
			r.Targets = append(r.Targets, readTarget(kind, aws.ToString(value.Value)))
		}
		r.Options = n.marked(&r)
	}
	if set.TTL != nil {
		r.TTL = zones.TTL{Seconds: uint32(min(max(*set.TTL, 0), maxTTL)), Set: true}
	}
	sortOptions(r.Options)
	return r, nil
}

// typeOf reads a type. SPF is the type 99 of RFC 7208.
func typeOf(kind types.RRType) (zones.Type, error) {
	return zones.ParseType(string(kind))
}

// locked says why a record set can't be changed; "" where it can.
func locked(zone *mirror.Zone, name zones.Name, kind zones.Type, set *types.ResourceRecordSet) string {
	switch {
	case name == zone.Name && (kind == zones.TypeSOA || kind == zones.TypeNS):
		return "it is the hosted zone's own"
	case set.TrafficPolicyInstanceId != nil:
		return "a traffic policy has made it"
	case set.CidrRoutingConfig != nil:
		return "it is routed by the client's network (CIDR), which no annotation can ask for"
	}
	return ""
}

// readTarget brings data into the form of claims: names without final dot, octets
// in decimal.
func readTarget(kind zones.Type, value string) string {
	switch kind {
	case zones.TypeCNAME, zones.TypeNS, zones.TypePTR:
		if name, err := parseName(value); err == nil {
			return name.String()
		}
	case zones.TypeTXT:
		return canonicalText(decimal(value))
	case zones.TypeMX, zones.TypeSRV:
		return strings.TrimSuffix(value, ".")
	}
	return value
}

// writeTarget is the opposite of readTarget.
func writeTarget(kind zones.Type, target string) string {
	switch kind {
	case zones.TypeCNAME, zones.TypeNS, zones.TypePTR:
		if name, err := zones.ParseName(target); err == nil {
			return strings.TrimSuffix(formatName(name), ".")
		}
	case zones.TypeTXT:
		return octal(target)
	}
	return target
}
