package plugin

import (
	"context"
	"strconv"
	"strings"

	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/request"

	"github.com/clusterzone/clusterzone/zones"
)

// Metadata implements metadata.Provider. What costs something is found out when
// somebody reads it: object and reason hold up the feed for a moment.
func (h *Handler) Metadata(ctx context.Context, state request.Request) context.Context {
	name, err := zones.ParseName(state.Name())
	if err != nil {
		return ctx
	}
	origin := h.origin(name)
	if origin == "" {
		return ctx
	}
	explain := func() zones.Explanation {
		return h.pipeline.Feed.Explain(name, zones.Type(state.QType()), h.pipeline.Store.Load().Targets())
	}
	metadata.SetValueFunc(ctx, Name+"/zone", origin.FQDN)
	metadata.SetValueFunc(ctx, Name+"/serial", func() string {
		zone := h.snapshot(origin).Zone(origin)
		if zone == nil {
			return ""
		}
		return strconv.FormatUint(uint64(zone.Serial()), 10)
	})
	metadata.SetValueFunc(ctx, Name+"/object", func() string { return objects(explain()) })
	metadata.SetValueFunc(ctx, Name+"/reason", func() string { return reasons(explain()) })
	return ctx
}

// objects are those that the records at a name come from, with commas between.
func objects(x zones.Explanation) string {
	var names []string
	seen := map[string]bool{}
	for _, set := range x.Records {
		for _, from := range set.From {
			if !seen[from.Object] {
				seen[from.Object] = true
				names = append(names, from.Object)
			}
		}
	}
	return strings.Join(names, ",")
}

// reasons say why a name lacks what objects have asked for, as the fixed words of
// clusterzone_skipped.
func reasons(x zones.Explanation) string {
	var words []string
	seen := map[zones.Reason]bool{}
	for _, skip := range x.Skipped {
		if !seen[skip.Reason] {
			seen[skip.Reason] = true
			words = append(words, string(skip.Reason))
		}
	}
	return strings.Join(words, ",")
}
