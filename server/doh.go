package server

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	dohPath = "/dns-query" // RFC 8484 section 4.1.1 has it in its examples, and clients by default
	dohType = "application/dns-message"
)

// A dohHandler answers DNS queries in HTTP requests (RFC 8484).
type dohHandler struct {
	run *run
	// room has a place for each request that may be open.
	room chan struct{}
}

func newDoHHandler(r *run, requests int) *dohHandler {
	return &dohHandler{r, make(chan struct{}, requests)}
}

// ServeHTTP implements http.Handler.
func (h *dohHandler) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
	default:
		h.refuse(out, http.StatusServiceUnavailable, "Too many requests are open here.")
		return
	}
	query, status, fault := dohQuery(out, request)
	if fault != "" {
		h.refuse(out, status, fault)
		return
	}
	start := time.Now()
	// RemoteAddr is that of guarded, which is always an address with a port.
	client, _ := netip.ParseAddrPort(request.RemoteAddr)
	peer := Peer{Addr: client, Transport: HTTPS, Time: uint32(start.Unix())}
	w := h.run.borrow()
	defer h.run.giveBack(w)
	var outcome Outcome
	w.out, outcome = w.answer(w.out[:0], query, peer)
	local := func() netip.AddrPort { return dohLocal(request) }
	switch {
	case outcome.PassOn != nil:
		// The request ends with this method: it waits.
		done := make(chan struct{})
		w.passOn(query, peer, outcome.PassOn, start, returnPath{
			local: local,
			send:  func(framed []byte) error { return dohReply(out, framed[2:]) },
			done:  func() { close(done) },
		})
		<-done
		return
	case outcome.Dropped != Answered:
		http.Error(out, "The message is no DNS query.", http.StatusBadRequest)
	case dohReply(out, w.out) != nil:
		outcome = Outcome{Transport: HTTPS, Dropped: DropWrite}
	}
	w.observe(outcome)
	w.sample(HTTPS, 1, start)
	if w.tap != nil {
		w.seen(peer, local(), query, w.out, outcome, start)
	}
}

// dohReply writes a reply, with how long it may be kept.
func dohReply(out http.ResponseWriter, reply []byte) error {
	header := out.Header()
	header.Set("Content-Type", dohType)
	header.Set("Content-Length", strconv.Itoa(len(reply)))
	header.Set("Cache-Control", "max-age="+strconv.FormatUint(uint64(freshness(reply)), 10))
	_, err := out.Write(reply)
	if errors.Is(err, http.ErrBodyNotAllowed) { // of HEAD
		return nil
	}
	return err
}

// dohLocal is the address that a request came to; the zero one where net/http
// doesn't tell.
func dohLocal(request *http.Request) netip.AddrPort {
	if tcp, ok := request.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

// refuse answers with an error of HTTP, and one sentence.
func (h *dohHandler) refuse(out http.ResponseWriter, status int, fault string) {
	h.run.metrics.drop(HTTPS, DropHTTP)
	http.Error(out, fault, status)
}

// dohQuery returns the DNS message of a request, or the status and the sentence
// that refuse it.
func dohQuery(out http.ResponseWriter, request *http.Request) (query []byte, status int, fault string) {
	if request.URL.Path != dohPath {
		return nil, http.StatusNotFound, "DNS queries are answered at " + dohPath + "."
	}
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		return dohGet(request)
	case http.MethodPost:
		return dohPost(out, request)
	}
	out.Header().Set("Allow", "GET, HEAD, POST")
	return nil, http.StatusMethodNotAllowed, "Ask with GET or POST."
}

// dohGet reads the query from the URL (RFC 8484 section 4.1).
func dohGet(request *http.Request) (query []byte, status int, fault string) {
	const form = "the query goes in the parameter dns, once, in base64url without padding."
	values := request.URL.Query()["dns"]
	if len(values) != 1 || values[0] == "" {
		return nil, http.StatusBadRequest, "The parameter dns is not there once: " + form
	}
	if base64.RawURLEncoding.DecodedLen(len(values[0])) > maxQuery {
		return nil, http.StatusRequestURITooLong, tooLong
	}
	query, err := base64.RawURLEncoding.Strict().DecodeString(values[0])
	if err != nil {
		return nil, http.StatusBadRequest, "The parameter dns can't be decoded: " + form
	}
	return query, 0, ""
}

var tooLong = fmt.Sprintf("The query has more than %d octets.", maxQuery)

// dohPost reads the query from the body.
func dohPost(out http.ResponseWriter, request *http.Request) (query []byte, status int, fault string) {
	media, _, err := mime.ParseMediaType(request.Header.Get("Content-Type"))
	if err != nil || media != dohType {
		return nil, http.StatusUnsupportedMediaType, "The body must be of type " + dohType + "."
	}
	query, err = io.ReadAll(http.MaxBytesReader(out, request.Body, maxQuery))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, http.StatusRequestEntityTooLarge, tooLong
	case err != nil:
		return nil, http.StatusBadRequest, "The body did not come whole."
	}
	return query, 0, ""
}

// freshness is how many seconds an HTTP cache may keep a reply (RFC 8484 section
// 5.1): the lowest TTL of the answer section; without one, what the SOA of the
// authority section says of negative answers (RFC 2308 section 5), or the lowest
// TTL of a referral. Other replies, as errors are, stay fresh for no time.
func freshness(reply []byte) uint32 {
	if len(reply) < headerSize || Rcode(reply[3]&0xf) != NoError && Rcode(reply[3]&0xf) != NXDomain {
		return 0
	}
	at := headerSize
	if binary.BigEndian.Uint16(reply[4:]) > 0 {
		end, ok := skipName(reply, at)
		if !ok {
			return 0
		}
		at = end + 4
	}
	answers := int(binary.BigEndian.Uint16(reply[6:]))
	authority := int(binary.BigEndian.Uint16(reply[8:]))
	seconds, found := uint32(0), false
	for i := range answers + authority {
		if i == answers && found {
			break
		}
		rec, ok := readRecord(reply, at)
		if !ok {
			return 0
		}
		at = rec.end
		ttl := rec.ttl
		if zones.Type(rec.typ) == zones.TypeSOA && i >= answers && rec.end-rec.data > 4 {
			ttl = min(ttl, binary.BigEndian.Uint32(reply[rec.end-4:]))
		}
		if !found || ttl < seconds {
			seconds, found = ttl, true
		}
	}
	return seconds
}
