package zones

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Explanation says why a name resolves as it does, or doesn't. It is plain
// data in words, ready to be printed or sent as JSON.
type Explanation struct {
	Name Name `json:"name"`
	// Type is the record type asked for; empty for all of them.
	Type Type `json:"type,omitempty"`
	// Outcome is what a query gets: "hit", "nodata", "nxdomain", "delegation",
	// "not ours", "not ready", "name too long", "unresolved" or "passed on".
	Outcome string `json:"outcome"`
	// Detail says the outcome in one sentence.
	Detail string `json:"detail"`
	Zone   Name   `json:"zone,omitempty"`
	Serial uint32 `json:"serial,omitempty"`
	// Wildcard is the wildcard name that the answer was made from.
	Wildcard Name `json:"wildcard,omitempty"`
	// Records are the record sets at the name as they are served.
	Records []ExplainedSet `json:"records,omitempty"`
	// Skipped is all that was asked for at the name and not given.
	Skipped []ExplainedSkip `json:"skipped,omitempty"`
	// Outside says what is known of the name outside of our zones that a CNAME
	// here leads to, where such names are looked up.
	Outside *ExplainedTarget `json:"outside,omitempty"`
	// Target explains the name that a CNAME here leads to, where it is ours.
	Target *Explanation `json:"target,omitempty"`
	// PassedTo are the resolvers that are asked for the name in our place.
	PassedTo string `json:"passedTo,omitempty"`
	// Next is the next thing to check.
	Next string `json:"next,omitempty"`
}

// An ExplainedSet is one record set with the objects that it comes from.
type ExplainedSet struct {
	Type Type              `json:"type"`
	TTL  uint32            `json:"ttl"`
	Data []string          `json:"data"`
	From []ExplainedSource `json:"from"`
}

// An ExplainedSource is one object's part in a record set.
type ExplainedSource struct {
	Object      string    `json:"object"` // "ingress shop/web"
	Created     time.Time `json:"created,omitzero"`
	NameFrom    string    `json:"nameFrom,omitempty"`
	TargetsFrom string    `json:"targetsFrom,omitempty"`
	// FlattenedTo is the target whose addresses are served in place of the
	// object's CNAME.
	FlattenedTo Name `json:"flattenedTo,omitempty"`
	// Held is set where the data are the last good ones of an object whose
	// status has lost its addresses.
	Held *Hold `json:"held,omitempty"`
}

// An ExplainedSkip is one Skipped in words.
type ExplainedSkip struct {
	Object  string `json:"object"`
	Type    Type   `json:"type,omitempty"`
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
}

// Explain says why the question (name, kind) is answered as it is by the last
// committed snapshot, with what is known of outside targets (nil where they are
// not looked up). TypeNone explains all types of the name.
func (t *Table) Explain(name Name, kind Type, targets *Targets) Explanation {
	snap := t.snapshot
	if snap == nil {
		snap = &Snapshot{}
	}
	return t.explain(snap.withTargets(targets), name, kind, nil)
}

// explain explains a name to which the CNAMEs of the names passed lead.
func (t *Table) explain(snap *Snapshot, name Name, kind Type, passed []Name) Explanation {
	x := Explanation{Name: name, Type: kind}
	var a Answer
	asked := kind
	if asked == TypeNone {
		asked = TypeANY
	}
	snap.Lookup(name, asked, &a)
	if kind == TypeNone && a.Kind == Hit {
		unresolved(snap, name, &a)
	}
	x.Wildcard = a.Wildcard
	passed = append(passed, name)
	var loop Name
	if len(a.Section) > 0 && a.Section[0].Owner == name && a.Section[0].Set.Type == TypeCNAME {
		x.Outcome = Hit.String()
		x.Target, loop = t.explainTarget(snap, a.Section[0].Set, kind, passed)
	} else {
		x.Outcome = a.Kind.String()
	}
	if a.Zone != nil {
		x.Zone, x.Serial = a.Zone.Origin(), a.Zone.Serial()
	}
	link := x.addRecords(t, snap, a.Zone, kind)
	x.addOutside(snap, link)
	x.addSkipped(t)
	x.Detail = detail(x, a, snap)
	x.Next = t.next(x, a, snap)
	x.addPass(t.options.Passes, &a)
	if loop != "" {
		x.Next = fmt.Sprintf("the CNAMEs lead back to %s, so that they give no addresses: point one of them elsewhere", loop)
	}
	return x
}

// explainTarget explains the name that a CNAME leads to, where it is ours and
// new; one that was passed before is returned as loop.
func (t *Table) explainTarget(snap *Snapshot, alias *RRSet, kind Type, passed []Name) (x *Explanation, loop Name) {
	target := alias.Data[0].Target(TypeCNAME)
	switch {
	case kind == TypeCNAME || snap.ZoneOf(target) == nil || len(passed) > maxLinks:
		return nil, ""
	case slices.Contains(passed, target):
		return nil, target
	}
	explained := t.explain(snap, target, kind, passed)
	return &explained, ""
}

