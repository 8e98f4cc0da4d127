package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Run "go test ./cmd/clusterzone -update" after a change of words, and read the
// difference before it is committed.
var update = flag.Bool("update", false, "rewrite the golden output of the command line tests")

// TestCommandLine runs the stories in testdata/cli. The comment of an archive
// holds one command line a line, $DIR in it being a new folder with the
// archive's files; the file "want" is what the commands print, standard output
// first, and their exit statuses.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/cli/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := story(t, archive)
			for i, file := range archive.Files {
				if file.Name != "want" {
					continue
				}
				if *update {
					archive.Files[i].Data = []byte(got)
					if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if got != string(file.Data) {
					t.Errorf("got:\n%s\nwant:\n%s", got, file.Data)
				}
				return
			}
			t.Error("the archive has no file \"want\"")
		})
	}
}

// serials differ from run to run: they are the time.
var serials = regexp.MustCompile(`serial \d{9,}|"serial": \d{9,}|\. \d{9,} 300 60 604800`)

func story(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	var stdin []byte
	for _, file := range archive.Files {
		if file.Name == "stdin" {
			stdin = file.Data
		}
		path := filepath.Join(dir, file.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for line := range strings.Lines(string(archive.Comment)) {
		args := strings.Fields(line)
		if len(args) == 0 || args[0] == "#" {
			continue
		}
		if args[0] != "clusterzone" {
			t.Fatalf("%q is no command of a story", line)
		}
		var out, errs bytes.Buffer
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "$DIR", dir)
		}
		status := run(context.Background(), args[1:], stdio{bytes.NewReader(stdin), &out, &errs})
		fmt.Fprintf(&all, "> %s", line)
		for _, text := range []string{out.String(), errs.String()} {
			text = strings.ReplaceAll(text, dir, "$DIR")
			all.WriteString(serials.ReplaceAllStringFunc(text, func(s string) string {
				return regexp.MustCompile(`\d{9,}`).ReplaceAllString(s, "SERIAL")
			}))
		}
		if status != 0 {
			fmt.Fprintf(&all, "(exit status %d)\n", status)
		}
	}
	return all.String()
}

// What serve refuses, check refuses with the same words, before a server starts.
func TestCheckRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/cli/bad-flags.txtar")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	told := map[string]string{}
	for _, command := range []string{"serve", "check"} {
		var of strings.Builder
		for line := range strings.Lines(string(archive.Comment)) {
			if rest, ok := strings.CutPrefix(line, "clusterzone serve "); ok {
				lines++
				fmt.Fprintf(&of, "clusterzone %s %s", command, rest)
			}
		}
		one := *archive
		one.Comment = []byte(of.String())
		told[command] = strings.ReplaceAll(story(t, &one), "clusterzone "+command, "clusterzone COMMAND")
	}
	if lines < 100 {
		t.Errorf("there are only %d lines to compare", lines)
	}
	serves, checks := strings.Split(told["serve"], "\n> "), strings.Split(told["check"], "\n> ")
	if len(serves) != len(checks) {
		t.Fatalf("serve:\n%s\ncheck:\n%s", told["serve"], told["check"])
	}
	for i := range serves {
		if serves[i] != checks[i] && !slices.ContainsFunc([]string{
			"no zone to serve", // objects can be checked without
			// The folders of what a server writes are on its own machine.
			"--state-file=$DIR/none/state: ", "--health-socket=$DIR/none/health can't be listened on",
		}, func(text string) bool { return strings.Contains(serves[i], text) }) {
			t.Errorf("serve says:\n%s\ncheck says:\n%s", serves[i], checks[i])
		}
	}
}
