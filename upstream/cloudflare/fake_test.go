package cloudflare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/iotest"
)

const (
	fakeToken = "T0ken-that-nobody-may-see"
	fakeKey   = "K3y-that-nobody-may-see"
	fakeEmail = "somebody@secret.test"
	zoneID    = "023e105f4ecef8ad9ca31a8372d0c353"
)

// A fake is Cloudflare's API as its documentation has it: what it limits, how it
// pages, what it stores, which codes it refuses with, and one transaction a batch.
type fake struct {
	mu       sync.Mutex
	zones    []map[string]any
	records  map[string][]fakeRecord // by zone; never changed in place
	before   map[string][]fakeRecord // as before the last batch
	calls    []string                // method and path with query
	bodies   []string                // of batches
	next     int
	quota    int  // records a zone holds; 0 for no limit
	pointers bool // refusals say which entry is wrong
	stale    int  // so many listings more show the zone as before the last batch
	pageMost int  // the server's own limit of a page
	// trouble is asked before each call, with its number from 1 on.
	trouble func(n int, r *http.Request) trouble
}

// A trouble is what goes wrong with a call.
type trouble struct {
	status  int // this is replied, and nothing done
	header  map[string]string
	body    string
	err     error  // the way to Cloudflare fails with it, and nothing is done
	lost    bool   // the call is done, and the connection ends
	cutBody bool   // half of the reply is sent
	edit    func() // done before the call, without the lock
}

