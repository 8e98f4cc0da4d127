package repo_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A console is one command of a "console" block, with what the page shows of
// its output.
type console struct {
	file    string
	line    int
	command string
	shown   []string
}

// What README shows of a command's output is what the command prints: each
// line that the page shows must be there, in this order. A page may leave lines
// out. What changes from run to run (ids, times, serials, versions) is not
// compared.
func TestConsoleBlocksShowWhatHappens(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed, so the pages' dig lines can't be run; the package is bind9-dnsutils or bind-utils")
	}
	var all []console
	for _, file := range prose(t) {
		all = append(all, readConsoles(t, file)...)
	}
	if len(all) == 0 {
		t.Fatal("no page shows a command with its output")
	}
	port := serveExample(t)
	for _, c := range all {
		out, err := c.run(t, port)
		if err != nil {
			t.Errorf("%s:%d: %s: %v\n%s", c.file, c.line, c.command, err, out)
			continue
		}
		printed := strings.Split(out, "\n")
		at := 0
		for _, want := range c.shown {
			if want = stable(want); want == "" {
				continue
			}
			from := at
			for at < len(printed) && stable(printed[at]) != want {
				at++
			}
			if at == len(printed) {
				t.Errorf("%s:%d: %s doesn't print (after its line %d)\n\t%s\nbut\n%s", c.file, c.line, c.command, from, want, out)
				break
			}
			at++
		}
	}
}

// run runs the command with the ports and the program of this test.
func (c console) run(t *testing.T, port string) (string, error) {
	t.Helper()
	words := strings.Fields(c.command)
	switch words[0] {
	case "dig":
		for i, word := range words {
			if word == "-p" && i+1 < len(words) {
				words[i+1] = port
			}
		}
	case "bin/clusterzone":
		words[0] = program(t)
	default:
		return "", fmt.Errorf("this test runs dig and bin/clusterzone only; show %s in a block of another language", words[0])
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	volatile = regexp.MustCompile(`^(; <<>>|;; (Query time|SERVER|WHEN|MSG SIZE)|; COOKIE|;; global options)`)
	numbers  = regexp.MustCompile(`(\bid: |\bserial |\bhostmaster\.\S+ )\d+`)
	spaces   = regexp.MustCompile(`\s+`)
)

// stable returns what of a line is the same on every run, or "".
func stable(line string) string {
	if volatile.MatchString(line) {
		return ""
	}
	line = spaces.ReplaceAllString(strings.TrimSpace(line), " ")
	return numbers.ReplaceAllString(line, "${1}N")
}

func readConsoles(t *testing.T, file string) []console {
	t.Helper()
	var all []console
	blocks, _ := fences(t, file)
	for _, block := range blocks {
		if block.language != "console" {
			continue
		}
		for i, line := range block.text {
			if command, is := strings.CutPrefix(line, "$ "); is {
				all = append(all, console{file: file, line: block.line + i, command: command})
			} else if len(all) > 0 {
				last := &all[len(all)-1]
				last.shown = append(last.shown, line)
			}
		}
	}
	return all
}
