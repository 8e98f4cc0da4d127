package adminpage

import (
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// functions are what the template calls. The map is never changed.
var functions = template.FuncMap{
	"moment":  moment,
	"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"records": recordsText,
	"data":    dataOf,
	"state":   stateOf,
	"outcome": outcomeWords,
	"tone":    toneOf,
	"nameURL": func(name zones.Name) string { return "/name?" + url.Values{"name": {name.String()}}.Encode() },
	"zoneURL": func(name zones.Name) string { return "/zone?" + url.Values{"name": {name.String()}}.Encode() },
	"count":   count,
}

// moment writes a time for people.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// count writes a number with its noun: "1 name", "2 names".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// recordsText lists the records of a zone by type: "2 A, 1 AAAA".
func recordsText(counts map[zones.Type]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// dataOf returns a record set's data as text, one string a record.
func dataOf(set *zones.RRSet) []string {
	var texts []string
	for _, data := range set.Data {
		texts = append(texts, data.Text(set.Type))
	}
	return texts
}

// A tone is how a word looks: good, warn, bad or quiet. The word itself says the
// same, for whoever sees no colours.
type tone = string

// stateOf says in a word how the reading of a source is.
func stateOf(s Source) struct {
	Word string
	Tone tone
} {
	word, tone := "waiting", "warn"
	switch {
	case slices.ContainsFunc(s.Kinds, func(k Kind) bool { return k.Problem != "" }):
		word, tone = "can't be read", "bad"
	case len(s.Kinds) > 0 && s.Kinds[0].Absent:
		word, tone = "at rest", "quiet"
	case s.Synced:
		word, tone = "in step", "good"
	}
	return struct {
		Word string
		Tone string
	}{word, tone}
}

// outcomeWords puts an outcome of zones.Explanation in a word or two, before its
// sentence.
func outcomeWords(outcome string) string {
	switch outcome {
	case zones.Hit.String():
		return "Served"
	case zones.NoData.String():
		return "No such records"
	case zones.NXDomain.String():
		return "Missing"
	}
	return strings.ToUpper(outcome[:min(1, len(outcome))]) + outcome[min(1, len(outcome)):]
}

func toneOf(outcome string) tone {
	switch outcome {
	case zones.Hit.String():
		return "good"
	case zones.NXDomain.String(), zones.NotReady.String(), zones.Unresolved.String(), zones.TooLong.String():
		return "bad"
	case zones.NoData.String(), zones.NotOurs.String():
		return "warn"
	}
	return "quiet"
}
