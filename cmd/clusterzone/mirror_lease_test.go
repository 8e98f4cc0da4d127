package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/test/kubetest"
	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// patience bounds each wait: a lease that nobody renews lasts 15 seconds, and the
// machine may be busy.
const patience = 2 * time.Minute

func awaiting(t *testing.T, try func() error) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("after %s: %v", patience, err)
		case <-tick.C:
		}
	}
}

// An instance is the program as a process, with the shared cloud as its provider.
type instance struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	log strings.Builder
}

// Write implements io.Writer for the log.
func (p *instance) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

func (p *instance) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func startInstance(t *testing.T, cloud string, args ...string) *instance {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &instance{}
	p.cmd = exec.CommandContext(t.Context(), self, append([]string{
		"--zone=corp.test", "--listen=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--admin-address=", "--resolver=none", "--shutdown-delay=0",
		"--provider=remote", "--txt-owner-id=one", "--mirror-lease-namespace=default", "--interval=1s", "--events", "--source=ingress",
	}, args...)...)
	p.cmd.Env = []string{"HOME=" + t.TempDir(), asProgram + "=" + cloud}
	p.cmd.Stderr = p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("an instance's log:\n%s", p.said())
		}
	})
	return p
}

// metric reads one of the program's metrics; "" where it is not there yet.
func (p *instance) metric(name string) string {
	address := regexp.MustCompile(`flag=metrics-address address=(\S+)`).FindStringSubmatch(p.said())
	if address == nil {
		return ""
	}
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + address[1] + "/metrics")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			return value
		}
	}
	return ""
}

// rights are those that README grants, as far as the test needs them.
func rights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses", "ingressclasses"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	}
}

const mirroredNames = 200

