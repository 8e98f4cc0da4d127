package server

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func handlerOf(view View) *dohHandler {
	return newDoHHandler((&Server{View: view, ListenHTTPS: []Listen{{}}}).newRun(), 1)
}

func getURL(query []byte) string {
	return dohPath + "?dns=" + base64.RawURLEncoding.EncodeToString(query)
}

// What is no question by RFC 8484 gets the status that says so, and a sentence.
func TestDoHRequests(t *testing.T) {
	t.Parallel()
	h := handlerOf(viewOf(worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10")))
	query, _ := askFor(t, "www.corp.test A")
	text := base64.RawURLEncoding.EncodeToString(query)
	response := bytes.Clone(query)
	response[2] |= 0x80
	long := append(bytes.Clone(query), make([]byte, maxQuery)...)
	post := func(media string, body []byte) *http.Request {
		request := httptest.NewRequest("POST", dohPath, bytes.NewReader(body))
		request.Header.Set("Content-Type", media)
		return request
	}
	get := func(url string) *http.Request { return httptest.NewRequest("GET", url, nil) }
	for name, test := range map[string]struct {
		request *http.Request
		status  int
		says    string
	}{
		"GET":             {get(getURL(query)), 200, ""},
		"HEAD":            {httptest.NewRequest("HEAD", getURL(query), nil), 200, ""},
		"other parameter": {get(getURL(query) + "&ct=x"), 200, ""},
		"POST":            {post(dohType, query), 200, ""},
		"media parameter": {post("Application/DNS-Message; q=1", query), 200, ""},
		"FORMERR":         {post(dohType, query[:20]), 200, ""},
		"path":            {get("/"), 404, "DNS queries are answered at /dns-query."},
		"path below":      {get("/dns-query/x?dns=" + text), 404, "DNS queries are answered at /dns-query."},
		"method":          {httptest.NewRequest("PUT", getURL(query), nil), 405, "Ask with GET or POST."},
		"no parameter":    {get(dohPath), 400, "The parameter dns is not there once: the query goes in the parameter dns, once, in base64url without padding."},
		"twice":           {get(getURL(query) + "&dns=" + text), 400, "The parameter dns is not there once: the query goes in the parameter dns, once, in base64url without padding."},
		"padding":         {get(dohPath + "?dns=" + url.QueryEscape("AAA=")), 400, "The parameter dns can't be decoded: the query goes in the parameter dns, once, in base64url without padding."},
		"base64":          {get(dohPath + "?dns=%2B%2F%2B%2F"), 400, "The parameter dns can't be decoded: the query goes in the parameter dns, once, in base64url without padding."},
		"long GET":        {get(getURL(long)), 414, "The query has more than 4096 octets."},
		"long POST":       {post(dohType, long), 413, "The query has more than 4096 octets."},
		"media":           {post("text/plain", query), 415, "The body must be of type application/dns-message."},
		"no media":        {post("", query), 415, "The body must be of type application/dns-message."},
		"short":           {post(dohType, query[:11]), 400, "The message is no DNS query."},
		"empty":           {post(dohType, nil), 400, "The message is no DNS query."},
		"response":        {post(dohType, response), 400, "The message is no DNS query."},
	} {
		out := httptest.NewRecorder()
		h.ServeHTTP(out, test.request)
		if out.Code != test.status || test.says != "" && out.Body.String() != test.says+"\n" {
			t.Errorf("%s: %d %q, want %d %q", name, out.Code, out.Body, test.status, test.says)
		}
		if test.status == 200 && (out.Header().Get("Content-Type") != dohType || out.Header().Get("Content-Length") != fmt.Sprint(out.Body.Len())) {
			t.Errorf("%s: %v for %d octets", name, out.Header(), out.Body.Len())
		}
		if test.status == 405 && out.Header().Get("Allow") != "GET, HEAD, POST" {
			t.Errorf("%s: %v", name, out.Header())
		}
	}
}

// A slowBody is a request's body; open is called before it is read.
type slowBody struct{ open func() }

func (b slowBody) Read([]byte) (int, error) {
	b.open()
	return 0, io.EOF
}

// Requests that are open take room; who comes when there is none is told so, and
// room is there again when they end.
func TestDoHRoom(t *testing.T) {
	t.Parallel()
	h := handlerOf(viewOf(newWorld()))
	post := func(body io.Reader) int {
		request := httptest.NewRequest("POST", dohPath, body)
		request.Header.Set("Content-Type", dohType)
		out := httptest.NewRecorder()
		h.ServeHTTP(out, request)
		return out.Code
	}
	query, _ := askFor(t, "www.corp.test A")
	inside := 0
	post(slowBody{func() { inside = post(bytes.NewReader(query)) }})
	if after := post(bytes.NewReader(query)); inside != 503 || after != 200 {
		t.Errorf("%d while a request is open, %d after it; want 503 and 200", inside, after)
	}
}

// A cache may keep a reply as long as a resolver may.
func TestDoHFreshness(t *testing.T) {
	t.Parallel()
	w := worldOf(t, `zone corp.test
www.corp.test 60 A 192.0.2.10
alias.corp.test 300 CNAME www.corp.test
long.corp.test 300 CNAME absent.corp.test
zero.corp.test 0 A 192.0.2.10
sub.corp.test 120 NS ns.sub.corp.test
ns.sub.corp.test 30 A 192.0.2.11`)
	h := handlerOf(viewOf(w))
	for words, want := range map[string]int{
		"www.corp.test A":            60,
		"www.corp.test A option=12:": 60, // an OPT record has no TTL
		"alias.corp.test A":          60,
		"zero.corp.test A":           0,
		"www.corp.test AAAA":         5, // the SOA's minimum
		"absent.corp.test A":         5,
		"x.sub.corp.test A":          120,
		"long.corp.test A":           300, // RFC 8484 counts the answer section where there is one
		"www.other.test A":           0,
		"www.corp.test AXFR":         0,
	} {
		query, _ := askFor(t, words)
		out := httptest.NewRecorder()
		h.ServeHTTP(out, httptest.NewRequest("GET", getURL(query), nil))
		if got := out.Header().Get("Cache-Control"); got != fmt.Sprintf("max-age=%d", want) {
			t.Errorf("%s: %s, want %d: %s", words, got, want, describe(out.Body.Bytes(), HTTPS))
		}
	}
	for _, broken := range [][]byte{nil, make([]byte, 11), {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}} {
		if got := freshness(broken); got != 0 {
			t.Errorf("%x is fresh for %d seconds", broken, got)
		}
	}
}

// A client of HTTP/1.1 and one of HTTP/2 that asks many times on one connection.
func TestDoHProtocols(t *testing.T) {
	t.Parallel()
	at := startEncrypted(t, &Server{TCP: TCPOptions{MaxConnections: 2}})
	query, _ := askFor(t, "www.corp.test A")
	for _, protocol := range []string{"http/1.1", "h2"} {
		client := at.client(t, nil, protocol)
		for range 5 {
			reply, err := client.Get("https://dns.corp.test" + getURL(query))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(reply.Body)
			reply.Body.Close()
			if err != nil || !strings.Contains(describe(body, HTTPS), "192.0.2.10") || (reply.ProtoMajor == 2) != (protocol == "h2") {
				t.Errorf("%s: %s %v: %s", protocol, reply.Proto, err, describe(body, HTTPS))
			}
		}
	}
}

// FuzzDoH: any URL query and any body get an answer of DNS to the message they
// hold, or an error of HTTP.
func FuzzDoH(f *testing.F) {
	for i, query := range scriptQueries(f) {
		f.Add("dns="+base64.RawURLEncoding.EncodeToString(query), query, i%2 == 0)
	}
	f.Add("dns=%zz&dns=", []byte{}, false)
	h := handlerOf(viewOf(sizes(f)))
	f.Fuzz(func(t *testing.T, raw string, body []byte, get bool) {
		request := httptest.NewRequest("POST", dohPath, bytes.NewReader(body))
		request.Header.Set("Content-Type", dohType)
		if get {
			request = httptest.NewRequest("GET", dohPath, nil)
			request.URL.RawQuery = raw
			body = nil
			if values := request.URL.Query()["dns"]; len(values) == 1 {
				decoded, err := base64.RawURLEncoding.Strict().DecodeString(values[0])
				if err == nil {
					body = decoded
				}
			}
		}
		out := httptest.NewRecorder()
		h.ServeHTTP(out, request)
		switch reply := out.Body.Bytes(); {
		case out.Code == 200:
			outcome := Outcome{Size: len(reply)}
			checkReply(t, body, reply, outcome, HTTPS)
			if freshness(reply) > 1<<31 {
				t.Fatalf("fresh for %d seconds", freshness(reply))
			}
		case len(body) >= headerSize && len(body) <= maxQuery && binary.BigEndian.Uint16(body[2:])&flagQR == 0:
			t.Fatalf("%d %s for the query %x", out.Code, reply, body)
		case out.Code < 400 || out.Code >= 500 || len(reply) == 0:
			t.Fatalf("%d %q", out.Code, reply)
		}
	})
}
