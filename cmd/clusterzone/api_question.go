package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterzone/clusterzone/sources"
)

// Limits of one page of a list.
const (
	defaultLimit = 1000
	maxLimit     = 10000
)

// A question is what stands after the question mark of a request.
type question struct{ values url.Values }

// readQuestion refuses parameters that the page doesn't have, or that come
// twice: a misspelt filter would else give an answer to another question.
func readQuestion(raw string, parameters []string) (*question, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fmt.Errorf("what follows the question mark can't be read: %w; write name=value pairs with & between them", err)
	}
	for name, given := range values {
		switch {
		case len(parameters) == 0:
			return nil, fmt.Errorf("%q is no parameter of this page; it has none", name)
		case !slices.Contains(parameters, name):
			return nil, fmt.Errorf("%q is no parameter of this page; %s", name, sources.Suggest(name, parameters))
		case len(given) > 1:
			return nil, fmt.Errorf("%s is given %d times; give it once", name, len(given))
		}
	}
	return &question{values}, nil
}

func (q *question) text(name string) string { return q.values.Get(name) }

// page returns how many items are wanted at most, and where to go on; "" is the
// start.
func (q *question) page() (limit int, from string, err error) {
	limit = defaultLimit
	if text := q.text("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxLimit {
			return 0, "", fmt.Errorf("limit=%s is out of range; write a number from 1 to %d", text, maxLimit)
		}
	}
	text, err := base64.RawURLEncoding.DecodeString(q.text("cursor"))
	if err != nil {
		return 0, "", errCursor
	}
	return limit, string(text), nil
}

var errCursor = errors.New("the cursor is none that this page gave; leave it out to start again")

// cursor makes a cursor of the parts that say where to go on.
func cursor(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\x00")))
}
