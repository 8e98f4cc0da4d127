package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	opcodeNotify = 4
	// notifyRetry is how long the first reply is waited for; each further one twice
	// as long as the one before.
	notifyRetry = 2 * time.Second
	// notifyTries is how often a NOTIFY is sent; then the secondary's refresh timer
	// has to do. RFC 1996 section 3.6 has five.
	notifyTries = 5
	// notifyGap is the least time between two messages for one zone to one secondary,
	// retries of the same news aside: changes gather meanwhile.
	notifyGap = time.Second
	// notifyBatch is how many messages one secondary gets at once; the others of
	// thousands of zones follow a gap later.
	notifyBatch = 100
)

// What becomes of NOTIFY messages, as metrics spell it.
const (
	notifySent         = "sent"
	notifyAcknowledged = "acknowledged"
	notifyRefused      = "refused"
	notifyFailed       = "failed"
)

// A NotifyTarget is a secondary that is told of new serials (RFC 1996).
type NotifyTarget struct {
	Addr netip.AddrPort
	// Zone is the zone that it is told of; the zero Name means all.
	Zone zones.Name
	// Key is the name of the key that signs the messages; the zero Name means that
	// they are not signed. The reply to a signed one must be signed, too.
	Key zones.Name
}

// NotifierOptions are the parts of a Notifier. Editions is required.
type NotifierOptions struct {
	Targets  []NotifyTarget
	Editions Editions
	// Keys holds those that targets name.
	Keys *TSIGKeys
	Log  *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

// A Notifier tells secondaries that a zone has a new serial. What happens while
// a message is on its way, or within a second, is one message. It is safe for
// concurrent use.
type Notifier struct {
	options NotifierOptions
	targets []*notified
	retry   time.Duration
	gap     time.Duration
}

// NewNotifier returns a Notifier that sends nothing before Run.
func NewNotifier(options NotifierOptions) *Notifier {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Metrics == nil {
		options.Metrics = NewMetrics(nil)
	}
	n := &Notifier{options: options, retry: notifyRetry, gap: notifyGap}
	for _, target := range options.Targets {
		n.targets = append(n.targets, &notified{
			NotifyTarget: target, notifier: n, wake: make(chan struct{}, 1),
			news: map[zones.Name]bool{}, notices: map[zones.Name]*notice{},
		})
	}
	return n
}

// Changed tells that these zones have new editions.
func (n *Notifier) Changed(origins []zones.Name) {
	for _, target := range n.targets {
		target.changed(origins)
	}
}

// Run sends until ctx ends, and returns nil.
func (n *Notifier) Run(ctx context.Context) error {
	var group errgroup.Group
	for _, target := range n.targets {
		group.Go(func() error {
			target.run(ctx)
			return nil
		})
	}
	return group.Wait()
}

// A notified is one target with what it is to be told.
type notified struct {
	NotifyTarget
	notifier *Notifier
	wake     chan struct{}

	mu   sync.Mutex
	news map[zones.Name]bool // not taken by run yet

	// run's own:
	notices map[zones.Name]*notice
	failing bool // and logged
	out     writer
}

// A notice is the NOTIFY of one zone to one target.
type notice struct {
	open  bool // to be sent, or waiting for a reply
	id    uint16
	tries int
	due   time.Time // of the next attempt, or of giving up
	sent  time.Time // the last attempt
	mac   []byte    // its signature
}

func (t *notified) changed(origins []zones.Name) {
	t.mu.Lock()
	told := false
	for _, origin := range origins {
		if t.Zone == "" || t.Zone == origin {
			t.news[origin] = true
			told = true
		}
	}
	t.mu.Unlock()
	if told {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// run sends until ctx ends. The socket is opened with the first news and stays:
// it takes replies from the target's address alone.
func (t *notified) run(ctx context.Context) {
	replies := make(chan []byte, 16)
	var conn net.Conn
	var reading sync.WaitGroup
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
		reading.Wait()
	}()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-timer.C:
		case reply := <-replies:
			t.take(reply)
		}
		if conn == nil {
			var dialer net.Dialer
			opened, err := dialer.DialContext(ctx, "udp", t.Addr.String())
			if err != nil {
				t.trouble("", err)
			} else {
				conn = opened
				reading.Go(func() { readReplies(ctx, opened, replies) })
			}
		}
		timer.Reset(t.send(conn, time.Now()))
	}
}

// readReplies hands on what comes, until the socket is closed.
func readReplies(ctx context.Context, conn net.Conn, replies chan<- []byte) {
	buf := make([]byte, maxQuery)
	for {
		n, err := conn.Read(buf)
		switch {
		case errors.Is(err, net.ErrClosed) || ctx.Err() != nil:
			return
		case err != nil: // nobody listens there: the retries go on
			pause(ctx, readPause)
			continue
		}
		select {
		case replies <- append([]byte(nil), buf[:n]...):
		case <-ctx.Done():
			return
		}
	}
}

