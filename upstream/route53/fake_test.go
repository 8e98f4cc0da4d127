package route53

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A fake is a server that speaks Route 53's protocol and keeps its rules, those
// that imitations like moto leave out among them: exclusive creates, deletes that
// must match, transactions, limits, a listing by three-part cursors.
type fake struct {
	URL string

	mu     sync.Mutex
	zones  []*fakeZone
	fault  func(call) *failure // asked for each call
	calls  []call
	change int
	lost   bool // pages of zones don't say where the next begins
}

type fakeZone struct {
	id, name string
	private  bool
	tags     map[string]string
	sets     map[fakeKey]fakeSet
	at       map[string][]fakeKey // by name
	order    []fakeSet            // all in the order of a listing; nil where that must be found anew
	extra    int64                // by how much the count is wrong
}

// A call is one request. n counts the calls of its operation from 1.
type call struct {
	op, zone string
	n        int
	request  *http.Request
}

// A failure is what goes wrong with a call.
type failure struct {
	status        int
	code, message string
	applied       bool // the request is carried out, and its reply lost
}

// The operations.
const (
	opZones  = "ListHostedZones"
	opZone   = "GetHostedZone"
	opTags   = "ListTagsForResources"
	opSets   = "ListResourceRecordSets"
	opChange = "ChangeResourceRecordSets"
)

const apiVersion = "/2013-04-01/"

// newFake serves zones, given as "ID name" or "ID name private", until t ends.
func newFake(t testing.TB, list ...string) *fake {
	t.Helper()
	f := &fake{}
	for _, text := range list {
		fields := strings.Fields(text)
		zone := &fakeZone{id: fields[0], name: fields[1] + ".", private: len(fields) > 2, tags: map[string]string{}}
		ttl := int64(172800)
		for kind, value := range map[string]string{"NS": "ns-1.example.net.", "SOA": "ns-1.example.net. hostmaster.example.net. 1 7200 900 1209600 86400"} {
			set := fakeSet{Name: encoded(zone.name), Type: kind, TTL: &ttl, Values: &fakeValues{[]string{value}}}
			zone.put(set)
		}
		f.zones = append(f.zones, zone)
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

// count returns how many calls of an operation there were.
func (f *fake) count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c.op == op {
			n++
		}
	}
	return n
}

func (f *fake) setFault(fault func(call) *failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.Split(strings.TrimPrefix(r.URL.Path, apiVersion), "/")
	c := call{request: r}
	switch {
	case len(path) == 1 && path[0] == "hostedzone":
		c.op = opZones
	case len(path) == 2 && path[0] == "hostedzone":
		c.op, c.zone = opZone, path[1]
	case len(path) == 2 && path[0] == "tags":
		c.op = opTags
	case len(path) >= 3 && path[2] == "rrset" && r.Method == http.MethodGet:
		c.op, c.zone = opSets, path[1]
	case len(path) >= 3 && path[2] == "rrset":
		c.op, c.zone = opChange, path[1]
	default:
		http.NotFound(w, r)
		return
	}
	c.n = 1
	for _, other := range f.calls {
		if other.op == c.op {
			c.n++
		}
	}
	f.calls = append(f.calls, c)
	var fails *failure
	if f.fault != nil {
		fails = f.fault(c)
	}
	if fails != nil && !fails.applied {
		fails.write(w)
		return
	}
	answer, refusal := f.answer(c)
	switch {
	case refusal != nil:
		refusal.write(w)
	case fails != nil:
		panic(http.ErrAbortHandler) // the connection ends without a reply
	default:
		writeXML(w, http.StatusOK, answer)
	}
}

func (f *fake) answer(c call) (any, *failure) {
	zone := f.zone(c.zone)
	if c.zone != "" && zone == nil {
		return nil, &failure{status: http.StatusNotFound, code: "NoSuchHostedZone", message: "No hosted zone found with ID: " + c.zone}
	}
	switch c.op {
	case opZones:
		return f.listZones(c.request.URL.Query().Get("marker")), nil
	case opZone:
		return fakeZoneOut{XMLName: xml.Name{Local: "GetHostedZoneResponse"}, HostedZone: zone.out()}, nil
	case opTags:
		return f.listTags(c.request)
	case opSets:
		return zone.list(c.request), nil
	}
	var in fakeRequest
	if err := xml.NewDecoder(c.request.Body).Decode(&in); err != nil {
		return nil, &failure{status: http.StatusBadRequest, code: "InvalidInput", message: err.Error()}
	}
	if messages := zone.apply(in.Changes); len(messages) > 0 {
		return nil, &failure{status: http.StatusBadRequest, code: "InvalidChangeBatch", message: strings.Join(messages, "\n")}
	}
	f.change++
	var out fakeChangeOut
	out.ChangeInfo.ID, out.ChangeInfo.Status, out.ChangeInfo.SubmittedAt = fmt.Sprintf("/change/C%d", f.change), "PENDING", "2026-01-02T03:04:05Z"
	return out, nil
}

