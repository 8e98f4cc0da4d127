package cloudflare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudflare/cloudflare-go/v7/dns"
	"github.com/cloudflare/cloudflare-go/v7/option"
	sdk "github.com/cloudflare/cloudflare-go/v7/zones"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

const (
	// callTimeout bounds one call, from its first octet to the last of the reply.
	callTimeout = 60 * time.Second
	// maxReply bounds what a reply may take in memory: a page of 5000 records is a
	// few megabytes.
	maxReply = 64 << 20
	maxFault = 1 << 20
	// readTries is how often a call that reads is made before its error counts.
	readTries = 3
)

// A client makes calls under one credential. It is safe for concurrent use.
type client struct {
	credentials Credentials
	budget      *mirror.Bucket
	base        float64 // the budget's rate while Cloudflare has calls left
	records     *dns.RecordService
	zones       *sdk.ZoneService
	web         *http.Client
	pause       time.Duration // before a read is tried again, doubled each time

	mu      sync.Mutex
	secrets []string  // of the last call
	until   time.Time // no call is made before: Cloudflare would refuse it
}

func newClient(options *Options) *client {
	c := &client{credentials: options.Credentials, budget: options.Budget, pause: 500 * time.Millisecond}
	if c.budget == nil {
		c.budget = mirror.NewBucket(rate, burst)
	}
	c.base = c.budget.Rate()
	// A redirect would take the credentials along to where it points.
	c.web = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	settings := []option.RequestOption{
		option.WithBaseURL(cmp.Or(options.Endpoint, defaultEndpoint)),
		option.WithHTTPClient(c.web),
		// The SDK repeats calls that write, too. What is repeated is decided here.
		option.WithMaxRetries(0),
		option.WithRequestTimeout(callTimeout),
		option.WithHeader("User-Agent", "clusterzone"),
		option.WithMiddleware(c.send),
	}
	c.records, c.zones = dns.NewRecordService(settings...), sdk.NewZoneService(settings...)
	return c
}

// A fault is one entry of a reply's errors.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Source  struct {
		Pointer string `json:"pointer"`
	} `json:"source"`
	Chain []fault `json:"error_chain"`
}

// A callError is a call that failed, with what Cloudflare says of it.
type callError struct {
	unsent bool // nothing has reached Cloudflare
	status int  // 0 without a reply
	wait   time.Duration
	faults []fault
	err    error // why there is no reply; nil with one
}

// Error returns the text of the cause, or of the faults.
func (e *callError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	var texts []string
	for _, f := range e.faults {
		texts = append(texts, f.text())
	}
	if len(texts) == 0 {
		return fmt.Sprintf("HTTP status %d %s", e.status, http.StatusText(e.status))
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the cause.
func (e *callError) Unwrap() error { return e.err }

func (f *fault) text() string {
	text := fmt.Sprintf("%s (code %d)", strings.TrimRight(f.Message, ". "), f.Code)
	for i := range f.Chain {
		text += ": " + f.Chain[i].text()
	}
	return text
}

// send is the SDK's way to look at a call: it waits for the budget, signs, and makes
// an error of every reply that isn't a success.
func (c *client) send(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	if err := c.quiet(); err != nil {
		return nil, err
	}
	if err := c.budget.Wait(request.Context()); err != nil {
		return nil, &callError{unsent: true, err: err}
	}
	secrets, err := c.credentials.sign(request)
	if err != nil {
		return nil, &callError{unsent: true, status: http.StatusUnauthorized, err: err}
	}
	c.remember(secrets)
	reply, err := next(request)
	if err != nil {
		return nil, &callError{unsent: neverConnected(err), err: err}
	}
	left, reset := rateLimit(reply.Header)
	c.adapt(left, reset)
	if reply.StatusCode < http.StatusMultipleChoices {
		reply.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(reply.Body, maxReply), reply.Body}
		return reply, nil
	}
	failed := &callError{status: reply.StatusCode}
	var body struct {
		Errors []fault `json:"errors"`
	}
	content, err := io.ReadAll(io.LimitReader(reply.Body, maxFault))
	if err = errors.Join(err, reply.Body.Close()); err == nil && json.Unmarshal(content, &body) == nil {
		failed.faults = body.Errors // a page of a proxy has none
	}
	if failed.throttled() {
		failed.wait = cmp.Or(retryAfter(reply.Header, time.Now()), reset)
		c.hush(failed.wait)
	}
	return nil, failed
}

// quiet returns an error while Cloudflare refuses all calls of the credential:
// more of them would make it longer.
func (c *client) quiet() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := time.Until(c.until); wait > 0 {
		return &callError{unsent: true, status: http.StatusTooManyRequests, wait: wait, err: errors.New("too many calls were made: Cloudflare asks to wait")}
	}
	return nil
}

