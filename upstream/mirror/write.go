package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// write sends groups in batches. Groups that the cloud refuses are put into
// quarantine, and the rest is sent without them. The error is what ended the
// writing before all was sent, or that the zone must be read again.
func (m *Mirror) write(ctx context.Context, z *zoneState, list []Group) error {
	queue, tooBig := batches(list, &m.options.Cloud.Limits)
	for i := range tooBig {
		m.refuse(z, &tooBig[i], fmt.Errorf("the changes of %s are more than one batch of %s may hold: ask for fewer targets", tooBig[i].Name, m.options.Cloud.Name))
	}
	if m.options.DryRun {
		m.logDry(z, queue)
		return nil
	}
	var again error // a conflict that a listing resolves
	for first := true; len(queue) > 0; first = false {
		batch := queue[0]
		queue = queue[1:]
		if !first {
			if err := wait(ctx, m.options.Cloud.Limits.Pause); err != nil {
				return err
			}
		}
		batch, err := m.sendable(ctx, z, batch)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			continue
		}
		rest, conflict, err := m.send(ctx, z, batch)
		if err != nil {
			return err
		}
		again = cmp.Or(again, conflict)
		queue = append(rest, queue...)
	}
	return again
}

// sendable asks once more whether the batch may be sent, and leaves out deletions
// that were planned from an old listing: they have to be planned from a new one.
func (m *Mirror) sendable(ctx context.Context, z *zoneState, batch []Group) ([]Group, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if gate := m.options.Gate; gate != nil {
		if leads, who := gate.Leads(); !leads {
			return nil, &Error{Class: Failed, Err: errors.New("the lease was lost: " + who + " writes now")}
		}
	}
	if time.Since(z.listed) <= m.guards.FreshFor {
		return batch, nil
	}
	var rest []Group
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, group := range batch {
		if takesAway(&group) {
			z.status.Held = append(z.status.Held, Held{Name: group.Name, Change: group.Changes[0].String(), Delete: true, Guard: GuardStale, Why: "the listing that it was planned from is too old by now; the next cycle plans it anew"})
			continue
		}
		rest = append(rest, group)
	}
	return rest, nil
}

// takesAway reports whether a group deletes a record, or an ownership record that
// is dangling, and puts nothing in its place.
func takesAway(g *Group) bool {
	gone := false
	for i := range g.Changes {
		if g.Changes[i].New != nil && !g.Changes[i].Ownership {
			return false
		}
		gone = gone || g.Changes[i].Verb == Delete
	}
	return gone
}

// wait returns after the pause, or with the error of ctx.
func wait(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends one batch. What it returns as rest must be sent again: the halves of a
// batch of which nobody knows what was wrong with it, or what was undone for
// another's fault.
func (m *Mirror) send(ctx context.Context, z *zoneState, batch []Group) (rest [][]Group, conflict, err error) {
	results := m.options.Cloud.Provider.Apply(ctx, z.zone, batch)
	if len(results) != len(batch) {
		results = Fail(batch, &Error{Class: Unknown, Err: fmt.Errorf("the provider gave %d results for %d groups", len(results), len(batch))})
	}
	m.mu.Lock()
	m.status.Counts.Batches++
	m.mu.Unlock()
	var undone []Group
	blamed := false // some group is the culprit
	for i := range batch {
		group, result := &batch[i], &results[i]
		if result.Err == nil {
			m.applied(z, group, result)
			continue
		}
		switch class := ClassOf(result.Err, Unknown); class {
		case Undone:
			undone = append(undone, *group)
		case BadChange:
			blamed = true
			m.refuse(z, group, result.Err)
		case Conflict:
			blamed = true
			conflict = m.conflict(z, group, result.Err)
		default:
			if class == Unknown {
				m.stale(z)
				result.Err = &Error{Class: Unknown, RetryAfter: retryAfter(result.Err), Err: result.Err}
			}
			err = cmp.Or(err, result.Err)
		}
	}
	switch {
	case err != nil || len(undone) == 0:
	case blamed || len(undone) < len(batch):
		rest = [][]Group{undone}
	case len(undone) == 1:
		m.refuse(z, &undone[0], results[0].Err)
	default:
		half := len(undone) / 2
		rest = [][]Group{undone[:half], undone[half:]}
	}
	return rest, conflict, err
}

// stale has the zone read whole before anything else is written to it.
func (m *Mirror) stale(z *zoneState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	z.listed = time.Time{}
}

func (m *Mirror) applied(z *zoneState, group *Group, result *Result) {
	m.mu.Lock()
	z.applied(group, result, time.Now())
	z.status.Done++
	for i := range group.Changes {
		m.status.Counts.Applied[group.Changes[i].Verb]++
	}
	m.mu.Unlock()
	for i := range group.Changes {
		change := &group.Changes[i]
		level := slog.LevelInfo
		if change.Ownership {
			level = slog.LevelDebug
		}
		m.options.Log.Log(context.Background(), level, "mirrored", "mirror", m.options.Name, "zone", z.zone.String(), "change", change.String(), "why", change.Why)
		if m.options.OnApplied != nil && !change.Ownership {
			m.options.OnApplied(z.zone, *change)
		}
	}
}

// refuse puts the name of a group into quarantine.
func (m *Mirror) refuse(z *zoneState, group *Group, err error) {
	m.mu.Lock()
	z.refused(group.Name, err, time.Now())
	m.status.Counts.Failed++
	m.mu.Unlock()
	change := &group.Changes[0]
	for i := range group.Changes {
		if !group.Changes[i].Ownership {
			change = &group.Changes[i]
		}
	}
	m.options.Log.Warn("the cloud refuses a change", "mirror", m.options.Name, "zone", z.zone.String(), "change", change.String(), "error", err)
	if m.options.OnFailed != nil {
		m.options.OnFailed(z.zone, *change, err)
	}
}

// conflict has the zone read again. A group that conflicts once more after that is
// refused: something stands there that no listing shows.
func (m *Mirror) conflict(z *zoneState, group *Group, err error) error {
	m.stale(z)
	m.mu.Lock()
	known := z.conflicts[group.Name]
	z.conflicts[group.Name] = true
	m.mu.Unlock()
	if known {
		m.refuse(z, group, err)
	}
	return err
}

func (m *Mirror) logDry(z *zoneState, queue [][]Group) {
	for _, batch := range queue {
		for i := range batch {
			for j := range batch[i].Changes {
				m.options.Log.Info("would be mirrored, but for --dry-run", "mirror", m.options.Name, "zone", z.zone.String(), "change", batch[i].Changes[j].String())
			}
		}
	}
}
