package alibaba_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/alibaba/alibabatest"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// plan plans the whole zone for wishes.
func (a *account) plan(wildcard string, wishes ...mirror.Record) mirror.Plan {
	a.Helper()
	registry, err := mirror.NewRegistry(mirror.RegistryOptions{Owner: "prod", Wildcard: wildcard})
	if err != nil {
		a.Fatal(err)
	}
	var normal []mirror.Record
	for _, wish := range wishes {
		list, err := a.cloud.Normalize(a.zone, wish)
		if err != nil {
			a.Fatal(err)
		}
		normal = append(normal, list...)
	}
	return mirror.NewPlan(mirror.Input{
		Zone: a.zone, Wishes: normal, Observed: a.records(), Registry: registry, Limits: a.cloud.Limits,
		Types: []zones.Type{zones.TypeA, zones.TypeAAAA, zones.TypeCNAME}, Normalize: a.cloud.Normalize,
	})
}

// carryOut applies a plan and returns the calls that wrote, and of what type.
func (a *account) carryOut(plan mirror.Plan) []string {
	a.Helper()
	a.fake.Forget()
	for _, step := range plan.Steps {
		group := mirror.Group{Name: step.Name, Changes: slices.Concat(step.Before, []mirror.Change{step.Change}, step.After)}
		for _, result := range a.cloud.Provider.Apply(a.Context(), a.zone, []mirror.Group{group}) {
			if result.Err != nil {
				a.Fatal(result.Err)
			}
		}
	}
	var list []string
	for _, call := range a.fake.Calls() {
		if !strings.HasPrefix(call.Action, "Describe") {
			list = append(list, strings.TrimSpace(call.Action[:3]+" "+call.Query["Type"]))
		}
	}
	return list
}

// A record of ours never stands without its ownership, and what is planned once
// isn't planned again.
func TestOwnershipComesFirstAndGoesLast(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		wishes := []mirror.Record{a.record("web", zones.TypeA, 300, "192.0.2.1", "192.0.2.2"), a.record("*", zones.TypeCNAME, 0, "lb.example.net")}
		if got := a.carryOut(a.plan("any", wishes...)); !slices.Equal(got, []string{"Add TXT", "Add CNAME", "Add TXT", "Add A", "Add A"}) {
			a.Errorf("%v were called", got)
		}
		if plan := a.plan("any", wishes...); len(plan.Steps)+len(plan.Blocked) > 0 {
			a.Errorf("%d steps are planned again, the first %v", len(plan.Steps), plan.Steps)
		}
		for _, r := range a.fake.Held(a.id) {
			if r.Type == "TXT" && !strings.HasPrefix(r.Value, "heritage=external-dns,external-dns/owner=prod") {
				a.Errorf("the text of %s is %s", r.RR, r.Value)
			}
		}
		got := a.carryOut(a.plan("any"))
		if want := []string{"Del", "Del", "Del", "Del", "Del"}; !slices.Equal(got, want) {
			a.Errorf("%v were called", got)
		}
		deletes := slices.DeleteFunc(a.fake.Calls(), func(c alibabatest.Call) bool { return !strings.HasPrefix(c.Action, "Delete") })
		if len(a.fake.Held(a.id)) > 0 || deletes[1].Query["RecordId"] >= deletes[0].Query["RecordId"] {
			a.Errorf("%v were called: the ownership of the first should go after it", deletes)
		}
	}, nil)
}

func TestWildcardsNeedAReplacement(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		plan := a.plan("", a.record("*", zones.TypeA, 600, "192.0.2.1"), a.record("web", zones.TypeA, 600, "192.0.2.1"))
		if len(plan.Blocked) != 1 || !strings.Contains(plan.Blocked[0].Message, "set --txt-wildcard-replacement") || len(plan.Steps) != 1 {
			a.Errorf("%d steps, and blocked is %+v", len(plan.Steps), plan.Blocked)
		}
	}, nil)
}

// What another hand made in the console is neither changed nor added to.
func TestForeignRecordsBlock(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		a.fake.Put(a.id,
			alibabatest.Record{RR: "web", Type: "A", Value: "192.0.2.7", TTL: 600},
			alibabatest.Record{RR: "line", Type: "A", Value: "192.0.2.7", TTL: 600, Line: "telecom"},
			alibabatest.Record{RR: "off", Type: "A", Value: "192.0.2.7", TTL: 600, Disabled: true})
		plan := a.plan("any",
			a.record("web", zones.TypeA, 600, "192.0.2.1"), a.record("line", zones.TypeA, 600, "192.0.2.1"), a.record("off", zones.TypeAAAA, 600, "2001:db8::1"))
		if len(plan.Steps) > 0 || len(plan.Blocked) != 3 {
			a.Errorf("%d steps, and blocked is %+v", len(plan.Steps), plan.Blocked)
		}
	}, nil)
}
