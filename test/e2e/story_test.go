package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterzone/clusterzone/test/kubetest"
)

// TestAnswersFollowObjects plays the stories of testdata/stories: objects are
// created, changed and deleted through the API server, and the answers follow.
// Each has a server of its own. A story is a txtar file: commands, then the
// files that they name. Empty lines and those with a # say nothing.
//
//	serve FLAG...           start the server; the first command
//	apply FILE...           create or change the objects of files, status included
//	delete KIND NS NAME     delete an object
//	dig NAME TYPE           ask until the reply is what the lines below say
//	serial moves            wait until the zone's serial is greater than last noted
//
// Replies have the form that process.ask describes, each line after a tab.
func TestAnswersFollowObjects(t *testing.T) {
	paths, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := &story{cluster: clean(t), files: make(map[string][]byte)}
			for _, file := range archive.Files {
				s.files[file.Name] = file.Data
			}
			lines := strings.Split(string(archive.Comment), "\n")
			for at := 0; at < len(lines); {
				words := strings.Fields(lines[at])
				place := fmt.Sprintf("%s:%d: %s", path, at+1, lines[at])
				at++
				var block strings.Builder
				for at < len(lines) && strings.HasPrefix(lines[at], "\t") {
					block.WriteString(lines[at][1:] + "\n")
					at++
				}
				if len(words) == 0 || strings.HasPrefix(words[0], "#") {
					continue
				}
				ok := t.Run(strings.Join(words, " "), func(st *testing.T) {
					st.Log(place)
					s.play(t, st, words, block.String())
				})
				if !ok {
					t.FailNow()
				}
			}
		})
	}
}

// A story is one that is being played.
type story struct {
	cluster *kubetest.Cluster
	files   map[string][]byte
	server  *process
	serial  uint32
}

// play does one command. The server lives as long as the test whole; t is that
// of the command.
func (s *story) play(whole, t *testing.T, words []string, block string) {
	if s.server == nil && words[0] != "serve" {
		t.Fatal("no server: the first command is serve")
	}
	switch command := words[0]; {
	case command == "serve":
		_, flag := user(whole, s.cluster, reader()...)
		s.server = serve(whole, program(t), append(words[1:], flag)...)
		s.server.awaitPage(t, "/readyz", 200, "ready\n")
		s.serial = s.server.serial(t)
	case command == "apply":
		for _, name := range words[1:] {
			if s.files[name] == nil {
				t.Fatalf("no file %s", name)
			}
			s.cluster.Apply(t, s.files[name])
		}
	case command == "delete" && len(words) == 4:
		s.cluster.Delete(t, words[1], words[2], words[3])
	case command == "dig" && len(words) == 3:
		s.server.await(t, words[1], words[2], block)
	case command == "serial":
		await(t, func() error {
			switch now := s.server.serial(t); {
			case now < s.serial:
				t.Fatalf("the serial went back from %d to %d", s.serial, now)
			case now == s.serial:
				return fmt.Errorf("the serial is still %d", now)
			default:
				s.serial = now
			}
			return nil
		})
	default:
		t.Fatal("no such command")
	}
}
