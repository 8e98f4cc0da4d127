package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

const (
	// maxStreams bounds the requests that one HTTP/2 connection has open. The
	// limit on connections is a limit on memory only with it.
	maxStreams = 100
	// maxRequests bounds the requests that are open on all connections: one that
	// waits for its body takes some 20 KiB.
	maxRequests = 4096
	// maxHTTPHeader has room for the longest query in a URL (4/3 of maxQuery
	// octets) and as much again for header fields.
	maxHTTPHeader = 12 << 10
)

// A webServer answers DNS over HTTPS on connections whose handshake is done. It
// is net/http's server, so that HTTP/2 is not ours to get right.
type webServer struct {
	run    *run
	http   *http.Server
	config *tls.Config // of handshakes
	// conns are on their way to http.Serve, until stopped is closed.
	conns   chan net.Conn
	stopped chan struct{}
	stop    sync.Once
}

// newWebServer starts nothing. config is that of the handshakes, which are made
// before connections come here.
func (r *run) newWebServer(config *tls.Config) *webServer {
	s := &webServer{
		run:     r,
		config:  config,
		conns:   make(chan net.Conn),
		stopped: make(chan struct{}),
		http: &http.Server{
			Handler:           newDoHHandler(r, maxRequests),
			TLSConfig:         config.Clone(), // tells that HTTP/2 is offered; net/http writes into it
			ReadHeaderTimeout: r.tcp.IdleTimeout,
			ReadTimeout:       r.tcp.IdleTimeout,
			WriteTimeout:      r.tcp.WriteTimeout,
			IdleTimeout:       r.tcp.IdleTimeout,
			MaxHeaderBytes:    maxHTTPHeader,
			HTTP2: &http.HTTP2Config{
				MaxConcurrentStreams:          maxStreams,
				MaxReadFrameSize:              16 << 10,
				MaxReceiveBufferPerConnection: 64 << 10,
				MaxReceiveBufferPerStream:     16 << 10,
				MaxDecoderHeaderTableSize:     4 << 10,
				WriteByteTimeout:              r.tcp.WriteTimeout,
			},
			ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug), // what peers do wrong
		},
	}
	s.http.ConnState = s.state
	return s
}

// state leaves a connection that has brought something to net/http, which ends it
// between two requests when the server stops. The others, which it would wait
// for, are interrupted.
func (s *webServer) state(c net.Conn, now http.ConnState) {
	if now != http.StateActive && now != http.StateIdle {
		return
	}
	secured, ok := c.(*tls.Conn)
	if !ok {
		return
	}
	if guard, ok := secured.NetConn().(*guarded); ok && !guard.kept {
		guard.kept = true
		s.run.conns.keep(guard.Conn)
	}
}

// take hands a connection over, which it closes where the server has stopped.
func (s *webServer) take(c net.Conn) {
	select {
	case s.conns <- c:
	case <-s.stopped:
		_ = c.Close()
	}
}

// serve answers until ctx ends. Then a goroutine of run.open lets the requests
// end that have begun, for as long as the run's grace lasts.
func (s *webServer) serve(ctx context.Context) error {
	s.run.open.Go(func() {
		<-ctx.Done()
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.run.grace)
		defer cancel()
		if s.http.Shutdown(limit) != nil {
			_ = s.http.Close() // of connections, which the drain cuts anyway
		}
	})
	if err := s.http.Serve(s); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Accept implements net.Listener for http.Serve.
func (s *webServer) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.stopped:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *webServer) Close() error {
	s.stop.Do(func() { close(s.stopped) })
	return nil
}

// Addr implements net.Listener. Nobody asks: connections come from several
// sockets.
func (s *webServer) Addr() net.Addr { return &net.TCPAddr{} }
