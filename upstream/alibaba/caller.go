package alibaba

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	openapiutil "github.com/alibabacloud-go/darabonba-openapi/v2/utils"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

const (
	callTimeout = 30 * time.Second
	maxReply    = 32 << 20 // octets; a page of 500 objects has some 200 KiB
	tries       = 4
)

// A caller sends calls within one rate. It is safe for concurrent use.
type caller struct {
	endpoint *url.URL
	keys     keySource
	bucket   *mirror.Bucket
	rate     float64 // the highest
	backoff  time.Duration
	wire     *wire
}

func newCaller(endpoint *url.URL, keys keySource, options Options) *caller {
	c := &caller{
		endpoint: endpoint, keys: keys, rate: options.Rate, backoff: options.Backoff,
		wire: &wire{client: &http.Client{Timeout: callTimeout, Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		}}},
	}
	if c.rate <= 0 {
		c.rate = defaultRate
	}
	if c.backoff <= 0 {
		c.backoff = time.Second
	}
	c.bucket = mirror.NewBucket(c.rate, int(c.rate))
	return c
}

// call makes one call and decodes the reply into out. A throttled call was not
// carried out, so it is made again, slower; nothing else is. Errors are of type
// *apiError where the API answered, and *mirror.Error where nothing was sent.
func (c *caller) call(ctx context.Context, version, action string, query map[string]string, out any) error {
	for try := 1; ; try++ {
		err := c.once(ctx, version, action, query, out)
		if e := (*apiError)(nil); !errors.As(err, &e) || !e.throttled() {
			if err == nil {
				c.bucket.SetRate(min(c.rate, c.bucket.Rate()+c.rate/50))
			}
			return err
		} else if try == tries {
			e.wait = c.backoff << try
			return err
		}
		c.bucket.SetRate(max(min(minRate, c.rate), c.bucket.Rate()/2))
		timer := time.NewTimer(c.backoff << (try - 1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return givenUp(ctx)
		}
	}
}

func (c *caller) once(ctx context.Context, version, action string, query map[string]string, out any) error {
	if err := c.bucket.Wait(ctx); err != nil {
		return givenUp(ctx)
	}
	keys, err := c.keys(ctx)
	if err != nil {
		return err
	}
	config := &openapiutil.Config{
		AccessKeyId: &keys.id, AccessKeySecret: &keys.secret,
		Endpoint: &c.endpoint.Host, Protocol: &c.endpoint.Scheme, HttpClient: c.wire,
	}
	if keys.token != "" {
		config.SecurityToken = &keys.token
	}
	// A client is a few fields around the credentials; connections are the wire's.
	client, err := openapi.NewClient(config)
	if err != nil {
		return &mirror.Error{Class: mirror.Denied, Err: errors.New("the credentials of Alibaba Cloud can't be used: " + keys.scrub(err.Error()))}
	}
	client.DisableSDKError = dara.Bool(true)
	request := &openapiutil.OpenApiRequest{Query: map[string]*string{}}
	for key, value := range query {
		request.Query[key] = &value
	}
	reply, err := client.CallApiWithCtx(ctx, &openapiutil.Params{
		Action: &action, Version: &version, Protocol: &c.endpoint.Scheme, Pathname: dara.String("/"), Method: dara.String("POST"),
		AuthType: dara.String("AK"), Style: dara.String("RPC"), ReqBodyType: dara.String("formData"), BodyType: dara.String("string"),
	}, request, &dara.RuntimeOptions{})
	if err != nil {
		return explain(action, err, keys)
	}
	text, ok := reply["body"].(string)
	if !ok {
		return fmt.Errorf("%s: the reply has no body", action)
	}
	return decode(action, text, out, keys)
}

// decode reads a reply. Some calls of pvtz report a failure under status 200.
func decode(action, text string, out any, keys secrets) error {
	var failure struct {
		Success       *bool
		Code, Message string
	}
	if err := json.Unmarshal([]byte(text), &failure); err != nil {
		return fmt.Errorf("%s: the reply isn't JSON", action)
	}
	if failure.Success != nil && !*failure.Success {
		return &apiError{action: action, code: keys.scrub(failure.Code), message: keys.scrub(failure.Message), status: http.StatusOK}
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return fmt.Errorf("%s: the reply isn't as documented: %s", action, keys.scrub(err.Error()))
	}
	return nil
}

// scrub takes the credentials out of a text: the API quotes what was signed when
// it refuses a signature.
func (k secrets) scrub(text string) string {
	for _, part := range []string{k.secret, k.token, k.id} {
		if part != "" {
			text = strings.ReplaceAll(text, part, "(hidden)")
			text = strings.ReplaceAll(text, url.QueryEscape(part), "(hidden)")
		}
	}
	return text
}

// givenUp is the error of calls that were not sent since ctx is done.
func givenUp(ctx context.Context) error {
	return &mirror.Error{Class: mirror.Failed, Err: fmt.Errorf("the call was given up: %w", context.Cause(ctx))}
}

// A wire is the HTTP client below Alibaba's, whose own ignores the proxies of the
// environment and has global state.
type wire struct{ client *http.Client }

// Call implements dara.HttpClient.
func (w *wire) Call(request *http.Request, _ *http.Transport) (*http.Response, error) {
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxReply)
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode >= http.StatusBadRequest && (err != nil || !strings.HasSuffix(kind, "json")) {
		status := response.StatusCode
		if err := response.Body.Close(); err != nil {
			return nil, fmt.Errorf("something on the way answered HTTP status %d: %w", status, err)
		}
		return nil, fmt.Errorf("something on the way answered HTTP status %d", status)
	}
	return response, nil
}
