package alibaba_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/alibaba"
	"github.com/clusterzone/clusterzone/upstream/alibaba/alibabatest"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// What a change costs, and that no moment is without an answer.
func TestChangesAreMadeInPlace(t *testing.T) {
	t.Parallel()
	steps := []struct {
		what   string
		kind   zones.Type
		ttl    uint32
		values string
		calls  string
	}{
		{"another address", zones.TypeA, 600, "192.0.2.2", "Update"},
		{"one more", zones.TypeA, 600, "192.0.2.2 192.0.2.3", "Add"},
		{"two others, of which one is new", zones.TypeA, 600, "192.0.2.3 192.0.2.4", "Update"},
		{"all gone but one", zones.TypeA, 600, "192.0.2.4", "Delete"},
		{"another TTL", zones.TypeA, 900, "192.0.2.4", "Update"},
		{"no TTL of its own", zones.TypeA, 0, "192.0.2.4", ""},
		{"three", zones.TypeA, 900, "192.0.2.4 192.0.2.5 192.0.2.6", "Add Add"},
		{"a CNAME", zones.TypeCNAME, 900, "lb.example.net", "Delete Delete Update"},
		{"two addresses for it", zones.TypeA, 900, "192.0.2.7 192.0.2.8", "Update Add"},
	}
	both(t, func(a *account) {
		first := a.record("web", zones.TypeA, 600, "192.0.2.1")
		a.must(create(first))
		kind := first.Type
		for _, step := range steps {
			old := a.at("web", kind)
			next := a.record("web", step.kind, step.ttl, strings.Fields(step.values)...)
			verb := mirror.Update
			if step.kind != kind {
				verb = mirror.Replace
			}
			a.fake.Forget()
			a.must(mirror.Change{Verb: verb, Old: old, New: &next})
			calls := strings.Join(a.writes(), " ")
			for _, word := range []string{"DomainRecord", "ZoneRecord"} {
				calls = strings.ReplaceAll(calls, word, "")
			}
			if calls != step.calls {
				a.Errorf("%s: %s were called, want %s", step.what, calls, step.calls)
			}
			if have := a.at("web", step.kind); have == nil || len(mirror.Differences(have, &next)) > 0 {
				a.Fatalf("%s: it is %+v", step.what, have)
			}
			kind = step.kind
		}
	}, nil)
}

func TestTTLsThatDifferAreLevelled(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		a.fake.Put(a.id, alibabatest.Record{RR: "web", Type: "A", Value: "192.0.2.1", TTL: 600}, alibabatest.Record{RR: "web", Type: "A", Value: "192.0.2.2", TTL: 900})
		for _, ttl := range []uint32{600, 900} {
			want := a.record("web", zones.TypeA, ttl, "192.0.2.1", "192.0.2.2")
			if len(mirror.Differences(a.at("web", zones.TypeA), &want)) == 0 {
				a.Errorf("a TTL of %d changes nothing", ttl)
			}
		}
		want := a.record("web", zones.TypeA, 900, "192.0.2.1", "192.0.2.2")
		a.must(mirror.Change{Verb: mirror.Update, Old: a.at("web", zones.TypeA), New: &want})
		if writes := a.writes(); len(writes) != 1 {
			a.Errorf("%v were called, want one update", writes)
		}
		if found := mirror.Differences(a.at("web", zones.TypeA), &want); len(found) > 0 {
			a.Error(found)
		}
	}, nil)
}

// A reply that gets lost leaves the outcome open; nothing is sent after it, and
// what is planned anew makes nothing double.
func TestALostReply(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		a.fake.SetFault(func(call alibabatest.Call) alibabatest.Fault {
			return alibabatest.Fault{Lost: call.Query["RR"]+call.Query["Rr"] == "second"}
		})
		var changes []mirror.Change
		for _, below := range []string{"first", "second", "third"} {
			changes = append(changes, create(a.record(below, zones.TypeA, 600, "192.0.2.1")))
		}
		results := a.apply(changes...)
		for i, want := range []mirror.Class{"none", mirror.Unknown, mirror.Failed} {
			if got := mirror.ClassOf(results[i].Err, "none"); got != want {
				a.Errorf("group %d: %v (%s), want %s", i, results[i].Err, got, want)
			}
		}
		if got := len(a.fake.Held(a.id)); got != 2 {
			a.Errorf("%d objects, want 2", got)
		}
		a.fake.SetFault(nil)
		a.must(changes...) // what is there already is taken as it is
		if got := len(a.fake.Held(a.id)); got != 3 {
			a.Errorf("%d objects, want 3", got)
		}
	}, nil)
}

