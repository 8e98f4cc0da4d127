package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/upstream/exchange"
	"github.com/clusterzone/clusterzone/zones"
)

const (
	// attemptTimeout bounds one question to one server, lookupTimeout all
	// questions of one lookup: as long a new target can be SERVFAIL at most.
	attemptTimeout = 2 * time.Second
	lookupTimeout  = 5 * time.Second
	// rounds is how often each server is asked in one lookup.
	rounds = 2
	// maxLinks bounds the CNAMEs in a reply, maxAddresses what is taken from it.
	maxLinks     = 16
	maxAddresses = 64
)

// found is what one server says of one family of a target. Without data the name
// exists and has no addresses of the family.
type found struct {
	data []zones.Rdata // in canonical order
	ttl  uint32        // seconds: the lowest of the addresses and of the CNAMEs on the way
}

// errNotThere is the error of an NXDOMAIN: an answer, so that no other server is
// asked.
var errNotThere = errors.New("NXDOMAIN")

// An asker asks one server for the addresses of a name. Its errors name no
// server.
type asker interface {
	ask(ctx context.Context, server netip.AddrPort, name zones.Name, kind zones.Type) (found, error)
}

// wire asks over UDP, and over TCP where the reply is truncated.
type wire struct{}

func (wire) ask(ctx context.Context, server netip.AddrPort, name zones.Name, kind zones.Type) (found, error) {
	query := new(dns.Msg).SetQuestion(name.FQDN(), uint16(kind))
	reply, err := exchange.Ask(ctx, server, query, 0)
	if err != nil {
		return found{}, exchange.Cause(ctx, err, attemptTimeout)
	}
	switch reply.Rcode {
	case dns.RcodeSuccess:
		return addresses(reply, uint16(kind)), nil
	case dns.RcodeNameError:
		return found{}, errNotThere
	}
	return found{}, fmt.Errorf("says %s", dns.RcodeToString[reply.Rcode])
}

// addresses follows the reply's CNAMEs from the question to the addresses.
func addresses(reply *dns.Msg, kind uint16) found {
	name, result := reply.Question[0].Name, found{ttl: ^uint32(0)}
	for range maxLinks {
		next := ""
		for _, rr := range reply.Answer {
			header := rr.Header()
			if header.Class != dns.ClassINET || !strings.EqualFold(header.Name, name) {
				continue
			}
			switch rr := rr.(type) {
			case *dns.CNAME:
				next = rr.Target
				result.ttl = min(result.ttl, header.Ttl)
			case *dns.A:
				result.add(kind == dns.TypeA, rr.A.To4(), header.Ttl)
			case *dns.AAAA:
				result.add(kind == dns.TypeAAAA, rr.AAAA.To16(), header.Ttl)
			}
		}
		if len(result.data) > 0 || next == "" {
			break
		}
		name = next
	}
	result.data = canonical(result.data)
	return result
}

func (f *found) add(wanted bool, address net.IP, ttl uint32) {
	if wanted && len(address) > 0 && len(f.data) < maxAddresses {
		f.data = append(f.data, zones.Rdata(address))
		f.ttl = min(f.ttl, ttl)
	}
}
