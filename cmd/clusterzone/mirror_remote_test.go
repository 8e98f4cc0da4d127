package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/clusterzone/clusterzone/test/kubetest"
	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// shared is the API server of the tests that need one.
var shared kubetest.Shared

// asProgram is the variable that makes the test binary the program, with one more
// provider: a cloud that several processes share, at the URL that it holds.
const asProgram = "CLUSTERZONE_TEST_CLOUD"

func TestMain(m *testing.M) {
	if url := os.Getenv(asProgram); url != "" {
		os.Exit(runWithCloud(url, os.Args[1:]))
	}
	os.Exit(shared.Main(m))
}

// runWithCloud serves as the program does.
func runWithCloud(url string, args []string) int {
	var objects objectSettings
	var serving serveSettings
	serving.mirrors.kinds = []cloudKind{{"remote", func() cloudSettings { return remoteSettings{url} }}}
	cmd := newServe()
	cmd.ResetFlags()
	serving.add(cmd)
	objects.add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	if err := serve(context.Background(), &objects, &serving, os.Stdin, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return exitOK
}

type remoteSettings struct{ url string }

func (s remoteSettings) add(flags) {}

func (s remoteSettings) open(context.Context, cloudOptions) (mirror.Cloud, error) {
	return mirror.Cloud{Name: "remote", Provider: remote(s), Limits: remoteLimits()}, nil
}

// remoteLimits make many batches of a first sync.
func remoteLimits() mirror.Limits {
	limits := memory.DefaultLimits()
	limits.BatchChanges = 20
	return limits
}

// A remote is a cloud in another process.
type remote struct{ url string }

// A remoteCall is what goes to it, and comes back.
type remoteCall struct {
	Op      memory.Op
	Zone    mirror.Zone
	Names   []zones.Name
	Batch   []mirror.Group
	Zones   []mirror.Zone
	Records []mirror.Record
	Now     [][]mirror.Record
	Errs    []string // of each group, or of the call
}

func (r remote) call(ctx context.Context, call remoteCall) (back remoteCall, err error) {
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(call); err != nil {
		return back, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, &text)
	if err != nil {
		return back, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return back, err
	}
	defer response.Body.Close()
	return back, gob.NewDecoder(response.Body).Decode(&back)
}

// listed is the outcome of a call that reads.
func listed(back remoteCall, err error) error {
	if err == nil && len(back.Errs) > 0 {
		err = errors.New(back.Errs[0])
	}
	return err
}

func (r remote) Zones(ctx context.Context) ([]mirror.Zone, error) {
	back, err := r.call(ctx, remoteCall{Op: memory.OpZones})
	return back.Zones, listed(back, err)
}

func (r remote) Records(ctx context.Context, zone mirror.Zone) ([]mirror.Record, error) {
	back, err := r.call(ctx, remoteCall{Op: memory.OpRecords, Zone: zone})
	return back.Records, listed(back, err)
}

func (r remote) Apply(ctx context.Context, zone mirror.Zone, batch []mirror.Group) []mirror.Result {
	back, err := r.call(ctx, remoteCall{Op: memory.OpApply, Zone: zone, Batch: batch})
	if err != nil {
		return mirror.Fail(batch, &mirror.Error{Class: mirror.Unknown, Err: err})
	}
	results := make([]mirror.Result, len(batch))
	for i := range results {
		results[i].Now = back.Now[i]
		if back.Errs[i] != "" {
			results[i].Err = &mirror.Error{Class: mirror.Conflict, Err: errors.New(back.Errs[i])}
		}
	}
	return results
}

// A remoteCloud serves a Store to processes. Each has a path of its own.
type remoteCloud struct {
	*httptest.Server
	store *memory.Store

	mu      sync.Mutex
	writers []string // of each batch
	// applied is called with the path and the number of batches so far when one is
	// applied, before the reply goes out.
	applied func(path string, batches int)
}

func newRemoteCloud(t *testing.T, store *memory.Store) *remoteCloud {
	t.Helper()
	c := &remoteCloud{store: store}
	c.Server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Close)
	return c
}

// onBatch sets applied. Requests come by way of other processes, so that nothing
// but the lock orders them.
func (c *remoteCloud) onBatch(applied func(path string, batches int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied = applied
}

func (c *remoteCloud) serve(w http.ResponseWriter, r *http.Request) {
	var call, back remoteCall
	if err := gob.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	var err error
	switch ctx := context.WithoutCancel(r.Context()); call.Op {
	case memory.OpZones:
		back.Zones, err = c.store.Zones(ctx)
	case memory.OpRecords:
		back.Records, err = c.store.Records(ctx, call.Zone)
	case memory.OpApply:
		c.mu.Lock()
		c.writers = append(c.writers, r.URL.Path)
		batches, applied := len(c.writers), c.applied
		c.mu.Unlock()
		for _, result := range c.store.Apply(ctx, call.Zone, call.Batch) {
			text := ""
			if result.Err != nil {
				text = result.Err.Error()
			}
			back.Now, back.Errs = append(back.Now, result.Now), append(back.Errs, text)
		}
		if applied != nil {
			applied(r.URL.Path, batches)
		}
	}
	if err != nil {
		back.Errs = []string{err.Error()}
	}
	// A process that was killed misses the reply.
	_ = gob.NewEncoder(w).Encode(back)
}
