package zones

import (
	"strings"
	"testing"
)

// TestLookupScripts runs testdata/lookup/*.txt: cases as in the settle scripts,
// whose lines "? NAME TYPE" ask a question; the answers stand after "->". The
// twin is asked too.
func TestLookupScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/lookup/*.txt", runLookupCase)
}

// runLookupCase returns the case with the answers that it gives.
func runLookupCase(t *testing.T, part string) string {
	t.Helper()
	title, body, _ := strings.Cut(part, "\n")
	input, _, _ := strings.Cut(body, "\n->")
	var objects, questions []string
	for _, line := range strings.Split(input, "\n") {
		if question, ok := strings.CutPrefix(line, "? "); ok {
			questions = append(questions, question)
		} else {
			objects = append(objects, line)
		}
	}
	w := parseSettleCase(t, title, strings.Join(objects, "\n"))
	snap, twin := w.build(t)
	var out strings.Builder
	var answer Answer
	for _, question := range questions {
		name, kind, _ := strings.Cut(question, " ")
		qname := mustName(t, name)
		qtype, err := ParseType(kind)
		if err != nil {
			t.Fatal(err)
		}
		if fault := compareWithTwin(snap, twin, qname, qtype, &answer); fault != "" {
			t.Errorf("%s, %s: %s", title, question, fault)
		}
		text := textAnswer(&answer)
		out.WriteString(question + ": " + text.kind)
		if !text.authoritative && answer.Kind != NotOurs {
			out.WriteString(", not authoritative")
		}
		if text.wildcard != "" {
			out.WriteString(", by " + text.wildcard)
		}
		if text.end != text.zone {
			out.WriteString(", ends in " + text.end)
		}
		out.WriteByte('\n')
		if answer.Kind == Unresolved {
			out.WriteString("  " + answer.Reason + "\n")
		}
		for _, line := range text.section {
			out.WriteString("  " + line + "\n")
		}
		for _, line := range text.authority {
			out.WriteString("  authority " + line + "\n")
		}
		for _, line := range text.additional {
			out.WriteString("  additional " + line + "\n")
		}
	}
	return title + "\n" + input + "\n->\n" + out.String()
}

// TestLookupBeforeSync: nothing is denied, and nothing answered, before the
// table is ready (DESIGN rule 1); names of others stay theirs.
func TestLookupBeforeSync(t *testing.T) {
	t.Parallel()
	w := world{origins: []Origin{{Name: mustName(t, "test")}}}
	table := w.table()
	table.SetReady(false, "the API server")
	table.Put(Object{Owner: Owner{Source: "ingress", Name: "a"}, Claims: []Claim{{Name: mustName(t, "a.test"), Type: TypeA, Targets: []string{"192.0.2.1"}}}})
	snap := table.Commit(noon()).Snapshot
	var answer Answer
	for _, name := range universe() {
		for _, kind := range worldQueries {
			snap.Lookup(name, kind, &answer)
			want := NotReady
			if !name.In(mustName(t, "test")) {
				want = NotOurs
			}
			if answer.Kind != want || len(answer.Section)+len(answer.Authority)+len(answer.Additional) > 0 {
				t.Fatalf("%s %s before sync is %s", name, kind, textAnswer(&answer))
			}
		}
	}
	if snap.Waiting != "the API server" {
		t.Errorf("the snapshot waits for %q", snap.Waiting)
	}
	var empty Store
	empty.Load().Lookup(mustName(t, "a.test"), TypeA, &answer)
	if answer.Kind != NotOurs {
		t.Errorf("an empty store answers %s", answer.Kind)
	}
	table.SetReady(true, "")
	table.Commit(noon()).Snapshot.Lookup(mustName(t, "a.test"), TypeA, &answer)
	if answer.Kind != Hit {
		t.Errorf("after sync the answer is %s", answer.Kind)
	}
}
