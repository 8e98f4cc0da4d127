package cloudflare

import (
	"sync"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// New checks the options and returns a cloud of them. It sends nothing: a token that
// Cloudflare doesn't know is an error of class Denied of the first call. The error
// names the flag or variable and the mend, and no secret.
//
// The provider is safe for concurrent use. Zones have Cloudflare's IDs; their kind
// is "" for active ones whose records Cloudflare holds in full.
func New(options Options) (mirror.Cloud, error) {
	if err := options.Check(); err != nil {
		return mirror.Cloud{}, err
	}
	n := &normalizer{proxied: options.Proxied, comment: options.Comment}
	return mirror.Cloud{
		Name:      "cloudflare",
		Provider:  newProvider(&options),
		Limits:    limits(&options),
		Family:    family,
		Normalize: n.normalize,
		Place:     place,
	}, nil
}

// A provider lists and writes zones. It implements mirror.Provider and
// mirror.NameReader.
type provider struct {
	client  *client
	zoneIDs []string
	page    int // records a page

	mu sync.Mutex
	// counts are how many objects the zones hold, by ID, as far as listings and
	// batches tell.
	counts map[string]int
}

func newProvider(options *Options) *provider {
	page := options.PageSize
	if page == 0 {
		page = maxPage
	}
	return &provider{client: newClient(options), zoneIDs: options.ZoneIDs, page: page, counts: map[string]int{}}
}

// count returns how many objects a zone holds, where that is known.
func (p *provider) count(zone string) (n int, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, known = p.counts[zone]
	return n, known
}

func (p *provider) setCount(zone string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[zone] = n
}

// addCount takes a batch into account.
func (p *provider) addCount(zone string, more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.counts[zone]; known {
		p.counts[zone] += more
	}
}
