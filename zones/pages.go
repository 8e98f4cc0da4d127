package zones

import "slices"

// pageSize is how many zones a page holds: with n zones, a commit copies n /
// pageSize pointers and the pages of the zones that changed.
const pageSize = 128

// pages are the zones of a Snapshot in the order of their origins. A change
// copies the pages that it touches and shares the rest. All but the last one have
// pageSize places.
type pages [][]*Zone

func newPages(n int) pages {
	p := make(pages, (n+pageSize-1)/pageSize)
	for i := range p {
		p[i] = make([]*Zone, min(pageSize, n-i*pageSize))
	}
	return p
}

func (p pages) at(i int) *Zone { return p[i/pageSize][i%pageSize] }

// with returns the pages with other zones in some places.
func (p pages) with(changed map[int]*Zone) pages {
	if len(changed) == 0 {
		return p
	}
	next := slices.Clone(p)
	for i, zone := range changed {
		at := i / pageSize
		if &next[at][0] == &p[at][0] {
			next[at] = slices.Clone(p[at])
		}
		next[at][i%pageSize] = zone
	}
	return next
}
