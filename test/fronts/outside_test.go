package fronts_test

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// outsideIP is the address of the resolver that knows the names outside of the
// zones.
const outsideIP = "10.0.0.2"

// An outside is that resolver. It says what a test sets, and keeps what it was
// asked. Its methods may be called from several goroutines.
type outside struct {
	t *testing.T

	mu      sync.Mutex
	records map[string][]dns.RR // by owner, in lower case
	held    map[string]chan struct{}
	broken  map[string]bool // names whose own servers are dead
	asked   map[string]bool
	after   map[string]func() // called once, when the next A question for the name was answered
	stop    func()            // nil while it is dead
}

// startOutside starts it with the names of questions.txt, at a TTL in seconds.
func startOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{t: t, records: map[string][]dns.RR{}, held: map[string]chan struct{}{}, broken: map[string]bool{}, asked: map[string]bool{}, after: map[string]func(){}}
	o.set("lb-1.provider.test. 60 A 198.51.100.1", "lb-1.provider.test. 60 AAAA 2001:db8:51::1")
	o.set("mx.provider.test. 60 A 198.51.100.25")
	o.live()
	t.Cleanup(o.die)
	return o
}

// set gives a name these records, and takes away those that it had.
func (o *outside) set(lines ...string) {
	o.t.Helper()
	var records []dns.RR
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			o.t.Fatal(err)
		}
		records = append(records, rr)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.records[strings.ToLower(records[0].Header().Name)] = records
}

// sever lets the servers of a name itself die, so that this resolver answers
// SERVFAIL, or live again.
func (o *outside) sever(name string, dead bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken[name] = dead
}

// hold lets questions for a name wait until the function returned is called.
func (o *outside) hold(name string) (release func()) {
	gate := make(chan struct{})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held[name] = gate
	return sync.OnceFunc(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.held, name)
		close(gate)
	})
}

// afterNext lets f be called when the next question for the name's IPv4 addresses
// has been answered.
func (o *outside) afterNext(name string, f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.after[name] = f
}

// names returns what it was asked for.
func (o *outside) names() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for name := range o.asked {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// live lets it answer.
func (o *outside) live() {
	o.t.Helper()
	packets, err := net.ListenPacket("udp", net.JoinHostPort(outsideIP, "53"))
	if err != nil {
		o.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(outsideIP, "53"))
	if err != nil {
		o.t.Fatal(err)
	}
	var ready, ended sync.WaitGroup
	var servers []*dns.Server
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: o}, {Listener: listener, Handler: o}} {
		ready.Add(1)
		server.NotifyStartedFunc = ready.Done
		// It returns an error when it is shut down.
		ended.Go(func() { _ = server.ActivateAndServe() })
		servers = append(servers, server)
	}
	ready.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop = func() {
		for _, server := range servers {
			if err := server.Shutdown(); err != nil {
				o.t.Error(err)
			}
		}
		ended.Wait()
	}
}

// die ends it: its port is closed from now on.
func (o *outside) die() {
	o.mu.Lock()
	stop := o.stop
	o.stop = nil
	for name, gate := range o.held {
		delete(o.held, name)
		close(gate)
	}
	o.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// ServeDNS implements dns.Handler.
func (o *outside) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	name := strings.ToLower(query.Question[0].Name)
	o.mu.Lock()
	o.asked[name] = true
	gate := o.held[name]
	o.mu.Unlock()
	if gate != nil {
		<-gate
	}
	o.mu.Lock()
	records, exists := o.records[name]
	broken := o.broken[name]
	o.mu.Unlock()
	reply := new(dns.Msg).SetReply(query)
	if broken {
		reply.Rcode = dns.RcodeServerFailure
		_ = w.WriteMsg(reply) // who asked may be gone
		return
	}
	reply.RecursionAvailable = true
	reply.Compress = true
	for _, rr := range records {
		if rr.Header().Rrtype == query.Question[0].Qtype {
			reply.Answer = append(reply.Answer, rr)
		}
	}
	if !exists {
		reply.Rcode = dns.RcodeNameError
	}
	if len(reply.Answer) == 0 {
		reply.Ns = []dns.RR{&dns.SOA{
			Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: 60},
			Ns:  "a.root.test.", Mbox: "hostmaster.root.test.", Serial: 1, Refresh: 60, Retry: 60, Expire: 60, Minttl: 60,
		}}
	}
	// Who asked may be gone.
	_ = w.WriteMsg(reply)
	if query.Question[0].Qtype != dns.TypeA {
		return
	}
	o.mu.Lock()
	after := o.after[name]
	delete(o.after, name)
	o.mu.Unlock()
	if after != nil {
		after()
	}
}

// leaks fails the test where a resolver has asked the outside for what the zones
// hold: it was told not to.
func (o *outside) leaks(t *testing.T) {
	t.Helper()
	for _, name := range o.names() {
		if dns.IsSubDomain("corp.test.", name) || dns.IsSubDomain("20.10.in-addr.arpa.", name) {
			t.Errorf("the resolver of the outside was asked for %s", name)
		}
	}
}
