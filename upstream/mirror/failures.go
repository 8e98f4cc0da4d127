package mirror

import (
	"context"
	"time"
)

// failed keeps an error that concerns all zones.
func (m *Mirror) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	fresh := m.status.Problem != err.Error()
	m.status.Problem = err.Error()
	m.status.Counts.SoftErrors++
	m.count(err)
	m.mu.Unlock()
	if fresh {
		m.options.Log.Error("a mirror can't list its zones", "mirror", m.options.Name, "error", err)
	}
}

func (m *Mirror) count(err error) {
	if ClassOf(err, Failed) == Throttled {
		m.status.Counts.Throttled++
	}
}

// backoff is how long to wait after an error: from the interval on, twice as long
// each time, 16 intervals at most, and as long as the cloud asks for.
func (m *Mirror) backoff(err error) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	fails := min(max(m.status.Counts.SoftErrors, 1)-1, 4)
	return max(m.options.Interval<<fails, retryAfter(err))
}

// zoneFailed keeps a zone's error and returns when it is tried again.
func (m *Mirror) zoneFailed(ctx context.Context, z *zoneState, err error) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if ctx.Err() != nil {
		return now.Add(m.options.Interval)
	}
	m.count(err)
	fresh := z.status.Problem != err.Error()
	z.status.Problem = err.Error()
	wait := max(m.options.Interval<<min(z.fails, 4), retryAfter(err))
	if class := ClassOf(err, Failed); class == Conflict || class == Unknown {
		// Nothing is wrong with the cloud: it only has to be read again.
		wait = min(wait, time.Second<<min(z.fails, 10))
	}
	z.fails++
	z.retryAt = now.Add(wait)
	if fresh {
		m.options.Log.Error("a mirror can't write a zone", "mirror", m.options.Name, "zone", z.zone.String(), "class", ClassOf(err, Failed), "error", err)
	}
	return z.retryAt
}
