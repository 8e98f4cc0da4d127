package zones

import (
	"slices"
	"testing"
	"time"
)

func TestAMirrorLearnsWhatIsAskedForAtOneName(t *testing.T) {
	t.Parallel()
	origin, err := ParseName("example.org")
	if err != nil {
		t.Fatal(err)
	}
	web, idle := origin.Child("web"), origin.Child("idle")
	table := NewTable(Options{Origins: []Origin{{Name: origin}}})
	owner := func(name string) Owner { return Owner{Source: "ingress", Namespace: "shop", Name: name} }
	table.Put(Object{Owner: owner("a"), Claims: []Claim{{Name: web, Type: TypeA, Targets: []string{"192.0.2.1"}}, {Name: idle}}})
	commit := table.Commit(time.Unix(1, 0))
	if names := slices.SortedFunc(slices.Values(commit.Names), Name.Compare); !slices.Equal(names, []Name{idle, web}) {
		t.Errorf("the commit names %v", names)
	}
	list, awaited := table.EndpointsAt(web)
	if len(list) != 1 || list[0].Owner != owner("a") || awaited {
		t.Errorf("at %s stand %v, awaited %v", web, list, awaited)
	}
	if list, awaited := table.EndpointsAt(idle); len(list) != 0 || !awaited {
		t.Errorf("at %s stand %v, awaited %v", idle, list, awaited)
	}
	// A second object waits at a name that has records.
	table.Put(Object{Owner: owner("b"), Claims: []Claim{{Name: web}}})
	table.Commit(time.Unix(2, 0))
	if list, awaited := table.EndpointsAt(web); len(list) != 1 || !awaited {
		t.Errorf("at %s stand %v, awaited %v", web, list, awaited)
	}
	if names := slices.SortedFunc(slices.Values(table.Awaited()), Name.Compare); !slices.Equal(names, []Name{idle, web}) {
		t.Errorf("awaited are %v", names)
	}
	table.Delete(owner("a"))
	commit = table.Commit(time.Unix(3, 0))
	if len(commit.Names) != 2 {
		t.Errorf("the commit names %v", commit.Names)
	}
	if list, awaited := table.EndpointsAt(idle); len(list) != 0 || awaited {
		t.Errorf("at %s stand %v, awaited %v, after its object has gone", idle, list, awaited)
	}
}
