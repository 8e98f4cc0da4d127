package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/clusterzone/clusterzone/adminpage"
)

// An endpoint is one page of the admin API: docs/api.md describes them. It
// returns the value to be written as JSON, or an error that is the asker's
// fault: an apiError with a status of its own, or any other for 400.
type endpoint struct {
	path       string
	parameters []string
	answer     func(*question) (any, error)
}

func (p *pipeline) endpoints() []endpoint {
	return []endpoint{
		{"/api/v1/zones", []string{"limit", "cursor"}, p.listZones},
		{"/api/v1/records", []string{"zone", "name", "limit", "cursor"}, p.listRecords},
		{"/api/v1/explain", []string{"name", "type"}, p.answerExplain},
		{"/api/v1/skipped", []string{"namespace", "source", "reason", "limit", "cursor"}, p.listSkipped},
		{"/api/v1/sources", nil, p.listSources},
		{"/api/v1/mirrors", []string{"mirror", "limit"}, p.listMirrors},
	}
}

// adminHandler serves the admin API and the page for people. It changes nothing, and whoever reaches
// it may ask.
func (p *pipeline) adminHandler() http.Handler {
	mux := http.NewServeMux()
	var paths []string
	for _, e := range p.endpoints() {
		paths = append(paths, e.path)
		mux.HandleFunc(e.path, func(w http.ResponseWriter, r *http.Request) {
			q, err := readQuestion(r.URL.RawQuery, e.parameters)
			var value any
			if err == nil {
				value, err = e.answer(q)
			}
			if err != nil {
				writeError(w, err)
				return
			}
			writeJSON(w, http.StatusOK, value)
		})
	}
	page := adminpage.Handler(pageData{p})
	for _, path := range adminpage.Paths() {
		mux.Handle(path, page)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, notFound("%s is no page; there are %s", r.URL.Path, strings.Join(paths, ", ")))
	})
	return guarded(mux)
}

// guarded lets requests through that read, and that name the server by an
// address. A web page in the browser of somebody who reaches the server could
// else ask under a name of its own that it points here (DNS rebinding), and
// read what stands here.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !namesAddress(r.Host):
			writeError(w, apiError{status: http.StatusForbidden, Message: fmt.Sprintf("the host %q of the request is neither an IP address nor localhost; ask by address, or through a port forwarded to localhost", r.Host)})
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			writeError(w, apiError{status: http.StatusMethodNotAllowed, Message: fmt.Sprintf("%s changes nothing here; ask with GET", r.Method)})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// namesAddress reports whether a request's Host is an IP address or localhost,
// with a port or without.
func namesAddress(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

// An apiError is the body of every answer of the admin API but 200.
type apiError struct {
	status  int
	Message string `json:"error"`
}

// Error returns the message.
func (e apiError) Error() string { return e.Message }

func notFound(format string, args ...any) error {
	return apiError{status: http.StatusNotFound, Message: fmt.Sprintf(format, args...)}
}

func writeError(w http.ResponseWriter, err error) {
	problem := apiError{status: http.StatusBadRequest, Message: err.Error()}
	errors.As(err, &problem)
	writeJSON(w, problem.status, problem)
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value) // a client that has gone misses it, nothing else
}

// answerExplain says why a name resolves as it does.
func (p *pipeline) answerExplain(q *question) (any, error) {
	if q.text("name") == "" {
		return nil, errors.New("name is missing; write ?name=shop.corp.example, and &type=AAAA if you like")
	}
	name, kind, err := parseQuestion(q.text("name"), q.text("type"))
	if err != nil {
		return nil, err
	}
	return p.explain(name, kind), nil
}
