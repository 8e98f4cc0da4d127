package zones

import (
	"cmp"
	"time"
)

// An Owner is the object that asks for names: the key under which a Table
// holds what was asked. Source is the source's name as --source spells it.
type Owner struct {
	Source    string
	Namespace string // empty for objects without namespace
	Name      string
}

// String returns "source namespace/name", as people read it in messages.
func (o Owner) String() string {
	if o.Namespace == "" {
		return o.Source + " " + o.Name
	}
	return o.Source + " " + o.Namespace + "/" + o.Name
}

// compare orders owners by namespace and name, then by source name. The Table
// puts the order of its sources and the objects' ages before it.
func (o Owner) compare(other Owner) int {
	return cmp.Or(
		cmp.Compare(o.Namespace, other.Namespace),
		cmp.Compare(o.Name, other.Name),
		cmp.Compare(o.Source, other.Source),
	)
}

// An Object is the whole wish of one owner at one moment: all that it claims,
// and all that it asked for and does not get.
type Object struct {
	Owner   Owner
	Created time.Time // creationTimestamp; the zero time where unknown
	Claims  []Claim
	Skipped []Skipped
}

// A Claim is what one owner asks for at one name: records of one type. A claim
// of TypeNone has no targets: it says that the name exists, though there is no
// record for it yet (DESIGN rule 2).
//
// Claims are frozen once they are handed to a Table.
type Claim struct {
	Name Name
	Type Type
	// Targets are the record data in presentation form, as external-dns would
	// print them: addresses in canonical form (RFC 5952), names without final
	// dot, SRV, NAPTR and TXT data as written. Without duplicates.
	Targets []string
	TTL     TTL
	// SetIdentifier keeps records of one name apart in a mirror; the server's
	// answer unites them.
	SetIdentifier string
	// Options are provider-specific properties, sorted by key.
	Options []Option
	// NameFrom and TargetsFrom say which rule gave the name and the targets, in
	// words for explain: "spec.rules[].host", "status.loadBalancer.ingress[]".
	// The TargetsFrom of a claim of TypeNone says where targets are awaited from.
	NameFrom    string
	TargetsFrom string
	// Held is set where the targets are the last good ones of an object whose
	// status has lost them; nil otherwise.
	Held *Hold `json:",omitempty"`
	// Derived says that nobody asked for the name: it follows from an address
	// (PTR). Where it can't be served, or another object has the name, it is left
	// out without a Skipped.
	Derived bool `json:",omitempty"`
}

// An Option is one provider-specific property of a claim, carried for mirrors.
type Option struct{ Key, Value string }

// A TTL is a time to live in seconds, or unset. The zero value is unset.
type TTL struct {
	Seconds uint32
	Set     bool
}

// min returns the lower of two TTLs; an unset one has no say.
func (t TTL) min(other TTL) TTL {
	if !t.Set || other.Set && other.Seconds < t.Seconds {
		return other
	}
	return t
}

// A Skipped is something that an owner asked for and did not get, and why. It
// is read by explain, metrics, events and negative answers on the wire alike.
type Skipped struct {
	Owner Owner
	// Name is the name concerned; the zero Name where the owner names none, or
	// where what it wrote is no name (Asked holds it then).
	Name  Name
	Asked string
	// Type is the record type concerned; TypeNone means all of the name.
	Type   Type
	Reason Reason
	// Message is one sentence without capital and final stop that names what
	// is wrong and, where its author can mend it, how.
	Message string
}

// String returns the message with the object before it:
// "ingress shop/web: status has no load-balancer address yet".
func (s Skipped) String() string { return s.Owner.String() + ": " + s.Message }

// A Reason is the kind of a Skipped: a fixed word for metrics, never a name
// out of an object.
type Reason string

