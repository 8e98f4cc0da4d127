package sources

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// ofStatus reports whether all the origins of targets are a status that a
// controller or cloud writes for the names.
func ofStatus(origins string) bool {
	for origin := range strings.SplitSeq(origins, ", ") {
		if !isStatus(origin) {
			return false
		}
	}
	return true
}

func isStatus(origin string) bool {
	switch origin {
	case fromLoadBalancer, fromRouteGroupStatus:
		return true
	}
	return strings.HasPrefix(origin, fromGatewayAddresses)
}

// A loss is what is said about a name that only a status has lost.
type loss struct {
	whys []string
	// unaccepted: a controller doesn't accept a route any longer. The targets
	// count wherever they come from.
	unaccepted bool
}

// losses are losses by name.
type losses map[zones.Name]*loss

func (l losses) add(name zones.Name, skip *zones.Skipped) {
	if l[name] == nil {
		l[name] = &loss{}
	}
	l[name].unaccepted = l[name].unaccepted || skip.Reason == zones.ReasonNotAccepted
	if !slices.Contains(l[name].whys, skip.Message) {
		l[name].whys = append(l[name].whys, skip.Message)
	}
}

// lostNames returns the names that the object asks for and has no records for,
// where a status alone is to blame. A reason of another kind that was not there
// before is to blame as well.
func lostNames(now, before *zones.Object) losses {
	if !slices.ContainsFunc(now.Skipped, blamesStatus) {
		return nil
	}
	lost := make(losses)
	for i := range now.Skipped {
		if skip := &now.Skipped[i]; blamesStatus(*skip) {
			if skip.Name != "" {
				lost.add(skip.Name, skip)
			}
			if len(now.Claims) == 0 {
				lost.addGranted(skip, before)
			}
		}
	}
	awaited := make(map[zones.Name]bool, len(lost))
	for i := range now.Claims {
		c := &now.Claims[i]
		if c.Type != zones.TypeNone {
			delete(lost, c.Name)
			continue
		}
		awaited[c.Name] = slices.ContainsFunc(strings.Split(c.TargetsFrom, ", "), isStatus)
	}
	for i := range now.Skipped {
		skip := &now.Skipped[i]
		switch {
		case lost[skip.Name] == nil || skip.Type != zones.TypeNone || skip.Reason.Weight() > 0:
		case skip.Reason == zones.ReasonNoAddress && !awaited[skip.Name]:
			delete(lost, skip.Name)
		case !blamesStatus(*skip) && !slices.Contains(before.Skipped, *skip):
			delete(lost, skip.Name)
		}
	}
	return lost
}

// addGranted adds the names that a route had by grace of listeners, before skip
// came: it has none of its own, or a wildcard that listeners narrow. While no
// Gateway takes the route, it doesn't say which ones.
func (l losses) addGranted(skip *zones.Skipped, before *zones.Object) {
	if skip.Reason != zones.ReasonNotAccepted || skip.Asked != "" {
		return
	}
	for i := range before.Claims {
		c := &before.Claims[i]
		if !isReversed(c) && (skip.Name == "" || skip.Name.IsWildcard() && c.Name.In(skip.Name.Parent())) {
			l.add(c.Name, skip)
		}
	}
}

// blamesStatus reports whether a skip may tell of a status that blinks.
func blamesStatus(skip zones.Skipped) bool {
	return skip.Type == zones.TypeNone && (skip.Reason == zones.ReasonNoAddress || skip.Reason == zones.ReasonNotAccepted)
}

// isReversed reports whether a claim tells the names of an address.
func isReversed(c *zones.Claim) bool { return c.Type == zones.TypePTR && c.NameFrom == fromReverse }

// A rescue keeps the claims of one object's lost names.
type rescue struct {
	now     time.Time
	grace   time.Duration
	endless bool // no hold ends now
	lost    losses
	held    map[zones.Name]*zones.Hold // nil for a hold that is over

	begun, ended int
}

