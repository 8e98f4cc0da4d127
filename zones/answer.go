package zones

// A Kind is the outcome of a lookup: one value for each form that an answer on
// the wire can have, so that they can't be confused.
type Kind uint8

const (
	// NotReady: the zone is ours, but the sources have not synced yet. The wire
	// says SERVFAIL with EDE 14, never NXDOMAIN (DESIGN rule 1).
	NotReady Kind = iota
	// NotOurs: the name lies in none of the zones. REFUSED with EDE 20.
	NotOurs
	// Hit: the answer section is complete, or ends in a CNAME whose target is
	// not ours and either isn't looked up or has no addresses of the type. NOERROR.
	Hit
	// NoData: the last name exists, without records of the type. NOERROR, the
	// SOA in the authority section (RFC 2308 section 2.2).
	NoData
	// NXDomain: the last name does not exist. NXDOMAIN with SOA (RFC 2308
	// section 2.1), also at the end of a CNAME chain (RFC 6604 section 3).
	NXDomain
	// Delegation: the name lies below a zone cut. NOERROR without AA, the NS
	// set in the authority section, its addresses in the additional section.
	Delegation
	// TooLong: a DNAME substitution gave a name over 255 octets. YXDOMAIN
	// (RFC 6672 section 2.2).
	TooLong
	// Unresolved: the name leads to a target outside of our zones, whose
	// addresses are not known. SERVFAIL with the reason, never NXDOMAIN or NODATA
	// (DESIGN rule 4). The sections are empty.
	Unresolved
)

// String returns the kind in words.
func (k Kind) String() string {
	return [...]string{"not ready", "not ours", "hit", "nodata", "nxdomain", "delegation", "name too long", "unresolved"}[k]
}

// An Entry is one record set in a section. Owner is the name to write before
// each record: for records synthesised from a wildcard it differs from
// Set.Name.
type Entry struct {
	Owner Name
	Set   *RRSet
}

// An Answer is the decision for one question. A caller that asks often keeps
// one Answer and hands it to Lookup again: the sections' memory is reused.
// The sets and names lie in that memory or in the snapshot's: they are valid until
// the next lookup, and nobody may change them.
type Answer struct {
	Kind Kind
	// Zone is the zone of the question, nil for NotOurs. End is the zone in
	// which a CNAME chain ended: its SOA stands in a negative answer.
	Zone, End *Zone
	// The sections, in the order to be written. In Section, a CNAME stands
	// before what it points at.
	Section    []Entry
	Authority  []Entry
	Additional []Entry
	// Authoritative is the AA bit (RFC 1034 section 4.3.1): true for every
	// answer from our zones but a plain referral.
	Authoritative bool
	// Wildcard is the wildcard name that matched, or the zero Name.
	Wildcard Name
	// Reason says why a negative answer is negative, when an object asked for
	// the name: "ingress shop/web: status has no load-balancer address yet". An
	// Unresolved answer always has one.
	Reason string
	// Stale says that the addresses of an outside target are older than their
	// TTL, since it can't be looked up now (RFC 8767).
	Stale bool

	flat  flattening
	shelf shelf
	keys  keyBuffer // of the lookup
}

// reset empties a for the next lookup and keeps its memory.
func (a *Answer) reset() {
	a.Kind, a.Zone, a.End = NotReady, nil, nil
	a.Section, a.Authority, a.Additional = a.Section[:0], a.Authority[:0], a.Additional[:0]
	a.Authoritative, a.Wildcard, a.Reason, a.Stale = false, "", "", false
	a.flat = flattening{}
	a.shelf.reset()
}

// Release forgets what a refers to, so that it keeps no old snapshot and no
// question alive, and keeps its own memory for the next lookup.
func (a *Answer) Release() {
	clear(a.Section)
	clear(a.Authority)
	clear(a.Additional)
	a.shelf.clear()
	a.reset()
}
