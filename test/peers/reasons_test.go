package peers_test

import (
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// A rule decides where peers differ.
type rule struct {
	name string // with the paragraph that decides
	// applies says whether peers may differ here for this reason.
	applies func(z genZone, q question, a map[string]answer) bool
	// right says whether our answer is what the rule asks for.
	right func(q question, a map[string]answer) bool
}

// rules are tried one after another; the first that applies decides.
var rules = []rule{
	{
		"ANY gets one record set of those that are there (RFC 8482 section 4.1)",
		func(_ genZone, q question, _ map[string]answer) bool { return q.kind == dns.TypeANY },
		func(_ question, a map[string]answer) bool {
			full := a["named"]
			return a[ours].rcode == full.rcode && a[ours].aa == full.aa && a[ours].answer.within(full.answer) &&
				(len(a[ours].answer) > 0) == (len(full.answer) > 0)
		},
	},
	{
		"a chain of aliases that returns or grows without end is cut off, and what was found is given (RFC 1034 section 3.6.2)",
		func(_ genZone, q question, a map[string]answer) bool {
			return slices.ContainsFunc(peersOfOurs, func(peer string) bool { return endless(q.name, a[peer].answer) }) || endless(q.name, a[ours].answer)
		},
		func(_ question, a map[string]answer) bool {
			return a[ours].aa && a[ours].rcode == "NOERROR" && a["nsd"].answer.within(a[ours].answer) && a["knotd"].answer.within(a[ours].answer)
		},
	},
	{
		"a DNAME at a wildcard keeps its owner: only the CNAME is made up (RFC 6672 section 3.1, RFC 4592 section 4.4)",
		func(_ genZone, _ question, a map[string]answer) bool {
			return slices.ContainsFunc(a["named"].answer, func(record string) bool { return strings.HasPrefix(record, "*.") && set{record}.has("DNAME") })
		},
		as("named", "nsd"),
	},
	{
		"a dot within a label of an IPSECKEY's gateway is no end of it (RFC 1035 section 5.1, which NSD forgets there)",
		func(_ genZone, q question, a map[string]answer) bool { return a["named"].answer.has("IPSECKEY") },
		as("named", "knotd"),
	},
	{
		"DS at another zone's apex is asked of the zone above, which knows that the name is there (RFC 4035 section 3.1.4.1)",
		func(_ genZone, q question, a map[string]answer) bool { return q.kind == dns.TypeDS },
		as("nsd"),
	},
	{
		"an alias that leads into another zone of this server is followed there (RFC 1034 section 4.3.2 step 3a: go back to step 1)",
		func(_ genZone, _ question, a map[string]answer) bool {
			return a["named"].answer.has("CNAME") && a["named"].core() == a["knotd"].core()
		},
		as("nsd"),
	},
}

// as is right where ours is what these peers say.
func as(peers ...string) func(question, map[string]answer) bool {
	return func(_ question, a map[string]answer) bool {
		return !slices.ContainsFunc(peers, func(peer string) bool { return a[peer].core() != a[ours].core() })
	}
}

// endless says whether the chain of aliases from name has a loop, or more links than
// any that was meant.
func endless(name string, records set) bool {
	next := map[string]string{}
	for _, record := range records {
		if fields := strings.Fields(record); fields[2] == "CNAME" {
			next[fields[0]] = fields[3]
		}
	}
	seen := map[string]bool{}
	for name != "" && !seen[name] {
		seen[name] = true
		name = next[name]
	}
	return name != "" || len(seen) > 5
}

// judge compares ours with the peers. It returns the rules that it needed, where they
// differ, and what is wrong.
func judge(z genZone, q question, a map[string]answer) (used, faults []string) {
	if a["named"].core() == a["nsd"].core() && a["named"].core() == a["knotd"].core() {
		if a[ours].core() != a["named"].core() {
			return nil, []string{"all peers agree, ours differs"}
		}
		return nil, additional(q, a)
	}
	for _, r := range rules {
		if r.applies(z, q, a) {
			if !r.right(q, a) {
				return []string{r.name}, []string{"ours is not what the rule asks for: " + r.name}
			}
			return []string{r.name}, nil
		}
	}
	same := "ours stands alone"
	for _, peer := range peersOfOurs {
		if a[peer].core() == a[ours].core() {
			same += " / as " + peer
		}
	}
	return nil, []string{"no rule for this difference: " + same}
}

// additional says what is wrong with the additional section. What NSD and Knot both
// give belongs there, glue of servers in sibling zones included (RFC 9471 section
// 3; named leaves that out); but ANY gets one record set, and no more. Nothing
// belongs there that no peer gives, but for addresses that the answer points at:
// in another zone of this server (RFC 1034 section 4.3.2 step 6: local data, not
// the zone's alone), or by the "." of SVCB and HTTPS (RFC 9460 sections 2.5 and 4.1).
func additional(q question, a map[string]answer) (faults []string) {
	mine := a[ours].additional
	if q.kind != dns.TypeANY && slices.ContainsFunc(a["nsd"].additional, func(record string) bool {
		return slices.Contains(a["knotd"].additional, record) && !slices.Contains(mine, record)
	}) {
		faults = append(faults, "the additional section lacks what NSD and Knot give")
	}
	all := slices.Concat(a["named"].additional, a["nsd"].additional, a["knotd"].additional)
	if slices.ContainsFunc(mine, func(record string) bool {
		return !slices.Contains(all, record) && !pointedAt(record, a[ours].answer)
	}) {
		faults = append(faults, "the additional section has what no peer gives")
	}
	return faults
}

// pointedAt says whether the record is an address of a name that a record of the
// answer has in its data, or of the owner of an SVCB or HTTPS record.
func pointedAt(record string, answer set) bool {
	fields := strings.Fields(record)
	return (fields[2] == "A" || fields[2] == "AAAA") && slices.ContainsFunc(answer, func(other string) bool {
		of := strings.Fields(other)
		return slices.Contains(of[3:], fields[0]) || of[0] == fields[0] && (of[2] == "SVCB" || of[2] == "HTTPS")
	})
}
