package main

import (
	"time"

	"github.com/clusterzone/clusterzone/sources"
)

// A sourcesAnswer is the body of /api/v1/sources.
type sourcesAnswer struct {
	Ready   bool   `json:"ready"`
	Waiting string `json:"waiting,omitempty"`
	// Saved is when the state was saved that is served in part until the origin
	// of the objects confirms it.
	Saved     time.Time      `json:"saved,omitzero"`
	LastEvent time.Time      `json:"lastEvent,omitzero"`
	Sources   []sourceStatus `json:"sources"`
}

type sourceStatus struct {
	Source  string       `json:"source"`
	Synced  bool         `json:"synced"`
	Objects int          `json:"objects"`
	Kinds   []kindStatus `json:"kinds"`
}

type kindStatus struct {
	Kind   sources.Kind `json:"kind"`
	Synced bool         `json:"synced"`
	Absent bool         `json:"absent,omitempty"`
	// Problem is why objects of the kind can't be read now.
	Problem   string    `json:"problem,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	LastEvent time.Time `json:"lastEvent,omitzero"`
	Objects   int       `json:"objects"`
}

// listSources says how the reading of each source's kinds is.
func (p *pipeline) listSources(*question) (any, error) {
	status := p.feed.Status()
	answer := sourcesAnswer{Ready: status.Ready, Waiting: status.Waiting, Saved: status.Saved.UTC(), LastEvent: status.LastEvent.UTC(), Sources: []sourceStatus{}}
	for _, source := range status.Sources {
		one := sourceStatus{Source: source.Source, Synced: source.Synced, Objects: source.Objects, Kinds: []kindStatus{}}
		for _, kind := range source.Kinds {
			problem := ""
			if kind.Problem != nil {
				problem = kind.Problem.Error()
			}
			one.Kinds = append(one.Kinds, kindStatus{kind.Kind, kind.Synced, kind.Absent, problem, kind.Since.UTC(), kind.LastEvent.UTC(), kind.Objects})
		}
		answer.Sources = append(answer.Sources, one)
	}
	return answer, nil
}