// addRecords lists the sets that stand at the name, or at the wildcard that
// covers it, and the addresses that it is flattened to. It returns the alias
// there.
func (x *Explanation) addRecords(t *Table, snap *Snapshot, zone *Zone, kind Type) *alias {
	if zone == nil {
		return nil
	}
	at := x.Name
	if x.Wildcard != "" && zone.tree.packed(at) == "" {
		at = x.Wildcard
	}
	n := zone.tree.get(at)
	if n == nil {
		return nil
	}
	kept := t.kept(at)
	if link := n.flattened(); link != nil {
		x.addFlattened(snap, link, kind, kept)
	}
	for _, set := range n.sets {
		if kind == TypeNone || kind == TypeANY || set.Type == kind || set.Type == TypeCNAME {
			x.Records = append(x.Records, explainSet(set, kept, t.zones[zone.Origin()]))
		}
	}
	return n.alias
}

// kept returns the claims on a name that won, as of the last commit.
func (t *Table) kept(name Name) []contribution {
	e := t.names[name]
	if e == nil {
		return nil
	}
	return t.arbitrate(name, e.claims, staticOf(t.zoneOf(name), name)).kept
}

// describeSet says what a record set holds, without where it comes from.
func describeSet(set *RRSet) ExplainedSet {
	described := ExplainedSet{Type: set.Type, TTL: set.TTL}
	for _, data := range set.Data {
		described.Data = append(described.Data, data.Text(set.Type))
	}
	return described
}

// explainSet returns a set of the zone with the parts of the claims kept at its
// name, or its place in the zone's file.
func explainSet(set *RRSet, kept []contribution, b *building) ExplainedSet {
	explained := describeSet(set)
	if from := b.staticSource(set); from != "" {
		explained.From = []ExplainedSource{{Object: from}}
		return explained
	}
	for _, c := range kept {
		if c.claim.Type == set.Type {
			explained.From = append(explained.From, c.explained())
		}
	}
	if explained.From == nil {
		explained.From = []ExplainedSource{{Object: "clusterzone", NameFrom: "the zone's own records"}}
	}
	return explained
}

func (c contribution) explained() ExplainedSource {
	return ExplainedSource{
		Object:      c.object.Owner.String(),
		Created:     c.object.Created,
		NameFrom:    c.claim.NameFrom,
		TargetsFrom: c.claim.TargetsFrom,
		Held:        c.claim.Held,
	}
}

// addSkipped lists the skips at the name, and at the wildcards that would
// cover it.
func (x *Explanation) addSkipped(t *Table) {
	x.addSkippedAt(t, x.Name)
	for rest := x.Name.Parent(); rest != "" && rest != Root; rest = rest.Parent() {
		if wildcard := rest.Wildcard(); wildcard != "" && wildcard != x.Name {
			x.addSkippedAt(t, wildcard)
		}
	}
}

func (x *Explanation) addSkippedAt(t *Table, name Name) {
	e := t.names[name]
	if e == nil {
		return
	}
	for _, skip := range e.allSkipped() {
		explained := ExplainedSkip{skip.Owner.String(), skip.Type, skip.Reason, skip.Message}
		if !slices.Contains(x.Skipped, explained) {
			x.Skipped = append(x.Skipped, explained)
		}
	}
}

// hiddenWildcard returns the wildcard that people would expect to cover a name
// that does not exist, and the name's closest encloser (RFC 4592 section 2.2.1):
// where that is not the wildcard's parent, it hides the wildcard.
func (z *Zone) hiddenWildcard(name Name) (wildcard, encloser Name) {
	for rest := name; rest != z.origin.Name && rest != ""; {
		rest = rest.Parent()
		if z.tree.packed(rest) == "" {
			continue
		}
		if encloser == "" {
			encloser = rest
		}
		if z.tree.packed(rest.Wildcard()) != "" {
			return rest.Wildcard(), encloser
		}
	}
	return "", encloser
}

