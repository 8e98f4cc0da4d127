package kubetest

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var shared = Shared{Options: Options{CRDs: []string{"testdata/crds.yaml"}}}

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		orphan()
	}
	os.Exit(shared.Main(m))
}

func clientFor(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(verbs, groups, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: strings.Fields(verbs), APIGroups: []string{groups}, Resources: strings.Fields(resources),
	}
}

// Not parallel: it takes the API server from all tests that share the cluster.
func TestStoppedAPIServer(t *testing.T) {
	c := shared.Cluster(t)
	t.Cleanup(func() { c.Reset(t) })
	c.Apply(t, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {a: b}}"))
	client := clientFor(t, c.Admin())

	c.StopAPIServer(t)
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err == nil {
		t.Fatal("a stopped API server answers")
	}
	// Someone else on its port: it can't move, so it says what is wrong.
	l, err := net.Listen("tcp", strings.TrimPrefix(c.Admin().Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.restart(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("start on a taken port: %v, want one that says the address is in use", err)
	}
	l.Close()

	c.StartAPIServer(t)
	got, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || got.Data["a"] != "b" {
		t.Errorf("after the restart: %v, %v, want the data as before", got, err)
	}
}

func TestSharedStartsAgain(t *testing.T) {
	c := shared.Cluster(t)
	c.StopAPIServer(t)
	if _, err := clientFor(t, shared.Cluster(t).Admin()).ServerVersion(); err != nil {
		t.Errorf("the next test finds the API server stopped: %v", err)
	}
}

// A cluster of its own, whose first choice of a port is taken meanwhile.
func TestLaunchTakenPort(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	picks := 0
	c, err := launch(t.Context(), Options{Progress: func(line string) { t.Log(line) }}, func() (int, error) {
		picks++
		if picks == 1 {
			return l.Addr().(*net.TCPAddr).Port, nil
		}
		return freePort()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	if picks != 2 {
		t.Errorf("%d choices of a port, want 2", picks)
	}
	version, err := clientFor(t, c.Admin()).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if minor, err := strconv.Atoi(version.Minor); err != nil || minor < 30 || !strings.HasPrefix(version.GitVersion, "v1.") {
		t.Errorf("the API server calls itself %s (minor %q)", version.GitVersion, version.Minor)
	}
	// As the end of a package's tests.
	own := Shared{cluster: c}
	if code := own.Main(failing{}); code != 3 {
		t.Errorf("exit code %d, want that of the tests", code)
	}
	if c.running() {
		t.Error("the cluster outlives the tests")
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("after Stop, %s: %v, want it gone", c.dir, err)
	}
}

// failing stands for a *testing.M whose tests fail.
type failing struct{}

func (failing) Run() int { return 3 }

func TestLaunchWithoutEtcd(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	apiserver, _, err := Binaries(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{dir: t.TempDir(), apiserver: apiserver, pick: freePort}
	t.Cleanup(c.Stop)
	if err := c.start(t.Context(), "/bin/false", nil); err == nil || !strings.Contains(err.Error(), "etcd ended") {
		t.Errorf("got %v, want one that says etcd has ended", err)
	}
}

func TestLaunchBadFlag(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := Launch(ctx, Options{APIServerFlags: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("got %v, want the program's own words", err)
	}
}

func TestUserRights(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	client := clientFor(t, c.User(t, "rights", read("list", "networking.k8s.io", "ingresses")))
	ingresses := func() error {
		_, err := client.NetworkingV1().Ingresses("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	services := func() error {
		_, err := client.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	expect := func(when string, err error, allowed bool) {
		t.Helper()
		if allowed != (err == nil) || !allowed && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want allowed: %v", when, err, allowed)
		}
	}
	expect("granted ingresses", ingresses(), true)
	expect("not granted services", services(), false)
	// Often enough to notice that an answer comes from a lagging cache.
	for range 10 {
		c.Grant(t, "rights", read("list", "", "services"))
		expect("ingresses replaced by services", ingresses(), false)
		expect("services in place of ingresses", services(), true)
		c.Revoke(t, "rights")
		expect("after Revoke", services(), false)
		c.Grant(t, "rights", read("list", "networking.k8s.io", "ingresses"))
		expect("granted again", ingresses(), true)
	}
	c.Revoke(t, "rights")
	c.Revoke(t, "rights") // of one who has none
}

func TestUserEndsWithTest(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	var cfg *rest.Config
	t.Run("user", func(t *testing.T) {
		cfg = c.User(t, "ends", read("list", "", "services"))
	})
	_, err := clientFor(t, cfg).CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("rights after the test's end: %v", err)
	}
}

func TestKubeconfig(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	path := c.Kubeconfig(t, c.User(t, "file", read("list", "networking.k8s.io", "ingresses")))
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	var list *networkingv1.IngressList
	if list, err = clientFor(t, cfg).NetworkingV1().Ingresses("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("with the file: %v, %v", list, err)
	}
}
