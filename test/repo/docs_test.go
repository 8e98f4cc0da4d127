package repo_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// prose are the pages whose commands must work.
func prose(t *testing.T) []string {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md"}
	for _, name := range walk(t) {
		if strings.HasPrefix(name, "docs/") && strings.HasSuffix(name, ".md") {
			files = append(files, name)
		}
	}
	return files
}

// A fence is one code block of a page.
type fence struct {
	language string
	line     int // of its first line of text
	text     []string
}

// fences returns the code blocks of a page, and the rest of it line by line.
func fences(t *testing.T, file string) (blocks []fence, rest []string) {
	t.Helper()
	var open *fence
	lines := bufio.NewScanner(strings.NewReader(read(t, file)))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch language, marks := strings.CutPrefix(line, "```"); {
		case marks && open == nil:
			open = &fence{language: strings.TrimSpace(language), line: n + 1}
		case marks:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text = append(open.text, line)
		default:
			rest = append(rest, line)
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the code block doesn't end", file, open.line)
	}
	return blocks, rest
}

var (
	flagPattern = regexp.MustCompile(`(^|[^-\w])(--[a-z][a-z0-9-]*)`)
	codeSpan    = regexp.MustCompile("`[^`]+`")
)

func flagsIn(text string) []string {
	var found []string
	for _, match := range flagPattern.FindAllStringSubmatch(text, -1) {
		found = append(found, match[2])
	}
	return found
}

// help returns the flags of each command of the program, as its --help lists
// them.
func help(t *testing.T) map[string]map[string]bool {
	t.Helper()
	commands := map[string]map[string]bool{}
	for _, command := range []string{"serve", "records", "explain", "plan", "check", "probe", "version"} {
		out, err := exec.Command(program(t), command, "--help").CombinedOutput()
		if err != nil {
			t.Fatalf("clusterzone %s --help: %v\n%s", command, err, out)
		}
		commands[command] = map[string]bool{"--help": true}
		for _, flag := range flagsIn(string(out)) {
			commands[command][flag] = true
		}
	}
	return commands
}

// A flag that a page names and the program doesn't know sends its reader away.
func TestPagesNameFlagsThatExist(t *testing.T) {
	t.Parallel()
	commands := help(t)
	union := map[string]bool{}
	for _, flags := range commands {
		maps.Copy(union, flags)
	}
	for _, file := range prose(t) {
		blocks, rest := fences(t, file)
		for _, line := range rest {
			for _, span := range codeSpan.FindAllString(line, -1) {
				for _, flag := range flagsIn(span) {
					if !union[flag] && !hidden(t, flag) {
						t.Errorf("%s names %s, which no command has", file, flag)
					}
				}
			}
		}
		for _, block := range blocks {
			for i, line := range joined(block.text) {
				checkLine(t, file, block.line+i, block.language, line, commands, union)
			}
		}
	}
}

// hidden reports whether a flag that no --help lists is one nevertheless, of serve:
// those of external-dns that have no effect, say.
func hidden(t *testing.T, flag string) bool {
	t.Helper()
	// --help comes first, so that the program doesn't run; without a value the flag
	// may be refused, but for another reason than a flag that isn't there.
	out, err := exec.Command(program(t), "serve", "--help", flag+"=").CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("clusterzone serve --help %s=: %v", flag, err)
	}
	return !strings.Contains(string(out), "clusterzone: "+flag+" is no flag of clusterzone serve; ")
}

// TestPagesNameFlagsThatExist would pass with anything if the program said it otherwise.
func TestHiddenFlagsAreKnown(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]bool{"--google-project": true, "--aws-sd-service-cleanup": true, "--provider": true, "--nonsense": false, "--google-projects": false} {
		if hidden(t, flag) != want {
			t.Errorf("%s counts as a flag: %t, want %t", flag, !want, want)
		}
	}
}

// Tables of flags on the pages of mirrors have them as users type them.
func TestMirrorPagesNameFlagsAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	rows := 0
	for _, file := range prose(t) {
		if !strings.HasPrefix(file, "docs/mirrors") {
			continue
		}
		_, rest := fences(t, file)
		inTable := false
		for _, line := range rest {
			switch {
			case strings.HasPrefix(line, "| Flag |"):
				inTable = true
			case !strings.HasPrefix(line, "|"):
				inTable = false
			case inTable && !strings.HasPrefix(line, "|---"):
				if rows++; !strings.HasPrefix(line, "| `--") {
					t.Errorf("%s: the flag has no hyphens: %s", file, line)
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows are tables of flags", rows)
	}
}

// joined puts lines that end in a backslash together with the next.
func joined(lines []string) []string {
	return strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), "\\\n", " "), "\n")
}

var commandLine = regexp.MustCompile(`^(?:\$ )?(?:bin/)?clusterzone\s+([a-z]+)\b(.*)$`)

func checkLine(t *testing.T, file string, n int, language, line string, commands map[string]map[string]bool, union map[string]bool) {
	t.Helper()
	flags := union
	switch match := commandLine.FindStringSubmatch(line); {
	case match != nil:
		if flags = commands[match[1]]; flags == nil {
			t.Errorf("%s:%d: %q is no command of clusterzone", file, n, match[1])
			return
		}
	case language != "yaml":
		return // another program's flags
	}
	for _, flag := range flagsIn(line) {
		if !flags[flag] {
			t.Errorf("%s:%d: %s is no flag here: %s", file, n, flag, line)
		}
	}
}

// A link that leads nowhere, or a make target that isn't there, does so too.
func TestPagesNameFilesAndTargetsThatExist(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	target := regexp.MustCompile("(?:^|`)make ([a-z0-9]+)")
	makefile := read(t, "Makefile")
	for _, file := range prose(t) {
		for _, match := range link.FindAllStringSubmatch(read(t, file), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(file), match[1])); err != nil {
				t.Errorf("%s links to %s, which isn't there", file, match[1])
			}
		}
		for line := range strings.Lines(read(t, file)) {
			for _, match := range target.FindAllStringSubmatch(line, -1) {
				if !strings.Contains(makefile, "\n"+match[1]+": ") {
					t.Errorf("%s names make %s, which the Makefile doesn't have", file, match[1])
				}
			}
		}
	}
}

// Every direct requirement has its reason on the architecture page, and the
// page names none that went.
func TestRequirementsHaveReasons(t *testing.T) {
	t.Parallel()
	out, err := goCommand("mod", "edit", "-json")
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, require := range mod.Require {
		if !require.Indirect {
			direct = append(direct, require.Path)
		}
	}
	var reasoned []string
	row := regexp.MustCompile(`^\| ([a-z0-9.-]+\.[a-z]+/[^ |]+) \| [^|]{10,} \|$`)
	_, rest := fences(t, "docs/architecture.md")
	for _, line := range rest {
		if match := row.FindStringSubmatch(line); match != nil {
			reasoned = append(reasoned, match[1])
		}
	}
	for _, path := range direct {
		if !slices.Contains(reasoned, path) {
			t.Errorf("go.mod requires %s, and the table in docs/architecture.md doesn't say why", path)
		}
	}
	for _, path := range reasoned {
		if !slices.Contains(direct, path) {
			t.Errorf("docs/architecture.md says why %s is required; go.mod doesn't require it directly", path)
		}
	}
}
