package plugin

import (
	"context"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/transfer"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/upstream/resolver"
	"github.com/clusterzone/clusterzone/zones"
)

// Name is the plugin's name in a Corefile, in plugin.cfg and in CoreDNS' metrics.
const Name = "clusterzone"

// CoreDNS finds a plugin by its import, and in no other way.
//
//nolint:gochecknoinits // the one that there is
func init() { plugin.Register(Name, setup) }

// setup reads one block of a Corefile, and has CoreDNS run it.
func setup(c *caddy.Controller) error {
	h, err := build(c)
	if err != nil {
		return plugin.Error(Name, err)
	}
	dnsserver.GetConfig(c).AddPlugin(func(next plugin.Handler) plugin.Handler {
		h.next = next
		return h
	})
	c.OnStartup(func() error {
		h.start(predecessors(h), transferOf(c))
		return nil
	})
	c.OnShutdown(func() error {
		h.stop()
		return nil
	})
	c.OnRestartFailed(func() error {
		h.stopSuccessors()
		return nil
	})
	return nil
}

// transferOf is the plugin transfer of the same server block; nil without.
func transferOf(c *caddy.Controller) notifier {
	if t, ok := dnsserver.GetConfig(c).Handler("transfer").(*transfer.Transfer); ok {
		return t
	}
	return nil
}

// build makes the handler of a block. Nothing has been started.
func build(c *caddy.Controller) (*Handler, error) {
	set, err := parse(c)
	if err != nil {
		return nil, err
	}
	h := &Handler{fall: set.fall, log: set.base.Log, wake: make(chan struct{}, 1)}
	for _, origin := range set.base.Zones {
		if len(set.fall.Zones) > 0 {
			h.passes = append(h.passes, zones.PassRule{Zone: origin})
		}
	}
	set.base.Passes = zones.NewPasses(h.passes)
	set.base.OnCommit = h.committed
	if h.pipeline, err = assembly.New(set.base); err != nil {
		return nil, set.locate(err)
	}
	if err := claim(c, h, set); err != nil {
		return nil, err
	}
	h.answers = newAnswers(set.answer, set.base.Passes)
	if len(set.resolvers) > 0 {
		h.resolver, err = resolver.New(resolver.Options{
			Servers: set.resolvers, Stale: set.stale, Publisher: publisher{h}, Log: set.base.Log,
		})
	}
	return h, err
}

// start begins to read objects. Handlers of the instance that this one replaces
// lend their snapshots; told hears of new serials, where zones may be
// transferred.
func (h *Handler) start(before []*Handler, told notifier) {
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.inherit(before)
	if told != nil {
		h.openEditions(told)
	}
	if h.resolver != nil {
		// What a saved state needs, before the first commit tells of more.
		h.resolver.Update(h.pipeline.Feed.Outside(), nil)
		h.parts.Go(func() { h.report("looking up outside names", h.resolver.Run(ctx)) })
	}
	if h.editions != nil {
		h.editions.Committed(zones.Commit{})
		h.parts.Go(func() { h.editions.Run(ctx) })
		h.parts.Go(func() { h.notify(ctx) })
	}
	h.parts.Go(func() { h.takeOver(ctx) })
	h.parts.Go(func() { h.report("reading objects", h.pipeline.Run(ctx)) })
	register(h)
}

// stop ends all that start began, and returns when it has ended. A handler that
// was never started has nothing to end.
func (h *Handler) stop() {
	if h.cancel == nil {
		return
	}
	h.cancel()
	h.parts.Wait()
	unregister(h)
}

func (h *Handler) report(what string, err error) {
	if err != nil {
		h.log.Error(what+" has ended", "error", err)
	}
}
