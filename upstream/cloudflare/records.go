package cloudflare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudflare/cloudflare-go/v7/dns"
	"github.com/cloudflare/cloudflare-go/v7/option"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A held is the Handle of a record: the objects that it is made of, sorted by
// target. It is frozen.
type held struct{ objects []heldObject }

type heldObject struct {
	id     string
	target string // canonical
	attributes
}

// Records implements mirror.Provider.
func (p *provider) Records(ctx context.Context, zone mirror.Zone) ([]mirror.Record, error) {
	what := fmt.Sprintf("the records of the zone %s can't be listed", zone)
	objects, err := p.list(ctx, zone.ID)
	if err != nil {
		return nil, p.client.listingError(what, err)
	}
	p.setCount(zone.ID, len(objects))
	records, err := gather(objects)
	if err != nil {
		return nil, p.client.listingError(what, err)
	}
	return records, nil
}

func (p *provider) list(ctx context.Context, zone string) ([]object, error) {
	return listAll(func(o *object) string { return o.ID }, func(n int, into *page[object]) error {
		query := recordsQuery(zone, n, p.page)
		query.Order.Value, query.Order.Present = dns.RecordListParamsOrderName, true
		return p.client.recordsPage(ctx, query, into)
	})
}

func recordsQuery(zone string, n, size int) dns.RecordListParams {
	var query dns.RecordListParams
	query.ZoneID.Value, query.ZoneID.Present = zone, true
	query.Page.Value, query.Page.Present = float64(n), true
	query.PerPage.Value, query.PerPage.Present = float64(size), true
	return query
}

func (c *client) recordsPage(ctx context.Context, query dns.RecordListParams, into *page[object]) error {
	return c.read(ctx, func() error {
		*into = page[object]{}
		if _, err := c.records.List(ctx, query, option.WithResponseBodyInto(into)); err != nil {
			return err
		}
		return into.ok()
	})
}

// RecordsAt implements mirror.NameReader. The API reads by one name, or by the end of
// names: a name and the ownership records that have it at their end are one call. A
// zone that is read whole in fewer calls is.
func (p *provider) RecordsAt(ctx context.Context, zone mirror.Zone, names []zones.Name) ([]mirror.Record, error) {
	ends := cover(zone.Name, names)
	if count, known := p.count(zone.ID); known && len(ends) > count/p.page+1 {
		records, err := p.Records(ctx, zone)
		return slices.DeleteFunc(records, func(r mirror.Record) bool { return !slices.Contains(names, r.Name) }), err
	}
	what := fmt.Sprintf("records of the zone %s can't be read", zone)
	objects := map[string]object{} // by ID: what two calls give is there once
	for _, end := range ends {
		list, err := p.readEnd(ctx, zone.ID, end)
		if err != nil {
			return nil, p.client.listingError(what, err)
		}
		for _, o := range list {
			objects[o.ID] = o
		}
	}
	list := make([]object, 0, len(objects))
	for _, o := range objects {
		if name, err := zones.ParseName(o.Name); err == nil && slices.Contains(names, name) {
			list = append(list, o)
		}
	}
	records, err := gather(list)
	if err != nil {
		return nil, p.client.listingError(what, err)
	}
	return records, nil
}

// An end is a name, with all asked for that end like it.
type end struct {
	name  string
	names []string
}

// cover groups names so that each group ends like its shortest. The zone's own name
// stands alone: everything ends like it.
func cover(origin zones.Name, names []zones.Name) []end {
	texts := make([]string, 0, len(names))
	for _, name := range names {
		texts = append(texts, name.String())
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	var ends []end
next:
	for _, text := range slices.Compact(texts) {
		for i := range ends {
			if ends[i].name != origin.String() && !strings.Contains(ends[i].name, "*") && strings.HasSuffix(text, ends[i].name) {
				ends[i].names = append(ends[i].names, text)
				continue next
			}
		}
		ends = append(ends, end{text, []string{text}})
	}
	return ends
}

// readEnd reads all that ends like a name, where that is one page; else each of its
// names.
func (p *provider) readEnd(ctx context.Context, zone string, of end) ([]object, error) {
	if len(of.names) > 1 {
		query := recordsQuery(zone, 1, p.page)
		query.Name.Value.Endswith.Value, query.Name.Value.Endswith.Present, query.Name.Present = of.name, true, true
		var first page[object]
		if err := p.client.recordsPage(ctx, query, &first); err != nil {
			return nil, err
		}
		if first.Info.Total != nil && *first.Info.Total == len(first.Result) {
			return first.Result, nil
		}
	}
	var all []object
	for _, name := range of.names {
		list, err := listAll(func(o *object) string { return o.ID }, func(n int, into *page[object]) error {
			query := recordsQuery(zone, n, p.page)
			query.Name.Value.Exact.Value, query.Name.Value.Exact.Present, query.Name.Present = name, true, true
			return p.client.recordsPage(ctx, query, into)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

type rowKey struct {
	name zones.Name
	kind zones.Type
}

// gather makes records of objects.
func gather(objects []object) ([]mirror.Record, error) {
	at := map[rowKey]int{}
	records := []mirror.Record{}
	sets := []*held{}
	for i := range objects {
		o := &objects[i]
		name, err := zones.ParseName(o.Name)
		if err != nil {
			return nil, fmt.Errorf("the record %s is called %q: %w", o.ID, o.Name, err)
		}
		kind, err := zones.ParseType(o.Type)
		if err != nil {
			return nil, fmt.Errorf("the record %s: %w", o.ID, err)
		}
		target, err := o.target(kind)
		if err != nil {
			return nil, fmt.Errorf("the record %s %s (%s) can't be read: %w", o.Type, o.Name, o.ID, err)
		}
		row := rowKey{name, kind}
		n, known := at[row]
		if !known {
			n = len(records)
			at[row] = n
			records = append(records, mirror.Record{Name: name, Type: kind})
			sets = append(sets, &held{})
		}
		if o.Meta != nil && o.Meta.ReadOnly {
			records[n].Locked = "another product of Cloudflare manages it"
		}
		sets[n].objects = append(sets[n].objects, heldObject{o.ID, target, o.attributes()})
	}
	for i := range records {
		sets[i].fill(&records[i])
	}
	return records, nil
}

// fill completes a record from its objects.
func (h *held) fill(r *mirror.Record) {
	slices.SortFunc(h.objects, func(a, b heldObject) int {
		return cmp.Or(strings.Compare(a.target, b.target), strings.Compare(a.id, b.id))
	})
	first := h.objects[0].attributes
	var differ []string
	r.Targets = make([]string, 0, len(h.objects))
	for i := range h.objects {
		o := &h.objects[i]
		if len(r.Targets) == 0 || r.Targets[len(r.Targets)-1] != o.target {
			r.Targets = append(r.Targets, o.target)
		}
		differ = append(differ, first.uneven(o.attributes)...)
	}
	r.TTL = zones.TTL{Seconds: first.ttl, Set: true}
	r.Options = first.options()
	if len(differ) > 0 {
		slices.Sort(differ)
		r.Options = append(r.Options, zones.Option{Key: optionUneven, Value: strings.Join(slices.Compact(differ), ",")})
	}
	r.Handle = h
}
