package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// onceMirrored runs the mirrors of the flags once, over a cloud that stays, and
// returns how they are.
func onceMirrored(t *testing.T, store *memory.Store, client kubernetes.Interface, stateFile string, preview bool, args ...string) []mirror.Status {
	t.Helper()
	objectsFile := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(objectsFile, []byte(ingressYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	var objects objectSettings
	mirrors := mirrorsSettings{kinds: []cloudKind{{"fixed", func() cloudSettings { return fixedCloud{store.Cloud()} }}}}
	cmd := newPlan()
	cmd.ResetFlags()
	mirrors.add(cmd, true)
	objects.add(cmd)
	if err := cmd.ParseFlags(append([]string{"--zone=corp.test", "--manifests=" + objectsFile, "--mirror-lease-namespace=dns"}, args...)); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if err := objects.prepare(log, noVariables); err != nil {
		t.Fatal(err)
	}
	p, err := objects.assemble(log, pipelineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.once(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	set, err := mirrors.build(t.Context(), mirrorOptions{log: log, pipeline: p, client: client, stateFile: stateFile, preview: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range set.mirrors {
		if preview {
			_, err = m.Preview(t.Context())
		} else {
			err = m.Once(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return set.statuses()
}

// TestRestartsOfAMirror: with the same settings there is no doubt; with others there
// is, until their mark is given. It is kept in a file as in a cluster, where the other
// process is another Pod.
func TestRestartsOfAMirror(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"file", "cluster"} {
		store := memory.New(memory.DefaultLimits(), name(t, "corp.test"), name(t, "lab.test"))
		stateFile, client := filepath.Join(t.TempDir(), "state"), kubernetes.Interface(nil)
		if where == "cluster" {
			client = fake.NewClientset()
		}
		doubt := func(preview bool, args ...string) string {
			t.Helper()
			return onceMirrored(t, store, client, stateFile, preview, append([]string{"--provider=fixed"}, args...)...)[0].Doubt
		}
		if got := doubt(false, "--txt-owner-id=one"); got != "" {
			t.Errorf("%s: the first start has the doubt %q", where, got)
		}
		if got := doubt(false, "--txt-owner-id=one", "--interval=5m", "--mirror-max-deletes=3"); got != "" {
			t.Errorf("%s: settings that choose no records give the doubt %q", where, got)
		}
		for _, change := range []struct{ args, says string }{
			{"--txt-owner-id=two", `owner was "one" and is "two"`},
			{"--txt-owner-id=one --txt-prefix=own-", `prefix was not set and is "own-"`},
			{"--txt-owner-id=one --zone=lab.test", `zones was "corp.test" and is "corp.test,lab.test"`},
			{"--txt-owner-id=one --domain-filter=shop.corp.test", `domain-filter was not set and is "shop.corp.test"`},
			{"--txt-owner-id=one --label-filter=a=b", `label-filter was not set and is "a=b"`},
			{"--txt-owner-id=one --source=ingress", `source was not set and is "ingress"`},
			{"--txt-owner-id=one --managed-record-types=A", `record types was "A,AAAA,CNAME" and is "A"`},
			{"--txt-owner-id=one --zone-id-filter=corp.test", `zone-id-filter was not set and is "corp.test"`},
		} {
			args := strings.Fields(change.args)
			for _, preview := range []bool{false, true} {
				if got := doubt(preview, args...); !strings.Contains(got, change.says) {
					t.Errorf("%s: %s gives the doubt %q", where, change.args, got)
				}
			}
		}
		filtered := []string{"--txt-owner-id=one", "--domain-filter=shop.corp.test"}
		_, mark, _ := strings.Cut(doubt(true, filtered...), "--mirror-acknowledge=")
		acknowledged := append(filtered, "--mirror-acknowledge="+mark)
		if got := doubt(true, acknowledged...); got != "" {
			t.Errorf("%s: acknowledged there is the doubt %q", where, got)
		}
		if got := doubt(false, filtered...); got == "" {
			t.Errorf("%s: a preview has acknowledged for good", where)
		}
		if got := doubt(false, acknowledged...); got != "" {
			t.Errorf("%s: acknowledged there is the doubt %q", where, got)
		}
		if got := doubt(false, filtered...); got != "" {
			t.Errorf("%s: after the acknowledgement there is the doubt %q", where, got)
		}
		if _, err := os.Stat(stateFile + ".mirrors"); (err == nil) != (where == "file") {
			t.Errorf("%s: the file: %v", where, err)
		}
	}
}

// TestWithoutAPlaceNothingIsRemembered: neither cluster nor state file.
func TestWithoutAPlaceNothingIsRemembered(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.DefaultLimits(), name(t, "corp.test"))
	for _, owner := range []string{"one", "two"} {
		if got := onceMirrored(t, store, nil, "", false, "--provider=fixed", "--txt-owner-id="+owner)[0].Doubt; got != "" {
			t.Errorf("the owner %s has the doubt %q", owner, got)
		}
	}
}

// TestMirrorsShareAFile: each has its own part of it.
func TestMirrorsShareAFile(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.DefaultLimits(), name(t, "corp.test"))
	stateFile := filepath.Join(t.TempDir(), "state")
	list := func(owner string) []mirror.Status {
		return onceMirrored(t, store, nil, stateFile, false, "--mirrors=[{name: a, provider: fixed, txt-owner-id: one}, {name: b, provider: fixed, txt-owner-id: "+owner+"}]")
	}
	list("two")
	for i, status := range list("three") {
		if want := i == 1; (status.Doubt != "") != want {
			t.Errorf("%s has the doubt %q", status.Name, status.Doubt)
		}
	}
	all, err := (&memoryFile{path: stateFile + ".mirrors"}).read()
	if err != nil || len(all) != 2 || all["a"]["owner"] != "one" || all["b"]["owner"] != "two" {
		t.Errorf("the file holds %v (%v)", all, err)
	}
}

// TestADamagedMemory: deletions wait, and the message says what to do.
func TestADamagedMemory(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", "{", `{"fixed": 3}`, "{}{}", "\x00"} {
		path := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(path+".mirrors", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		store := memory.New(memory.DefaultLimits(), name(t, "corp.test"))
		if got := onceMirrored(t, store, nil, path, false, "--provider=fixed", "--txt-owner-id=one")[0].Doubt; !strings.HasSuffix(got, "state.mirrors is damaged; delete it once the mirrors' settings are right") {
			t.Errorf("%q gives the doubt %q", text, got)
		}
		if n := len(store.Held("corp.test")); n != 4 {
			t.Errorf("%q: the cloud has %d records", text, n)
		}
	}
	store := memory.New(memory.DefaultLimits(), name(t, "corp.test"))
	if got := onceMirrored(t, store, nil, filepath.Join(t.TempDir(), "none", "state"), false, "--provider=fixed", "--txt-owner-id=one")[0].Doubt; !strings.Contains(got, "can't be kept for the next run") {
		t.Errorf("a folder that isn't there gives the doubt %q", got)
	}
	notes := noteMemory{}
	for _, text := range []string{"null", "{", "3"} {
		if _, err := notes.parse(text); err == nil {
			t.Errorf("the note %q is read", text)
		}
	}
}

// TestLongSettings: what is kept stays small, and still tells what differs.
func TestLongSettings(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 10_000 {
		many = append(many, strings.Repeat("a", i%50)+".test")
	}
	text := settingText(many)
	if len(text) > 100 || text != settingText(many) || text == settingText(append(many, "more.test")) {
		t.Errorf("the text is %q", text)
	}
	if got := settingText([]string{"b", "a", "b"}); got != "a,b" {
		t.Errorf("two values are %q", got)
	}
}
