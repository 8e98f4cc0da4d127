package route53

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestBudget(t *testing.T) {
	t.Parallel()
	b := NewBudget(0, 0)
	now := time.Unix(1000, 0)
	for i, want := range []time.Duration{0, 0, 0, 0, 500 * time.Millisecond, time.Second} {
		if got := b.take(now); got != want {
			t.Errorf("request %d waits %s, and not %s", i, got, want)
		}
	}
	b.back()
	for i, want := range []time.Duration{0, 500 * time.Millisecond} {
		if got := b.take(now.Add(time.Second)); got != want {
			t.Errorf("a second later, request %d waits %s, and not %s", i, got, want)
		}
	}
	for i := range 5 {
		if got := b.take(now.Add(time.Hour)); (got > 0) != (i == 4) {
			t.Errorf("an hour later, request %d waits %s", i, got)
		}
	}
}

func TestBudgetEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := NewBudget(1e-6, 1)
	if err := b.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ends with %v", err)
	}
	if b.tokens < -0.5 {
		t.Error("the token that was not used is gone")
	}
}

// Each request, retries among them, costs a token of the budget.
func TestRequestsCost(t *testing.T) {
	t.Parallel()
	f := newFake(t, "Z1 example.com")
	var b *Budget
	cloud := openAt(t, f.URL, func(o *Options) {
		o.Retries = 2
		o.Budgets = func(string) *Budget { b = NewBudget(1e-9, 100); return b }
	})
	f.setFault(func(c call) *failure {
		if c.n == 1 {
			return &failure{status: 400, code: "Throttling", message: "Rate exceeded"}
		}
		return nil
	})
	if _, err := cloud.Provider.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := int(b.tokens + 0.5); left != 98 {
		t.Errorf("%d tokens are left, and not 98", left)
	}
}
