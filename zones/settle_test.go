package zones

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Run with -update after a deliberate change of the rules, and read the diff.
var update = flag.Bool("update", false, "write what the scripts print into testdata")

// TestSettleScripts runs testdata/settle/*.txt. A script is a list of cases
// that "== title" opens; a case says what objects ask for, and after "->" what
// comes of it: the zone's records (apex SOA and NS left out), the names without
// any, endpoints, and skips. Each case runs with its objects in every order.
//
//	policy namespace|first|merge     (namespace where it is left out)
//	zone NAME [NS [ADDRESS...]]      ("test" where there is none)
//	flatten                          as with --flatten
//	outside none|unknown|v4|dual     what is known of outside targets (none: nobody looks)
//	object SOURCE NAMESPACE/NAME [created=SECONDS]
//	  NAME TYPE|- [TARGET...] [ttl=SECONDS] [set=IDENTIFIER] [option=VALUE] [alias=VALUE]
//
// A tilde in a target stands for a space.
func TestSettleScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/settle/*.txt", runSettleCase)
}

// runScripts hands each case of the scripts that match to run, and compares
// what it returns with what stands there.
func runScripts(t *testing.T, pattern string, run func(t *testing.T, part string) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, rest, _ := strings.Cut(string(text), "== ")
			out := head
			for _, part := range strings.Split(rest, "\n== ") {
				out += "== " + run(t, part) + "\n"
			}
			out = strings.TrimSuffix(out, "\n")
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if out != string(text) {
				t.Errorf("%s differs; it would be\n%s", file, out)
			}
		})
	}
}

// runSettleCase returns the case with the results that it gives.
func runSettleCase(t *testing.T, part string) string {
	t.Helper()
	title, body, _ := strings.Cut(part, "\n")
	input, _, _ := strings.Cut(body, "\n->")
	w := parseSettleCase(t, title, input)
	result := ""
	for i, objects := range permutations(w.objects) {
		one := w
		one.objects = objects
		table := one.table()
		table.Commit(noon())
		printed := printTable(table)
		if i > 0 && printed != result {
			t.Errorf("%s: the order of the objects decides:\n%s\nor\n%s", title, result, printed)
		}
		result = printed
	}
	return title + "\n" + input + "\n->\n" + result
}

func permutations(list []Object) [][]Object {
	if len(list) <= 1 {
		return [][]Object{list}
	}
	var all [][]Object
	for i := range list {
		for _, rest := range permutations(without(list, i)) {
			all = append(all, append([]Object{list[i]}, rest...))
		}
	}
	return all
}

// outsideWords spell world.outside.
var outsideWords = [...]string{"none", "unknown", "v4", "dual"}

func parseSettleCase(t *testing.T, title, input string) world {
	t.Helper()
	var w world
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch {
		case strings.HasPrefix(line, " "):
			object := &w.objects[len(w.objects)-1]
			object.Claims = append(object.Claims, parseSettleClaim(t, words))
		case words[0] == "policy":
			w.policy = Policy(slices.Index([]string{"namespace", "first", "merge"}, words[1]))
		case words[0] == "flatten":
			w.flatten = true
		case words[0] == "outside":
			w.outside = slices.Index(outsideWords[:], words[1])
		case words[0] == "zone":
			w.origins = append(w.origins, Origin{Name: mustName(t, words[1]), NegativeTTL: 5})
			if len(words) > 2 {
				origin := &w.origins[len(w.origins)-1]
				origin.NS = []NameServer{{Name: mustName(t, words[2])}}
				for _, address := range words[3:] {
					origin.NS[0].Addresses = append(origin.NS[0].Addresses, mustAddr(t, address))
				}
			}
		case words[0] == "object":
			namespace, name, _ := strings.Cut(words[2], "/")
			object := Object{Owner: Owner{Source: words[1], Namespace: namespace, Name: name}}
			if len(words) > 3 {
				created, err := strconv.Atoi(strings.TrimPrefix(words[3], "created="))
				if err != nil {
					t.Fatalf("%s: %v", title, err)
				}
				object.Created = time.Unix(int64(created), 0)
			}
			w.objects = append(w.objects, object)
		default:
			t.Fatalf("%s: what is %q?", title, line)
		}
	}
	if len(w.origins) == 0 {
		w.origins = []Origin{{Name: mustName(t, "test"), NegativeTTL: 5}}
	}
	return w
}

func parseSettleClaim(t *testing.T, words []string) Claim {
	t.Helper()
	claim := Claim{Name: mustName(t, words[0])}
	if words[1] != "-" {
		kind, err := ParseType(words[1])
		if err != nil {
			t.Fatal(err)
		}
		claim.Type = kind
	}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case key == "ttl":
			seconds, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			claim.TTL = TTL{Seconds: uint32(seconds), Set: true}
		case key == "set":
			claim.SetIdentifier = value
		case key == "alias":
			claim.Options = append(claim.Options, Option{optionAlias, value})
		case key == "option":
			claim.Options = append(claim.Options, Option{Key: "option", Value: value})
		default:
			claim.Targets = append(claim.Targets, strings.ReplaceAll(word, "~", " "))
		}
	}
	return claim
}

// printTable writes what came of a case's claims.
func printTable(table *Table) string {
	var text strings.Builder
	for _, origin := range table.snapshot.Origins() {
		zone := table.snapshot.Zone(origin)
		if len(table.snapshot.Origins()) > 1 {
			fmt.Fprintf(&text, "zone      %s\n", origin)
		}
		for n := range zone.tree.walk() {
			if n.claimed && len(n.sets) == 0 {
				fmt.Fprintf(&text, "present   %s\n", n.name)
			}
			if link := n.flattened(); link != nil {
				fmt.Fprintf(&text, "flattened %s %d to %s\n", n.name, link.set.TTL, link.target())
			}
			for _, set := range n.sets {
				if n.name == origin && (set.Type == TypeSOA || set.Type == TypeNS) {
					continue
				}
				data := textOf(set).data
				fmt.Fprintf(&text, "record    %s %d %s %s\n", n.name, set.TTL, set.Type, strings.Join(data, ", "))
			}
		}
	}
	for _, e := range table.Endpoints() {
		ttl := "-"
		if e.TTL.Set {
			ttl = strconv.Itoa(int(e.TTL.Seconds))
		}
		fmt.Fprintf(&text, "endpoint  %s %s %s %s", e.Name, ttl, e.Type, strings.Join(e.Targets, ", "))
		for _, option := range e.Options {
			fmt.Fprintf(&text, " %s=%s", option.Key, option.Value)
		}
		if e.SetIdentifier != "" {
			fmt.Fprintf(&text, " set=%s", e.SetIdentifier)
		}
		fmt.Fprintf(&text, " of %s\n", e.Owner)
	}
	var skips []Skipped
	for _, e := range table.names {
		skips = append(skips, e.allSkipped()...)
	}
	sortSkipped(skips)
	for _, skip := range skips {
		kind := "all types"
		if skip.Type != TypeNone {
			kind = skip.Type.String()
		}
		fmt.Fprintf(&text, "skipped   %s, %s: %s: %s\n", skip.Name, kind, skip.Reason, skip)
	}
	return text.String()
}

// TestManyClaimsKeepTheirOrder: of claims that nothing else tells apart, the
// object's first gives the options, however many there are and whatever the
// order of the objects (a sort that isn't stable shows from 13 claims on).
func TestManyClaimsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	w := world{origins: []Origin{{Name: mustName(t, "test")}}}
	for i := range 20 {
		object := Object{Owner: Owner{Source: "service", Namespace: "shop", Name: fmt.Sprintf("o%02d", i)}}
		for _, option := range []string{"first", "second", "third"} {
			object.Claims = append(object.Claims, Claim{
				Name: mustName(t, "www.test"), Type: TypeA, Targets: []string{"192.0.2.1"},
				Options: []Option{{Key: "option", Value: option}},
			})
		}
		w.objects = append(w.objects, object)
	}
	for range 20 {
		random.Shuffle(len(w.objects), func(i, j int) { w.objects[i], w.objects[j] = w.objects[j], w.objects[i] })
		table := w.table()
		table.Commit(noon())
		got := table.Endpoints()
		if len(got) != 1 || got[0].Owner.Name != "o00" || got[0].Options[0].Value != "first" {
			t.Fatalf("the endpoint is %v, want the first options of o00", got)
		}
	}
}

func mustAddr(t *testing.T, text string) netip.Addr {
	t.Helper()
	addr, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}
