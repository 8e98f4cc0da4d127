package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// leaving says that the server is about to stop, so that readiness fails.
type leaving struct{ atomic.Bool }

// objectOf finds the Kubernetes object of an owner; nil where it is unknown.
type objectOf = func(zones.Owner) metav1.Object

// A web is the HTTP side of the server: metrics and health on one address and on
// the health socket, the admin API on another address.
type web struct {
	log   *slog.Logger
	sides []*webSide
}

// A webSide is one address, or the health socket.
type webSide struct {
	flag, address string
	server        *http.Server
	// listener is nil while the address is another process'.
	listener net.Listener
}

// HTTP clients get so much time to send a request's head.
const headTimeout = 5 * time.Second

// An address that another process has is tried so often, and told of once in
// waitingTold tries.
const (
	takenPause  = 500 * time.Millisecond
	waitingTold = 120
)

// openWeb opens the addresses. With --reuse-port, one that is taken is left for
// later: the process that this one takes the place of still has it, and answers
// for itself there. Sharing it would give a scrape or probe to either of them.
func (d *daemon) openWeb() (*web, error) {
	w := &web{log: d.log}
	health := d.metricsHandler()
	for _, side := range []struct {
		flag, address string
		handler       http.Handler
	}{
		{"--metrics-address", d.serving.metricsAddress, health},
		{"--admin-address", d.serving.adminAddress, d.pipeline.adminHandler()},
		{"--health-socket", d.serving.healthSocket, health},
	} {
		if side.address == "" {
			continue
		}
		one := &webSide{flag: side.flag, address: side.address, server: &http.Server{Handler: side.handler, ReadHeaderTimeout: headTimeout}}
		err := one.listen()
		switch {
		case err == nil:
			w.listening(one)
		case side.flag != "--health-socket" && d.serving.reusePort && errors.Is(err, syscall.EADDRINUSE):
			w.log.Info("another process has the address; it is tried until that has gone (--reuse-port)", "flag", strings.TrimPrefix(one.flag, "--"), "address", one.address)
		default:
			w.close()
			return nil, fmt.Errorf("%s=%s can't be listened on: %w; choose another %s, or \"\" for none", side.flag, side.address, listenCause(err), one.kind())
		}
		w.sides = append(w.sides, one)
	}
	return w, nil
}

func (s *webSide) kind() string {
	if s.flag == "--health-socket" {
		return "path"
	}
	return "address"
}

func (s *webSide) listen() (err error) {
	if s.kind() == "path" {
		s.listener, err = listenSocket(s.address)
	} else {
		s.listener, err = net.Listen("tcp", s.address)
	}
	return err
}

func (w *web) listening(s *webSide) {
	w.log.Info("listening", "flag", strings.TrimPrefix(s.flag, "--"), "address", s.listener.Addr().String())
}

// await returns when a side has its address, which another process has had, or
// when ctx ends. Servers that don't take each other's place but share a port by
// mistake are told of: each gets a part of the other's queries.
func (w *web) await(ctx context.Context, s *webSide) {
	tick := time.NewTicker(takenPause)
	defer tick.Stop()
	for tries := 1; s.listener == nil; tries++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.listen()
		if err == nil {
			w.listening(s)
		} else if tries%waitingTold == 0 {
			w.log.Warn("the address is still another process'; end that, or give this one addresses of its own: two servers that share a port answer for each other",
				"flag", strings.TrimPrefix(s.flag, "--"), "address", s.address, "error", listenCause(err))
		}
	}
}

// listenCause leaves what is wrong: the address stands in the message already.
func listenCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// serve serves until ctx ends.
func (w *web) serve(ctx context.Context) error {
	var parts errgroup.Group
	for _, side := range w.sides {
		parts.Go(func() error {
			if w.await(ctx, side); side.listener == nil {
				return nil
			}
			if err := side.server.Serve(side.listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	parts.Go(func() error {
		<-ctx.Done()
		for _, side := range w.sides {
			_ = side.server.Close()
		}
		return nil
	})
	return parts.Wait()
}

// close closes what is open. It is not called while serve runs.
func (w *web) close() {
	for _, side := range w.sides {
		if side.listener != nil {
			_ = side.listener.Close()
		}
	}
}

func (d *daemon) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", d.readyz)
	return mux
}

// readyz answers 200 when queries get answers, and 503 otherwise; the body
// names what is waited for, and every kind and zone file that can't be read.
func (d *daemon) readyz(w http.ResponseWriter, _ *http.Request) {
	status := d.pipeline.feed.Status()
	var body strings.Builder
	code := http.StatusOK
	switch {
	case d.leaving.Load():
		code = http.StatusServiceUnavailable
		body.WriteString("stopping\n")
	case !status.Ready:
		code = http.StatusServiceUnavailable
		fmt.Fprintf(&body, "waiting for %s\n", status.Waiting)
	case !d.bound.Load():
		code = http.StatusServiceUnavailable
		body.WriteString("waiting for the addresses to answer on\n")
	default:
		body.WriteString("ready\n")
	}
	if !status.Saved.IsZero() {
		fmt.Fprintf(&body, "serving the state saved at %s until the cluster is read\n", status.Saved.Format(time.RFC3339))
	}
	for _, source := range status.Sources {
		state := "not synced"
		switch {
		case source.Synced:
			state = "synced"
		case len(source.Kinds) > 0 && source.Kinds[0].Absent:
			state = "at rest, since the cluster has no " + string(source.Kinds[0].Kind)
		}
		fmt.Fprintf(&body, "source %s: %s, %d objects\n", source.Source, state, source.Objects)
		for _, kind := range source.Kinds {
			if kind.Problem != nil {
				fmt.Fprintf(&body, "  %s can't be read since %s: %v\n", kind.Kind, kind.Since.UTC().Format(time.RFC3339), kind.Problem)
			}
		}
	}
	for _, problem := range d.pipeline.files.Problems() {
		fmt.Fprintf(&body, "zone %s stays as it was since %s: %v\n", problem.Origin, problem.Since.UTC().Format(time.RFC3339), problem.Err)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// A client that has gone misses the text, nothing else.
	_, _ = w.Write([]byte(body.String()))
}
