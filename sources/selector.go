package sources

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A selector is the label-selector grammar of Kubernetes over annotations,
// whose values may hold any character. Terms are separated by commas; an
// object must meet all of them:
//
//	key   !key   key=value   key==value   key!=value   key>1   key<1
//	key in (a, b)   key notin (a, b)
//
// A value runs to the next comma, in a set also to the closing bracket; blanks
// around it don't count. In double quotes, with Go's escapes, it may hold
// those too. As in Kubernetes, != and notin also take objects without the key.
// The zero selector takes every object.
type selector []term

type operator uint8

const (
	exists operator = iota
	missing
	in
	notIn
	greater
	less
)

type term struct {
	key    string
	op     operator
	values []string
	bound  int64 // of greater and less
}

// names reports whether a term of s is about key.
func (s selector) names(key string) bool {
	return slices.ContainsFunc(s, func(t term) bool { return t.key == key })
}

// matches reports whether values meet every term.
func (s selector) matches(values map[string]string) bool {
	for _, t := range s {
		if !t.matches(values) {
			return false
		}
	}
	return true
}

func (t term) matches(values map[string]string) bool {
	value, ok := values[t.key]
	switch t.op {
	case exists:
		return ok
	case missing:
		return !ok
	case in:
		return ok && slices.Contains(t.values, value)
	case notIn:
		return !ok || !slices.Contains(t.values, value)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if !ok || err != nil {
		return false
	}
	if t.op == greater {
		return n > t.bound
	}
	return n < t.bound
}

var errUnclosedQuote = errors.New("a quoted value is not closed; end it with a double quote")

// parseSelector reads a selector; blank text gives the one that takes all.
func parseSelector(text string) (selector, error) {
	var s selector
	p := selectorParser{rest: text}
	if p.blanks(); p.rest == "" {
		return nil, nil
	}
	for {
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		s = append(s, t)
		p.blanks()
		switch {
		case p.rest == "":
			return s, nil
		case !p.take(","):
			return nil, fmt.Errorf("a comma should stand before %q", p.rest)
		}
	}
}

// selectorParser eats rest from the left.
type selectorParser struct{ rest string }

func (p *selectorParser) blanks() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

// take eats token if it comes next, after blanks.
func (p *selectorParser) take(token string) bool {
	p.blanks()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *selectorParser) term() (term, error) {
	negated := p.take("!")
	p.blanks()
	end := strings.IndexFunc(p.rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("=!<>(),", r) })
	if end < 0 {
		end = len(p.rest)
	}
	t := term{key: p.rest[:end]}
	p.rest = p.rest[end:]
	if t.key == "" {
		return term{}, fmt.Errorf("an annotation's name should stand before %q; terms look like key=value, key!=value, key in (a, b), key or !key", p.rest)
	}
	if negated {
		t.op = missing
		return t, nil
	}
	return t, p.operation(&t)
}

func (p *selectorParser) operation(t *term) error {
	var err error
	switch {
	case p.take("!="):
		t.op = notIn
		t.values, err = p.one()
	case p.take("=="), p.take("="):
		t.op = in
		t.values, err = p.one()
	case p.take(">"):
		t.op = greater
		err = p.number(t)
	case p.take("<"):
		t.op = less
		err = p.number(t)
	case p.word("notin"):
		t.op = notIn
		t.values, err = p.set()
	case p.word("in"):
		t.op = in
		t.values, err = p.set()
	}
	return err
}

// word eats a word that a blank or an opening bracket follows.
func (p *selectorParser) word(word string) bool {
	p.blanks()
	rest, ok := strings.CutPrefix(p.rest, word)
	if !ok || rest == "" || rest[0] != '(' && !unicode.IsSpace(rune(rest[0])) {
		return false
	}
	p.rest = rest
	return true
}

func (p *selectorParser) number(t *term) error {
	values, err := p.one()
	if err != nil {
		return err
	}
	if t.bound, err = strconv.ParseInt(values[0], 10, 64); err != nil {
		return fmt.Errorf("%q beside < or > is no whole number", values[0])
	}
	return nil
}

func (p *selectorParser) one() ([]string, error) {
	value, err := p.value(",")
	return []string{value}, err
}

func (p *selectorParser) set() ([]string, error) {
	if !p.take("(") {
		return nil, fmt.Errorf("an opening bracket should stand before %q; write key in (a, b)", strings.TrimSpace(p.rest))
	}
	var values []string
	for {
		value, err := p.value(",)")
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		switch {
		case p.take(")"):
			return values, nil
		case !p.take(","):
			return nil, errors.New("a set of values is not closed; write key in (a, b)")
		}
	}
}

// value eats a value up to one of the stops, or a quoted one.
func (p *selectorParser) value(stops string) (string, error) {
	p.blanks()
	if strings.HasPrefix(p.rest, `"`) {
		quoted, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			return "", errUnclosedQuote
		}
		p.rest = p.rest[len(quoted):]
		return strconv.Unquote(quoted)
	}
	end := strings.IndexAny(p.rest, stops)
	if end < 0 {
		end = len(p.rest)
	}
	value := strings.TrimRightFunc(p.rest[:end], unicode.IsSpace)
	p.rest = p.rest[end:]
	return value, nil
}