// detail says the outcome in one sentence.
func detail(x Explanation, a Answer, snap *Snapshot) string {
	kind := "any type"
	if x.Type != TypeNone {
		kind = "type " + x.Type.String()
	}
	switch x.Outcome {
	case NotOurs.String():
		return fmt.Sprintf("%s lies in none of the served zones (%s): queries are REFUSED", x.Name, originsText(snap))
	case NotReady.String():
		return "the sources have not synced yet: queries get SERVFAIL; waiting for " + snap.Waiting
	case Delegation.String():
		return fmt.Sprintf("%s is delegated at %s: queries get a referral", x.Name, a.Authority[0].Owner)
	case Unresolved.String():
		return a.Reason + ": queries for addresses get SERVFAIL"
	case TooLong.String():
		return "a DNAME substitution makes the name too long: queries get YXDOMAIN"
	case NXDomain.String():
		text := fmt.Sprintf("%s does not exist: queries get NXDOMAIN", x.Name)
		switch wildcard, encloser := a.Zone.hiddenWildcard(x.Name); {
		case wildcard == "":
		case wildcard.Parent() == encloser:
			text += fmt.Sprintf("; the wildcard %s covers it, but no name with the label %s is made from a wildcard, since that would break the issuing of certificates", wildcard, acmeChallenge)
		default:
			text += fmt.Sprintf("; the wildcard %s does not cover it, since %s exists and is closer (RFC 4592)", wildcard, encloser)
		}
		return text
	case NoData.String():
		if len(x.Records) == 0 && len(x.Skipped) == 0 {
			return fmt.Sprintf("%s exists without records of %s (names below it exist): queries get NOERROR and no answer", x.Name, kind)
		}
		return fmt.Sprintf("%s exists without records of %s: queries get NOERROR and no answer", x.Name, kind)
	}
	if x.Wildcard != "" && x.Name != x.Wildcard {
		return fmt.Sprintf("%s is answered from the wildcard %s (RFC 4592: at any depth, unless a closer name exists)", x.Name, x.Wildcard)
	}
	if object, until := x.held(); object != "" {
		return fmt.Sprintf("%s is served with the last good addresses of %s, held until %s", x.Name, object, until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s is served", x.Name)
}

func originsText(snap *Snapshot) string {
	var texts []string
	for i, origin := range snap.Origins() {
		if i == 8 {
			texts = append(texts, "...")
			break
		}
		texts = append(texts, origin.String())
	}
	return strings.Join(texts, ", ")
}

// next says what to check next.
func (t *Table) next(x Explanation, a Answer, snap *Snapshot) string {
	switch {
	case x.Outcome == NotReady.String():
		return "read /readyz: it names what is waited for and the error, if there is one"
	case x.Outcome == NotOurs.String():
		return "serve the domain with --zone, or ask the server that has it"
	case x.Outcome == Delegation.String():
		return fmt.Sprintf("ask the name servers of %s", a.Authority[0].Owner)
	case x.Outcome == Unresolved.String():
		return unresolvedHint
	case len(x.Skipped) > 0 && (x.Outcome == NXDomain.String() || x.Outcome == NoData.String()):
		return x.Skipped[0].Reason.hint(x.Skipped[0].Object)
	case x.Outcome == NXDomain.String():
		switch wildcard, encloser := a.Zone.hiddenWildcard(x.Name); {
		case wildcard == "":
		case wildcard.Parent() == encloser:
			return "name the host itself in an object, if it should have a record"
		default:
			return fmt.Sprintf("name the host itself in an object, or the wildcard %s", encloser.Wildcard())
		}
		return "no object asks for this name: look for a misspelt host, an object in another cluster, or a source that --source leaves out"
	case x.Outcome == NoData.String() && x.Type != TypeNone && len(x.Records) == 0:
		return "ask for another type: this name has none of " + x.Type.String()
	}
	if object, _ := x.held(); object != "" {
		return ReasonHeld.hint(object)
	}
	return ""
}

// hint says what to check next about a skip of this reason.
func (r Reason) hint(object string) string {
	switch r {
	case ReasonNoAddress:
		return "check the controller or cloud that should give " + object + " an address: its status is still empty (kubectl get -o yaml shows it)"
	case ReasonHeld:
		return "check the controller or cloud that gave " + object + " its addresses: they are gone from its status, and when the hold ends, so are the records"
	case ReasonNotReady:
		return "check the readiness of the Pods behind " + object
	case ReasonNotAccepted, ReasonStaleStatus:
		return "check the status of " + object + " and the log of the controller that the message names"
	case ReasonParent:
		return "check spec.parentRefs of " + object + " against the Gateways that there are"
	case ReasonListener:
		return "compare " + object + " with the listeners of its Gateways (hostname, protocol, port, allowedRoutes)"
	case ReasonUnreadable:
		return "give the server's account the right to read the kind that the message names; /readyz tells when it can"
	case ReasonNotPublished:
		return "publish it with the flag or annotation that the message names, if it should have a record"
	case ReasonOptOut:
		return "remove the opt-out annotation from " + object + " if this server should publish it"
	case ReasonClass, ReasonGatewayFilter, ReasonNamespace, ReasonAnnotation, ReasonLabel, ReasonServiceType, ReasonHostnameSource, ReasonDomain, ReasonTargetNet, ReasonRecordType:
		return "compare " + object + " with the server's filter flags; the message names the one that left it out"
	case ReasonNamespaceDomain:
		return "choose a name in the domains of the namespace, or widen --namespace-domains"
	case ReasonConflict, ReasonCNAMEConflict:
		return "explain the winner: another object holds the name; change one of the two"
	case ReasonStatic:
		return "compare " + object + " with the zone file that the message names: what stands in the file wins"
	case ReasonOutOfZone:
		return "serve the domain with --zone"
	}
	return "mend " + object + " as the message says"
}