func applyMany(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	var hosts []string
	for i := range mirroredNames {
		hosts = append(hosts, fmt.Sprintf("{host: n%d.corp.test}", i))
	}
	c.Apply(t, fmt.Appendf(nil, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: web}
spec:
  defaultBackend: {service: {name: web, port: {number: 80}}}
  rules: [%s]
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
`, strings.Join(hosts, ", ")))
}

// TestAnotherInstanceFinishes: of two instances one has the lease and writes. It is
// killed while a batch of its first sync is applied and its reply under way. The
// other one gets the lease and writes the rest; nothing is written twice, and what
// is another owner's is left alone and told of.
func TestAnotherInstanceFinishes(t *testing.T) {
	c := shared.Cluster(t)
	c.Reset(t)
	applyMany(t, c)
	kubeconfig := "--kubeconfig=" + c.Kubeconfig(t, c.User(t, "mirror-lease", rights()...))
	zone := name(t, "corp.test")
	store := memory.New(remoteLimits(), zone)
	store.Put("corp.test",
		mirror.Record{Name: name(t, "n7.corp.test"), Type: zones.TypeA, Targets: []string{"192.0.2.7"}},
		mirror.Record{Name: name(t, "a-n7.corp.test"), Type: zones.TypeTXT, Targets: []string{`"heritage=external-dns,external-dns/owner=two"`}})
	cloud := newRemoteCloud(t, store)
	const killedAt = 4
	reached, gone := make(chan string, 1), make(chan struct{})
	cloud.onBatch(func(path string, batches int) {
		if batches == killedAt {
			reached <- path
			<-gone
		}
	})
	instances := map[string]*instance{}
	for _, path := range []string{"/one", "/two"} {
		instances[path] = startInstance(t, cloud.URL+path, kubeconfig)
	}
	var leader string
	select {
	case leader = <-reached:
	case <-time.After(patience):
		t.Fatal("nobody has written")
	}
	killed := instances[leader]
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.cmd.Wait() // it was killed
	close(gone)
	follower := map[string]string{"/one": "/two", "/two": "/one"}[leader]
	awaiting(t, func() error {
		if n := len(store.Held("corp.test")); n != 2*mirroredNames {
			return fmt.Errorf("the zone has %d records", n)
		}
		return nil
	})
	// A cycle later nothing more is written.
	before := instances[follower].metric("external_dns_controller_no_op_runs_total")
	awaiting(t, func() error {
		if now := instances[follower].metric("external_dns_controller_no_op_runs_total"); now == before || now == "" {
			return errors.New("no cycle without changes yet: " + now)
		}
		return nil
	})
	checkWritten(t, store)
	for i, writer := range cloud.writers {
		if want := map[bool]string{true: leader, false: follower}[i < killedAt]; writer != want {
			t.Errorf("batch %d was written by %s, not by %s", i+1, writer, want)
		}
	}
	if got := instances[follower].metric(`clusterzone_mirror_blocked_names{id="corp.test",mirror="remote",zone="corp.test"}`); got != "1" {
		t.Errorf("%q names are blocked", got)
	}
	client, err := kubernetes.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	awaiting(t, func() error { return blockedEvent(t.Context(), client) })
	lease, err := client.CoordinationV1().Leases("default").Get(t.Context(), "clusterzone-remote-one", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Errorf("the lease is %+v (%v)", lease, err)
	}
	// What the mirror is was kept by the first one, and the second one has no doubt.
	identity, err := noteMemory{cluster.NewNotes(client, "default", "clusterzone-mirror-remote")}.Recall(t.Context())
	if err != nil || identity["owner"] != "one" || identity["zones"] != "corp.test" {
		t.Errorf("what is remembered is %v (%v)", identity, err)
	}
	if log := instances[follower].said(); strings.Contains(log, "deletes nothing for now") {
		t.Errorf("the second one doubts: %s", log)
	}
}

// checkWritten: every name has its record and its ownership record, from one create
// each, and the record of the other owner is as it was.
func checkWritten(t *testing.T, store *memory.Store) {
	t.Helper()
	created := map[string]int{}
	for _, call := range store.Calls() {
		for _, group := range call.Batch {
			for i := range group.Changes {
				change := &group.Changes[i]
				if change.Verb != mirror.Create {
					t.Errorf("the change %s", change)
				}
				created[change.New.Name.String()+" "+change.New.Type.String()]++
			}
		}
	}
	for i := range mirroredNames {
		for _, key := range []string{fmt.Sprintf("n%d.corp.test A", i), fmt.Sprintf("a-n%d.corp.test TXT", i)} {
			if want := min(i^7, 1); created[key] != want {
				t.Errorf("%s was created %d times, not %d", key, created[key], want)
			}
		}
	}
	for _, r := range store.Held("corp.test") {
		if r.Name == "n7.corp.test" && r.Targets[0] != "192.0.2.7" {
			t.Errorf("the other owner's record is %+v", r)
		}
	}
}

func blockedEvent(ctx context.Context, client kubernetes.Interface) error {
	list, err := client.CoreV1().Events("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Reason == eventBlocked && e.InvolvedObject.Name == "web" && strings.Contains(e.Message, "n7.corp.test") && strings.Contains(e.Message, "two") {
			return nil
		}
	}
	return fmt.Errorf("of %d events none tells of the blocked name", len(list.Items))
}

// TestWithoutTheRightToALeaseNothingIsWritten: the reason is told.
func TestWithoutTheRightToALeaseNothingIsWritten(t *testing.T) {
	c := shared.Cluster(t)
	c.Reset(t)
	applyMany(t, c)
	kubeconfig := "--kubeconfig=" + c.Kubeconfig(t, c.User(t, "mirror-no-lease", rights()[:2]...))
	store := memory.New(remoteLimits(), name(t, "corp.test"))
	cloud := newRemoteCloud(t, store)
	p := startInstance(t, cloud.URL, kubeconfig)
	awaiting(t, func() error {
		if got := p.metric(`clusterzone_zone_names{zone="corp.test"}`); got != fmt.Sprint(mirroredNames+2) {
			return fmt.Errorf("%q names are served", got)
		}
		if got := p.metric(`clusterzone_mirror_writes{mirror="remote"}`); got != "0" {
			return fmt.Errorf("clusterzone_mirror_writes is %q", got)
		}
		return nil
	})
	if n := len(store.Calls()); n > 0 {
		t.Errorf("the cloud was called %d times", n)
	}
}
