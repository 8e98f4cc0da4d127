package kubetest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is one cluster for all tests of a package. The zero value is ready to
// use; Options is set before the first call and not changed.
type Shared struct {
	Options Options

	mu      sync.Mutex
	cluster *Cluster
	err     error
}

// Main runs the tests, then stops the cluster if one of them has started it,
// and returns the exit code for os.Exit. When tests have failed it prints the
// last lines of the cluster's logs. m is the *testing.M.
func (s *Shared) Main(m interface{ Run() int }) int {
	code := m.Run()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster != nil {
		if code != 0 {
			fmt.Fprint(os.Stderr, s.cluster.Logs())
		}
		s.cluster.Stop()
	}
	return code
}

// Cluster returns the cluster, which starts with the first call, and starts the
// API server again if an earlier test has left it stopped. With -short it skips
// the test.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	skipIfShort(t)
	ctx, cancel := startContext(t)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil && s.err == nil {
		s.cluster, s.err = Launch(ctx, s.Options)
	}
	// A failed start is not tried again: each try would take minutes to fail.
	if s.err != nil {
		t.Fatal(s.err)
	}
	if !s.cluster.running() {
		if err := s.cluster.restart(ctx); err != nil {
			t.Fatalf("kubetest: start the API server again: %v", err)
		}
	}
	return s.cluster
}
