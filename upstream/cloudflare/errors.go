package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// Codes of Cloudflare's errors by what to do about them.
const (
	codeGone       = 81044 // no record has the ID
	codeQuota      = 81045 // the zone is full
	codeHostExists = 81053 // an A, AAAA or CNAME record stands at the name; up to 81058 something stands in the way
	codeIdentical  = 81058 // the very record is there
)

var (
	// denyCodes are about the credentials: headers of the wrong form, unknown keys and
	// tokens, and what a token may not do.
	denyCodes = []int{6003, 6100, 6101, 6102, 6103, 6111, 9103, 9106, 9107, 9109, 10000, 10001}
	waitCodes = []int{971, 10429}
	// zoneCodes say that the path leads nowhere: there is no such zone.
	zoneCodes = []int{1001, 7000, 7003}
)

// has reports whether one of the faults, or of their causes, has one of the codes.
func (e *callError) has(codes ...int) bool { return hasCode(e.faults, codes) }

func hasCode(faults []fault, codes []int) bool {
	return slices.ContainsFunc(faults, func(f fault) bool { return slices.Contains(codes, f.Code) || hasCode(f.Chain, codes) })
}

func (e *callError) throttled() bool {
	return e.status == http.StatusTooManyRequests || e.has(waitCodes...)
}

func (e *callError) denied() bool {
	return e.status == http.StatusUnauthorized || e.status == http.StatusForbidden || e.status < http.StatusInternalServerError && e.has(denyCodes...)
}

// listingError gives an error of a call that reads its class and a text without
// secrets.
func (c *client) listingError(what string, err error) error {
	class := mirror.Failed
	wait := time.Duration(0)
	if e := (*callError)(nil); errors.As(err, &e) {
		switch {
		case e.throttled():
			class, wait = mirror.Throttled, e.wait
		case e.denied():
			class = mirror.Denied
		}
	}
	return &mirror.Error{Class: class, RetryAfter: wait, Err: c.sentence(what, err)}
}

// writingError is listingError for a batch that failed whole. refused says that
// Cloudflare refuses it for what stands in it, so that its groups have to be judged.
func (c *client) writingError(what string, err error) (wrong *mirror.Error, refused *callError) {
	wrong = &mirror.Error{Class: mirror.Unknown, Err: c.sentence(what, err)}
	e := (*callError)(nil)
	if !errors.As(err, &e) {
		return wrong, nil // there was a reply, and it can't be read
	}
	switch {
	case e.throttled():
		wrong.Class, wrong.RetryAfter = mirror.Throttled, e.wait
	case e.denied():
		wrong.Class = mirror.Denied
	case e.unsent, e.has(zoneCodes...), e.status >= http.StatusMultipleChoices && e.status < http.StatusBadRequest:
		wrong.Class = mirror.Failed
	case e.status == 0 || e.status == http.StatusRequestTimeout || e.status >= http.StatusInternalServerError:
	case e.status == http.StatusNotFound && len(e.faults) == 0:
		wrong.Class = mirror.Failed
	case e.status == http.StatusOK && len(e.faults) == 0:
	default:
		return wrong, e
	}
	return wrong, nil
}

// neverConnected reports whether no connection was made, so that nothing was sent.
func neverConnected(err error) bool {
	e := (*net.OpError)(nil)
	return errors.As(err, &e) && e.Op == "dial"
}

// sentence says in one sentence what went wrong. Only the causes that a caller may
// ask for are wrapped: others may hold the request.
func (c *client) sentence(what string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s was given up: %w", what, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s took too long: %w", what, context.DeadlineExceeded)
	}
	text := c.clean(err.Error())
	e := (*callError)(nil)
	if errors.As(err, &e) && e.denied() && e.err == nil {
		text += ": check CF_API_TOKEN; it needs Zone Read and DNS Edit on the zone"
	}
	return fmt.Errorf("%s: %s", what, text)
}

// maxSentence bounds what a server can put into logs and events.
const maxSentence = 600

// clean returns text as one line, without anything secret.
func (c *client) clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	c.mu.Lock()
	secrets := slices.Clone(c.secrets)
	c.mu.Unlock()
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	if len(text) > maxSentence {
		text = strings.ToValidUTF8(text[:maxSentence], "") + "..."
	}
	return text
}
