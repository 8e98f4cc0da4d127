package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// A skippedAnswer is the body of /api/v1/skipped.
type skippedAnswer struct {
	Skipped []listedSkip `json:"skipped"`
	Next    string       `json:"next,omitempty"`
}

type listedSkip struct {
	Source    string `json:"source"`
	Namespace string `json:"namespace,omitempty"`
	Object    string `json:"object"`
	// Name is the name concerned; Asked is what was written where it is no name.
	Name     zones.Name   `json:"name,omitempty"`
	Asked    string       `json:"asked,omitempty"`
	Type     zones.Type   `json:"type,omitempty"`
	Reason   zones.Reason `json:"reason"`
	Mendable bool         `json:"mendable"`
	Message  string       `json:"message"`
}

// key orders skips, and is the cursor.
func (s *listedSkip) key() string {
	return strings.Join([]string{s.Namespace, s.Source, s.Object, s.Name.String(), s.Asked, string(s.Reason), s.Type.String(), s.Message}, "\x00")
}

// listSkipped gives what objects ask for and do not get.
func (p *pipeline) listSkipped(q *question) (any, error) {
	limit, from, err := q.page()
	if err != nil {
		return nil, err
	}
	namespace, source, reason := q.text("namespace"), q.text("source"), zones.Reason(q.text("reason"))
	if known := p.translator.Sources(); source != "" && !slices.Contains(known, source) {
		return nil, fmt.Errorf("source=%s is none of the sources here; %s", source, sources.Suggest(source, known))
	}
	if known := zones.Reasons(); reason != "" && !slices.Contains(known, reason) {
		var words []string
		for _, r := range known {
			words = append(words, string(r))
		}
		return nil, fmt.Errorf("reason=%s is no reason; %s", reason, sources.Suggest(string(reason), words))
	}
	var found []zones.Skipped
	p.feed.View(func(table *zones.Table, _ objectOf) {
		found = table.AllSkipped(func(s *zones.Skipped) bool {
			return (namespace == "" || s.Owner.Namespace == namespace) && (source == "" || s.Owner.Source == source) && (reason == "" || s.Reason == reason)
		})
	})
	type item struct {
		key  string
		skip listedSkip
	}
	var items []item
	for _, s := range found {
		skip := listedSkip{s.Owner.Source, s.Owner.Namespace, s.Owner.Name, s.Name, s.Asked, s.Type, s.Reason, s.Reason.Mendable(), s.Message}
		if key := skip.key(); key >= from {
			items = append(items, item{key, skip})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.key, b.key) })
	items = slices.CompactFunc(items, func(a, b item) bool { return a.key == b.key })
	answer := skippedAnswer{Skipped: []listedSkip{}}
	for i, item := range items {
		if i == limit {
			answer.Next = cursor(item.key)
			break
		}
		answer.Skipped = append(answer.Skipped, item.skip)
	}
	return answer, nil
}
