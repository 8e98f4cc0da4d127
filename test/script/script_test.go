package script_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/test/script"
)

// Run with -update after a deliberate change of what the stories show, and read
// the diff against the rule that the story's first comment states.
var update = flag.Bool("update", false, "write what the commands print into testdata")

// TestScripts runs testdata/*.txtar; script.go lists the commands.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			script.Run(t, file, script.Respond, *update)
		})
	}
}
