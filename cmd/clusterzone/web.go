package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
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

// A web is the HTTP side of the server: metrics and health on one address, the
// admin API on another.
type web struct {
	servers   []*http.Server
	listeners []net.Listener
}

// HTTP clients get so much time to send a request's head.
const headTimeout = 5 * time.Second

func (d *daemon) openWeb() (*web, error) {
	w := &web{}
	for _, side := range []struct {
		flag, address string
		handler       http.Handler
	}{
		{"--metrics-address", d.serving.metricsAddress, d.metricsHandler()},
		{"--admin-address", d.serving.adminAddress, d.pipeline.adminHandler()},
	} {
		if side.address == "" {
			continue
		}
		listener, err := net.Listen("tcp", side.address)
		if err != nil {
			w.close()
			return nil, fmt.Errorf("%s=%s can't be listened on: %w; choose another address, or \"\" for none", side.flag, side.address, listenCause(err))
		}
		w.listeners = append(w.listeners, listener)
		w.servers = append(w.servers, &http.Server{Handler: side.handler, ReadHeaderTimeout: headTimeout})
		d.log.Info("listening", "flag", strings.TrimPrefix(side.flag, "--"), "address", listener.Addr().String())
	}
	return w, nil
}

// listenCause leaves what is wrong: the address stands in the message already.
func listenCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

func (w *web) serve(ctx context.Context) error {
	var parts errgroup.Group
	for i, server := range w.servers {
		parts.Go(func() error {
			if err := server.Serve(w.listeners[i]); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	parts.Go(func() error {
		<-ctx.Done()
		for _, server := range w.servers {
			_ = server.Close()
		}
		return nil
	})
	return parts.Wait()
}

func (w *web) close() {
	for _, listener := range w.listeners {
		_ = listener.Close()
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
