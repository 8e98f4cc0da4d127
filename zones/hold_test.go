package zones

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// holding makes an object whose one claim is held, beside the skip that says so.
func holding(t *testing.T, owner Owner, name string) Object {
	t.Helper()
	return Object{
		Owner: owner, Created: noon(),
		Claims: []Claim{{
			Name: mustName(t, name), Type: TypeA, Targets: []string{"192.0.2.1"}, NameFrom: "spec.rules[].host", TargetsFrom: "status.loadBalancer.ingress[]",
			Held: &Hold{Since: noon(), Until: noon().Add(5 * time.Minute)},
		}},
		Skipped: []Skipped{{Name: mustName(t, name), Reason: ReasonHeld, Message: "held"}},
	}
}

// TestHeldIsSeen: explanation, counts and saved state show what is held; the
// wire doesn't.
func TestHeldIsSeen(t *testing.T) {
	t.Parallel()
	table := world{origins: []Origin{{Name: mustName(t, "test")}}}.table()
	web := Owner{Source: "ingress", Namespace: "shop", Name: "web"}
	table.Put(holding(t, web, "a.test"))
	snap := table.Commit(noon()).Snapshot
	counts := table.Counts()
	if counts.Held != 1 || counts.Skipped[SkipKind{"ingress", ReasonHeld}] != 1 {
		t.Errorf("the counts are %+v, want one held name and one skip", counts)
	}
	x := table.Explain(mustName(t, "a.test"), TypeA, nil)
	if want := "a.test is served with the last good addresses of ingress shop/web, held until 2023-11-14T22:18:20Z"; x.Detail != want {
		t.Errorf("explain says %q, want %q", x.Detail, want)
	}
	if len(x.Records) != 1 || x.Records[0].From[0].Held == nil || !strings.Contains(x.Next, "the controller or cloud that gave ingress shop/web") {
		t.Errorf("the explanation is %+v", x)
	}
	if o, ok := table.ObjectOf(web); !ok || len(o.Claims) != 1 || len(o.Skipped) != 1 {
		t.Errorf("the object is %+v, %t", o, ok)
	}
	if _, ok := table.ObjectOf(Owner{}); ok {
		t.Error("an owner that asks for nothing has an object")
	}
	var answer Answer
	snap.Lookup(mustName(t, "a.test"), TypeAAAA, &answer)
	if answer.Kind != NoData || answer.Reason != "" {
		t.Errorf("AAAA is %s with reason %q: that the A records are held is no reason for it", answer.Kind, answer.Reason)
	}

	var state bytes.Buffer
	if err := table.Save(&state, noon()); err != nil {
		t.Fatal(err)
	}
	restarted := world{origins: []Origin{{Name: mustName(t, "test")}}}.table()
	if _, err := restarted.Load(&state); err != nil {
		t.Fatal(err)
	}
	if o, _ := restarted.ObjectOf(web); len(o.Claims) != 1 || o.Claims[0].Held == nil || !o.Claims[0].Held.Until.Equal(noon().Add(5*time.Minute)) {
		t.Errorf("the saved state gives %+v", o)
	}

	// The same name from two objects is one held name, and a loser's hold is none.
	second := holding(t, Owner{Source: "ingress", Namespace: "shop", Name: "web2"}, "a.test")
	table.Put(second)
	loser := holding(t, Owner{Source: "ingress", Namespace: "other", Name: "web"}, "a.test")
	loser.Created = noon().Add(time.Hour)
	table.Put(loser)
	table.Commit(noon())
	if held := table.Counts().Held; held != 1 {
		t.Errorf("%d names are held, want 1", held)
	}
	table.Delete(web)
	table.Delete(second.Owner)
	loser.Claims[0].Held, loser.Skipped = nil, nil
	table.Put(loser)
	table.Commit(noon())
	if held := table.Counts().Held; held != 0 {
		t.Errorf("%d names are held, want none", held)
	}
	if x := table.Explain(mustName(t, "a.test"), TypeA, nil); x.Detail != "a.test is served" || x.Next != "" {
		t.Errorf("after the hold explain says %q and %q", x.Detail, x.Next)
	}
}

func TestPosted(t *testing.T) {
	t.Parallel()
	for reason, want := range map[Reason]bool{ReasonHeld: true, ReasonConflict: true, ReasonClass: false, ReasonNoAddress: false} {
		if reason.Posted() != want {
			t.Errorf("%s: Posted is %t", reason, !want)
		}
	}
}
