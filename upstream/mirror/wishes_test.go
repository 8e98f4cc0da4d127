package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A cloud of the tests makes aliases of CNAMEs to load balancers, and refuses one
// name.
func pickyCloud() *Cloud {
	return &Cloud{
		Name: "picky", Family: "aws",
		Limits: Limits{Types: []zones.Type{zones.TypeA, zones.TypeAAAA, zones.TypeCNAME, zones.TypeTXT}, MinTTL: 60, MaxTTL: 3600, Routing: true},
		Normalize: func(_ Zone, want Record) ([]Record, error) {
			switch {
			case want.Name.FirstLabel() == "refused":
				return nil, errors.New("the name is refused; choose another one")
			case want.Type == zones.TypeCNAME && strings.HasSuffix(want.Targets[0], ".elb.example"):
				want.TTL, want.Options = zones.TTL{}, []zones.Option{{Key: OptionAlias, Value: "true"}}
				v6 := want
				want.Type, v6.Type = zones.TypeA, zones.TypeAAAA
				return []Record{want, v6}, nil
			}
			return []Record{want}, nil
		},
	}
}

// shown writes the shares of all zones in words.
func shown(shares map[string]*share) string {
	var lines []string
	for id, s := range shares {
		for _, r := range s.wishes {
			lines = append(lines, fmt.Sprintf("%s: %s %s by %s", id, r.key(), r.content(), r.Resource))
		}
		for _, b := range s.blocked {
			lines = append(lines, fmt.Sprintf("%s: blocked %s %s: %s", id, b.Type, b.Name, b.Message))
		}
		for name := range s.awaited {
			lines = append(lines, fmt.Sprintf("%s: awaited %s", id, name))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestWishesFindTheirZonesAndTheirForm(t *testing.T) {
	t.Parallel()
	list := []Zone{
		{ID: "ex", Name: parse(t, "ex.com")}, {ID: "sub", Name: parse(t, "sub.ex.com")},
		{ID: "private", Name: parse(t, "ex.com"), Kind: "private"},
	}
	owner := func(source, namespace, name string) zones.Owner {
		return zones.Owner{Source: source, Namespace: namespace, Name: name}
	}
	ttl := func(n uint32) zones.TTL { return zones.TTL{Seconds: n, Set: true} }
	endpoint := func(name string, kind zones.Type, o zones.Owner, set func(*zones.Endpoint), targets ...string) zones.Endpoint {
		e := zones.Endpoint{Name: parse(t, name), Type: kind, Targets: targets, Owner: o}
		if set != nil {
			set(&e)
		}
		return e
	}
	wanted := Wanted{
		Endpoints: []zones.Endpoint{
			endpoint("www.ex.com", zones.TypeA, owner("gateway-httproute", "shop", "web"), func(e *zones.Endpoint) {
				e.TTL = ttl(5)
				e.Options = []zones.Option{{Key: "aws/weight", Value: "1"}, {Key: "cloudflare/proxied", Value: "true"}, {Key: "plain", Value: "x"}}
			}, "192.0.2.1"),
			endpoint("long.ex.com", zones.TypeA, owner("skipper-routegroup", "shop", "web"), func(e *zones.Endpoint) { e.TTL = ttl(86400) }, "192.0.2.1"),
			endpoint("zero.ex.com", zones.TypeA, owner("node", "", "worker"), func(e *zones.Endpoint) { e.TTL = ttl(0) }, "192.0.2.1"),
			endpoint("elb.ex.com", zones.TypeCNAME, owner("service", "shop", "lb"), nil, "lb.elb.example"),
			endpoint("refused.ex.com", zones.TypeA, owner("ingress", "shop", "r"), nil, "192.0.2.1"),
			endpoint("a.sub.ex.com", zones.TypeA, owner("ingress", "shop", "s"), nil, "192.0.2.1"),
			endpoint("elsewhere.org", zones.TypeA, owner("ingress", "shop", "e"), nil, "192.0.2.1"),
			endpoint("mail.ex.com", zones.TypeMX, owner("crd", "shop", "m"), nil, "10 mx.example.net"),
			endpoint("skip.ex.com", zones.TypeA, owner("ingress", "shop", "k"), nil, "192.0.2.1"),
			endpoint("w.ex.com", zones.TypeA, owner("ingress", "shop", "b"), func(e *zones.Endpoint) { e.SetIdentifier, e.TTL = "blue", ttl(90) }, "192.0.2.1"),
			endpoint("w.ex.com", zones.TypeA, owner("ingress", "shop", "g"), func(e *zones.Endpoint) { e.SetIdentifier, e.TTL = "green", ttl(70) }, "192.0.2.2"),
		},
		Awaited: []zones.Name{parse(t, "soon.sub.ex.com")},
	}
	kinds := []zones.Type{zones.TypeA, zones.TypeCNAME, zones.TypeMX}
	covers := func(n zones.Name) bool { return n.FirstLabel() != "skip" }
	cloud := pickyCloud()
	const want = `ex: A elb.ex.com lb.elb.example alias=true by service/shop/lb
ex: A long.ex.com 192.0.2.1 ttl=3600 by routegroup/shop/web
ex: A w.ex.com [blue] 192.0.2.1 ttl=90 by ingress/shop/b
ex: A w.ex.com [green] 192.0.2.2 ttl=70 by ingress/shop/g
ex: A www.ex.com 192.0.2.1 ttl=60 aws/weight=1 plain=x by httproute/shop/web
ex: A zero.ex.com 192.0.2.1 ttl=0 by node/worker
ex: awaited soon.sub.ex.com
ex: blocked A refused.ex.com: the name is refused; choose another one
ex: blocked MX mail.ex.com: picky holds no records of type MX
private: awaited soon.sub.ex.com
sub: A a.sub.ex.com 192.0.2.1 by ingress/shop/s
sub: awaited soon.sub.ex.com`
	if got := shown(newPlacement(cloud, kinds, covers, list).shares(&wanted)); got != want {
		t.Errorf("the shares are\n%s\nand not\n%s", got, want)
	}

	// Without routing policies the records of one name are one, as the server answers.
	cloud.Limits.Routing = false
	if got := shown(newPlacement(cloud, kinds, covers, list).shares(&wanted)); !strings.Contains(got, "ex: A w.ex.com 192.0.2.1,192.0.2.2 ttl=70 by ingress/shop/b\n") {
		t.Errorf("the shares are\n%s", got)
	}

	// A provider may place a record in several zones, or in none.
	cloud.Place = func(want *Record, candidates []Zone) []Zone {
		if want.Name.FirstLabel() == "long" {
			return nil
		}
		return slices.DeleteFunc(slices.Clone(candidates), func(z Zone) bool { return z.ID == "sub" })
	}
	got := shown(newPlacement(cloud, kinds, covers, list).shares(&wanted))
	if strings.Contains(got, "long.ex.com") || !strings.Contains(got, "private: A a.sub.ex.com") || !strings.Contains(got, "ex: A a.sub.ex.com") || strings.Contains(got, "sub: A") {
		t.Errorf("the shares are\n%s", got)
	}
}

func TestATableTellsWhatIsAsked(t *testing.T) {
	t.Parallel()
	table := zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: parse(t, "ex.com")}}})
	web, idle := parse(t, "web.ex.com"), parse(t, "idle.ex.com")
	table.Put(zones.Object{Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "a"}, Claims: []zones.Claim{
		{Name: web, Type: zones.TypeA, Targets: []string{"192.0.2.1"}, SetIdentifier: "x", Options: []zones.Option{{Key: "aws/weight", Value: "1"}}},
		{Name: idle},
	}})
	table.Commit(time.Unix(1, 0))
	for _, names := range [][]zones.Name{nil, {web, idle}} {
		wanted := FromTable(table, names)
		if len(wanted.Endpoints) != 1 || wanted.Endpoints[0].SetIdentifier != "x" || len(wanted.Endpoints[0].Options) != 1 || !slices.Equal(wanted.Awaited, []zones.Name{idle}) {
			t.Errorf("at %v are asked %+v", names, wanted)
		}
	}
	if wanted := FromTable(table, []zones.Name{web}); len(wanted.Endpoints) != 1 || len(wanted.Awaited) != 0 {
		t.Errorf("at %s are asked %+v", web, wanted)
	}
}

