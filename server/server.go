package server

import (
	"context"
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
	// RateLimit bounds equal replies over UDP.
	RateLimit RateLimit
	// TCP bounds connections.
	TCP TCPOptions
	// Transfers is the number of zone transfers at once; 0 means
	// DefaultTransfers. What comes above it waits for the write timeout of TCP, and
	// then gets SERVFAIL.
	Transfers int
	// Readers is the number of goroutines that read each UDP socket; 0 means
	// one for each CPU that Go may use.
	Readers int
	// Drain is how long Serve waits, once ctx has ended, for TCP clients to
	// take the replies that are on their way; 0 means 5 s.
	Drain time.Duration
	// Bound, where set, is told the addresses once all of them are open and
	// before the first query is read. Each stands for UDP and TCP.
	Bound func([]netip.AddrPort)
	// Log takes trouble on the wire, bounded in rate; nil means silence.
	Log *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

// Serve binds every address and answers until ctx ends; then it reads no more,
// finishes what it has read, and returns nil within Drain. It returns an error
// where an address can't be bound (one sentence that says what to do; then
// nothing stays open), or where a socket fails for good.
func (s *Server) Serve(ctx context.Context) error {
	if s.View == nil || len(s.Listen) == 0 {
		return errors.New("the DNS server has no view or no address to listen on")
	}
	sockets, err := bind(ctx, s.Listen)
	if err != nil {
		return err
	}
	r := s.newRun()
	if s.Bound != nil {
		s.Bound(sockets.bound)
	}

	loops, serving := errgroup.WithContext(ctx)
	for _, socket := range sockets.udp {
		for range r.readers {
			loops.Go(func() error { return socket.serve(serving, r.newWorker()) })
		}
	}
	for _, listener := range sockets.tcp {
		loops.Go(func() error { return r.accept(serving, listener) })
	}
	loops.Go(func() error {
		<-serving.Done()
		// Wake readers rather than close their sockets under them: a reply that
		// is being made can still leave.
		for _, socket := range sockets.udp {
			_ = socket.conn.SetReadDeadline(time.Unix(1, 0))
		}
		for _, listener := range sockets.tcp {
			_ = listener.Close()
		}
		r.conns.interrupt()
		return nil
	})
	err = loops.Wait()
	r.drain()
	sockets.close()
	return err
}

// A run is the state of one Serve.
type run struct {
	view    View
	options Options
	tcp     TCPOptions
	readers int
	grace   time.Duration
	log     *slog.Logger
	metrics *Metrics
	limiter *limiter // nil where nothing is limited

	transferSlots chan struct{} // holds one token for each transfer under way

	conns       *connections
	open        sync.WaitGroup // goroutines of connections
	idle        sync.Pool      // of *worker, for connections
	lastTrouble atomic.Int64   // Unix time in nanoseconds
}

func (s *Server) newRun() *run {
	r := &run{
		view: s.View, options: s.Options, tcp: s.TCP.withDefaults(),
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
	r.conns = newConnections(r.tcp.MaxConnections, r.tcp.MaxPerClient)
	r.idle.New = func() any { return r.newWorker() }
	return r
}

// drain waits for the connections to end, and cuts those that take too long.
func (r *run) drain() {
	done := make(chan struct{})
	go func() {
		r.open.Wait()
		close(done)
	}()
	timer := time.NewTimer(r.grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		r.conns.cut()
		<-done
	}
}
