package mirror

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestABucketKeepsTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBucket(2, 4)
		start := time.Now()
		for range 10 {
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 3*time.Second || b.Waited() != 6 {
			t.Errorf("ten calls took %v, %d had to wait", took, b.Waited())
		}
		b.SetRate(1)
		start = time.Now()
		for range 3 {
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 3*time.Second || b.Rate() != 1 {
			t.Errorf("three calls took %v at the rate %v", took, b.Rate())
		}
		// A call that is given up takes no token.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := b.Wait(ctx); err == nil {
			t.Error("the wait is not given up")
		}
		start = time.Now()
		if err := b.Wait(t.Context()); err != nil || time.Since(start) > time.Second {
			t.Errorf("the next call takes %v (%v)", time.Since(start), err)
		}
		if err := b.Wait(ctx); err == nil {
			t.Error("a context that is done gets a token")
		}
	})
}
