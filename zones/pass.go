package zones

import (
	"net/netip"
	"strings"
)

// A PassRule says that another resolver is asked for the names of one of our
// zones that nothing here claims. It is frozen.
type PassRule struct {
	// Zone is the origin of the zone.
	Zone Name
	// Challenges says that the rule is about names of ACME's challenges alone
	// (those with a label _acme-challenge, RFC 8555 section 8.4).
	Challenges bool
	// Servers are asked in their order; none where nobody knows them, as where
	// a name is only explained.
	Servers []netip.AddrPort
}

// String names the servers: "10.0.0.2:53", or without any the flag that does.
func (r *PassRule) String() string {
	if len(r.Servers) == 0 {
		return "the resolvers of --resolver"
	}
	texts := make([]string, len(r.Servers))
	for i, server := range r.Servers {
		texts[i] = server.String()
	}
	return strings.Join(texts, ", ")
}

// Passes are the PassRules of all zones. Nil has none. It is immutable.
type Passes struct {
	names, challenges map[Name]*PassRule
}

// NewPasses returns the rules as one value, nil without any. Of two rules of one
// zone and kind the last one counts.
func NewPasses(rules []PassRule) *Passes {
	if len(rules) == 0 {
		return nil
	}
	p := &Passes{names: map[Name]*PassRule{}, challenges: map[Name]*PassRule{}}
	for _, rule := range rules {
		if rule.Challenges {
			p.challenges[rule.Zone] = &rule
		} else {
			p.names[rule.Zone] = &rule
		}
	}
	return p
}

// Match returns the rule by which another resolver is to be asked in place of
// the answer a to a question for q, and the name to ask it for: q, or where a
// chain of CNAMEs ended. Nil where the answer stands.
//
// A name that exists is never passed on, be it an empty non-terminal, the name of
// an object that has no address yet, or made from a wildcard. A name of ACME's
// challenges is, unless records of ours stand at it: it never comes from a
// wildcard, and what exists only for the sake of the names below it says nothing
// about a challenge. The returned name shares memory with q.
func (p *Passes) Match(a *Answer, q Name) (*PassRule, Name) {
	if p == nil || a.Kind != NXDomain && a.Kind != NoData {
		return nil, ""
	}
	name := a.last(q)
	origin := a.End.Origin()
	if !name.isChallenge(origin) {
		if a.Kind != NXDomain {
			return nil, ""
		}
		return p.names[origin], name
	}
	if a.Kind == NoData && !a.End.bare(name) {
		return nil, ""
	}
	if rule := p.challenges[origin]; rule != nil {
		return rule, name
	}
	return p.names[origin], name
}

// last is the name that the answer to a question for q ends with.
func (a *Answer) last(q Name) Name {
	if n := len(a.Section); n > 0 && a.Section[n-1].Set.Type == TypeCNAME {
		return a.Section[n-1].Set.Data[0].Target(TypeCNAME)
	}
	return q
}

// isChallenge reports whether one of the labels below origin is that of ACME's
// challenges.
func (n Name) isChallenge(origin Name) bool {
	for rest := n; rest != origin && rest != "" && rest != Root; rest = rest.Parent() {
		if rest.FirstLabel() == acmeChallenge {
			return true
		}
	}
	return false
}

// bare reports whether no records stand at a name of the zone.
func (z *Zone) bare(name Name) bool {
	n := z.tree.get(name)
	return n == nil || len(n.sets) == 0 && n.alias == nil
}

// A PassQuestion is what another resolver is asked. It owns its memory.
type PassQuestion struct {
	Rule *PassRule
	Name Name
	Type Type
	// RD, CD and DO are the bits of the client's query (RFC 1035 section 4.1.1,
	// RFC 4035 section 3.2).
	RD, CD, DO bool
	// From is the client's address, without a zone and unmapped.
	From netip.Addr
	// Trail is what the servers of this program that have passed the query on
	// before left in it, PassMarkSize octets each; empty for a client's own.
	Trail string
}

// The mark of a server that passes queries on: an EDNS option of the range for
// local use (RFC 6891 section 9) with so many octets for each server that the
// query has passed, at most MaxPassMarks. A server that finds its own mark has
// met a loop.
const (
	PassMarkOption = 65317
	PassMarkSize   = 8
	MaxPassMarks   = 4
)

// A PassFailure is why there is no reply of another resolver. The zero value,
// PassAnswered, means that there is one.
type PassFailure uint8

// The failures. Each makes a SERVFAIL, never a negative answer.
const (
	PassAnswered PassFailure = iota
	// PassUnreachable: no server has answered in time, or in a way that says
	// something of the name.
	PassUnreachable
	// PassNetwork: the system could not send to any of the servers.
	PassNetwork
	// PassLoop: the query has come back to us.
	PassLoop
	// PassBusy: as many queries as may be are being passed on.
	PassBusy
)

// String returns the failure as metrics spell it.
func (f PassFailure) String() string {
	switch f {
	case PassUnreachable:
		return "unreachable"
	case PassNetwork:
		return "network"
	case PassLoop:
		return "loop"
	case PassBusy:
		return "busy"
	}
	return "answered"
}

// Passed is what another resolver says. Several queries may share it: it is
// frozen.
type Passed struct {
	Failure PassFailure
	// Why says a failure in words: "the resolver 10.0.0.2:53 does not answer".
	Why string
	// Rcode is the reply's: 0 (NOERROR), 2 (SERVFAIL), 3 (NXDOMAIN) or 6
	// (YXDOMAIN).
	Rcode uint16
	// The sections, without OPT. Owners are in canonical form.
	Section, Authority, Additional []Entry
}