func TestBatchesKeepTheLimits(t *testing.T) {
	t.Parallel()
	group := func(name string, targets ...string) Group {
		r := &Record{Name: parse(t, name), Type: zones.TypeA, Targets: targets}
		return Group{Name: r.Name, Changes: []Change{{Verb: Create, New: r}}}
	}
	list := []Group{group("a.ex.com", "192.0.2.1"), group("b.ex.com", "192.0.2.1", "192.0.2.2"), group("c.ex.com", "192.0.2.1"), group("d.ex.com", "1", "2", "3", "4")}
	for limits, want := range map[*Limits]string{
		{}:                                "a b c d | ",
		{BatchChanges: 2}:                 "a b,c d | ",
		{BatchValues: 3}:                  "a b,c | d",
		{BatchChars: 18}:                  "a,b,c d | ",
		{BatchChanges: 1}:                 "a,b,c,d | ",
		{BatchChars: 9, BatchValues: 100}: "a,c,d | b",
	} {
		parts, tooBig := batches(list, limits)
		var text []string
		words := func(groups []Group) string {
			var names []string
			for _, g := range groups {
				names = append(names, g.Name.FirstLabel())
			}
			return strings.Join(names, " ")
		}
		for _, part := range parts {
			text = append(text, words(part))
		}
		if got := strings.Join(text, ",") + " | " + words(tooBig); got != want {
			t.Errorf("with %+v the batches are %q, not %q", *limits, got, want)
		}
	}
	// A change counts for what it takes away as well, and one that is written over twice.
	old := &Record{Name: parse(t, "a.ex.com"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}}
	next := &Record{Name: old.Name, Type: zones.TypeA, Targets: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}}
	for verb, want := range map[Verb]weight{Update: {2, 6, 54}, Replace: {2, 4, 36}} {
		if got := (&Change{Verb: verb, Old: old, New: next}).weight(); got != want {
			t.Errorf("%s weighs %+v, not %+v", verb, got, want)
		}
	}
}

func TestErrorsHaveAClass(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("zone ex.com: %w", &Error{Class: Throttled, RetryAfter: time.Second, Err: errors.New("slow down")})
	if ClassOf(err, Failed) != Throttled || retryAfter(err) != time.Second || err.Error() != "zone ex.com: slow down" {
		t.Error(ClassOf(err, Failed), retryAfter(err), err)
	}
	if ClassOf(errors.New("x"), Unknown) != Unknown || retryAfter(errors.New("x")) != 0 {
		t.Error("an error without class has one")
	}
	for text, want := range map[string]Policy{"": UpsertOnly, "sync": Sync, "create-only": CreateOnly} {
		if got, err := ParsePolicy(text); got != want || err != nil {
			t.Errorf("--policy=%s is %s %v", text, got, err)
		}
	}
}