func TestOneBadRecordAmongNineHundred(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		var changes []mirror.Change
		for i := range 900 {
			below := fmt.Sprintf("n%04d", i)
			if i == 450 {
				below = "forbidden"
			}
			changes = append(changes, create(a.record(below, zones.TypeA, 600, "192.0.2.1")))
		}
		bad := 0
		for part := range slices.Chunk(changes, a.cloud.Limits.BatchChanges) {
			for _, result := range a.apply(part...) {
				if result.Err != nil {
					bad++
					if class := mirror.ClassOf(result.Err, "none"); class != mirror.BadChange || !strings.Contains(result.Err.Error(), "RecordForbidden") {
						a.Errorf("%v (%s)", result.Err, class)
					}
				}
			}
		}
		if got := len(a.fake.Held(a.id)); bad != 1 || got != 899 {
			a.Errorf("%d groups failed and %d objects are there", bad, got)
		}
		if got := len(a.fake.Calls()); got != 900 {
			a.Errorf("%d calls, want 900", got)
		}
	}, func(z *alibabatest.Zone) { z.Forbidden = []string{"forbidden"} })
}

func TestThrottling(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		left := 2
		a.fake.SetFault(func(call alibabatest.Call) alibabatest.Fault {
			if left == 0 {
				return alibabatest.Fault{}
			}
			left--
			return alibabatest.Fault{Code: "Throttling.User"}
		})
		a.must(create(a.record("web", zones.TypeA, 600, "192.0.2.1")))
		calls := a.fake.Calls()
		if len(calls) != 3 || calls[0].Query["ClientToken"] != calls[2].Query["ClientToken"] {
			a.Errorf("%v were called, want the same thrice", calls)
		}
		if _, ok := calls[0].Query["ClientToken"]; ok != (a.zone.Kind == "private") {
			a.Errorf("a token was sent: %v", ok)
		}
		a.fake.SetFault(func(alibabatest.Call) alibabatest.Fault { return alibabatest.Fault{Code: "Throttling"} })
		results := a.apply(create(a.record("x", zones.TypeA, 600, "192.0.2.1")), create(a.record("y", zones.TypeA, 600, "192.0.2.1")))
		for _, result := range results {
			if class := mirror.ClassOf(result.Err, "none"); class != mirror.Throttled {
				a.Errorf("%v (%s)", result.Err, class)
			}
		}
		if got := len(a.fake.Calls()); got != 7 {
			a.Errorf("%d calls, want 4 more for the first change and none for the second", got)
		}
	}, nil)
}

// Whatever is true of a failed call decides what becomes of the change.
func TestErrorsHaveTheirClass(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]mirror.Class{
		"QuotaExceeded.Record": mirror.BadChange, "DomainRecordConflict": mirror.BadChange, "RecordForbidden.DNSChange": mirror.BadChange, "DomainForbidden": mirror.BadChange,
		"Forbidden.RAM": mirror.Denied, "InvalidAccessKeyId.NotFound": mirror.Denied, "SignatureDoesNotMatch": mirror.Denied, "InvalidSecurityToken.Expired": mirror.Denied,
		"IncorrectDomainUser": mirror.Failed, "InvalidDomainName.NoExist": mirror.Failed, "LastOperationNotFinished": mirror.Failed,
		"InternalError": mirror.Unknown, "ServiceUnavailable": mirror.Unknown, "DomainRecordDuplicate": mirror.Conflict, "Record.Invalid.Conflict": mirror.Conflict,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, alibaba.Public, nil)
			a.fake.SetFault(func(call alibabatest.Call) alibabatest.Fault {
				if isListing(call) {
					return alibabatest.Fault{}
				}
				return alibabatest.Fault{Code: code}
			})
			err := a.apply(create(a.record("web", zones.TypeA, 600, "192.0.2.1")))[0].Err
			if got := mirror.ClassOf(err, "none"); got != want || !strings.Contains(err.Error(), code) {
				t.Errorf("%v (%s), want %s", err, got, want)
			}
		})
	}
}

