package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clusterzone/clusterzone/zones"
)

// A View gives the snapshot to answer from. zones.Store is one. Load is called
// for every query, from many goroutines.
type View interface {
	Load() *zones.Snapshot
}

// A Server says where to listen and how to answer. It holds options only: Serve
// changes nothing in it.
type Server struct {
	// View is required.
	View View
	// Listen are the addresses, each for UDP and TCP; at least one.
	Listen []Listen
	// Options say how replies are made.
	Options Options
	// ListenTLS and ListenHTTPS are addresses for DNS over TLS and over HTTPS.
	ListenTLS, ListenHTTPS []Listen
	// TLS has the certificate; required with ListenTLS and ListenHTTPS. Serve
	// works with copies, which take TLS 1.2 and up and choose the application
	// protocol: what changes meanwhile comes from its functions.
	TLS *tls.Config
	// ProxyFrom are the networks of proxies. Whatever comes from there must begin
	// with a PROXY header (version 2), whose client's address counts.
	ProxyFrom []netip.Prefix
	// RateLimit bounds equal replies over UDP.
	RateLimit RateLimit
	// TCP bounds connections.
	TCP TCPOptions
	// Transfers is the number of zone transfers at once; 0 means
	// DefaultTransfers. What comes above it waits for the write timeout of TCP, and
	// then gets SERVFAIL.
	Transfers int
	// Readers is the number of loops that read each UDP address; 0 means one for
	// each CPU that Go may use. On Linux each has a socket of its own.
	Readers int
	// ReusePort lets other processes that ask for the same have the same
	// addresses at the same time (SO_REUSEPORT, on Linux): a new process answers
	// beside the old one before that goes. Without it an address that is taken
	// is an error.
	ReusePort bool
	// Drain is how long Serve waits, once ctx has ended, for clients with connections to
	// take the replies that are on their way; 0 means 5 s.
	Drain time.Duration
	// Bound, where set, is told the addresses once all of them are open and
	// before the first query is read. Each stands for UDP and TCP.
	Bound func([]netip.AddrPort)
	// BoundEncrypted, where set, is told the addresses of ListenTLS and
	// ListenHTTPS, just before Bound is called.
	BoundEncrypted func(tls, https []netip.AddrPort)
	// Log takes trouble on the wire, bounded in rate; nil means silence.
	Log *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
	// Passer asks other resolvers for the names of Options.Passes; without one
	// nothing is passed on.
	Passer Passer
	// Tap, where set, is told of every query and its reply.
	Tap Tap

	// plain is for tests, which run over both kinds of packetSocket.
	plain bool
}

// Serve binds every address and answers until ctx ends; then it reads no more,
// finishes what it has read, and returns nil within Drain. It returns an error
// where an address can't be bound (one sentence that says what to do; then
// nothing stays open), or where a socket fails for good.
func (s *Server) Serve(ctx context.Context) error {
	if s.View == nil || len(s.Listen) == 0 {
		return errors.New("the DNS server has no view or no address to listen on")
	}
	if s.TLS == nil && len(s.ListenTLS)+len(s.ListenHTTPS) > 0 {
		return errors.New("the DNS server has no certificate for TLS and HTTPS")
	}
	r := s.newRun()
	sockets, err := bind(ctx, s.Listen, openOptions{readers: r.readers, share: s.ReusePort, plain: s.plain})
	if err != nil {
		return err
	}
	if err := sockets.bindEncrypted(ctx, s.ListenTLS, s.ListenHTTPS, s.ReusePort); err != nil {
		sockets.close()
		return err
	}
	if s.BoundEncrypted != nil {
		s.BoundEncrypted(sockets.encryptedAddrs(TLS), sockets.encryptedAddrs(HTTPS))
	}
	if s.Bound != nil {
		s.Bound(sockets.bound)
	}

	loops, serving := errgroup.WithContext(ctx)
	for _, socket := range sockets.udp {
		loops.Go(func() error {
			w := r.newWorker()
			defer r.metrics.retire(w.tally)
			return socket.serve(serving, w)
		})
	}
	for _, listener := range sockets.tcp {
		loops.Go(func() error { return r.accept(serving, listener, &gate{run: r, transport: TCP}) })
	}
	r.serveEncrypted(serving, loops, sockets.encrypted, s.TLS)
	loops.Go(func() error {
		<-serving.Done()
		// Wake readers rather than close their sockets under them: a reply that
		// is being made can still leave.
		for _, socket := range sockets.udp {
			socket.wake()
		}
		sockets.closeListeners()
		r.conns.interrupt()
		return nil
	})
	err = loops.Wait()
	r.drain()
	r.retireWorkers()
	sockets.close()
	return err
}

// A run is the state of one Serve.
type run struct {
	view    View
	options Options
	tcp     TCPOptions
	proxies []netip.Prefix
	readers int
	grace   time.Duration
	log     *slog.Logger
	metrics *Metrics
	limiter *limiter // nil where nothing is limited

	tap           Tap // nil where nobody listens
	passing       *passing
	transferSlots chan struct{} // holds one token for each transfer under way

	conns       *connections
	open        sync.WaitGroup // goroutines of connections
	workers     workers        // for connections
	lastTrouble atomic.Int64   // Unix time in nanoseconds
}

func (s *Server) newRun() *run {
	r := &run{
		view: s.View, options: s.Options, tcp: s.TCP.withDefaults(), proxies: s.ProxyFrom,
		readers: s.Readers, grace: s.Drain, log: s.Log, metrics: s.Metrics,
		limiter: newLimiter(s.RateLimit),
	}
	if r.readers <= 0 {
		r.readers = runtime.GOMAXPROCS(0)
	}
	transfers := s.Transfers
	fill(&transfers, DefaultTransfers)
	r.transferSlots = make(chan struct{}, transfers)
	if r.grace == 0 {
		r.grace = 5 * time.Second
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.metrics == nil {
		r.metrics = NewMetrics(nil)
	}
	var drops []Drop
	if len(s.ProxyFrom) > 0 {
		drops = []Drop{DropProxy}
		r.metrics.expect(UDP, drops...)
		r.metrics.expect(TCP, drops...)
	}
	if len(s.ListenTLS) > 0 {
		r.metrics.expect(TLS, append(drops, DropHandshake)...)
	}
	if len(s.ListenHTTPS) > 0 {
		r.metrics.expect(HTTPS, append(drops, DropHandshake, DropHTTP)...)
	}
	r.tap = s.Tap
	if r.passing = newPassing(s.Passer); s.Passer == nil {
		r.options.Passes = nil
	}
	r.conns = newConnections(r.tcp.MaxConnections, r.tcp.MaxPerClient)
	return r
}

// drain waits for the connections and for what is passed on to end, and cuts what
// takes too long.
func (r *run) drain() {
	done := make(chan struct{})
	go func() {
		r.open.Wait()
		r.passing.wait() // after the connections, which pass on until they end
		close(done)
	}()
	timer := time.NewTimer(r.grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		r.conns.cut()
		r.passing.cut()
		<-done
	}
}
