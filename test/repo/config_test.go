package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Config files on the pages, marked by a comment before them, are read by the
// program as they stand: it lists the records of the example objects with them.
func TestConfigFilesOnPagesAreRead(t *testing.T) {
	t.Parallel()
	marked := regexp.MustCompile("(?ms)^( *)<!-- config -->\n *```yaml\n(.*?)^ *```")
	found := 0
	for _, file := range prose(t) {
		for _, match := range marked.FindAllStringSubmatch(read(t, file), -1) {
			found++
			path := filepath.Join(t.TempDir(), "config.yaml")
			text := strings.ReplaceAll("\n"+match[2], "\n"+match[1], "\n")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program(t), "records", "--config", path, "--manifests", "docs/examples")
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: the config file\n%s\nis refused: %v\n%s", file, text, err, out)
			}
		}
	}
	if found == 0 {
		t.Error("no page shows a config file")
	}
}
