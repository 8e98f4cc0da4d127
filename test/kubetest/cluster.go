package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// callTimeout bounds each method of a Cluster that talks to the API server;
// Apply and Reset, the work on each object.
const callTimeout = time.Minute

// Options say how a cluster differs from the plain one. The zero value is the
// plain one.
type Options struct {
	// CRDs are YAML files, or folders of them (not their subfolders), that are
	// applied when the cluster starts. Reset leaves what they define.
	CRDs []string
	// APIServerFlags come after the flags that kube-apiserver is started with,
	// and so win over them.
	APIServerFlags []string
	// MemoryLimit is the API server's GOMEMLIMIT. Empty means 300MiB, which some
	// thousand objects fit in; with more it would do little but collect garbage.
	MemoryLimit string
	// Progress is told about a build of the programs and how long the start
	// took. Nil prints to standard error.
	Progress func(string)
}

// A Cluster is a running kube-apiserver on an etcd of its own. It has the
// namespaces default and kube-*, the Service default/kubernetes, and what tests
// apply. Authorization is RBAC; cluster IPs come from 10.96.0.0/16 and
// fd00:96::/112.
type Cluster struct {
	dir       string // logs, keys, the database; removed by Stop
	apiserver string // path of the program
	flags     []string
	env       []string            // of the API server, beside what every program gets
	pick      func() (int, error) // a free port for the API server
	ca        *authority
	etcd      *process

	// Set once the API server's port is known, and never changed.
	admin     *rest.Config
	clientset *kubernetes.Clientset
	dynamic   *dynamic.DynamicClient
	mapper    *restmapper.DeferredDiscoveryRESTMapper

	mu      sync.Mutex
	stopped bool     // by Stop
	api     *process // nil while the API server is stopped
	port    int
	applied []*appliedObject // in order of their first Apply
	noted   map[objectKey]bool
	grants  int // counts calls of Grant
}

// Start starts a cluster for the test t and stops it when t ends; when t has
// failed, with the last lines of both logs. With -short it skips the test.
func Start(t testing.TB, opts Options) *Cluster {
	t.Helper()
	skipIfShort(t)
	ctx, cancel := startContext(t)
	defer cancel()
	c, err := Launch(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		c.Stop()
	})
	return c
}

// Launch starts a cluster outside of a test, building the programs first if
// need be. The caller stops it with Stop. ctx bounds the start only.
func Launch(ctx context.Context, opts Options) (*Cluster, error) {
	return launch(ctx, opts, freePort)
}

// launch is Launch with a way to choose the API server's port.
func launch(ctx context.Context, opts Options, pick func() (int, error)) (*Cluster, error) {
	progress := opts.Progress
	if progress == nil {
		progress = func(line string) { fmt.Fprintln(os.Stderr, "kubetest:", line) }
	}
	apiserver, etcd, err := Binaries(ctx, progress)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	// A short name: the path of a Unix socket has 107 bytes at most, and
	// testing's own folders have the test's name in them.
	dir, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		return nil, fmt.Errorf("kubetest: %w", err)
	}
	c := &Cluster{
		dir: dir, apiserver: apiserver, flags: opts.APIServerFlags,
		pick: pick, noted: make(map[objectKey]bool),
	}
	if opts.MemoryLimit != "" {
		c.env = []string{"GOMEMLIMIT=" + opts.MemoryLimit}
	}
	if err := c.start(ctx, etcd, opts.CRDs); err != nil {
		c.Stop()
		return nil, fmt.Errorf("kubetest: %w", err)
	}
	progress(fmt.Sprintf("kube-apiserver and etcd started in %.1f s", time.Since(begin).Seconds()))
	return c, nil
}

func (c *Cluster) start(ctx context.Context, etcd string, crds []string) error {
	if err := c.writeKeys(); err != nil {
		return err
	}
	var err error
	c.etcd, err = startProcess("etcd", etcd, c.dir, etcdFlags(c.dir))
	if err != nil {
		return err
	}
	c.mu.Lock()
	err = c.launchAPIServer(ctx)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	for _, path := range crds {
		if err := c.applyFiles(ctx, path); err != nil {
			return err
		}
	}
	c.takeNotes()
	return nil
}

// connect makes the clients, once the port is known.
func (c *Cluster) connect(admin *rest.Config) error {
	httpClient, err := rest.HTTPClientFor(admin)
	if err != nil {
		return err
	}
	clientset, err := kubernetes.NewForConfigAndClient(admin, httpClient)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfigAndClient(admin, httpClient)
	if err != nil {
		return err
	}
	c.admin, c.clientset, c.dynamic = admin, clientset, objects
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(clientset.Discovery()))
	return nil
}

// Stop ends both programs and removes all data. Further calls do nothing.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	if c.api != nil {
		c.api.kill()
		c.api = nil
	}
	if c.etcd != nil {
		c.etcd.kill()
	}
	// What can't be removed lies in the system's temporary folder anyway.
	_ = os.RemoveAll(c.dir)
}

// Admin returns a configuration for a client that may do everything (group
// system:masters), without a rate limit. The caller owns it.
func (c *Cluster) Admin() *rest.Config { return rest.CopyConfig(c.admin) }

// Logs returns the last lines of both programs' logs.
func (c *Cluster) Logs() string {
	text := ""
	for _, name := range []string{"etcd", "kube-apiserver"} {
		p := process{logPath: filepath.Join(c.dir, name+".log")}
		text += "--- last lines of " + name + ":\n" + p.tail(25) + "\n"
	}
	return text
}

// StopAPIServer kills the API server, as a crash would: connections to it break
// and new ones are refused. Its data stay in etcd.
func (c *Cluster) StopAPIServer(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api == nil {
		t.Fatal("kubetest: StopAPIServer: the API server is stopped already")
	}
	c.api.kill()
	c.api = nil
}

// StartAPIServer starts the API server again after StopAPIServer, on the same
// port and with the same data, and returns when it is ready.
func (c *Cluster) StartAPIServer(t testing.TB) {
	t.Helper()
	ctx, cancel := startContext(t)
	defer cancel()
	if err := c.restart(ctx); err != nil {
		t.Fatalf("kubetest: StartAPIServer: %v", err)
	}
}

func (c *Cluster) restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("the cluster has been stopped")
	}
	if c.api != nil {
		return errors.New("the API server runs already")
	}
	return c.launchAPIServer(ctx)
}

// running tells whether the API server is up, as far as StopAPIServer and
// StartAPIServer know.
func (c *Cluster) running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.api != nil
}

func skipIfShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("kubetest: -short: this test needs a real kube-apiserver and etcd")
	}
}

// startContext ends shortly before the test binary's own time limit, so that
// the test can still say what it waited for.
func startContext(t testing.TB) (context.Context, context.CancelFunc) {
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, set := limited.Deadline(); set {
			return context.WithDeadline(t.Context(), deadline.Add(-5*time.Second))
		}
	}
	return context.WithCancel(t.Context())
}

// callContext bounds one method. It is not bound to the test's context, which
// has ended when cleanups run.
func callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), callTimeout)
}
