package script

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// An Answer makes the reply to a query's octets, for whoever asks.
type Answer func(query []byte, peer server.Peer) (reply []byte, err error)

// A Program makes the Answer of a story: with these options, from what the store
// holds whenever it is asked.
type Program func(options server.Options, store *zones.Store) Answer

// Respond is the Program of the server itself.
func Respond(options server.Options, store *zones.Store) Answer {
	responder := server.Responder{Options: options}
	return func(query []byte, peer server.Peer) ([]byte, error) {
		reply, outcome := responder.Respond(nil, query, store.Load(), peer)
		if outcome.Dropped != server.Answered {
			return nil, fmt.Errorf("there is no reply: %s", outcome.Dropped)
		}
		return reply, nil
	}
}

// Run runs one story, a *.txtar, with the program's answers, and fails the test
// where it shows something else than before; with update it writes what it shows.
// The comment of an archive is a list of commands, one a line; what a command
// prints follows it, indented by a tab. The files of the archive are YAML.
//
//	zone ORIGIN...                 serve these zones; ns1.ORIGIN has 192.0.2.53
//	flag --NAME=VALUE              as on the command line; before the first apply
//	unsynced                       nothing is synced before the command sync
//	apply FILE...                  as kubectl apply; the first apply syncs all kinds
//	crowd N                        apply N good objects of all sorts, see crowd.go
//	answered                       how many of the crowd have their right answer
//	reasons NS                     the one reason of each object of a namespace
//	status KIND NS NAME FILE       replace the status; NS is - for kinds without
//	delete KIND NS NAME
//	wait DURATION                  let time pass; else each command takes a second
//	sync [KIND...]                 the kinds (all) are synced
//	problem KIND TEXT              the kind can't be read
//	unreachable KIND TEXT          the same, because nothing answers
//	absent KIND TEXT               the same, because the cluster has no such kind
//	dig [-b ADDR] NAME TYPE,... [+...]  ask; options as dig has them, see dig.go
//	explain NAME [TYPE]            why it resolves as it does
//	skipped KIND NS NAME           what the object asked for in vain; ! marks that
//	                               of which an event is written
//	records                        settled claims, as "records -o endpoints" has them
//	serials                        which zones' serials moved since the last time
//	ready                          what readiness waits for, and what can't be read
//
// At the end every zone is checked for its invariants.
func Run(t *testing.T, file string, program Program, update bool) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{flags: defaultFlags(), files: map[string][]byte{}, program: program}
	for _, f := range archive.Files {
		s.files[f.Name] = f.Data
	}
	var got bytes.Buffer
	for n, line := range strings.Split(strings.TrimRight(string(archive.Comment), "\n"), "\n") {
		if strings.HasPrefix(line, "\t") {
			continue // what a command printed the last time
		}
		fmt.Fprintln(&got, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		output, err := s.do(line)
		if err != nil {
			t.Fatalf("%s:%d: %s: %v", file, n+1, line, err)
		}
		for text := range strings.Lines(output) {
			fmt.Fprintf(&got, "\t%s\n", strings.TrimRight(text, "\n"))
		}
	}
	fmt.Fprintln(&got)
	s.check(t)
	if update {
		archive.Comment = got.Bytes()
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got.Bytes(), archive.Comment) {
		t.Errorf("%s shows something else now; -update writes it.\n%s", file, difference(string(archive.Comment), got.String()))
	}
}

// difference shows the first line that differs, with the command before it.
func difference(want, got string) string {
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	command := ""
	for i, line := range gots {
		if i >= len(wants) || wants[i] != line {
			wanted := "(the end)"
			if i < len(wants) {
				wanted = wants[i]
			}
			return fmt.Sprintf("line %d, after: %s\n got: %s\nwant: %s\n\nthe whole:\n%s", i+1, command, line, wanted, got)
		}
		if line != "" && !strings.HasPrefix(line, "\t") {
			command = line
		}
	}
	return fmt.Sprintf("the end is missing, from line %d on: %s", len(gots), wants[min(len(gots), len(wants)-1)])
}

// A script is one story under way.
type script struct {
	files   map[string][]byte
	flags   flags
	program Program
	stage   *stage // nil until the first command that needs it
}

func (s *script) do(line string) (string, error) {
	command, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	switch command {
	case "zone", "flag":
		if s.stage != nil {
			return "", errors.New("comes too late: zones and flags stand before all else")
		}
		if command == "flag" {
			return "", s.flags.set(rest)
		}
		return "", s.flags.addZones(words)
	}
	if s.stage == nil {
		var err error
		if s.stage, err = s.flags.build(s.program); err != nil {
			return "", err
		}
	}
	run := commands[command]
	if run == nil {
		return "", errors.New("no such command")
	}
	if len(words) < run.words {
		return "", fmt.Errorf("takes %d words", run.words)
	}
	return run.do(s, words)
}

// A command's words are the least that it takes.
type command struct {
	words int
	do    func(*script, []string) (string, error)
}

var commands = map[string]*command{
	"unsynced": {0, func(s *script, _ []string) (string, error) { s.stage.noSync = true; return "", nil }},
	"apply":    {1, func(s *script, w []string) (string, error) { return "", s.apply(w) }},
	"crowd":    {1, func(s *script, w []string) (string, error) { return "", s.crowd(w) }},
	"answered": {0, func(s *script, _ []string) (string, error) { return s.stage.crowdAnswers() }},
	"reasons":  {1, func(s *script, w []string) (string, error) { return s.stage.reasons(w) }},
	"status":   {4, func(s *script, w []string) (string, error) { return "", s.status(w) }},
	"delete":   {3, func(s *script, w []string) (string, error) { return "", s.stage.delete(w) }},
	"sync":     {0, func(s *script, w []string) (string, error) { return "", s.stage.sync(w) }},
	"wait":     {1, func(s *script, w []string) (string, error) { return "", s.stage.wait(w) }},
	"problem":  {2, func(s *script, w []string) (string, error) { return "", s.stage.problem(w, nil) }},
	"unreachable": {2, func(s *script, w []string) (string, error) {
		return "", s.stage.problem(w, func(err error) error { return &sources.Unreachable{Err: err} })
	}},
	"absent": {2, func(s *script, w []string) (string, error) {
		return "", s.stage.problem(w, func(err error) error { return &sources.Absent{Err: err} })
	}},
	"dig":     {2, func(s *script, w []string) (string, error) { return s.stage.dig(w) }},
	"explain": {1, func(s *script, w []string) (string, error) { return s.stage.explain(w) }},
	"skipped": {3, func(s *script, w []string) (string, error) { return s.stage.skipped(w) }},
	"records": {0, func(s *script, _ []string) (string, error) { return s.stage.records(), nil }},
	"serials": {0, func(s *script, _ []string) (string, error) { return s.stage.moved(), nil }},
	"ready":   {0, func(s *script, _ []string) (string, error) { return s.stage.readiness(), nil }},
}

// check looks at what must hold in every zone whatever the story was.
func (s *script) check(t *testing.T) {
	if s.stage == nil {
		return
	}
	snap := s.stage.store.Load()
	for _, origin := range snap.Origins() {
		if err := zones.Check(snap.Zone(origin)); err != nil {
			t.Errorf("zone %s at the end: %v", origin, err)
		}
	}
}
