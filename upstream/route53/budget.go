package route53

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// The budget of one set of credentials. Route 53 takes five requests a second of
// an account, over all its users; this leaves more than half of them to others.
const (
	defaultRate  = 2 // requests a second
	defaultBurst = 4
)

// A Budget bounds the requests of one set of credentials. Providers that use the
// same credentials share one. It is safe for concurrent use.
type Budget struct {
	rate  float64 // tokens a second
	burst float64

	mu     sync.Mutex
	tokens float64 // below zero where requests wait
	at     time.Time
}

// NewBudget returns a full budget of that many requests a second, and burst at
// once. 0 stands for 2 and 4.
func NewBudget(rate float64, burst int) *Budget {
	if rate <= 0 {
		rate = defaultRate
	}
	if burst <= 0 {
		burst = defaultBurst
	}
	return &Budget{rate: rate, burst: float64(burst), tokens: float64(burst)}
}

// take takes one token at a moment and returns how long to wait for it.
func (b *Budget) take(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.at.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	}
	b.at = now
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// back gives back a token that was not used.
func (b *Budget) back() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.burst, b.tokens+1)
}

// wait waits for a token, or until ctx is done.
func (b *Budget) wait(ctx context.Context) error {
	delay := b.take(time.Now())
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		b.back()
		return ctx.Err()
	}
}

// paced is an HTTP client that keeps to a budget. Below the SDK's retries, it counts
// each of them.
type paced struct {
	next   aws.HTTPClient
	budget *Budget
}

// Do implements aws.HTTPClient.
func (p paced) Do(request *http.Request) (*http.Response, error) {
	if err := p.budget.wait(request.Context()); err != nil {
		return nil, err
	}
	return p.next.Do(request)
}
