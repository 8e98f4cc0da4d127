package zones

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// treeName draws a name below an apex: long labels and escaped octets, so that
// keys have much in common, and few enough names that they come again.
func treeName(random *rand.Rand, apex Name) Name {
	name := apex
	for range 1 + random.IntN(3) {
		label := fmt.Sprintf("%d", random.IntN(30))
		switch random.IntN(8) {
		case 0:
			label = "*"
		case 1:
			label = strings.Repeat("long", 10) + label
		case 2:
			label = "\x00\x01" + label
		}
		name = name.Child(label)
	}
	return name
}

// TestTreeIsMap puts and removes nodes at random, in batches of all sizes: the
// tree has what a map has, in canonical order, and older trees stay as they
// were.
func TestTreeIsMap(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	for _, apex := range []Name{mustName(t, "corp.test"), Root} {
		now, nodes := (tree{}).edit(apex, tree{}), map[Name]string{}
		now.put(apex, nil, false, nil)
		for round := range 60 {
			grow := 2 + random.IntN(7) // of ten
			if round >= 50 {
				grow = 0
			}
			for range 1 << random.IntN(11) {
				name := treeName(random, apex)
				if random.IntN(10) >= grow {
					for name = range nodes {
						break
					}
					delete(nodes, name)
					now.put(name, nil, false, nil)
					continue
				}
				text := strings.Repeat("x", 1<<random.IntN(13))
				nodes[name] = text
				now.put(name, []*RRSet{{Name: name, Type: TypeTXT, Data: []Rdata{Rdata(text)}}}, false, nil)
			}
			before, want := now.tree, treeText(now.tree)
			if before.changed != nil && before.exact == nil {
				t.Fatal("a tree has noted changes of nothing")
			}
			got, cuts := now.commit()
			if random.IntN(4) == 0 {
				got = got.compact()
			}
			checkTree(t, got, apex, nodes)
			if treeText(before) != want {
				t.Fatal("an older tree has changed")
			}
			now = got.edit(apex, cuts)
		}
	}
}

func treeText(tr tree) string {
	var text strings.Builder
	for e := range tr.entries("") {
		text.WriteString(string(e))
	}
	return text.String()
}

// checkTree compares a tree with what a map has, and looks at its shape.
func checkTree(t *testing.T, got tree, apex Name, nodes map[Name]string) {
	t.Helper()
	want := map[Name]string{apex: ""}
	for name, text := range nodes {
		for above := name.Parent(); above != apex; above = above.Parent() {
			want[above] += ""
		}
		want[name] = text
	}
	names := make([]Name, 0, len(want))
	wildcards := 0
	for name := range want {
		names = append(names, name)
		if name.IsWildcard() {
			wildcards++
		}
	}
	slices.SortFunc(names, Name.Compare)
	if got.nodes != len(names) || got.wildcards != wildcards {
		t.Fatalf("the tree counts %d nodes and %d wildcards, not %d and %d", got.nodes, got.wildcards, len(names), wildcards)
	}
	i := 0
	for n := range got.walk() {
		if i == len(names) || n.name != names[i] {
			t.Fatalf("%s stands in place %d", n.name, i)
		}
		text := ""
		if len(n.sets) > 0 {
			text = string(n.sets[0].Data[0])
		}
		if text != want[n.name] {
			t.Fatalf("%s has %d octets, not %d", n.name, len(text), len(want[n.name]))
		}
		i++
	}
	if i != len(names) {
		t.Fatalf("the walk ends after %d names of %d", i, len(names))
	}
	var buf keyBuffer
	for i, name := range names {
		if !got.packed(name).is(name) {
			t.Fatalf("%s is not found", name)
		}
		if got.packed(name.Child("none")) != "" || got.packed(name.Child("30")) != "" {
			t.Fatalf("a name below %s is found", name)
		}
		if before := got.before(buf.key(name)); i == 0 && before != "" || i > 0 && !before.is(names[i-1]) {
			t.Fatalf("before %s stands %q", name, string(before))
		}
		if i%97 == 0 {
			for n := range got.walkFrom(name) {
				if n.name != name {
					t.Fatalf("a walk from %s starts at %s", name, n.name)
				}
				break
			}
		}
	}
	if got.root != nil {
		checkBranch(t, got.root, 0)
	}
}

// checkBranch checks that no kid is empty, and that deletions leave few that are
// small.
func checkBranch(t *testing.T, b *branch, depth int) {
	t.Helper()
	if len(b.bounds) == 0 || len(b.bounds) > branchKids || len(b.bounds) != len(b.leaves)+len(b.branches) {
		t.Fatalf("a branch has %d bounds, %d leaves and %d branches", len(b.bounds), len(b.leaves), len(b.branches))
	}
	for _, l := range b.leaves {
		if l.len() == 0 || l.len() > leafNodes {
			t.Fatalf("a leaf has %d nodes", l.len())
		}
	}
	for _, below := range b.branches {
		checkBranch(t, below, depth+1)
	}
}
