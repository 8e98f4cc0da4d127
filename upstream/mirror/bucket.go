package mirror

import (
	"context"
	"sync"
	"time"
)

// A Bucket limits the rate of calls to a cloud: tokens come at a steady rate up
// to a burst, each call takes one. Providers put one in front of every API call
// of a credential, since only they know how many calls a listing takes. It is
// safe for concurrent use.
type Bucket struct {
	mu     sync.Mutex
	rate   float64 // tokens a second
	burst  float64
	tokens float64
	last   time.Time
	waited uint64
}

// NewBucket returns a full bucket. rate, in calls a second, must be above zero;
// a burst below one counts as one.
func NewBucket(rate float64, burst int) *Bucket {
	full := max(float64(burst), 1)
	return &Bucket{rate: rate, burst: full, tokens: full, last: time.Now()}
}

// Wait takes a token, and returns when the call may be made, or with the error
// of ctx. Who waits first is served first.
func (b *Bucket) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	b.fill(time.Now())
	b.tokens--
	wait := time.Duration(0)
	if b.tokens < 0 {
		wait = time.Duration(-b.tokens / b.rate * float64(time.Second))
		b.waited++
	}
	b.mu.Unlock()
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		b.mu.Lock()
		b.tokens++ // the call is not made
		b.mu.Unlock()
		return ctx.Err()
	}
}

func (b *Bucket) fill(now time.Time) {
	b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	b.last = now
}

// SetRate changes the rate from now on, as a cloud's replies advise.
func (b *Bucket) SetRate(rate float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(time.Now())
	b.rate = rate
}

// Rate returns the rate in calls a second.
func (b *Bucket) Rate() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rate
}

// Waited returns how many calls had to wait so far.
func (b *Bucket) Waited() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waited
}
