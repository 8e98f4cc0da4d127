package deploy_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clusterzone/clusterzone/test/daemon"
	"github.com/clusterzone/clusterzone/test/kubetest"
)

const (
	// root is the top folder of the repository, seen from this package.
	root  = "../.."
	chart = "../../deploy/helm/clusterzone"
	// operatorModule has the definitions of ServiceMonitor and PrometheusRule.
	// Nothing of its code is used: go.mod does not name it, nor the next.
	operatorModule = "github.com/prometheus-operator/prometheus-operator@v0.82.0"
	endpointModule = "sigs.k8s.io/external-dns@v0.22.0"
)

var update = flag.Bool("update", false, "write the rendered manifests anew")

// shared is the API server of all tests.
var shared kubetest.Shared

// binDir is where programs are built.
var binDir string

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("CLUSTERZONE_DEPLOY") == "" {
		fmt.Println("skipped: the chart and manifests are tested with CLUSTERZONE_DEPLOY=1 (make test-deploy)")
		return
	}
	dir, err := os.MkdirTemp("", "clusterzone-deploy-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = dir
	code := shared.Main(m)
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

var buildHelm = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binDir, "helm")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = filepath.Join(root, "test", "helm")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("test/helm can't be built: %w\n%s", err, out)
	}
	return path, nil
})

var buildProgram = sync.OnceValues(func() (string, error) { return daemon.Build(root, binDir, "clusterzone", false) })

func program(t *testing.T) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// helm runs test/helm, and returns what it printed and whether it went well.
func helm(t *testing.T, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	path, err := buildHelm()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := daemon.Run(t, path, args...)
	return stdout, stderr, status == 0
}

// template renders the chart with a file of values.
func template(t *testing.T, values string, apis ...string) string {
	t.Helper()
	out, errs, ok := helm(t, append([]string{"template", chart, values}, apis...)...)
	if !ok {
		t.Fatalf("%s: %s", values, errs)
	}
	return out
}

// golden compares text with a file, or writes it there.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s is not what is rendered now (make deploy writes it anew):\n%s", file, firstDifference(string(want), text))
	}
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		x, y := "(end)", "(end)"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d: file %q, rendered %q", i+1, x, y)
		}
	}
	return ""
}

// cluster returns the API server, with every definition that the chart's objects
// and sources need.
func cluster(t *testing.T) *kubetest.Cluster {
	t.Helper()
	defined.Do(func() {
		gateway := strings.TrimSpace(goCommand(t, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api"))
		routegroup := strings.TrimSpace(goCommand(t, "list", "-m", "-f", "{{.Dir}}", "github.com/szuecs/routegroup-client"))
		operator := filepath.Join(download(t, operatorModule), "example", "prometheus-operator-crd")
		shared.Options.CRDs = []string{
			filepath.Join(gateway, "config", "crd", "experimental"),
			filepath.Join(routegroup, "zalando.org_routegroups.yaml"),
			filepath.Join(download(t, endpointModule), "config", "crd", "standard"),
			filepath.Join(operator, "monitoring.coreos.com_servicemonitors.yaml"),
			filepath.Join(operator, "monitoring.coreos.com_prometheusrules.yaml"),
		}
	})
	c := shared.Cluster(t)
	c.Reset(t)
	return c
}

var defined sync.Once

func download(t *testing.T, module string) string {
	t.Helper()
	var got struct{ Dir string }
	if err := json.Unmarshal([]byte(goCommand(t, "mod", "download", "-json", module)), &got); err != nil {
		t.Fatal(err)
	}
	return got.Dir
}

func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	} else if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
