package alibaba

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A provider is a mirror.Provider and mirror.NameReader for either product.
type provider struct {
	api     api
	options Options
}

// Zones implements mirror.Provider.
func (p *provider) Zones(ctx context.Context) ([]mirror.Zone, error) {
	if ctx.Err() != nil {
		return nil, givenUp(ctx)
	}
	list, err := p.api.zones(ctx)
	if err != nil {
		return nil, err
	}
	if p.options.Domains != nil {
		list = slices.DeleteFunc(list, func(z mirror.Zone) bool { return !p.options.Domains(z.Name) })
	}
	return list, nil
}

// Records implements mirror.Provider.
func (p *provider) Records(ctx context.Context, zone mirror.Zone) ([]mirror.Record, error) {
	list, err := p.api.list(ctx, zone, "")
	if err != nil {
		return nil, err
	}
	return records(zone, list), nil
}

// RecordsAt implements mirror.NameReader.
func (p *provider) RecordsAt(ctx context.Context, zone mirror.Zone, names []zones.Name) ([]mirror.Record, error) {
	all := []mirror.Record{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		list, err := p.at(ctx, zone, rrOf(zone, name))
		if err != nil {
			return nil, err
		}
		all = append(all, records(zone, list)...)
	}
	return all, nil
}

// at returns the objects of one rr. The API searches for a part of it; whether it
// takes "@" and "*" for letters isn't documented, so that with these the zone is
// read whole.
func (p *provider) at(ctx context.Context, zone mirror.Zone, rr string) ([]object, error) {
	keyword := rr
	if strings.ContainsAny(rr, "@*") {
		keyword = ""
	}
	list, err := p.api.list(ctx, zone, keyword)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(o object) bool { return !strings.EqualFold(o.rr, rr) }), nil
}

// place puts a record into all zones of the longest name that it lies in: private
// zones of one name serve different networks.
func place(_ *mirror.Record, candidates []mirror.Zone) []mirror.Zone {
	longest := slices.MaxFunc(candidates, func(a, b mirror.Zone) int { return cmp.Compare(len(a.Name), len(b.Name)) })
	return slices.DeleteFunc(slices.Clone(candidates), func(z mirror.Zone) bool { return z.Name != longest.Name })
}

// rrOf returns a name as the API has it, relative to its zone.
func rrOf(zone mirror.Zone, name zones.Name) string {
	if name == zone.Name {
		return "@"
	}
	return strings.TrimSuffix(name.String(), "."+zone.Name.String())
}

// nameOf is the way back. An rr that is no name at all can't be asked for by
// anybody.
func nameOf(zone mirror.Zone, rr string) (zones.Name, error) {
	if rr == "@" || rr == "" {
		return zone.Name, nil
	}
	name, err := zones.ParseName(rr + "." + zone.Name.String())
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w", rr, zone, err)
	}
	return name, nil
}
