package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

// admin returns a pipeline over testdata/api, read whole, and its handler.
func admin(t *testing.T, args ...string) (*pipeline, http.Handler) {
	t.Helper()
	args = append(args, "--zone=corp.test", "--zone=lab.corp.test", "--nameserver=ns1.corp.test=192.0.2.53", "--source=ingress", "--source=service")
	_, objects, serving := parsed(t, append(args, "--manifests=testdata/api", "--provider=inmemory", "--inmemory-zone=lab.corp.test", "--txt-owner-id=one")...)
	log := slog.New(slog.DiscardHandler)
	if err := errors.Join(objects.prepare(log, noVariables), serving.mirrors.prepare(log, slog.LevelInfo, objects)); err != nil {
		t.Fatal(err)
	}
	p, err := objects.assemble(log, pipelineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.once(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if p.mirrors, err = serving.mirrors.build(t.Context(), mirrorOptions{log: log, pipeline: p}); err != nil {
		t.Fatal(err)
	}
	if err := p.mirrors.mirrors[0].Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, p.adminHandler()
}

// get asks as a client on the same machine does.
func get(handler http.Handler, target string) *http.Response {
	request := httptest.NewRequest(http.MethodGet, target, nil)
	request.Host = "127.0.0.1:7980"
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Result()
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What differs from run to run: serials, and the times of what this run did.
var (
	runSerials = regexp.MustCompile(`("serial": |hostmaster\.[a-z.]+ )\d{9,}`)
	runTimes   = regexp.MustCompile(`"(committed|since|lastEvent|lastCycle|lastSuccess|nextCycle|listed)": "[^"]+"`)
)

func still(text string) string {
	text = runSerials.ReplaceAllString(text, "${1}1796043122")
	return runTimes.ReplaceAllString(text, `"$1": "2026-11-30T12:12:02Z"`)
}

// TestPageOfAPI: what docs/api.md shows is what the server answers. Run with
// -update after a change of the answers.
func TestPageOfAPI(t *testing.T) {
	t.Parallel()
	const page = "../../docs/api.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, handler := admin(t)
	exchange := regexp.MustCompile("(?s)```http\nGET ([^\n]+)\n```\n\n```json\n(.*?)```")
	asked := map[string]bool{}
	got := exchange.ReplaceAllStringFunc(string(text), func(match string) string {
		target := exchange.FindStringSubmatch(match)[1]
		path, _, _ := strings.Cut(target, "?")
		asked[path] = true
		return fmt.Sprintf("```http\nGET %s\n```\n\n```json\n%s```", target, still(body(t, get(handler, target))))
	})
	for _, e := range (&pipeline{}).endpoints() {
		if !asked[e.path] {
			t.Errorf("the page shows no answer of %s", e.path)
		}
		for _, parameter := range e.parameters {
			if !strings.Contains(string(text), "`"+parameter+"`") {
				t.Errorf("the page doesn't tell of %s of %s", parameter, e.path)
			}
		}
	}
	switch {
	case got == string(text):
	case *update:
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the page differs from the answers; it would be\n%s", got)
	}
}

// TestBadQuestions: each is refused with its status, and one sentence as JSON.
func TestBadQuestions(t *testing.T) {
	t.Parallel()
	_, handler := admin(t)
	for target, want := range map[string]string{
		"/api/v1/explain":                            "400 name is missing; write ?name=shop.corp.example, and &type=AAAA if you like",
		"/api/v1/explain?name=a..b":                  `400 "a..b" is no domain name: it has an empty label (two dots in a row, or a leading dot)`,
		"/api/v1/explain?name=a.test&type=AAAAA":     `400 "AAAAA" is no record type; write one like A, AAAA, CNAME or SRV`,
		"/api/v1/explain?nmae=a.test":                `400 "nmae" is no parameter of this page; did you mean name?`,
		"/api/v1/explain?name=a.test&name=b.test":    "400 name is given 2 times; give it once",
		"/api/v1/records?zone=a..b":                  `400 "a..b" is no domain name: it has an empty label (two dots in a row, or a leading dot)`,
		"/api/v1/records?name=a..b":                  `400 "a..b" is no domain name: it has an empty label (two dots in a row, or a leading dot)`,
		"/api/v1/records?zone=shop.corp.test":        "404 shop.corp.test is no zone that is served; /api/v1/zones lists them",
		"/api/v1/records?name=www.other.test":        "404 www.other.test lies in none of the zones asked; /api/v1/zones lists those that are served",
		"/api/v1/records?limit=0":                    "400 limit=0 is out of range; write a number from 1 to 10000",
		"/api/v1/records?limit=10001":                "400 limit=10001 is out of range; write a number from 1 to 10000",
		"/api/v1/zones?limit=many":                   "400 limit=many is out of range; write a number from 1 to 10000",
		"/api/v1/zones?cursor=%21":                   "400 the cursor is none that this page gave; leave it out to start again",
		"/api/v1/zones?cursor=" + cursor("a..b"):     "400 the cursor is none that this page gave; leave it out to start again",
		"/api/v1/records?cursor=" + cursor("x.test"): "400 the cursor is none that this page gave; leave it out to start again",
		"/api/v1/records?name=shop.corp.test&cursor=" + cursor("corp.test", "shop.corp.test"): "400 the cursor is none that this page gave; leave it out to start again",
		"/api/v1/skipped?source=ingres":    "400 source=ingres is none of the sources here; did you mean ingress?",
		"/api/v1/skipped?reason=conflicts": "400 reason=conflicts is no reason; did you mean conflict?",
		"/api/v1/sources?limit=1":          `400 "limit" is no parameter of this page; it has none`,
		"/api/v1/sources?a=%zz":            `400 what follows the question mark can't be read: invalid URL escape "%zz"; write name=value pairs with & between them`,
		"/api/v1/mirrors?mirror=two":       "404 there is no mirror two; /api/v1/mirrors lists those that there are",
		"/api/v1/zone":                     "404 /api/v1/zone is no page; there are /api/v1/zones, /api/v1/records, /api/v1/explain, /api/v1/skipped, /api/v1/sources, /api/v1/mirrors",
	} {
		response := get(handler, target)
		var problem apiError
		if err := json.Unmarshal([]byte(body(t, response)), &problem); err != nil {
			t.Errorf("%s: %v", target, err)
		}
		if got := fmt.Sprintf("%d %s", response.StatusCode, problem.Message); got != want {
			t.Errorf("%s:\n got %s\nwant %s", target, got, want)
		}
		if kind := response.Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("%s: the answer is %s", target, kind)
		}
	}
}

// TestWhoMayAsk: requests that name the server by an address and change
// nothing.
func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	_, handler := admin(t)
	for _, c := range []struct {
		method, host string
		want         int
	}{
		{http.MethodGet, "127.0.0.1:7980", http.StatusOK},
		{http.MethodGet, "10.1.2.3", http.StatusOK},
		{http.MethodGet, "[::1]:7980", http.StatusOK},
		{http.MethodGet, "[::1]", http.StatusOK},
		{http.MethodGet, "localhost:8080", http.StatusOK},
		{http.MethodGet, "LocalHost", http.StatusOK},
		{http.MethodHead, "127.0.0.1", http.StatusOK},
		{http.MethodGet, "evil.example:7980", http.StatusForbidden},
		{http.MethodGet, "localhost.evil.example", http.StatusForbidden},
		{http.MethodGet, "127.0.0.1.evil.example", http.StatusForbidden},
		{http.MethodGet, "", http.StatusForbidden},
		{http.MethodPost, "evil.example", http.StatusForbidden},
		{http.MethodPost, "127.0.0.1", http.StatusMethodNotAllowed},
		{http.MethodDelete, "localhost", http.StatusMethodNotAllowed},
	} {
		request := httptest.NewRequest(c.method, "/api/v1/zones", nil)
		request.Host = c.host
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != c.want {
			t.Errorf("%s as %q: %d, want %d: %s", c.method, c.host, recorder.Code, c.want, recorder.Body)
		}
	}
}

// TestPagesOfLists: whatever the limit, the pages together are the list.
func TestPagesOfLists(t *testing.T) {
	t.Parallel()
	_, handler := admin(t)
	for path, list := range map[string]string{"/api/v1/zones": "zones", "/api/v1/records": "records", "/api/v1/records?zone=corp.test": "records", "/api/v1/skipped": "skipped"} {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		whole, next := items(t, get(handler, path), list)
		if len(whole) < 2 || next != "" {
			t.Fatalf("%s: %d items, goes on at %q", path, len(whole), next)
		}
		for limit := 1; limit <= len(whole); limit++ {
			var got []string
			next := ""
			for range whole {
				var part []string
				part, next = items(t, get(handler, fmt.Sprintf("%s%slimit=%d&cursor=%s", path, mark, limit, next)), list)
				if got = append(got, part...); next == "" {
					break
				}
			}
			if !slices.Equal(got, whole) {
				t.Errorf("%s, limit %d: %d items in pages\n%s\nwant %d\n%s", path, limit, len(got), got, len(whole), whole)
			}
		}
	}
}

func items(t *testing.T, response *http.Response, list string) (texts []string, next string) {
	t.Helper()
	var answer map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body(t, response)), &answer); err != nil {
		t.Fatal(err)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(answer[list], &parts); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	for _, part := range parts {
		texts = append(texts, string(part))
	}
	if answer["next"] != nil {
		if err := json.Unmarshal(answer["next"], &next); err != nil {
			t.Fatal(err)
		}
	}
	return texts, next
}

// TestExplainAsksTheAPI: the command reads what the server writes, its errors
// too, and reaches it under any name.
func TestExplainAsksTheAPI(t *testing.T) {
	t.Parallel()
	p, handler := admin(t)
	server := httptest.NewServer(handler)
	defer server.Close()
	address := strings.Replace(server.Listener.Addr().String(), "127.0.0.1", "localhost", 1)
	shop := name(t, "shop.corp.test")
	x, err := askServer(t.Context(), address, shop, zones.TypeA)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(x)
	want, _ := json.Marshal(p.explain(shop, zones.TypeA))
	if string(got) != string(want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	wrong := httptest.NewServer(http.NotFoundHandler())
	defer wrong.Close()
	if _, err := askServer(t.Context(), wrong.Listener.Addr().String(), shop, zones.TypeA); err == nil || !strings.Contains(err.Error(), "says: 404 Not Found") {
		t.Errorf("a stranger's answer gives %v", err)
	}
}
