package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The alerts are valid, and fire when they shall and not else: alerts_test.yaml.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool isn't there; install the Debian package prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "--lint-fatal", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Join(root, "deploy", "monitoring")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// An image without any file beside the program can run it, on each architecture: with
// CGO_ENABLED=0, as the Dockerfile has it, no package needs C.
func TestProgramNeedsNoC(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(dockerfile), " CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build ") {
		t.Error("deploy/Dockerfile doesn't build without C for the architecture that is asked for")
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .CgoFiles}}{{$.ImportPath}} {{.}}{{end}}", "./cmd/clusterzone")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
		out, err := cmd.CombinedOutput()
		if text := strings.TrimSpace(string(out)); err != nil || text != "" {
			t.Errorf("%s: %v; these need C:\n%s", architecture, err, text)
		}
	}
}
