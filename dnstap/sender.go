package dnstap

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	// maxQueue bounds the queries that wait with their replies, and maxOctets the
	// memory that they take, in octets.
	maxQueue  = 8192
	maxOctets = 8 << 20
	// overhead is what one of them takes besides the octets of its messages.
	overhead = 256
	// firstPause and lastPause are the pauses between tries to reach the reader,
	// each twice as long as the one before.
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// Options say where messages go, and who sends them.
type Options struct {
	Target Target
	// Identity and Version stand in every message: the name of this server among
	// its replicas, and that of the program. Empty ones are left out.
	Identity, Version string
	// Log is told when the reader comes and goes.
	Log *slog.Logger
}

// An Exchange is one query with its reply.
type Exchange struct {
	// Client asked, Server was asked; the zero value where that is not known.
	Client, Server netip.AddrPort
	// Protocol is "udp", "tcp", "tls" or "https".
	Protocol string
	// Zone is the zone that answers, or the zero Name.
	Zone zones.Name
	// Query came at Came. Reply was sent at Sent; nil where none was.
	Query, Reply []byte
	Came, Sent   time.Time
}

// messages is how many dnstap messages the exchange makes.
func (e *Exchange) messages() uint64 {
	if e.Reply == nil {
		return 1
	}
	return 2
}

func (e *Exchange) size() int64 { return int64(len(e.Query) + len(e.Reply) + overhead) }

// A Sender sends what it is told to a reader. Send and Counts are safe for
// concurrent use.
type Sender struct {
	options Options
	queue   chan Exchange
	octets  atomic.Int64 // of the queue

	written, dropped atomic.Uint64
}

// New returns a Sender; Run makes it work.
func New(o Options) *Sender {
	return &Sender{options: o, queue: make(chan Exchange, maxQueue)}
}

// Send queues an exchange, or drops it where the queue is full. It never waits,
// and copies the octets that it keeps.
func (s *Sender) Send(e Exchange) {
	size := e.size()
	if len(s.queue) == maxQueue {
		s.dropped.Add(e.messages())
		return
	}
	if s.octets.Add(size) > maxOctets {
		s.octets.Add(-size)
		s.dropped.Add(e.messages())
		return
	}
	memory := make([]byte, len(e.Query)+len(e.Reply))
	n := copy(memory, e.Query)
	copy(memory[n:], e.Reply)
	e.Query = memory[:n:n]
	if e.Reply != nil {
		e.Reply = memory[n:]
	}
	select {
	case s.queue <- e:
	default:
		s.octets.Add(-size)
		s.dropped.Add(e.messages())
	}
}

// Counts returns how many messages were written to a reader, and how many were
// dropped: the queue was full, or the connection broke.
func (s *Sender) Counts() (written, dropped uint64) { return s.written.Load(), s.dropped.Load() }

// Run sends until ctx ends; then it sends what is queued to a reader that takes it
// within a second, and returns nil. That nobody reads is no error: it is logged
// when it begins, and tried again.
func (s *Sender) Run(ctx context.Context) error {
	defer s.discard()
	pause, said := firstPause, false
	for {
		connected, err := s.stream(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if connected {
			pause, said = firstPause, false
		}
		if !said {
			s.options.Log.Warn("nobody reads the dnstap messages; they are dropped when the queue is full, until somebody does", "dnstap", s.options.Target.String(), "err", err)
			said = true
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		pause = min(2*pause, lastPause)
	}
}

// discard counts what is left in the queue as dropped.
func (s *Sender) discard() {
	for {
		select {
		case e := <-s.queue:
			s.octets.Add(-e.size())
			s.dropped.Add(e.messages())
		default:
			return
		}
	}
}
