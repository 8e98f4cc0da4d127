package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// An encryptedListener takes connections for TLS or HTTPS.
type encryptedListener struct {
	net.Listener
	addr      netip.AddrPort
	transport Transport
}

// bindEncrypted opens the addresses for TLS and HTTPS. What it has opened when it
// fails stays in s. share is as openOptions has it.
func (s *sockets) bindEncrypted(ctx context.Context, overTLS, overHTTPS []Listen, share bool) error {
	for _, group := range []struct {
		flag      string
		transport Transport
		listens   []Listen
	}{{"listen-tls", TLS, overTLS}, {"listen-https", HTTPS, overHTTPS}} {
		for _, listen := range group.listens {
			err := eachFamily(listen, group.flag, func(addr netip.AddrPort) (netip.AddrPort, error) {
				family := "6"
				if addr.Addr().Is4() {
					family = "4"
				}
				var config net.ListenConfig
				config.SetMultipathTCP(false)
				if share {
					config.Control = sharePort
				}
				listener, err := config.Listen(ctx, "tcp"+family, addr.String())
				if err != nil {
					return addr, err
				}
				addr = netip.AddrPortFrom(addr.Addr(), listener.Addr().(*net.TCPAddr).AddrPort().Port())
				s.encrypted = append(s.encrypted, encryptedListener{listener, addr, group.transport})
				return addr, nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// encryptedAddrs are the addresses bound for a transport.
func (s *sockets) encryptedAddrs(transport Transport) (addrs []netip.AddrPort) {
	for _, listener := range s.encrypted {
		if listener.transport == transport {
			addrs = append(addrs, listener.addr)
		}
	}
	return addrs
}

// serveEncrypted accepts connections for TLS and HTTPS in goroutines of loops,
// until ctx ends. Those that are open then end by run.drain.
func (r *run) serveEncrypted(ctx context.Context, loops *errgroup.Group, listeners []encryptedListener, config *tls.Config) {
	var web *webServer
	for _, listener := range listeners {
		to := &gate{run: r, transport: listener.transport}
		if listener.transport == TLS {
			to.config = tlsConfig(config, "dot") // RFC 7858 has none, IANA registered this one
		} else {
			if web == nil {
				web = r.newWebServer(tlsConfig(config, "h2", "http/1.1"))
				loops.Go(func() error { return web.serve(ctx) })
			}
			to.config, to.web = web.config, web
		}
		loops.Go(func() error { return r.accept(ctx, listener, to) })
	}
}

// tlsConfig is config for one kind of service. Clients need not name the
// application protocol.
func tlsConfig(config *tls.Config, protocols ...string) *tls.Config {
	config = config.Clone()
	config.NextProtos = protocols
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12) // RFC 9325 section 3.1.1
	return config
}

// A gate is what an admitted connection goes through before its first query.
type gate struct {
	run       *run
	transport Transport
	config    *tls.Config // nil over TCP
	web       *webServer  // HTTPS only
}

// enter reads the PROXY header, where there has to be one, makes the TLS
// handshake, where there is one, and has the queries answered. Header and
// handshake have the time that an idle connection has. It closes c in the end.
func (g *gate) enter(ctx context.Context, c net.Conn, from netip.AddrPort) {
	r := g.run
	guard := &guarded{Conn: c, peer: from, release: func() { r.conns.remove(c) }}
	peer, ok := g.admit(ctx, c, from)
	guard.peer = peer
	switch {
	case !ok:
		_ = guard.Close()
	case g.config == nil:
		defer guard.release()
		r.serveConn(ctx, c, Peer{Addr: peer, Transport: g.transport})
	default:
		g.secure(ctx, c, guard)
	}
}

// admit finds out who the client is.
func (g *gate) admit(ctx context.Context, c net.Conn, from netip.AddrPort) (peer netip.AddrPort, ok bool) {
	r := g.run
	proxied := r.proxied(from.Addr())
	if !proxied && g.config == nil {
		return from, true
	}
	// connections.interrupt may have come before this deadline: ctx tells.
	if c.SetDeadline(time.Now().Add(r.tcp.IdleTimeout)) != nil || ctx.Err() != nil {
		return from, false
	}
	if !proxied {
		return from, true
	}
	client, err := readProxyHeader(c)
	switch {
	case errors.Is(err, errProxySilent):
		return from, false
	case err != nil:
		r.metrics.drop(g.transport, DropProxy)
		r.trouble("a connection is closed", err, "from", from, "transport", g.transport.String())
		return from, false
	}
	if !client.IsValid() {
		client = from
	}
	if refused := r.conns.name(c, client.Addr()); refused != "" {
		r.metrics.refused.WithLabelValues(refused).Inc()
		return client, false
	}
	return client, true
}

// secure makes the handshake and serves what comes through it.
func (g *gate) secure(ctx context.Context, c net.Conn, guard *guarded) {
	r := g.run
	secured := tls.Server(guard, g.config)
	if err := secured.Handshake(); err != nil {
		if !errors.Is(err, io.EOF) { // nothing came: somebody looks whether the port is open
			r.metrics.drop(g.transport, DropHandshake)
		}
		r.log.Debug("a TLS handshake failed", "err", err, "peer", guard.peer, "transport", g.transport.String())
		_ = guard.Close()
		return
	}
	if g.web == nil {
		r.serveConn(ctx, secured, Peer{Addr: guard.peer, Transport: g.transport}) // closes it
		return
	}
	// From here on net/http says how long it waits.
	if c.SetDeadline(time.Time{}) != nil || ctx.Err() != nil {
		_ = secured.Close()
		return
	}
	r.metrics.connections.Inc()
	guard.counted = r.metrics.connections.Dec
	g.web.take(secured)
}

// A guarded connection gives its place free when it is closed, and has the
// address of the client, which a PROXY header may have named.
type guarded struct {
	net.Conn
	peer    netip.AddrPort
	release func()
	counted func() // nil where it isn't
	kept    bool   // by connections.keep; of net/http's goroutine
	once    sync.Once
}

// RemoteAddr implements net.Conn.
func (g *guarded) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(g.peer) }

// Close implements net.Conn.
func (g *guarded) Close() error {
	err := g.Conn.Close()
	g.once.Do(func() {
		g.release()
		if g.counted != nil {
			g.counted()
		}
	})
	return err
}
