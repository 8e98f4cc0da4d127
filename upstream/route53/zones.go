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

// tagsAtOnce is how many zones one request for tags may name.
const tagsAtOnce = 10

// A hosted is what the provider knows of a zone: the Handle of a mirror.Zone.
type hosted struct {
	account *account
	id      string // bare
	private bool
}

// Zones implements mirror.Provider.
func (p *provider) Zones(ctx context.Context) ([]mirror.Zone, error) {
	var list []mirror.Zone
	for _, a := range p.accounts {
		found, err := p.zonesOf(ctx, a)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

func (p *provider) zonesOf(ctx context.Context, a *account) ([]mirror.Zone, error) {
	all, err := a.hostedZones(ctx)
	if err != nil {
		return nil, err
	}
	var list []mirror.Zone
	for i := range all {
		zone, ok, err := p.selected(a, &all[i])
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, zone)
		}
	}
	if len(p.options.ZoneTags) == 0 {
		return list, nil
	}
	return p.tagged(ctx, a, list)
}

// hostedZones lists all zones of an account.
func (a *account) hostedZones(ctx context.Context) ([]types.HostedZone, error) {
	var list []types.HostedZone
	seen := map[string]bool{}
	pages := sdk.NewListHostedZonesPaginator(a.client, &sdk.ListHostedZonesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, a.listingError(a.what("the hosted zones can't be listed"), err)
		}
		for _, zone := range page.HostedZones {
			if id := bare(aws.ToString(zone.Id)); !seen[id] {
				seen[id] = true
				list = append(list, zone)
			}
		}
	}
	return list, nil
}

// what puts the account before a part of a sentence, where there are several.
func (a *account) what(text string) string {
	if a.name == "" {
		return text
	}
	return "profile " + a.name + ": " + text
}

// selected returns a zone in the mirror's form, and whether the options but for
// tags select it.
func (p *provider) selected(a *account, zone *types.HostedZone) (mirror.Zone, bool, error) {
	id := bare(aws.ToString(zone.Id))
	name, err := parseName(aws.ToString(zone.Name))
	if err != nil {
		return mirror.Zone{}, false, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the hosted zone %s has a name that is none: %q", id, aws.ToString(zone.Name))}
	}
	kind := kindPublic
	if zone.Config != nil && zone.Config.PrivateZone {
		kind = kindPrivate
	}
	made := mirror.Zone{ID: id, Name: name, Kind: kind, Handle: &hosted{account: a, id: id, private: kind == kindPrivate}}
	if a.name != "" {
		made.ID = a.name + "/" + id
	}
	o := &p.options
	switch {
	case o.ZoneType != "" && o.ZoneType != kind:
	case len(o.ZoneIDs) > 0 && !slices.ContainsFunc(o.ZoneIDs, func(suffix string) bool { return strings.HasSuffix(id, bare(suffix)) }):
	case o.Covers == nil || o.Covers(name):
		return made, true, nil
	case o.MatchParent && slices.ContainsFunc(o.Domains, func(domain zones.Name) bool { return domain.In(name) }):
		return made, true, nil
	}
	return made, false, nil
}

// tagged returns the zones that have all tags that the options ask for.
func (p *provider) tagged(ctx context.Context, a *account, list []mirror.Zone) ([]mirror.Zone, error) {
	tags := map[string]map[string]string{}
	for part := range slices.Chunk(list, tagsAtOnce) {
		var ids []string
		for _, zone := range part {
			ids = append(ids, zone.Handle.(*hosted).id)
		}
		page, err := a.client.ListTagsForResources(ctx, &sdk.ListTagsForResourcesInput{ResourceIds: ids, ResourceType: types.TagResourceTypeHostedzone})
		if err != nil {
			return nil, a.listingError(a.what("the tags of hosted zones can't be listed (--aws-zone-tags needs route53:ListTagsForResources)"), err)
		}
		for _, set := range page.ResourceTagSets {
			of := map[string]string{}
			for _, tag := range set.Tags {
				of[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
			tags[bare(aws.ToString(set.ResourceId))] = of
		}
		for _, id := range ids {
			if tags[id] == nil {
				return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the listing of tags says nothing of the hosted zone %s", id)}
			}
		}
	}
	return slices.DeleteFunc(list, func(zone mirror.Zone) bool {
		return !matches(tags[zone.Handle.(*hosted).id], p.options.ZoneTags)
	}), nil
}

// matches reports whether a zone has all the tags: "key=value", or "key" for any
// value.
func matches(have map[string]string, want []string) bool {
	for _, tag := range want {
		key, value, exact := strings.Cut(tag, "=")
		if got, ok := have[key]; !ok || exact && got != value {
			return false
		}
	}
	return true
}

// place returns the zones that a record belongs in: every private zone that its
// name lies in, and of the public ones the longest, or the one that the record's
// object names. Where that one isn't among them, the first is returned: Normalize
// then says what is wrong.
func place(want *mirror.Record, candidates []mirror.Zone) []mirror.Zone {
	if id, ok := want.Option(optionZone); ok {
		for _, zone := range candidates {
			if pins(zone, id) {
				return []mirror.Zone{zone}
			}
		}
		return candidates[:1]
	}
	var chosen []mirror.Zone
	public := false
	for _, zone := range candidates {
		if zone.Kind == kindPrivate || !public {
			chosen = append(chosen, zone)
			public = public || zone.Kind != kindPrivate
		}
	}
	return chosen
}

// pins reports whether an ID that an object names is that of a zone.
func pins(zone mirror.Zone, id string) bool { return bare(zone.ID) == bare(id) }
