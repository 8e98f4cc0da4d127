package forward

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/upstream/exchange"
	"github.com/clusterzone/clusterzone/zones"
)

// udpSize is what our hop takes over UDP: it fits the smallest IPv6 MTU
// unfragmented (DNS flag day 2020).
const udpSize = 1232

// maxTTL is the longest TTL in seconds that is one.
const maxTTL = 1<<31 - 1

func askWire(ctx context.Context, server netip.AddrPort, query *dns.Msg) (*dns.Msg, error) {
	return exchange.Ask(ctx, server, query, resend)
}

// query is what the servers are asked: the client's RD and CD, and an EDNS of
// our own hop (RFC 6891 section 6.2.6) with the client's DO. RD is not set for a
// client that did not ask for recursion: such a one is itself a resolver, perhaps
// the one that is asked here.
func (f *Forwarder) query(q *zones.PassQuestion) *dns.Msg {
	query := new(dns.Msg).SetQuestion(q.Name.FQDN(), uint16(q.Type))
	query.RecursionDesired, query.CheckingDisabled = q.RD, q.CD
	query.SetEdns0(udpSize, q.DO)
	opt := query.IsEdns0()
	opt.Option = append(opt.Option, &dns.EDNS0_LOCAL{Code: zones.PassMarkOption, Data: []byte(q.Trail + f.mark)})
	return query
}

// lookUp asks one server after the other until one says something of the name:
// that it exists or that it doesn't. What a server says of itself, as REFUSED and
// SERVFAIL do, is for the next one to better.
func (f *Forwarder) lookUp(ctx context.Context, q *zones.PassQuestion) *zones.Passed {
	failed := &zones.Passed{Failure: zones.PassUnreachable, Why: "none is known"}
	for i, server := range q.Rule.Servers {
		if ctx.Err() != nil {
			break
		}
		passed := f.askOne(ctx, server, q, turn(ctx, len(q.Rule.Servers)-i))
		if passed.Failure == zones.PassAnswered {
			return passed
		}
		passed.Why = fmt.Sprintf("the resolver %s %s", server, passed.Why)
		failed = passed
	}
	return failed
}

// turn is the time that the next of so many servers has: an equal part of what
// is left.
func turn(ctx context.Context, servers int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return Timeout
	}
	return max(time.Until(deadline)/time.Duration(servers), leastTurn)
}

func (f *Forwarder) askOne(ctx context.Context, server netip.AddrPort, q *zones.PassQuestion, within time.Duration) *zones.Passed {
	if !f.enter(server) {
		return &zones.Passed{Failure: zones.PassBusy, Why: fmt.Sprintf("is asked %d questions already", maxServer)}
	}
	defer f.leave(server)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	reply, err := f.ask(ctx, server, f.query(q))
	if err != nil {
		failure := zones.PassUnreachable
		if errors.As(err, new(*os.SyscallError)) && ctx.Err() == nil {
			failure = zones.PassNetwork
		}
		return &zones.Passed{Failure: failure, Why: exchange.Cause(ctx, err, within.Round(100*time.Millisecond)).Error()}
	}
	return Read(reply)
}

// Read takes a reply apart into what is passed on of it. NOERROR, NXDOMAIN and
// YXDOMAIN speak of the name; every other rcode, and a record that can't be
// written again, makes a failure, whose words go on from the server's name.
func Read(reply *dns.Msg) *zones.Passed {
	switch reply.Rcode {
	case dns.RcodeSuccess, dns.RcodeNameError, dns.RcodeYXDomain:
	default:
		return &zones.Passed{Failure: zones.PassUnreachable, Why: "says " + rcodeText(reply.Rcode)}
	}
	passed := &zones.Passed{Rcode: uint16(reply.Rcode)}
	for _, section := range []struct {
		from []dns.RR
		to   *[]zones.Entry
	}{{reply.Answer, &passed.Section}, {reply.Ns, &passed.Authority}, {reply.Extra, &passed.Additional}} {
		var err error
		if *section.to, err = entries(section.from); err != nil {
			return &zones.Passed{Failure: zones.PassUnreachable, Why: fmt.Sprintf("sends a record that can't be passed on (%v)", err)}
		}
	}
	return passed
}

func rcodeText(rcode int) string {
	if text, ok := dns.RcodeToString[rcode]; ok {
		return text
	}
	return fmt.Sprintf("RCODE%d", rcode)
}

// entries turns the records of a section into sets, in the order of their first
// records, without what belongs to the hop (OPT, TSIG) and without other classes.
// A set has the lowest TTL of its records (RFC 2181 section 5.2).
func entries(records []dns.RR) ([]zones.Entry, error) {
	type key struct {
		name zones.Name
		kind uint16
	}
	var all []zones.Entry
	at := map[key]int{}
	for _, record := range records {
		header := record.Header()
		if header.Class != dns.ClassINET || header.Rrtype == dns.TypeOPT || header.Rrtype == dns.TypeTSIG {
			continue
		}
		name, data, err := wire(record)
		if err != nil {
			return nil, err
		}
		ttl := header.Ttl
		if ttl > maxTTL {
			ttl = 0 // RFC 2181 section 8
		}
		k := key{name, header.Rrtype}
		i, known := at[k]
		if !known {
			i, at[k] = len(all), len(all)
			all = append(all, zones.Entry{Owner: name, Set: &zones.RRSet{Name: name, Type: zones.Type(header.Rrtype), TTL: ttl}})
		}
		set := all[i].Set
		set.TTL = min(set.TTL, ttl)
		set.Data = append(set.Data, data)
	}
	return all, nil
}

// wire returns a record's owner in canonical form, and its data uncompressed.
func wire(record dns.RR) (zones.Name, zones.Rdata, error) {
	buf := make([]byte, dns.Len(record)+64)
	end, err := dns.PackRR(record, buf, 0, nil, false)
	if err != nil {
		return "", "", err
	}
	name, n, err := zones.NameFromWire(buf[:end])
	if err != nil {
		return "", "", err
	}
	return name, zones.Rdata(buf[n+10 : end]), nil
}
