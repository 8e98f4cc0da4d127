package alibaba

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// typeOfTheirs stands for types that are Alibaba's own (REDIRECT_URL,
// FORWARD_URL): one out of the range for private use (RFC 6895 section 3.1), so
// that the name shows as taken.
const typeOfTheirs zones.Type = 65280

// A set is the Handle of records: the objects that they are made of. It is
// frozen.
type set struct{ objects []object }

// records makes record sets of objects.
func records(zone mirror.Zone, objects []object) []mirror.Record {
	type key struct {
		name zones.Name
		kind zones.Type
	}
	sets := map[key][]object{}
	var order []key
	for _, o := range objects {
		name, err := nameOf(zone, o.rr)
		if err != nil {
			continue // nothing that is served can have this name
		}
		kind, err := zones.ParseType(o.kind)
		if err != nil {
			kind = typeOfTheirs
		}
		k := key{name, kind}
		if sets[k] == nil {
			order = append(order, k)
		}
		sets[k] = append(sets[k], o)
	}
	list := make([]mirror.Record, 0, len(order))
	for _, k := range order {
		list = append(list, recordOf(k.name, k.kind, sets[k]))
	}
	return list
}

// recordOf makes one record set. Objects with different TTLs have none together,
// so that a wish with any TTL levels them.
func recordOf(name zones.Name, kind zones.Type, objects []object) mirror.Record {
	slices.SortFunc(objects, compareObjects)
	r := mirror.Record{Name: name, Type: kind, Handle: &set{objects}}
	level := true
	for _, o := range objects {
		r.Targets = append(r.Targets, targetOf(kind, o))
		level = level && o.ttl == objects[0].ttl
		if r.Locked == "" {
			r.Locked = o.locked
		}
	}
	if kind == typeOfTheirs {
		r.Locked = fmt.Sprintf("it is a %s, which is Alibaba Cloud's own", objects[0].kind)
	}
	r.Targets = slices.Compact(slices.Sorted(slices.Values(r.Targets)))
	if level && objects[0].ttl > 0 {
		r.TTL = zones.TTL{Seconds: objects[0].ttl, Set: true}
	}
	return r
}

// targetOf returns an object's data in the form of a record's targets.
func targetOf(kind zones.Type, o object) string {
	switch kind {
	case zones.TypeTXT:
		return quoteText(o.value)
	case zones.TypeMX:
		return strconv.Itoa(o.priority) + " " + plainHost(o.value)
	case zones.TypeCNAME, zones.TypeNS, zones.TypePTR, zones.TypeSRV:
		return plainHost(o.value)
	}
	return o.value
}

// plainHost drops the final dot, which the API may or may not keep.
func plainHost(text string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}

// objectsOf returns the objects that a record in normal form is to be made of.
func objectsOf(zone mirror.Zone, r *mirror.Record) ([]object, error) {
	var list []object
	for _, target := range r.Targets {
		o := object{rr: rrOf(zone, r.Name), kind: r.Type.String(), value: target}
		if r.TTL.Set {
			o.ttl = r.TTL.Seconds
		}
		if r.Type == zones.TypeMX {
			var err error
			if o.priority, o.value, err = splitMX(target); err != nil {
				return nil, err
			}
		}
		list = append(list, o)
	}
	slices.SortFunc(list, compareObjects)
	return list, nil
}

func splitMX(target string) (preference int, host string, err error) {
	first, host, ok := strings.Cut(plainHost(target), " ")
	preference, err = strconv.Atoi(first)
	if !ok || err != nil || strings.Contains(host, " ") {
		return 0, "", fmt.Errorf("%q isn't the data of an MX: write a preference and a name", target)
	}
	return preference, host, nil
}

// sameData says that two objects hold the same data, whatever their IDs and TTLs.
func sameData(a, b object) bool {
	if a.kind != b.kind {
		return false
	}
	kind, err := zones.ParseType(a.kind)
	if err != nil {
		return false
	}
	x := mirror.Record{Type: kind, Targets: []string{targetOf(kind, a)}}
	y := mirror.Record{Type: kind, Targets: []string{targetOf(kind, b)}}
	return len(mirror.Differences(&x, &y)) == 0
}

// compareIDs orders objects by their IDs, older first.
func compareIDs(a, b object) int {
	return cmp.Or(cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
}
