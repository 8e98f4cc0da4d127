package zones

// pageSize is how many zones a page holds: with n zones, a commit copies n /
// pageSize pointers and the pages of the zones that changed.
const pageSize = 128

// pages are the zones of a Snapshot in the order of their origins. A change
// copies the pages that it touches and shares the rest.
type pages []*[pageSize]*Zone

func newPages(n int) pages { return make(pages, (n+pageSize-1)/pageSize) }

func (p pages) at(i int) *Zone { return p[i/pageSize][i%pageSize] }

// with returns the pages with other zones in some places.
func (p pages) with(changed map[int]*Zone) pages {
	if len(changed) == 0 {
		return p
	}
	next := append(pages(nil), p...)
	for i, zone := range changed {
		at := i / pageSize
		if next[at] == p[at] {
			page := new([pageSize]*Zone)
			if p[at] != nil {
				*page = *p[at]
			}
			next[at] = page
		}
		next[at][i%pageSize] = zone
	}
	return next
}