func TestForeignEdits(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		r := a.record("web", zones.TypeA, 600, "192.0.2.1", "192.0.2.2")
		a.must(create(r))
		have := a.at("web", zones.TypeA)
		gone := a.fake.Held(a.id)[0].ID
		a.fake.Take(a.id, gone)
		next := a.record("web", zones.TypeA, 600, "192.0.2.3", "192.0.2.4")
		if err := a.apply(mirror.Change{Verb: mirror.Update, Old: have, New: &next})[0].Err; mirror.ClassOf(err, "none") != mirror.Conflict {
			a.Errorf("an update of what is gone gives %v", err)
		}
		a.must(mirror.Change{Verb: mirror.Delete, Old: have}) // one of two is gone already
		if got := a.fake.Held(a.id); len(got) != 0 {
			a.Errorf("%v are left", got)
		}
	}, nil)
}

// A listing that is behind shows no record that was just made: the create finds it,
// and makes no second one.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		r := a.record("web", zones.TypeA, 600, "192.0.2.1")
		a.must(create(r))
		a.fake.SetFault(func(call alibabatest.Call) alibabatest.Fault { return alibabatest.Fault{Stale: isListing(call)} })
		if a.at("web", zones.TypeA) != nil {
			a.Fatal("the listing isn't stale")
		}
		if err := a.apply(create(r))[0].Err; mirror.ClassOf(err, "none") != mirror.Conflict {
			a.Errorf("the create gives %v, and should give a conflict", err)
		}
		if got := len(a.fake.Held(a.id)); got != 1 {
			a.Errorf("%d objects, want 1", got)
		}
	}, nil)
}

func TestAPartOfAGroup(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		text := a.record("a-forbidden", zones.TypeTXT, 0, `"heritage=external-dns,external-dns/owner=prod"`)
		address := a.record("forbidden", zones.TypeA, 600, "192.0.2.1")
		results := a.cloud.Provider.Apply(a.Context(), a.zone, []mirror.Group{{Name: address.Name, Changes: []mirror.Change{create(text), create(address)}}})
		if err := results[0].Err; mirror.ClassOf(err, "none") != mirror.Conflict || !strings.Contains(err.Error(), "a part") {
			a.Errorf("%v", err)
		}
	}, func(z *alibabatest.Zone) { z.Forbidden = []string{"forbidden"} })
}

// A CNAME that another hand has put there since the listing blocks, whatever code
// the product has for it.
func TestACNAMEInTheWay(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		a.fake.Put(a.id, alibabatest.Record{RR: "web", Type: "CNAME", Value: "other.example.net", TTL: 600})
		if err := a.apply(create(a.record("web", zones.TypeA, 600, "192.0.2.1")))[0].Err; mirror.ClassOf(err, "none") != mirror.BadChange {
			a.Errorf("%v", err)
		}
		if got := a.fake.Held(a.id); len(got) != 1 || got[0].Type != "CNAME" {
			a.Errorf("%v are there", got)
		}
	}, nil)
}

// A delete that is refused, whatever for, is no success while the record stands.
func TestADeleteThatIsRefused(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		a.must(create(a.record("web", zones.TypeA, 600, "192.0.2.1")))
		have := a.at("web", zones.TypeA)
		a.fake.SetFault(func(call alibabatest.Call) alibabatest.Fault {
			if isListing(call) {
				return alibabatest.Fault{}
			}
			return alibabatest.Fault{Code: "DomainRecordNotBelongToUser"}
		})
		if err := a.apply(mirror.Change{Verb: mirror.Delete, Old: have})[0].Err; mirror.ClassOf(err, "none") != mirror.Conflict {
			a.Errorf("%v", err)
		}
	}, nil)
}
