package fronts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is where the configurations stand that these tests run.
const page = "docs/forwarding.md"

// blocks are the code blocks of the page by the name in the comment above each.
func blocks(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, match := range regexp.MustCompile("(?ms)^<!-- (\\S+) -->\n```\\w*\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if _, twice := found[match[1]]; twice {
			t.Errorf("%s has two blocks named %s", page, match[1])
		}
		found[match[1]] = match[2]
	}
	if fences := strings.Count(string(text), "\n```") / 2; fences != len(found) {
		t.Errorf("%s has %d code blocks and %d names above them; name each, so that a test runs it", page, fences, len(found))
	}
	return found
}

// block is one code block of the page.
func block(t *testing.T, name string) string {
	t.Helper()
	text, ok := blocks(t)[name]
	if !ok {
		t.Fatalf("%s has no code block named %s", page, name)
	}
	return text
}

// blockNames are those that some test below asks for.
var blockNames = []string{
	"clusterzone", "Corefile", "nodelocal", "unbound-stub.conf", "unbound-forward.conf",
	"named-static-stub.conf", "named-forward.conf", "named-options.conf", "parent.zone", "parent-reverse.zone",
}

// A block that no test runs is one that nobody knows to be right.
func TestEveryBlockOfThePageIsRun(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	for name := range blocks(t) {
		if !slices.Contains(blockNames, name) || strings.Count(sources.String(), `"`+name+`"`) < 2 {
			t.Errorf("no test runs the block %s of %s", name, page)
		}
	}
}

// without takes a line out of a configuration.
func without(t *testing.T, text, line string) string {
	t.Helper()
	if strings.Count(text, line+"\n") == 0 {
		t.Fatalf("%q is no line of\n%s", line, text)
	}
	return strings.ReplaceAll(text, line+"\n", "")
}
