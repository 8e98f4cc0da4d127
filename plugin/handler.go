package plugin

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/fall"
	"github.com/coredns/coredns/plugin/pkg/nonwriter"
	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/upstream/forward"
	"github.com/clusterzone/clusterzone/upstream/resolver"
	"github.com/clusterzone/clusterzone/zones"
)

// A Handler answers for the zones of one block of a Corefile. It implements
// plugin.Handler and what the plugins transfer, ready and metadata ask for, all
// safe for concurrent use.
type Handler struct {
	next     plugin.Handler
	pipeline *assembly.Pipeline
	resolver *resolver.Resolver // nil where outside names are not looked up
	editions *assembly.Editions // nil where zones are not transferred
	fall     fall.F             // which names the next plugin is asked for
	passes   []zones.PassRule   // of all zones, where any name falls through
	answers  *answers
	log      *slog.Logger

	cancel    context.CancelFunc // nil before the start
	parts     sync.WaitGroup
	wake      chan struct{} // holds a token while something may have become complete
	inherited atomic.Pointer[inheritance]
	told      *telling // nil where nobody hears of new serials
	fleet     *fleet   // nil where the metrics are not registered
	place     string   // of the block: file and line
	siblings  func() []*Handler

	mu         sync.Mutex
	successors []*Handler // those that have inherited from this one
}

// Name implements plugin.Handler.
func (h *Handler) Name() string { return Name }

// Ready implements ready.Readiness: every zone can be answered for, by what was
// read or by what the instance before this one had read.
func (h *Handler) Ready() bool {
	if h.pipeline.Store.Load().Ready {
		return true
	}
	for _, origin := range h.pipeline.Origins {
		if !h.snapshot(origin.Name).Ready {
			return false
		}
	}
	return true
}

// ServeDNS implements plugin.Handler. Names outside of the zones, and other
// classes than IN, are the next plugin's.
func (h *Handler) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	query, name, ok := octets(r)
	if !ok {
		return plugin.NextOrFailure(Name, h.next, ctx, w, r)
	}
	origin := h.origin(name)
	if origin == "" {
		return plugin.NextOrFailure(Name, h.next, ctx, w, r)
	}
	snap, peer := h.snapshot(origin), peerOf(w)
	falls := h.fall.Through(r.Question[0].Name)
	reply, outcome := h.answers.respond(query, snap, peer, falls)
	if asked := outcome.PassOn; asked != nil {
		if asked.Name == name {
			return plugin.NextOrFailure(Name, h.next, ctx, w, r)
		}
		// A CNAME here leads to a name that isn't here.
		passed := h.askNext(ctx, w, r, asked)
		reply, outcome = h.answers.finish(query, snap, peer, asked, passed)
	}
	if outcome.Dropped != server.Answered {
		return dns.RcodeFormatError, nil // CoreDNS drops what is no query; it writes this
	}
	m := new(dns.Msg)
	if err := m.Unpack(reply); err != nil {
		return dns.RcodeServerFailure, plugin.Error(Name, err)
	}
	// An error means that the client has gone; and whatever the rcode, the reply
	// is written: CoreDNS must not write one of its own.
	_ = w.WriteMsg(m)
	return dns.RcodeSuccess, nil
}

// octets packs a query, and returns the name that it asks for. False means that
// it is none of ours whatever the name.
func octets(r *dns.Msg) (query []byte, name zones.Name, ok bool) {
	if len(r.Question) != 1 || r.Question[0].Qclass != dns.ClassINET || r.Opcode != dns.OpcodeQuery {
		return nil, "", false
	}
	plain := *r
	plain.Extra = nil
	for _, rr := range r.Extra {
		// Signatures are the plugin tsig's: it has checked this one, and signs the
		// reply.
		if rr.Header().Rrtype != dns.TypeTSIG {
			plain.Extra = append(plain.Extra, rr)
		}
	}
	query, err := plain.Pack()
	if err != nil {
		return nil, "", false
	}
	const header = 12
	name, _, err = zones.NameFromWire(query[header:])
	return query, name, err == nil
}

// origin is the zone that a name lies in, or the zero Name.
func (h *Handler) origin(name zones.Name) zones.Name {
	for ; name != ""; name = name.Parent() {
		for i := range h.pipeline.Origins {
			if h.pipeline.Origins[i].Name == name {
				return name
			}
		}
	}
	return ""
}

// peerOf is who asks. The transport is a stream whatever it is: how long a
// message over UDP may be, CoreDNS decides when it writes it.
func peerOf(w dns.ResponseWriter) server.Peer {
	peer := server.Peer{Transport: server.TCP}
	switch addr := w.RemoteAddr().(type) {
	case *net.UDPAddr:
		peer.Addr = addr.AddrPort()
	case *net.TCPAddr:
		peer.Addr = addr.AddrPort()
	default:
		if parsed, err := netip.ParseAddrPort(addr.String()); err == nil {
			peer.Addr = parsed
		}
	}
	return peer
}

// askNext asks the next plugin for the name that a chain of CNAMEs ends with.
func (h *Handler) askNext(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, asked *zones.PassQuestion) *zones.Passed {
	q := r.Copy()
	q.Question[0].Name = asked.Name.FQDN()
	caught := nonwriter.New(w)
	rcode, err := plugin.NextOrFailure(Name, h.next, ctx, caught, q)
	switch {
	case caught.Msg != nil:
		return forward.Read(caught.Msg)
	case err != nil:
		return &zones.Passed{Failure: zones.PassUnreachable, Why: "the next plugin fails: " + err.Error()}
	}
	return forward.Read(new(dns.Msg).SetRcode(q, rcode))
}

// answers are Responders of one configuration: those that say NXDOMAIN, and
// those that leave it to the next plugin.
type answers struct{ plain, falling sync.Pool }

func newAnswers(options server.Options, passes *zones.Passes) *answers {
	a := new(answers)
	a.plain.New = func() any { return &server.Responder{Options: options} }
	falling := options
	falling.Passes = passes
	a.falling.New = func() any { return &server.Responder{Options: falling} }
	return a
}

func (a *answers) pool(falls bool) *sync.Pool {
	if falls {
		return &a.falling
	}
	return &a.plain
}

func (a *answers) respond(query []byte, snap *zones.Snapshot, peer server.Peer, falls bool) ([]byte, server.Outcome) {
	pool := a.pool(falls)
	responder := pool.Get().(*server.Responder)
	defer pool.Put(responder)
	return responder.Respond(nil, query, snap, peer)
}

func (a *answers) finish(query []byte, snap *zones.Snapshot, peer server.Peer, asked *zones.PassQuestion, passed *zones.Passed) ([]byte, server.Outcome) {
	responder := a.falling.Get().(*server.Responder)
	defer a.falling.Put(responder)
	return responder.Finish(nil, query, snap, peer, asked, passed)
}