func (f *fake) zone(id string) *fakeZone {
	for _, zone := range f.zones {
		if zone.id == id {
			return zone
		}
	}
	return nil
}

func (z *fakeZone) out() fakeHosted {
	var out fakeHosted
	out.ID, out.Name, out.Count = "/hostedzone/"+z.id, encoded(z.name), int64(len(z.sets))+z.extra
	out.Config.PrivateZone = z.private
	return out
}

// zonesAtOnce is small, so that tests page.
const zonesAtOnce = 2

func (f *fake) listZones(marker string) any {
	var out fakeZonesOut
	for _, zone := range f.zones {
		if zone.id < marker {
			continue
		}
		if len(out.Zones) == zonesAtOnce {
			out.IsTruncated = true
			if !f.lost {
				out.NextMarker = zone.id
			}
			break
		}
		out.Zones = append(out.Zones, zone.out())
	}
	out.Marker, out.MaxItems = marker, strconv.Itoa(zonesAtOnce)
	return out
}

func (f *fake) listTags(r *http.Request) (any, *failure) {
	var in struct {
		IDs []string `xml:"ResourceIds>ResourceId"`
	}
	if err := xml.NewDecoder(r.Body).Decode(&in); err != nil || len(in.IDs) > 10 {
		return nil, &failure{status: http.StatusBadRequest, code: "InvalidInput", message: fmt.Sprintf("%d resources: %v", len(in.IDs), err)}
	}
	var out fakeTagsOut
	for _, id := range in.IDs {
		set := fakeTagSet{ID: id, Type: "hostedzone"}
		for key, value := range f.zone(id).tags {
			set.Tags = append(set.Tags, fakeTag{key, value})
		}
		out.Sets = append(out.Sets, set)
	}
	return out, nil
}

// list gives a page that begins at the cursor: names in the order of their labels
// from the right, then types, then set identifiers.
func (z *fakeZone) list(r *http.Request) any {
	q := r.URL.Query()
	size, err := strconv.Atoi(cmp.Or(q.Get("maxitems"), "100"))
	if err != nil || size > 300 {
		size = 300
	}
	all := z.sorted()
	from := 0
	if name := q.Get("name"); name != "" {
		start := fakeKey{encoded(name), q.Get("type"), q.Get("identifier")}
		from, _ = slices.BinarySearchFunc(all, start, func(set fakeSet, key fakeKey) int { return set.key().compare(key) })
	}
	var out fakeSetsOut
	out.Sets = all[from:min(from+size, len(all))]
	out.MaxItems = strconv.Itoa(size)
	if from+size < len(all) {
		next := all[from+size]
		out.IsTruncated, out.NextRecordName, out.NextRecordType, out.NextRecordIdentifier = true, next.Name, next.Type, next.SetIdentifier
	}
	return out
}

func (z *fakeZone) sorted() []fakeSet {
	if z.order == nil {
		for _, set := range z.sets {
			z.order = append(z.order, set)
		}
		slices.SortFunc(z.order, func(a, b fakeSet) int { return a.key().compare(b.key()) })
	}
	return z.order
}

func (f *failure) write(w http.ResponseWriter) {
	if f.code == "InvalidChangeBatch" {
		var out fakeInvalidOut
		out.Messages = strings.Split(f.message, "\n")
		writeXML(w, f.status, out)
		return
	}
	var out fakeErrorOut
	out.Error.Type, out.Error.Code, out.Error.Message = "Sender", f.code, f.message
	writeXML(w, f.status, out)
}

func writeXML(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	if err := xml.NewEncoder(w).Encode(value); err != nil {
		panic(http.ErrAbortHandler)
	}
}
