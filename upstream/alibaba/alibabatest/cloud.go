package alibabatest

import (
	"maps"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// A Record is one object of a zone.
type Record struct {
	ID       string
	RR       string
	Type     string
	Value    string // without the quotes of a TXT of one string
	TTL      uint32
	Priority int
	Line     string
	Disabled bool
	Locked   bool
}

// A Zone is a domain of alidns, whose ID is its name, or a zone of pvtz.
type Zone struct {
	ID, Name string
	Private  bool
	VPC      string // that a private zone is bound to
	MinTTL   uint32 // of the edition; 0 is 600 for public zones and 5 for private ones
	Quota    int    // how many objects it may hold; 0 for any number
	// Forbidden are rrs for which the API refuses every record.
	Forbidden []string
}

// A Call is one call that arrived, without credentials.
type Call struct {
	Action string
	Query  map[string]string
	// KeyID is the ID of the access key that it was signed with; Token is whether
	// it came with a session token.
	KeyID string
	Token bool
}

// A Fault is what goes wrong with a call; the zero value is nothing.
type Fault struct {
	Code   string // the error code; the call is not carried out
	Status int    // of the error; 0 is 400
	Lost   bool   // the call is carried out, and the connection cut before the reply
	HTML   bool   // something on the way answers, with status 502
	Stale  bool   // a listing shows the zone as it was before the last write
	Short  bool   // a page lacks its last record
	// Before is called before the call is carried out, without the lock: another
	// hand edits the zone.
	Before func()
}

// A Cloud is an account. All its methods are safe for concurrent use.
type Cloud struct {
	// URL is the endpoint of both products.
	URL string

	mu     sync.Mutex
	zones  map[string]*held
	calls  []Call
	nonces map[string]bool
	tokens map[string]string // IDs that a ClientToken made
	fault  func(Call) Fault
	last   int // the last ID
}

type held struct {
	Zone
	records []Record
	before  []Record // the records before the last write
}

// New starts an account with zones; it ends with t.
func New(t testing.TB, zones ...Zone) *Cloud {
	t.Helper()
	c := &Cloud{zones: map[string]*held{}, nonces: map[string]bool{}, tokens: map[string]string{}, last: 1000000}
	for _, zone := range zones {
		if zone.MinTTL == 0 {
			zone.MinTTL = 600
			if zone.Private {
				zone.MinTTL = 5
			}
		}
		c.zones[zone.ID] = &held{Zone: zone}
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// SetFault has every later call ask what goes wrong with it; nil for nothing.
// The function must not call the Cloud.
func (c *Cloud) SetFault(fault func(Call) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// Calls returns all calls so far.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Forget empties the list of calls.
func (c *Cloud) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// Put adds objects by another hand, as they are, and returns their IDs.
func (c *Cloud) Put(zone string, records ...Record) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	z := c.zones[zone]
	z.before = slices.Clone(z.records)
	for _, r := range records {
		r.ID = c.id()
		if r.Line == "" {
			r.Line = "default"
		}
		z.records = append(z.records, r)
		ids = append(ids, r.ID)
	}
	return ids
}

// Take takes an object away by another hand.
func (c *Cloud) Take(zone, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	z := c.zones[zone]
	z.records = slices.DeleteFunc(slices.Clone(z.records), func(r Record) bool { return r.ID == id })
}

// Held returns the objects of a zone, the oldest first.
func (c *Cloud) Held(zone string) []Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.zones[zone].records)
}

func (c *Cloud) id() string {
	c.last++
	return strconv.Itoa(c.last)
}

// sortedZones returns the zones of one product in a stable order.
func (c *Cloud) sortedZones(private bool) []*held {
	var list []*held
	for _, id := range slices.Sorted(maps.Keys(c.zones)) {
		if z := c.zones[id]; z.Private == private {
			list = append(list, z)
		}
	}
	return list
}

// find returns the zone that holds an object, and its place there.
func (c *Cloud) find(private bool, id string) (*held, int) {
	for _, z := range c.sortedZones(private) {
		if i := slices.IndexFunc(z.records, func(r Record) bool { return r.ID == id }); i >= 0 {
			return z, i
		}
	}
	return nil, -1
}
