package resolver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/clusterzone/clusterzone/zones"
)

// An outcome is what one lookup of a target gave, by family.
type outcome struct {
	state *state
	v4    familyOutcome
	v6    familyOutcome
}

type familyOutcome struct {
	found found
	err   error // says in words why there is nothing
}

// failed reports whether anything could not be looked up.
func (o *outcome) failed() bool { return o.v4.err != nil || o.v6.err != nil }

var errNoAddresses = errors.New("it has neither IPv4 nor IPv6 addresses")

// lookUp looks both families of a target up, each at one server after the other.
func (r *Resolver) lookUp(ctx context.Context, s *state) outcome {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	out := outcome{state: s}
	var both sync.WaitGroup
	both.Go(func() { out.v4.found, out.v4.err = r.askAll(ctx, s.name, zones.TypeA) })
	both.Go(func() { out.v6.found, out.v6.err = r.askAll(ctx, s.name, zones.TypeAAAA) })
	both.Wait()
	out.weigh()
	return out
}

// weigh looks at both families together. A name with addresses of one family
// exists, whatever a server says of the other one (some say NXDOMAIN for every
// AAAA); a name without any is no good target.
func (o *outcome) weigh() {
	for _, pair := range [...][2]*familyOutcome{{&o.v4, &o.v6}, {&o.v6, &o.v4}} {
		if len(pair[0].found.data) > 0 && errors.Is(pair[1].err, errNotThere) {
			pair[1].err = nil
		}
	}
	if !o.failed() && len(o.v4.found.data)+len(o.v6.found.data) == 0 {
		o.v4.err, o.v6.err = errNoAddresses, errNoAddresses
	}
}

// askAll asks the servers in turn, beginning with the one that answered last.
func (r *Resolver) askAll(ctx context.Context, name zones.Name, kind zones.Type) (found, error) {
	err := errors.New("it could not be looked up in time")
	servers := r.options.Servers
	first := int(r.preferred.Load())
	for i := range rounds * len(servers) {
		at := (first + i) % len(servers)
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		result, problem := r.asker.ask(attempt, servers[at], name, kind)
		cancel()
		switch {
		case problem == nil:
			r.preferred.Store(int32(at))
			return result, nil
		case errors.Is(problem, errNotThere):
			r.preferred.Store(int32(at))
			return found{}, fmt.Errorf("it does not exist (%s says %w)", servers[at], problem)
		}
		err = fmt.Errorf("the resolver %s %w", servers[at], problem)
		if ctx.Err() != nil {
			break
		}
	}
	return found{}, err
}

// canonical sorts data in canonical order and removes duplicates.
func canonical(data []zones.Rdata) []zones.Rdata {
	slices.Sort(data)
	return slices.Compact(data)
}
