package script

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

func (g *stage) view(look func(*zones.Table)) {
	g.feed.View(func(table *zones.Table, _ func(zones.Owner) metav1.Object) { look(table) })
}

// explain prints an explanation in short.
func (g *stage) explain(words []string) (string, error) {
	name, err := zones.ParseName(words[0])
	if err != nil {
		return "", err
	}
	kind := zones.TypeNone
	if len(words) > 1 {
		if kind, err = zones.ParseType(words[1]); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	g.view(func(table *zones.Table) {
		x := table.Explain(name, kind, nil)
		for at := &x; at != nil; at = at.Target {
			explainOne(&b, at)
		}
	})
	return b.String(), nil
}

func explainOne(b *strings.Builder, x *zones.Explanation) {
	fmt.Fprintf(b, "%s: %s\n", x.Outcome, x.Detail)
	for _, set := range x.Records {
		for _, data := range set.Data {
			fmt.Fprintf(b, "%d %s %s\n", set.TTL, set.Type, data)
		}
		for _, from := range set.From {
			fmt.Fprintf(b, "  from %s: %s\n", from.Object, strings.TrimSuffix(from.NameFrom+" -> "+from.TargetsFrom, " -> "))
		}
	}
	for _, skip := range x.Skipped {
		fmt.Fprintf(b, "skipped [%s] %s: %s\n", skip.Reason, skip.Object, skip.Message)
	}
	if x.Next != "" {
		fmt.Fprintf(b, "next: %s\n", x.Next)
	}
}

// skipped prints what an object asked for and does not get.
func (g *stage) skipped(words []string) (string, error) {
	id, _, err := g.find(words)
	if err != nil {
		return "", err
	}
	info, _ := sources.Info(id.kind)
	owner := zones.Owner{Source: info.Source, Namespace: id.namespace, Name: id.name}
	var b strings.Builder
	g.view(func(table *zones.Table) {
		for _, skip := range table.SkippedOf(owner) {
			what := skip.Asked
			if skip.Name != "" {
				what = skip.Name.String()
			}
			if skip.Type != zones.TypeNone {
				what += " " + skip.Type.String()
			}
			if what != "" {
				what += ": "
			}
			mark := ""
			if skip.Reason.Posted() {
				mark = "!"
			}
			fmt.Fprintf(&b, "[%s]%s %s%s\n", skip.Reason, mark, what, skip.Message)
		}
	})
	return b.String(), nil
}

// records prints the settled claims, as "records -o endpoints" has them, but
// with one space between fields.
func (g *stage) records() string {
	var lines []string
	g.view(func(table *zones.Table) {
		for _, e := range table.Endpoints() {
			var options []string
			for _, option := range e.Options {
				options = append(options, option.Key+"="+option.Value)
			}
			lines = append(lines, fmt.Sprintf("%s %d %s %s %s %s", e.Name, e.TTL.Seconds, e.Type,
				strings.Join(e.Targets, ","), orDash(strings.Join(options, ",")), orDash(e.SetIdentifier)))
		}
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// moved says of each zone whether its serial moved since the last time.
func (g *stage) moved() string {
	var b strings.Builder
	snap := g.store.Load()
	next := map[zones.Name]uint32{}
	for _, origin := range snap.Origins() {
		serial := snap.Zone(origin).Serial()
		next[origin] = serial
		word := "stands"
		switch last, ok := g.serials[origin]; {
		case !ok:
			word = "is noted"
		case serial < last:
			word = "went back"
		case serial > last:
			word = "moved on"
		}
		fmt.Fprintf(&b, "%s %s\n", origin, word)
	}
	g.serials = next
	return b.String()
}

// readiness prints what the body of /readyz is made from.
func (g *stage) readiness() string {
	status := g.feed.Status()
	var b strings.Builder
	if status.Ready {
		b.WriteString("ready\n")
	} else {
		fmt.Fprintf(&b, "waiting for %s\n", status.Waiting)
	}
	seen := map[sources.Kind]bool{}
	for _, source := range status.Sources {
		for _, kind := range source.Kinds {
			if kind.Problem != nil && !seen[kind.Kind] {
				seen[kind.Kind] = true
				fmt.Fprintf(&b, "%s (source %s): %v\n", kind.Kind, source.Source, kind.Problem)
			}
		}
	}
	return b.String()
}
