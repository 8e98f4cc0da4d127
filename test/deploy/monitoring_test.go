package deploy_test

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
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

// An image without any file beside the program can run it.
func TestProgramIsStatic(t *testing.T) {
	t.Parallel()
	file, err := elf.Open(program(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("the program asks for a dynamic linker")
		}
	}
	if libraries, err := file.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("the program needs %v", libraries)
	}
}
