package zones

import (
	"strings"
	"testing"
	"time"
)

// skipping makes an object with a skip for each name, as a source hands it in:
// the owner of the skips is not set.
func skipping(t *testing.T, owner Owner, message string, names ...string) Object {
	t.Helper()
	o := Object{Owner: owner}
	for _, name := range names {
		o.Skipped = append(o.Skipped, Skipped{Name: mustName(t, name), Reason: ReasonNoAddress, Message: message})
	}
	return o
}

// TestCommitTellsSkips: a commit tells each skip once, with its owner; those of
// lost contests too.
func TestCommitTellsSkips(t *testing.T) {
	t.Parallel()
	table := world{origins: []Origin{{Name: mustName(t, "test")}}}.table()
	web := Owner{Source: "ingress", Namespace: "shop", Name: "web"}
	expect := func(what string, skipped int) Commit {
		t.Helper()
		commit := table.Commit(noon())
		if len(commit.Skipped) != skipped {
			t.Errorf("%s: the commit tells %v, want %d", what, commit.Skipped, skipped)
		}
		return commit
	}
	table.Put(skipping(t, web, "no address yet", "a.test", "b.test"))
	commit := expect("two skips", 2)
	for _, skip := range commit.Skipped {
		if skip.Owner != web {
			t.Errorf("the skip of %s has the owner %q", skip.Name, skip.Owner)
		}
	}
	table.Put(skipping(t, web, "no address yet", "a.test", "b.test"))
	expect("the same again", 0)
	table.Put(skipping(t, web, "no address yet", "b.test"))
	expect("one less", 0)
	table.Put(skipping(t, web, "another reason", "b.test"))
	expect("another reason", 1)

	old := Object{Owner: Owner{Source: "ingress", Namespace: "a", Name: "old"}, Created: noon(), Claims: []Claim{{Name: mustName(t, "c.test"), Type: TypeA, Targets: []string{"192.0.2.1"}}}}
	young := old
	young.Owner.Namespace, young.Created = "b", noon().Add(1)
	table.Put(old)
	table.Put(young)
	commit = expect("a contest", 1)
	if len(commit.Skipped) == 1 && (commit.Skipped[0].Owner != young.Owner || commit.Skipped[0].Reason != ReasonConflict) {
		t.Errorf("the loser is %v", commit.Skipped[0])
	}
	table.Put(young)
	expect("a contest lost again", 0)
	table.Delete(old.Owner)
	expect("the winner went", 0)
}

// TestReason: a negative answer says why an object's name is missing, also
// where a wildcard that would cover it was skipped.
func TestReason(t *testing.T) {
	t.Parallel()
	table := world{origins: []Origin{{Name: mustName(t, "test")}}}.table()
	table.Put(skipping(t, Owner{Source: "ingress", Namespace: "shop", Name: "web"}, "no address yet", "a.test", "*.wild.test", "www.elsewhere"))
	first := table.Commit(noon()).Snapshot
	const why = "ingress shop/web: no address yet"
	var answer Answer
	for name, want := range map[string]string{
		"a.test":        why,
		"b.a.test":      "",
		"b.test":        "",
		"x.wild.test":   why,
		"y.x.wild.test": why,
		"*.wild.test":   why,
		"wild.test":     "",
		"www.elsewhere": "",
	} {
		first.Lookup(mustName(t, name), TypeA, &answer)
		if answer.Reason != want {
			t.Errorf("%s is %s for the reason %q, want %q", name, answer.Kind, answer.Reason, want)
		}
	}
	table.Put(Object{Owner: Owner{Source: "ingress", Namespace: "shop", Name: "web"}, Claims: []Claim{{Name: mustName(t, "a.test"), Type: TypeA, Targets: []string{"192.0.2.1"}}}})
	second := table.Commit(noon()).Snapshot
	if second.Lookup(mustName(t, "a.test"), TypeA, &answer); answer.Kind != Hit || answer.Reason != "" {
		t.Errorf("a.test is %s for the reason %q", answer.Kind, answer.Reason)
	}
	if second.Lookup(mustName(t, "x.wild.test"), TypeA, &answer); answer.Reason != "" {
		t.Errorf("x.wild.test still has the reason %q", answer.Reason)
	}
	if first.Lookup(mustName(t, "a.test"), TypeA, &answer); answer.Reason != why {
		t.Errorf("the older snapshot's reason became %q", answer.Reason)
	}
}

// TestReasonBesideRecords: what another object lost at a name with records
// tells why an address is missing, and nothing about other types.
func TestReasonBesideRecords(t *testing.T) {
	t.Parallel()
	table := world{origins: []Origin{{Name: mustName(t, "test")}}}.table()
	for i, namespace := range []string{"shop", "rival"} {
		table.Put(Object{
			Owner:   Owner{Source: "ingress", Namespace: namespace, Name: "web"},
			Created: noon().Add(time.Duration(i)),
			Claims:  []Claim{{Name: mustName(t, "a.test"), Type: TypeA, Targets: []string{"192.0.2.1"}}},
			Skipped: []Skipped{{Name: mustName(t, "a.test"), Reason: ReasonInvalidTTL, Message: "a remark"}},
		})
	}
	snap := table.Commit(noon()).Snapshot
	var answer Answer
	for kind, want := range map[Type]bool{TypeAAAA: true, TypeTXT: false, TypeSRV: false} {
		snap.Lookup(mustName(t, "a.test"), kind, &answer)
		if answer.Kind != NoData || strings.Contains(answer.Reason, "a.test belongs to ingress shop/web") != want {
			t.Errorf("%s: %s for the reason %q", kind, answer.Kind, answer.Reason)
		}
	}
}
