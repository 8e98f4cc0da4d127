package plugin

import (
	"context"
	"fmt"

	"github.com/coredns/caddy"

	"github.com/clusterzone/clusterzone/zones"
)

// handlersKey is where an instance of CoreDNS keeps the handlers of its blocks.
type handlersKey struct{}

// claim notes the handler with its instance, and refuses a zone that another
// block of the same Corefile has.
func claim(c *caddy.Controller, h *Handler, set *settings) error {
	var all []*Handler
	if known, ok := c.Get(handlersKey{}).([]*Handler); ok {
		all = known
	}
	h.place, h.siblings = set.place(set.line), func() []*Handler {
		mine, _ := c.Get(handlersKey{}).([]*Handler)
		return mine
	}
	for _, other := range all {
		for _, origin := range other.pipeline.Origins {
			if h.serves(origin.Name) {
				return set.errorAt(set.line, fmt.Sprintf("the zone %s is served by the block at %s already; give each zone one block, with all its addresses before it, like %[1]s:53 %[1]s:1053 {", origin.Name, other.place))
			}
		}
	}
	c.Set(handlersKey{}, append(all[:len(all):len(all)], h))
	return nil
}

// predecessors are the handlers of instances that are running now: those that
// answer until the one that is being started takes their place.
func predecessors(h *Handler) []*Handler {
	own := map[*Handler]bool{}
	for _, sibling := range h.siblings() {
		own[sibling] = true
	}
	var before []*Handler
	for _, instance := range caddy.Instances() {
		instance.StorageMu.RLock()
		all, _ := instance.Storage[handlersKey{}].([]*Handler)
		instance.StorageMu.RUnlock()
		for _, other := range all {
			if !own[other] {
				before = append(before, other)
			}
		}
	}
	return before
}

// An inheritance is what the zones were when the instance before this one was
// replaced. It is immutable.
type inheritance struct {
	snapshots map[zones.Name]*zones.Snapshot
	editions  map[zones.Name]*zones.Edition
}

// inherit takes over the snapshots of those zones that handlers before this one
// can answer for.
func (h *Handler) inherit(before []*Handler) {
	lent := &inheritance{snapshots: map[zones.Name]*zones.Snapshot{}, editions: map[zones.Name]*zones.Edition{}}
	for _, old := range before {
		for _, origin := range h.pipeline.Origins {
			name := origin.Name
			if !old.serves(name) {
				continue
			}
			if snap := old.snapshot(name); snap.Ready {
				lent.snapshots[name] = snap
			}
			if edition := old.edition(name); edition != nil {
				lent.editions[name] = edition
			}
		}
		old.mu.Lock()
		old.successors = append(old.successors, h)
		old.mu.Unlock()
	}
	if len(lent.snapshots) > 0 {
		h.inherited.Store(lent)
		h.log.Info("answering as before the reload, until all objects are read", "zones", len(lent.snapshots))
	}
}

// stopSuccessors ends the handlers of an instance that could not be started: the
// old one goes on.
func (h *Handler) stopSuccessors() {
	h.mu.Lock()
	failed := h.successors
	h.successors = nil
	h.mu.Unlock()
	for _, other := range failed {
		other.stop()
	}
}

// snapshot is what a zone's names are answered from now.
func (h *Handler) snapshot(origin zones.Name) *zones.Snapshot {
	if lent := h.inherited.Load(); lent != nil {
		if snap := lent.snapshots[origin]; snap != nil {
			return snap
		}
	}
	return h.pipeline.Store.Load()
}

// serves reports whether the zone is one of the block's.
func (h *Handler) serves(origin zones.Name) bool { return h.origin(origin) == origin }

// takeOver waits until the handler's own objects answer for all that the
// inherited snapshots did, and drops these.
func (h *Handler) takeOver(ctx context.Context) {
	for h.inherited.Load() != nil {
		if h.complete() {
			h.inherited.Store(nil)
			h.log.Info("all objects are read anew: answering from them")
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
	}
}

// complete reports whether all objects were read, and all outside names that they
// lead to have been looked up, or have failed to be.
func (h *Handler) complete() bool {
	if !h.pipeline.Settled() {
		return false
	}
	if h.resolver == nil {
		return true
	}
	targets := h.pipeline.Store.Load().Targets()
	for _, name := range h.pipeline.Feed.Outside() {
		if target := targets.Get(name); target == nil || target.State() == "waiting" {
			return false
		}
	}
	return true
}

// stir has takeOver look again.
func (h *Handler) stir() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// committed takes in what the feed has published, on its goroutine.
func (h *Handler) committed(commit zones.Commit) {
	if h.resolver != nil {
		h.resolver.Update(commit.Wanted, commit.Unwanted)
	}
	if h.editions != nil {
		h.told.changed(h.editions.Committed(commit))
	}
	logSkipped(h.log, commit.Skipped)
	h.stir()
}

// A publisher takes the addresses of outside names to where they are read.
type publisher struct{ *Handler }

// SwapTargets implements resolver.Publisher.
func (p publisher) SwapTargets(targets *zones.Targets) {
	if p.editions != nil {
		p.editions.SwapTargets(targets)
	} else {
		p.pipeline.Store.SwapTargets(targets)
	}
	p.stir()
}
