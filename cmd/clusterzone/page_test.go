package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// TestAdminPage: the page shows what the pipeline has, stands behind the same
// gate as the API, and leaves the API's own answers alone.
func TestAdminPage(t *testing.T) {
	t.Parallel()
	p, handler := admin(t)
	p.recent.Note(time.Unix(1796043122, 0), []zones.Change{{Zone: name(t, "corp.test"), New: &zones.RRSet{Name: name(t, "new.corp.test"), Type: zones.TypeA}}})
	for target, wants := range map[string][]string{
		"/":                               {"<strong>Serving.</strong> 2 zones", `<a href="/zone?name=corp.test">corp.test</a>`, "status has no load-balancer address yet", "ingress sandbox/web", "EndpointSlice", "new.corp.test", `<span class="note">inmemory, upsert-only, owner one</span>`, "lab.corp.test: 1 wanted; compared last, 0 own records and 0 of others"},
		"/name?name=pay.corp.test":        {"<strong>No such records.</strong>", "check the controller or cloud that should give ingress shop/pay an address"},
		"/name?name=shop.corp.test&type=": {"<strong>Served.</strong>", "192.0.2.10", "spec.rules[].host"},
		"/zone?name=lab.corp.test":        {"mail.lab.corp.test", "198.51.100.25", "service mail/mail"},
	} {
		response := get(handler, target)
		page := body(t, response)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", target, response.StatusCode)
		}
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s doesn't show %q:\n%s", target, want, page)
			}
		}
	}
	for target, want := range map[string]int{"/zone?name=other.test": http.StatusNotFound, "/nothing": http.StatusNotFound, "/api/v1/zone": http.StatusNotFound} {
		if got := get(handler, target).StatusCode; got != want {
			t.Errorf("%s: status %d, want %d", target, got, want)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://evil.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	if got := recorder.Code; got != http.StatusForbidden {
		t.Errorf("under a foreign host name the page answers %d", got)
	}
}

// TestCommitsAreRemembered: what a commit changes shows on the page.
func TestCommitsAreRemembered(t *testing.T) {
	t.Parallel()
	d, _ := startable(t, "--zone=corp.test", "--source=ingress")
	d.committed(zones.Commit{Snapshot: d.pipeline.store.Load(), Changes: []zones.Change{{Zone: name(t, "corp.test"), Old: &zones.RRSet{Name: name(t, "old.corp.test"), Type: zones.TypeA}}}})
	changes := pageData{d.pipeline}.Overview().Changes
	if len(changes) != 1 || changes[0].What() != "removed" {
		t.Errorf("the page has %v", changes)
	}
}
