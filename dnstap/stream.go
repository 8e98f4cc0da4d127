package dnstap

import (
	"context"
	"net"
	"net/netip"
	"time"

	tap "github.com/dnstap/golang-dnstap"
	"google.golang.org/protobuf/proto"
)

const (
	// socketTimeout bounds the reader's handshake and each write to it.
	socketTimeout = 5 * time.Second
	// drainTime is what the reader has for the rest when the program stops.
	drainTime = time.Second
)

// A stream is one connection to the reader.
type stream struct {
	sender  *Sender
	writer  tap.Writer
	pending uint64 // messages written since the last flush
}

// stream connects and sends until ctx ends or the connection breaks. connected
// says that the reader was there.
func (s *Sender) stream(ctx context.Context) (connected bool, err error) {
	dialer := net.Dialer{Timeout: socketTimeout}
	conn, err := dialer.DialContext(ctx, s.options.Target.Network, s.options.Target.Address)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	// A reader that doesn't read must not hold the program up when it stops.
	stopped := make(chan struct{})
	defer close(stopped)
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(drainTime)
		defer timer.Stop()
		select {
		case <-stopped:
		case <-timer.C:
			_ = conn.Close()
		}
	})()
	writer, err := tap.NewWriter(conn, &tap.WriterOptions{Bidirectional: true, Timeout: socketTimeout})
	if err != nil {
		return false, err
	}
	s.options.Log.Info("dnstap messages are read", "dnstap", s.options.Target.String())
	one := &stream{sender: s, writer: writer}
	err = one.run(ctx)
	s.dropped.Add(one.pending)
	return true, err
}

func (t *stream) run(ctx context.Context) error {
	for {
		select {
		case e := <-t.sender.queue:
			if err := t.send(&e); err != nil {
				return err
			}
			continue
		default:
		}
		// Nothing waits: what the library has gathered goes out.
		if err := t.flush(); err != nil {
			return err
		}
		select {
		case e := <-t.sender.queue:
			if err := t.send(&e); err != nil {
				return err
			}
		case <-ctx.Done():
			return t.drain()
		}
	}
}

// drain sends what is queued and ends the stream.
func (t *stream) drain() error {
	for range len(t.sender.queue) {
		e := <-t.sender.queue
		if err := t.send(&e); err != nil {
			return err
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.writer.Close()
}

// flush hands to the system what the library has gathered.
func (t *stream) flush() error {
	if buffered, is := t.writer.(interface{ Flush() error }); is {
		if err := buffered.Flush(); err != nil {
			return err
		}
	}
	t.sender.written.Add(t.pending)
	t.pending = 0
	return nil
}

// send writes the messages of one exchange.
func (t *stream) send(e *Exchange) error {
	t.sender.octets.Add(-e.size())
	t.pending += e.messages()
	if err := t.write(e, tap.Message_AUTH_QUERY); err != nil || e.Reply == nil {
		return err
	}
	return t.write(e, tap.Message_AUTH_RESPONSE)
}

func (t *stream) write(e *Exchange, kind tap.Message_Type) error {
	frame, err := proto.Marshal(t.sender.options.message(e, kind))
	if err != nil {
		return err
	}
	_, err = t.writer.WriteFrame(frame)
	return err
}

// message makes the dnstap message of a query or of its reply.
func (o *Options) message(e *Exchange, kind tap.Message_Type) *tap.Dnstap {
	m := &tap.Message{Type: kind.Enum(), SocketProtocol: protocol(e.Protocol)}
	m.QueryTimeSec, m.QueryTimeNsec = instant(e.Came)
	if client := e.Client.Addr().Unmap(); client.IsValid() {
		m.SocketFamily = tap.SocketFamily_INET6.Enum()
		if client.Is4() {
			m.SocketFamily = tap.SocketFamily_INET.Enum()
		}
	}
	m.QueryAddress, m.QueryPort = end(e.Client)
	m.ResponseAddress, m.ResponsePort = end(e.Server)
	if e.Zone != "" {
		m.QueryZone = []byte(e.Zone)
	}
	if kind == tap.Message_AUTH_QUERY {
		m.QueryMessage = e.Query
	} else {
		m.ResponseMessage = e.Reply
		m.ResponseTimeSec, m.ResponseTimeNsec = instant(e.Sent)
	}
	d := &tap.Dnstap{Type: tap.Dnstap_MESSAGE.Enum(), Message: m}
	if o.Identity != "" {
		d.Identity = []byte(o.Identity)
	}
	if o.Version != "" {
		d.Version = []byte(o.Version)
	}
	return d
}

// protocol is left out for one that dnstap has no word for.
func protocol(name string) *tap.SocketProtocol {
	switch name {
	case "udp":
		return tap.SocketProtocol_UDP.Enum()
	case "tcp":
		return tap.SocketProtocol_TCP.Enum()
	case "tls", "dot":
		return tap.SocketProtocol_DOT.Enum()
	case "https", "doh":
		return tap.SocketProtocol_DOH.Enum()
	}
	return nil
}

func instant(t time.Time) (seconds *uint64, nanoseconds *uint32) {
	return proto.Uint64(uint64(t.Unix())), proto.Uint32(uint32(t.Nanosecond()))
}

func end(a netip.AddrPort) (address []byte, port *uint32) {
	if !a.IsValid() {
		return nil, nil
	}
	return a.Addr().Unmap().AsSlice(), proto.Uint32(uint32(a.Port()))
}
