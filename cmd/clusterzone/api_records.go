package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// A recordsAnswer is the body of /api/v1/records.
type recordsAnswer struct {
	Records []listedRecord `json:"records"`
	Next    string         `json:"next,omitempty"`
}

type listedRecord struct {
	Zone zones.Name `json:"zone"`
	zones.ListedSet
}

// listRecords gives record sets with the objects they come from: all of them,
// those of one zone, or those of one name.
func (p *pipeline) listRecords(q *question) (any, error) {
	limit, from, err := q.page()
	if err != nil {
		return nil, err
	}
	origins, name, err := p.recordsAsked(q)
	if err != nil {
		return nil, err
	}
	first := name
	if from != "" {
		zoneText, nameText, _ := strings.Cut(from, "\x00")
		zone, zoneErr := zones.ParseName(zoneText)
		next, nameErr := zones.ParseName(nameText)
		at := slices.Index(origins, zone)
		if zoneErr != nil || nameErr != nil || at < 0 || name != "" {
			return nil, errCursor
		}
		origins, first = origins[at:], next
	}
	answer := recordsAnswer{Records: []listedRecord{}}
	p.feed.View(func(table *zones.Table, _ objectOf) {
		for _, origin := range origins {
			if name != "" {
				answer.add(origin, table.RecordsAt(origin, name))
				continue
			}
			if len(answer.Records) >= limit {
				answer.Next = cursor(origin.String(), origin.String())
				return
			}
			sets, next := table.Records(origin, first, limit-len(answer.Records))
			first = ""
			answer.add(origin, sets)
			if next != "" {
				answer.Next = cursor(origin.String(), next.String())
				return
			}
		}
	})
	return answer, nil
}

func (a *recordsAnswer) add(origin zones.Name, sets []zones.ListedSet) {
	for _, set := range sets {
		a.Records = append(a.Records, listedRecord{origin, set})
	}
}

// recordsAsked returns the zones that are asked for, in canonical order, and
// the name; the zero Name for all.
func (p *pipeline) recordsAsked(q *question) (origins []zones.Name, name zones.Name, err error) {
	snap := p.store.Load()
	origins = snap.Origins()
	if text := q.text("zone"); text != "" {
		origin, err := zones.ParseName(text)
		if err != nil {
			return nil, "", fmt.Errorf("%q is no domain name: %w", text, err)
		}
		if snap.Zone(origin) == nil {
			return nil, "", notFound("%s is no zone that is served; /api/v1/zones lists them", origin)
		}
		origins = []zones.Name{origin}
	}
	text := q.text("name")
	if text == "" {
		return origins, "", nil
	}
	if name, err = zones.ParseName(text); err != nil {
		return nil, "", fmt.Errorf("%q is no domain name: %w", text, err)
	}
	origins = slices.DeleteFunc(slices.Clone(origins), func(origin zones.Name) bool { return !name.In(origin) })
	if len(origins) == 0 {
		return nil, "", notFound("%s lies in none of the zones asked; /api/v1/zones lists those that are served", name)
	}
	return origins, name, nil
}
