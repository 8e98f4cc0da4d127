package resolver

import (
	"container/heap"
	"time"
)

// A lane is what a lookup is for. Each has a queue of its own and a share of the
// lookups that may be in flight, so that targets whose servers are silent, which
// keep a lookup busy for long, hold up neither those that are well nor new ones.
type lane int

const (
	refreshes lane = iota // of addresses that are known
	firsts                // of targets that were never looked up
	retries               // of lookups that failed
	laneCount
)

// lane is where the state belongs. It changes only with an outcome, while the state
// is in no queue.
func (s *state) lane() lane {
	switch {
	case s.fails > 0:
		return retries
	case !s.v4.known && !s.v6.known:
		return firsts
	}
	return refreshes
}

// lanes are the states that wait for a lookup, and the count of those that are
// being looked up.
type lanes struct {
	queues [laneCount]schedule
	busy   [laneCount]int
}

// put lets a state wait for its turn.
func (l *lanes) put(s *state) { heap.Push(&l.queues[s.lane()], s) }

// remove takes a state out that waits.
func (l *lanes) remove(s *state) { heap.Remove(&l.queues[s.lane()], s.at) }

// next takes the state out that is to be looked up now, if there is one, and counts
// it as busy until done. parallel is how many may be busy.
func (l *lanes) next(parallel int, now time.Time) *state {
	for lane := range l.queues {
		queue := &l.queues[lane]
		if len(*queue) > 0 && !(*queue)[0].due.After(now) && l.open(lane, parallel) {
			l.busy[lane]++
			return heap.Pop(queue).(*state)
		}
	}
	return nil
}

// done says that a state that next returned is no longer busy; its outcome has not
// been taken in yet.
func (l *lanes) done(s *state) { l.busy[s.lane()]-- }

// wait returns how long to wait for the next state, and at most that long. What
// waits for a lane to open is left out: a lookup's end opens it.
func (l *lanes) wait(parallel int, now time.Time, most time.Duration) time.Duration {
	for lane, queue := range l.queues {
		if len(queue) > 0 && l.open(lane, parallel) {
			most = min(most, queue[0].due.Sub(now))
		}
	}
	return most
}

// open reports whether one more lookup of a lane may begin. Retries have half of
// the lookups, and a quarter is kept for addresses that are known.
func (l *lanes) open(of, parallel int) bool {
	all := 0
	for _, count := range l.busy {
		all += count
	}
	unknown := l.busy[firsts] + l.busy[retries]
	switch lane(of) {
	case retries:
		return all < parallel && unknown < max(1, parallel-parallel/4) && l.busy[retries] < max(1, parallel/2)
	case firsts:
		return all < parallel && unknown < max(1, parallel-parallel/4)
	}
	return all < parallel
}