func (c *client) hush(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Now().Add(wait)
}

func (c *client) remember(secrets []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets = secrets
}

// adapt slows calls down so that at most half of what Cloudflare has left for the
// user until the reset is taken: people and other programs share it.
func (c *client) adapt(left int, reset time.Duration) {
	if reset <= 0 {
		return
	}
	seconds := max(reset.Seconds(), 1)
	c.budget.SetRate(min(c.base, max(float64(left)/(2*seconds), 1/seconds)))
}

// rateLimit reads the header of the same name: calls left, and the time until there
// are more (draft-ietf-httpapi-ratelimit-headers). A reset of 0 stands for no header.
func rateLimit(header http.Header) (left int, reset time.Duration) {
	for part := range strings.SplitSeq(header.Get("Ratelimit"), ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			continue
		}
		switch key {
		case "r":
			left = n
		case "t":
			reset = time.Duration(min(n, 3600)) * time.Second
		}
	}
	return left, reset
}

// retryAfter reads the header of the same name, seconds or a date (RFC 9110 section
// 10.2.3); 0 without it.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(max(0, min(n, 3600))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), time.Hour))
	}
	return 0
}

// read makes a call that reads, again where Cloudflare or the way to it failed.
func (c *client) read(ctx context.Context, call func() error) error {
	pause := c.pause
	for try := 1; ; try++ {
		err := call()
		if err == nil || try == readTries || ctx.Err() != nil || !passing(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 2
	}
}

// passing reports whether an error may be gone a moment later.
func passing(err error) bool {
	if e := (*callError)(nil); errors.As(err, &e) {
		return e.status >= http.StatusInternalServerError || e.status == 0 && !errors.Is(err, context.Canceled)
	}
	return true // a reply that ended early, or that isn't what it should be
}

// An envelope is what all replies have in common.
type envelope struct {
	Success bool    `json:"success"`
	Errors  []fault `json:"errors"`
}

// ok returns an error for a reply that says of itself that it is none.
func (e *envelope) ok() error {
	if e.Success {
		return nil
	}
	return &callError{status: http.StatusOK, faults: e.Errors}
}

// A batchBody is a batch as it is sent.
type batchBody struct {
	Deletes []objectID `json:"deletes,omitempty"`
	Patches []object   `json:"patches,omitempty"`
	Posts   []object   `json:"posts,omitempty"`
}

type objectID struct {
	ID string `json:"id"`
}

// A batchReply has the objects as they are now, in the order of the body.
type batchReply struct {
	envelope
	Result struct {
		Patches []object `json:"patches"`
		Posts   []object `json:"posts"`
	} `json:"result"`
}

// batch sends one transaction, once.
func (c *client) batch(ctx context.Context, zone string, body *batchBody) (*batchReply, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, &callError{unsent: true, err: err}
	}
	var params dns.RecordBatchParams
	params.ZoneID.Value, params.ZoneID.Present = zone, true
	var reply batchReply
	_, err = c.records.Batch(ctx, params, option.WithRequestBody("application/json", bytes.NewBuffer(content)), option.WithResponseBodyInto(&reply))
	if err == nil {
		err = reply.ok()
	}
	if err != nil {
		return nil, err
	}
	return &reply, nil
}
