package exchange

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Ask sends the query over UDP, again every resend (never where that is 0), and
// over TCP where the reply is truncated. It returns the first reply that answers
// the query, or an error once ctx ends or the server can't be asked. The query
// has one question and an id that nobody can guess. Other packets are left out,
// whoever sent them: each query has a socket, and so a port, of its own.
func Ask(ctx context.Context, server netip.AddrPort, query *dns.Msg, resend time.Duration) (*dns.Msg, error) {
	reply, err := one(ctx, "udp", server, query, resend)
	if err == nil && reply.Truncated {
		reply, err = one(ctx, "tcp", server, query, 0)
	}
	return reply, err
}

func one(ctx context.Context, network string, server netip.AddrPort, query *dns.Msg, resend time.Duration) (*dns.Msg, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, network, server.String())
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	// A read doesn't know of the context.
	defer context.AfterFunc(ctx, func() { _ = socket.Close() })()
	conn := &dns.Conn{Conn: socket, UDPSize: dns.MaxMsgSize}
	if resend > 0 {
		packet, err := query.Pack()
		if err != nil {
			return nil, err
		}
		defer repeat(socket, packet, resend)()
	}
	if err := conn.WriteMsg(query); err != nil {
		return nil, err
	}
	for {
		reply, err := conn.ReadMsg()
		switch {
		case reply == nil:
			return nil, err
		case reply.Id != query.Id || !reply.Response || len(reply.Question) != 1 ||
			reply.Question[0].Qtype != query.Question[0].Qtype || !strings.EqualFold(reply.Question[0].Name, query.Question[0].Name):
			continue
		case err != nil:
			return nil, errors.New("sends a malformed reply")
		}
		return reply, nil
	}
}

// repeat sends a packet after each pause until the returned function is called.
func repeat(socket net.Conn, packet []byte, pause time.Duration) (stop func()) {
	ended := make(chan struct{})
	go func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				_, _ = socket.Write(packet) // an error shows to the reader
			}
		}
	}()
	return func() { close(ended) }
}

// Cause says an error of Ask in words that go on from the server's name, without
// the ports of this side, which differ from try to try. within is the time that
// ctx gave.
func Cause(ctx context.Context, err error, within time.Duration) error {
	if ctx.Err() != nil {
		return fmt.Errorf("does not answer within %s", within)
	}
	if call := (*os.SyscallError)(nil); errors.As(err, &call) {
		return fmt.Errorf("can't be reached (%w)", call.Err)
	}
	return fmt.Errorf("can't be asked (%w)", err)
}
