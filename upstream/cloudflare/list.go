package cloudflare

import (
	"errors"
	"fmt"
)

// A page is a part of a listing.
type page[T any] struct {
	envelope
	Result []T `json:"result"`
	Info   struct {
		// Total is how many entries the whole listing has; nil where the reply doesn't
		// say.
		Total *int `json:"total_count"`
	} `json:"result_info"`
}

// errMoved says that the pages of a listing don't belong together: somebody has
// changed something meanwhile.
var errMoved = errors.New("it changed while it was read")

// listAll reads a listing whole, twice where it changes under the first reading.
func listAll[T any](id func(*T) string, get func(n int, into *page[T]) error) ([]T, error) {
	all, err := listOnce(id, get)
	if errors.Is(err, errMoved) {
		all, err = listOnce(id, get)
	}
	return all, err
}

// listOnce reads page after page until there are as many entries as each page
// states. A server that gives fewer a page than it was asked for is fine; one that
// states no total isn't, since nobody knew then whether a page is missing.
func listOnce[T any](id func(*T) string, get func(n int, into *page[T]) error) ([]T, error) {
	var all []T
	seen := map[string]bool{}
	total := 0
	for n := 1; ; n++ {
		var part page[T]
		if err := get(n, &part); err != nil {
			return nil, err
		}
		switch {
		case part.Info.Total == nil:
			return nil, errors.New("the reply doesn't state how many entries there are")
		case n == 1:
			total = *part.Info.Total
			all = make([]T, 0, min(total, 1<<16))
		case *part.Info.Total != total:
			return nil, fmt.Errorf("%w: page %d states %d entries, the first one %d", errMoved, n, *part.Info.Total, total)
		}
		for i := range part.Result {
			if key := id(&part.Result[i]); key == "" || seen[key] {
				return nil, fmt.Errorf("%w: an entry of page %d is there twice, or has no ID", errMoved, n)
			} else {
				seen[key] = true
			}
		}
		all = append(all, part.Result...)
		switch {
		case len(all) == total:
			return all, nil
		case len(all) > total, len(part.Result) == 0:
			return nil, fmt.Errorf("%w: the pages hold %d entries of %d", errMoved, len(all), total)
		}
	}
}