type fakeRecord struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Content  string          `json:"content"`
	TTL      int             `json:"ttl"`
	Proxied  bool            `json:"proxied"`
	Priority *int            `json:"priority,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Comment  *string         `json:"comment"`
	Tags     []string        `json:"tags"`
	Settings map[string]any  `json:"settings"`
	Meta     map[string]any  `json:"meta"`
}

func newFake(plan string) *fake {
	return &fake{
		zones:   []map[string]any{fakeZone(zoneID, "example.com", plan)},
		records: map[string][]fakeRecord{zoneID: {}}, before: map[string][]fakeRecord{}, pageMost: 5000,
	}
}

func fakeZone(id, name, plan string) map[string]any {
	return map[string]any{
		"id": id, "name": name, "status": "active", "type": "full", "created_on": "2020-01-01T05:20:00.12345Z",
		"plan": map[string]any{"legacy_id": plan, "name": plan + " Website"},
	}
}

// count returns how many calls had a method and a path that ends like that.
func (f *fake) count(method, end string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, call := range f.calls {
		path, _, _ := strings.Cut(call, "?")
		if strings.HasPrefix(path, method+" ") && strings.HasSuffix(path, end) {
			n++
		}
	}
	return n
}

// made returns all calls so far.
func (f *fake) made() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *fake) put(records ...fakeRecord) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.records[zoneID])
	for _, r := range records {
		f.next++
		r.ID = fmt.Sprintf("%032x", f.next)
		list = append(list, r)
	}
	f.records[zoneID] = list
}

func (f *fake) held() []fakeRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.records[zoneID]
}

// RoundTrip implements http.RoundTripper: no socket is opened, so that a mirror in a
// bubble of testing/synctest can be tried with it.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+r.URL.String())
	n := len(f.calls)
	var wrong trouble
	if f.trouble != nil {
		wrong = f.trouble(n, r)
	}
	f.mu.Unlock()
	if wrong.edit != nil {
		wrong.edit()
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for key, value := range wrong.header {
		header.Set(key, value)
	}
	reply := func(status int, body io.Reader) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body), Request: r}, nil
	}
	if wrong.err != nil {
		return nil, wrong.err
	}
	if wrong.status != 0 {
		return reply(wrong.status, strings.NewReader(wrong.body))
	}
	status, answer := f.answer(r)
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	switch {
	case wrong.lost:
		return nil, io.ErrUnexpectedEOF
	case wrong.cutBody:
		return reply(status, io.MultiReader(bytes.NewReader(text[:len(text)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return reply(status, bytes.NewReader(text))
}

type fakeReply map[string]any

func failure(status, code int, message string, more ...map[string]any) (int, fakeReply) {
	one := map[string]any{"code": code, "message": message}
	for _, m := range more {
		for key, value := range m {
			one[key] = value
		}
	}
	return status, fakeReply{"success": false, "errors": []any{one}, "messages": []any{}, "result": nil}
}

func success(result any) (int, fakeReply) {
	return http.StatusOK, fakeReply{"success": true, "errors": []any{}, "messages": []any{}, "result": result}
}

func (f *fake) answer(r *http.Request) (int, fakeReply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case bearer && token != fakeToken:
		return failure(http.StatusForbidden, 9109, "Invalid access token "+token)
	case !bearer && r.Header.Get("X-Auth-Key") == "":
		return failure(http.StatusBadRequest, 6003, "Invalid request headers", map[string]any{"error_chain": []any{map[string]any{"code": 6111, "message": "Invalid format for Authorization header"}}})
	case !bearer && (r.Header.Get("X-Auth-Key") != fakeKey || r.Header.Get("X-Auth-Email") != fakeEmail):
		return failure(http.StatusForbidden, 9103, "Unknown X-Auth-Key or X-Auth-Email")
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/client/v4/"), "/")
	if path[0] != "zones" {
		return failure(http.StatusNotFound, 7003, "Could not route to "+r.URL.Path)
	}
	if len(path) == 1 && r.Method == http.MethodGet {
		return paged(r, f.zones, 20, 50)
	}
	at := slices.IndexFunc(f.zones, func(z map[string]any) bool { return z["id"] == path[1] })
	if at < 0 {
		return failure(http.StatusNotFound, 7003, "Could not route to "+r.URL.Path+", perhaps your object identifier is invalid?")
	}
	switch {
	case len(path) == 2 && r.Method == http.MethodGet:
		return success(f.zones[at])
	case len(path) == 3 && path[2] == "dns_records" && r.Method == http.MethodGet:
		return f.list(r, path[1])
	case len(path) == 4 && path[2] == "dns_records" && path[3] == "batch" && r.Method == http.MethodPost:
		return f.batch(r, f.zones[at])
	}
	return failure(http.StatusMethodNotAllowed, 10405, "Method not allowed")
}

func (f *fake) list(r *http.Request, zone string) (int, fakeReply) {
	all := f.records[zone]
	if f.stale > 0 && f.before[zone] != nil {
		f.stale--
		all = f.before[zone]
	}
	query := r.URL.Query()
	var list []fakeRecord
	for _, record := range all {
		exact, end := strings.ToLower(query.Get("name.exact")), strings.ToLower(query.Get("name.endswith"))
		if exact != "" && record.Name != exact || !strings.HasSuffix(record.Name, end) {
			continue
		}
		list = append(list, record)
	}
	if query.Get("order") == "name" {
		slices.SortStableFunc(list, func(a, b fakeRecord) int { return cmp.Compare(a.Name, b.Name) })
	}
	return paged(r, list, 100, f.pageMost)
}

// paged gives one page; a page size above most is cut to it.
func paged[T any](r *http.Request, all []T, usual, most int) (int, fakeReply) {
	number := func(key string, otherwise int) int {
		n, err := strconv.Atoi(r.URL.Query().Get(key))
		if err != nil || n < 1 {
			return otherwise
		}
		return n
	}
	n, size := number("page", 1), min(number("per_page", usual), most)
	from := min((n-1)*size, len(all))
	part := all[from:min(from+size, len(all))]
	if part == nil {
		part = []T{}
	}
	status, reply := success(part)
	reply["result_info"] = map[string]any{"page": n, "per_page": size, "count": len(part), "total_count": len(all), "total_pages": (len(all) + size - 1) / size}
	return status, reply
}