// send sends what is due and returns when to come back.
func (t *notified) send(conn net.Conn, now time.Time) time.Duration {
	t.mu.Lock()
	for origin := range t.news {
		note := t.notices[origin]
		if note == nil {
			note = &notice{}
			t.notices[origin] = note
		}
		note.open, note.tries, note.mac = true, 0, nil
		note.id = uint16(rand.Uint32())
		note.due = now
		if again := note.sent.Add(t.notifier.gap); again.After(now) {
			note.due = again
		}
	}
	clear(t.news)
	t.mu.Unlock()

	next, sent := now.Add(time.Hour), 0
	for origin, note := range t.notices {
		if !note.open {
			continue
		}
		switch {
		case now.Before(note.due):
		case note.tries == notifyTries:
			note.open = false
			t.notifier.options.Metrics.transfers.notify(notifyFailed)
			t.trouble(origin, errors.New("there is no reply"))
			continue
		case sent == notifyBatch:
			note.due = now.Add(t.notifier.gap)
		default:
			sent++
			t.sendOne(conn, origin, note, now)
		}
		if note.due.Before(next) {
			next = note.due
		}
	}
	return max(next.Sub(now), time.Millisecond)
}

func (t *notified) sendOne(conn net.Conn, origin zones.Name, note *notice, now time.Time) {
	edition := t.notifier.options.Editions.Edition(origin)
	if edition == nil {
		note.open = false
		return
	}
	note.sent, note.due = now, now.Add(t.notifier.retry<<note.tries)
	note.tries++
	t.notifier.options.Metrics.transfers.notify(notifySent)
	if conn == nil {
		return
	}
	key, err := t.key()
	if err != nil {
		t.trouble(origin, err)
		return
	}
	var message []byte
	message, note.mac = t.out.notify(note.id, edition.SOA(), key, now)
	// An error here is an unreachable peer: the next attempt comes by itself.
	if _, err := conn.Write(message); err != nil && note.tries == notifyTries {
		t.trouble(origin, err)
	}
}

// key returns the key as it is now, nil where messages are not signed.
func (t *notified) key() (*TSIGKey, error) {
	if t.Key == "" {
		return nil, nil
	}
	key := t.notifier.options.Keys.find(t.Key)
	if key == nil {
		return nil, fmt.Errorf("there is no key %s any more", t.Key)
	}
	return key, nil
}

// take takes a reply in.
func (t *notified) take(reply []byte) {
	origin, id, rcode, ok := readNotifyReply(reply)
	note := t.notices[origin]
	if !ok || note == nil || !note.open || note.tries == 0 || note.id != id {
		return
	}
	if rcode != NoError {
		note.open = false
		t.notifier.options.Metrics.transfers.notify(notifyRefused)
		t.trouble(origin, errors.New("it replies "+rcode.String()))
		return
	}
	if key, err := t.key(); err != nil || key != nil && !signedReply(reply, key, note.mac, time.Now()) {
		return // anybody could have made it up
	}
	note.open = false
	t.notifier.options.Metrics.transfers.notify(notifyAcknowledged)
	if t.failing {
		t.failing = false
		t.notifier.options.Log.Info("the secondary takes NOTIFY again", "secondary", t.Addr.String(), "zone", origin.String())
	}
}

// trouble logs that the target can't be told, once until it takes a message.
func (t *notified) trouble(origin zones.Name, err error) {
	if t.failing {
		return
	}
	t.failing = true
	t.notifier.options.Log.Warn("a secondary doesn't take NOTIFY; it learns of changes when its refresh timer ends", "secondary", t.Addr.String(), "zone", origin.String(), "err", err)
}

// ParseNotifyTarget reads the value of --notify: ADDRESS or ADDRESS:PORT, after
// key:NAME@ where messages are to be signed, and after ZONE= where the secondary
// has that zone alone. The name of the key is looked up in keys. The error is one
// sentence that names the value and what to write.
func ParseNotifyTarget(text string, keys []TSIGKey) (NotifyTarget, error) {
	wrong := func(format string, args ...any) (NotifyTarget, error) {
		return NotifyTarget{}, fmt.Errorf("--notify %q: %s", text, fmt.Sprintf(format, args...))
	}
	var target NotifyTarget
	rest := text
	if zone, after, has := strings.Cut(rest, "="); has {
		name, err := zones.ParseName(zone)
		if err != nil {
			return wrong("%q is no name of a zone: %v", zone, err)
		}
		target.Zone, rest = name, after
	}
	if keyed, is := strings.CutPrefix(rest, keyPrefix); is {
		name, after, has := strings.Cut(keyed, "@")
		if !has {
			return wrong("it names no address; write for example key:transfer.corp.test@192.0.2.53")
		}
		parsed, err := zones.ParseName(name)
		if err != nil {
			return wrong("%q is no name of a key: %v", name, err)
		}
		target.Key = parsed
		if !slices.ContainsFunc(keys, func(k TSIGKey) bool { return k.name == parsed }) {
			return wrong("there is no key %s; give it with --tsig-key-file", parsed)
		}
		rest = after
	}
	if addr, err := netip.ParseAddr(strings.Trim(rest, "[]")); err == nil {
		target.Addr = netip.AddrPortFrom(addr.Unmap(), defaultPort)
		return target, nil
	}
	addr, err := netip.ParseAddrPort(rest)
	if err != nil || addr.Port() == 0 {
		return wrong("%q is no IP address; write for example 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53", rest)
	}
	target.Addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	return target, nil
}
