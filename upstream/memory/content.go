package memory

import (
	"cmp"
	"slices"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// content is what a zone holds. The slices are never changed in place, so that
// a refused batch is undone by putting the old ones back.
type content map[zones.Name][]mirror.Record

type key struct {
	name zones.Name
	kind zones.Type
	set  string
}

func keyOf(r *mirror.Record) key { return key{r.Name, r.Type, r.SetIdentifier} }

func (c content) get(k key) (mirror.Record, bool) {
	for _, r := range c[k.name] {
		if keyOf(&r) == k {
			return r, true
		}
	}
	return mirror.Record{}, false
}

func (c content) drop(k key) {
	var rest []mirror.Record
	for _, r := range c[k.name] {
		if keyOf(&r) != k {
			rest = append(rest, r)
		}
	}
	if len(rest) == 0 {
		delete(c, k.name)
		return
	}
	c[k.name] = rest
}

func (c content) put(r mirror.Record) {
	c.drop(keyOf(&r))
	c[r.Name] = append(slices.Clone(c[r.Name]), r)
}

// at returns the records at the names, or of the whole zone (names nil), sorted.
func (c content) at(names []zones.Name) []mirror.Record {
	list := []mirror.Record{}
	if names == nil {
		for _, records := range c {
			list = append(list, records...)
		}
	}
	for _, name := range names {
		list = append(list, c[name]...)
	}
	slices.SortFunc(list, func(a, b mirror.Record) int {
		return cmp.Or(a.Name.Compare(b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(a.SetIdentifier, b.SetIdentifier))
	})
	return list
}
