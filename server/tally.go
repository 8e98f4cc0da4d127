package server

import (
	"sync"
	"sync/atomic"
	"time"
)

// sampleEvery says how many queries there are to one whose time is taken:
// reading the clock costs as much as finding a name.
const sampleEvery = 16

// durationBounds are the upper bounds of the histogram of times.
var durationBounds = [...]time.Duration{
	5 * time.Microsecond, 10 * time.Microsecond, 25 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond,
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond,
}

// A tally is what one worker has counted. Its worker alone counts, so that no
// processor waits for another's; Metrics reads it at any time, and adds up all
// tallies when it is asked.
type tally struct {
	mu      sync.Mutex // held to add to queries, and by others to read it
	queries map[series]*atomic.Uint64

	dropped          [transports][drops]atomic.Uint64
	cookies          [cookieStates]atomic.Uint64
	truncated, short atomic.Uint64
	durations        [transports]durations

	// The worker's own: the series of its last query, which is mostly that of
	// the next; and how many queries it has answered since one was timed.
	last    series
	count   *atomic.Uint64
	untimed int
}

// durations is a histogram.
type durations struct {
	buckets [len(durationBounds) + 1]atomic.Uint64 // the last: above all bounds
	sum     atomic.Uint64                          // nanoseconds
}

// newTally returns a tally that times the first query.
func newTally() *tally {
	return &tally{queries: map[series]*atomic.Uint64{}, untimed: sampleEvery - 1}
}

// observe counts an outcome.
func (t *tally) observe(o Outcome) {
	if o.Cookie != CookieNone {
		t.cookies[o.Cookie].Add(1)
	}
	if o.Dropped != Answered {
		t.dropped[o.Transport][o.Dropped].Add(1)
		return
	}
	if key := seriesOf(o); t.count == nil || key != t.last {
		t.last, t.count = key, t.counter(key)
	}
	t.count.Add(1)
	if o.Truncated {
		t.truncated.Add(1)
	}
	if o.Short {
		t.short.Add(1)
	}
}

// counter returns a series' counter, and makes it where it is new.
func (t *tally) counter(key series) *atomic.Uint64 {
	count, ok := t.queries[key] // nobody else writes
	if !ok {
		count = new(atomic.Uint64)
		t.mu.Lock()
		t.queries[key] = count
		t.mu.Unlock()
	}
	return count
}

// sample takes the time of one in sampleEvery of n queries that came together
// at start and have been answered by now.
func (t *tally) sample(transport Transport, n int, start time.Time) {
	t.untimed += n
	times := t.untimed / sampleEvery
	if times == 0 {
		return
	}
	t.untimed %= sampleEvery
	took := time.Since(start)
	i := 0
	for i < len(durationBounds) && took > durationBounds[i] {
		i++
	}
	d := &t.durations[transport]
	d.buckets[i].Add(uint64(times))
	d.sum.Add(uint64(took) * uint64(times))
}

// addTo adds what t has counted to sum, which nobody else uses meanwhile.
func (t *tally) addTo(sum *tally) {
	t.mu.Lock()
	for key, count := range t.queries {
		sum.counter(key).Add(count.Load())
	}
	t.mu.Unlock()
	for transport := range t.dropped {
		for reason := range t.dropped[transport] {
			sum.dropped[transport][reason].Add(t.dropped[transport][reason].Load())
		}
		from, to := &t.durations[transport], &sum.durations[transport]
		for i := range from.buckets {
			to.buckets[i].Add(from.buckets[i].Load())
		}
		to.sum.Add(from.sum.Load())
	}
	for state := range t.cookies {
		sum.cookies[state].Add(t.cookies[state].Load())
	}
	sum.truncated.Add(t.truncated.Load())
	sum.short.Add(t.short.Load())
}