// The reasons. Each says who can mend it: the author of the object (Mendable),
// or whoever runs the server and chose its flags.
const (
	ReasonNoAddress       Reason = "no-address"         // nothing to point at yet
	ReasonNotPublished    Reason = "not-published"      // the kind of object is published on request only
	ReasonNoHostname      Reason = "no-hostname"        // the object names no host
	ReasonInvalidName     Reason = "invalid-name"       // what was asked for is no host name
	ReasonInvalidTarget   Reason = "invalid-target"     // a target is neither address nor host name
	ReasonInvalidType     Reason = "invalid-type"       // a record type is unknown, or none that objects can ask for
	ReasonInvalidTTL      Reason = "invalid-ttl"        // the TTL can't be read or is out of range
	ReasonInvalidValue    Reason = "invalid-annotation" // an annotation's value is none of those allowed
	ReasonTemplate        Reason = "template"           // a template failed for this object
	ReasonOptOut          Reason = "opt-out"            // the object opts out (controller, exclude)
	ReasonClass           Reason = "class"              // filtered by --ingress-class
	ReasonNamespace       Reason = "namespace"          // filtered by --namespace
	ReasonAnnotation      Reason = "annotation-filter"
	ReasonLabel           Reason = "label-filter"
	ReasonServiceType     Reason = "service-type-filter"
	ReasonHostnameSource  Reason = "hostname-source" // an annotation or flag leaves this origin of names out
	ReasonDomain          Reason = "domain-filter"
	ReasonNamespaceDomain Reason = "namespace-domains" // outside the domains that --namespace-domains leaves to the namespace
	ReasonTargetNet       Reason = "target-net-filter"
	ReasonRecordType      Reason = "record-type-filter"
	ReasonNotReady        Reason = "endpoint-not-ready"
	ReasonParent          Reason = "parent"         // the Gateway or ListenerSet that a route names is none that can serve it
	ReasonGatewayFilter   Reason = "gateway-filter" // the Gateway is filtered by --gateway-name and the like
	ReasonNotAccepted     Reason = "not-accepted"   // no controller has accepted the route or its ListenerSet
	ReasonListener        Reason = "listener"       // no listener takes the route, or the host
	ReasonHeld            Reason = "held"           // the status has lost the addresses; the last good ones are served for a while
	ReasonStaleStatus     Reason = "stale-status"   // a status is of an older generation; the record stands
	ReasonUnreadable      Reason = "unreadable"     // objects that it depends on can't be read
	ReasonOutOfZone       Reason = "out-of-zone"    // in none of the served zones
	ReasonConflict        Reason = "conflict"       // another namespace's object owns the name
	ReasonCNAMEConflict   Reason = "cname-conflict" // a CNAME beside other data, or a second CNAME
	ReasonStatic          Reason = "static-record"  // a zone file has records there, which win
	ReasonIgnoredProperty Reason = "ignored"        // a property without effect here; the record stands
)

// Mendable reports whether the author of the object can mend what r stands
// for, so that a Kubernetes event on the object helps. The rest is the choice
// of whoever runs the server.
func (r Reason) Mendable() bool {
	switch r {
	case ReasonInvalidName, ReasonInvalidTarget, ReasonInvalidType, ReasonInvalidTTL, ReasonInvalidValue, ReasonTemplate,
		ReasonListener, ReasonNamespaceDomain, ReasonConflict, ReasonCNAMEConflict, ReasonStatic, ReasonIgnoredProperty:
		return true
	}
	return false
}

// Posted reports whether a Kubernetes event on the object helps: its author can
// mend what r stands for, or whoever looks at it wants to know.
func (r Reason) Posted() bool { return r.Mendable() || r == ReasonHeld }

// remark reports whether r is about a detail only: the name stands without it.
func (r Reason) remark() bool {
	switch r {
	case ReasonInvalidTTL, ReasonInvalidValue, ReasonStaleStatus, ReasonIgnoredProperty, ReasonHeld:
		return true
	}
	return false
}

// Weight puts remarks (1) after reasons (0), where both are listed.
func (r Reason) Weight() int {
	if r.remark() {
		return 1
	}
	return 0
}
