package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// TestZoneFileBreaksLater: the zone stays as it was and is served on; readiness
// and metrics tell of it until the file is mended.
func TestZoneFileBreaksLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "corp.zone")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("$TTL 60\n@ SOA ns hostmaster 7 1 2 3 4\n@ NS ns\nns A 192.0.2.53\nwww A 192.0.2.1\n")
	_, objects, serving := parsed(t, "--zone-file=corp.test="+path)
	d, err := newDaemon(slog.New(slog.DiscardHandler), objects, serving)
	if err != nil {
		t.Fatal(err)
	}
	d.bound.Store(true) // as if it answered
	if d.client != nil {
		t.Error("a server of zone files alone has a client of a cluster")
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- d.pipeline.feed.Run(ctx) }()
	go func() { done <- d.pipeline.watchZoneFiles(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
	})
	page := func(path string) string {
		recorder := httptest.NewRecorder()
		d.metricsHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		return recorder.Body.String()
	}
	tick := time.NewTicker(5 * time.Millisecond)
	t.Cleanup(tick.Stop)
	await := func(what string, holds func() bool) {
		t.Helper()
		for limit := time.Now().Add(20 * time.Second); !holds(); <-tick.C {
			if time.Now().After(limit) {
				t.Fatalf("%s: never came; /readyz says\n%s", what, page("/readyz"))
			}
		}
	}
	address := func() string {
		var a zones.Answer
		d.pipeline.store.Load().Lookup(name(t, "www.corp.test"), zones.TypeA, &a)
		if len(a.Section) == 0 {
			return a.Kind.String()
		}
		return a.Section[0].Set.Data[0].Text(zones.TypeA)
	}
	await("the start", func() bool { return address() == "192.0.2.1" })
	if got := page("/metrics"); !strings.Contains(got, `clusterzone_zone_file_unreadable{zone="corp.test"} 0`) || !strings.Contains(got, `clusterzone_zone_serial{zone="corp.test"} 7`) {
		t.Errorf("the metrics are\n%s", got)
	}
	write("$TTL 60\nwww A 192.0.2.\n")
	await("the fault", func() bool {
		return strings.Contains(page("/readyz"), "zone corp.test stays as it was since ") && strings.Contains(page("/readyz"), path+":2: ")
	})
	if got := page("/metrics"); address() != "192.0.2.1" || !strings.Contains(got, `clusterzone_zone_file_unreadable{zone="corp.test"} 1`) || !strings.HasPrefix(page("/readyz"), "ready\n") {
		t.Errorf("with a broken file www is %s, and the metrics are\n%s", address(), got)
	}
	write("$TTL 60\nwww A 192.0.2.2\n")
	await("the mended file", func() bool { return address() == "192.0.2.2" && !strings.Contains(page("/readyz"), "stays as it was") })
}
