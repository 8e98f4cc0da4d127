package mirror

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

// records reads records as the test cases write them, one a line:
//
//	name ttl type target,target key=value...
//
// The TTL may be "-". A target own:ID or own:ID:resource stands for the ownership
// text of that owner. Keys are set (identifier), by (resource) and locked; any other
// is an option.
func records(t testing.TB, text string) []Record {
	t.Helper()
	var list []Record
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 4 {
			t.Fatalf("too few fields: %s", line)
		}
		kind, err := zones.ParseType(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		r := Record{Name: parse(t, fields[0]), Type: kind}
		if fields[1] != "-" {
			seconds, err := strconv.ParseUint(fields[1], 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			r.TTL = zones.TTL{Seconds: uint32(seconds), Set: true}
		}
		for target := range strings.SplitSeq(fields[3], ",") {
			r.Targets = append(r.Targets, ownText(target))
		}
		for _, field := range fields[4:] {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "set":
				r.SetIdentifier = value
			case "by":
				r.Resource = value
			case "locked":
				r.Locked = value
			default:
				r.Options = append(r.Options, zones.Option{Key: key, Value: value})
			}
		}
		slices.SortFunc(r.Options, func(a, b zones.Option) int { return strings.Compare(a.Key, b.Key) })
		list = append(list, r)
	}
	return list
}

// ownText writes the ownership text that a shorthand stands for.
func ownText(target string) string {
	rest, ok := strings.CutPrefix(target, "own:")
	if !ok {
		return target
	}
	owner, resource, named := strings.Cut(rest, ":")
	text := "heritage=external-dns"
	if resource, dual := strings.CutSuffix(resource, "+dualstack"); dual {
		text += ",external-dns/dualstack=true,external-dns/owner=" + owner + ",external-dns/resource=" + resource
		return `"` + text + `"`
	}
	text += ",external-dns/owner=" + owner
	if named {
		text += ",external-dns/resource=" + resource
	}
	return `"` + text + `"`
}

// settings reads lines of key=value.
func settings(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			all[key] = value
		}
	}
	return all
}

// show writes a plan after the policy as the golden files have it.
func show(plan *Plan, policy Policy) string {
	var text strings.Builder
	var steps []Step
	for _, step := range plan.Steps {
		if policy.allows(&step) {
			steps = append(steps, step)
		} else {
			fmt.Fprintf(&text, "left out: %s\n", &step.Change)
		}
	}
	for _, group := range groups(steps) {
		fmt.Fprintf(&text, "%s\n", group.Name)
		for i := range group.Changes {
			fmt.Fprintf(&text, "  %s\n", &group.Changes[i])
			if why := group.Changes[i].Why; why != "" {
				fmt.Fprintf(&text, "    (%s)\n", why)
			}
		}
	}
	for _, b := range plan.Blocked {
		adoptable := ""
		if b.Adoptable {
			adoptable = " [adoptable]"
		}
		fmt.Fprintf(&text, "blocked: %s %s %s%s: %s\n", b.Type, b.Name, b.SetIdentifier, adoptable, b.Message)
	}
	fmt.Fprintf(&text, "owned %d, foreign %d, wanted %d, dangling %d\n", plan.Owned, plan.Foreign, plan.Wanted, plan.Dangling)
	return text.String()
}