// claims returns those of the last claims that are held, and the PTR records of
// their addresses.
func (r *rescue) claims(last []zones.Claim) []zones.Claim {
	var kept []zones.Claim
	for i := range last {
		c := last[i]
		lost := r.lost[c.Name]
		if lost == nil || c.Type == zones.TypeNone || isReversed(&c) || !lost.unaccepted && !ofStatus(c.TargetsFrom) {
			continue
		}
		if c.Held = r.holdOf(c.Name, c.Held); c.Held != nil {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	for i := range last {
		if c := last[i]; isReversed(&c) && r.follows(&c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// holdOf returns the hold of a name: the one that it has, or a new one; nil
// where it is over.
func (r *rescue) holdOf(name zones.Name, old *zones.Hold) *zones.Hold {
	if held, ok := r.held[name]; ok {
		return held
	}
	held := old
	latest := r.now.Add(r.grace)
	switch {
	case held == nil:
		held = &zones.Hold{Since: r.now, Until: latest}
		r.begun++
	case held.Until.After(latest): // saved under another clock or flag
		held = &zones.Hold{Since: held.Since, Until: latest}
	case !r.now.Before(held.Until) && !r.endless:
		r.ended++
		r.held[name] = nil
		return nil
	}
	r.held[name] = held
	return held
}

// follows narrows a PTR claim to the targets that are held names, and reports
// whether any is left.
func (r *rescue) follows(c *zones.Claim) bool {
	var targets []string
	c.Held = nil
	for _, target := range c.Targets {
		name, err := zones.ParseName(target)
		if held := r.held[name]; err == nil && held != nil {
			targets = append(targets, target)
			if c.Held == nil || held.Until.Before(c.Held.Until) {
				c.Held = held
			}
		}
	}
	c.Targets = targets
	return len(targets) > 0
}

// into puts the rescued claims in the place of those that say that a name has
// no records, and of the skips that say why.
func (r *rescue) into(o zones.Object, rescued []zones.Claim) zones.Object {
	claims := slices.Clone(rescued)
	at := make(map[claimKey]int, len(rescued))
	for i := range rescued {
		at[claimKey{rescued[i].Name, rescued[i].Type, rescued[i].SetIdentifier}] = i
	}
	for _, c := range o.Claims {
		if c.Type == zones.TypeNone && r.held[c.Name] != nil {
			continue
		}
		i, both := at[claimKey{c.Name, c.Type, c.SetIdentifier}]
		if !both {
			claims = append(claims, c)
			continue
		}
		// Another name of the object still has the address that a PTR tells of.
		claims[i].Targets = append(slices.Clone(claims[i].Targets), c.Targets...)
		slices.Sort(claims[i].Targets)
		claims[i].Targets = slices.Compact(claims[i].Targets)
	}
	slices.SortFunc(claims, func(a, b zones.Claim) int {
		return claimKey{a.Name, a.Type, a.SetIdentifier}.compare(claimKey{b.Name, b.Type, b.SetIdentifier})
	})

	skipped := make([]zones.Skipped, 0, len(o.Skipped))
	for i := range o.Skipped {
		if r.held[o.Skipped[i].Name] == nil || !blamesStatus(o.Skipped[i]) {
			skipped = append(skipped, o.Skipped[i])
		}
	}
	for name, held := range r.held {
		if held == nil {
			continue
		}
		skipped = append(skipped, zones.Skipped{
			Owner: o.Owner, Name: name, Reason: zones.ReasonHeld,
			Message: fmt.Sprintf("the last good addresses are held until %s, since at %s they were lost: %s",
				held.Until.UTC().Format(time.RFC3339), held.Since.UTC().Format(time.RFC3339), listProblems(r.lost[name].whys)),
		})
	}
	slices.SortFunc(skipped, compareSkipped)
	o.Claims, o.Skipped = claims, skipped
	return o
}
