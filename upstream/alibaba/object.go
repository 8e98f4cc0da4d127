package alibaba

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// An object is one value of a record set: what both products call a record.
type object struct {
	id       string
	rr       string // the name within the zone: "@" for the zone itself
	kind     string // as the API spells the type
	value    string // as the API gave it, or as it is sent
	priority int    // of MX; 0 elsewhere
	ttl      uint32 // 0 leaves it to the API
	locked   string // why it isn't written, in words; "" where it may be
}

// locked says why an object is not ours to write: only what is enabled, unlocked
// and on the default line is.
func locked(line, status string, lock bool) string {
	switch {
	case line != "" && line != "default":
		return fmt.Sprintf("it has a value on the resolution line %s, which is not managed", line)
	case status != "" && status != "ENABLE" && status != "Enable" && status != "enable":
		return "a value of it is disabled in the console"
	case lock:
		return "it is locked in the console"
	}
	return ""
}

// An api is one product. Errors have their class.
type api interface {
	// zones returns all zones.
	zones(ctx context.Context) ([]mirror.Zone, error)
	// list returns the objects of a zone whose rr holds keyword, and maybe others;
	// all where keyword is "".
	list(ctx context.Context, zone mirror.Zone, keyword string) ([]object, error)
	// write makes an object (Create, whose id it returns), gives that of its id
	// new content (Update), or takes it away (Delete).
	write(ctx context.Context, zone mirror.Zone, verb mirror.Verb, o object) (string, error)
}

// A page is one page of a listing, and the total that it states.
type page[T any] struct {
	items []T
	total int
}

var errShifted = errors.New("the listing changed while it was read")

// pages reads a listing whole. Objects that come or go meanwhile shift the pages;
// this shows as a total that changes, or as an item that is listed twice or not at
// all, and the listing is read once more. What is still off then is an error.
func pages[T any](what string, size int, key func(T) string, fetch func(number int) (page[T], error)) ([]T, error) {
	list, err := onePass(size, key, fetch)
	if errors.Is(err, errShifted) {
		list, err = onePass(size, key, fetch)
	}
	if errors.Is(err, errShifted) {
		return nil, &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("%s: %w", what, err)}
	}
	return list, err
}

func onePass[T any](size int, key func(T) string, fetch func(int) (page[T], error)) ([]T, error) {
	var list []T
	seen := map[string]bool{}
	total := -1
	for number := 1; ; number++ {
		p, err := fetch(number)
		if err != nil {
			return nil, listing(err)
		}
		if total >= 0 && p.total != total {
			return nil, fmt.Errorf("%w: its total went from %d to %d", errShifted, total, p.total)
		}
		total = p.total
		for _, item := range p.items {
			if seen[key(item)] {
				return nil, fmt.Errorf("%w: %s is in it twice", errShifted, key(item))
			}
			seen[key(item)] = true
		}
		list = append(list, p.items...)
		if len(list) >= total || len(p.items) == 0 || number > total/size+1 {
			break
		}
	}
	if len(list) != total {
		return nil, fmt.Errorf("%w: it holds %d of %d", errShifted, len(list), total)
	}
	return list, nil
}

// compareObjects is a stable order: by type and value.
func compareObjects(a, b object) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.value, b.value), cmp.Compare(a.priority, b.priority), cmp.Compare(a.id, b.id))
}
