package plugin

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/test/script"
	"github.com/clusterzone/clusterzone/zones"
)

// otherStories are about what CoreDNS decides in front of the plugin, and why its
// answers differ from the server's there.
var otherStories = map[string]string{
	"pains-106-truncation": "how long a reply over UDP may be is CoreDNS' decision: the client's size and the plugin bufsize count, not udp-size",
}

// TestStories runs the server's stories with the plugin's answers, through what
// CoreDNS puts around every plugin: the message as it was unpacked, and the
// writer that makes replies fit.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../test/script/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	known := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if why := otherStories[name]; why != "" {
				t.Skip(why)
			}
			script.Run(t, file, answering, false)
		})
		if otherStories[name] != "" {
			known++
		}
	}
	if known != len(otherStories) {
		t.Errorf("%d stories are left out, and %d of them are there", len(otherStories), known)
	}
}

// answering is the script.Program of the plugin.
func answering(options server.Options, store *zones.Store) script.Answer {
	p := &assembly.Pipeline{Store: store}
	for _, origin := range store.Load().Origins() {
		p.Origins = append(p.Origins, zones.Origin{Name: origin})
	}
	h := &Handler{pipeline: p, answers: newAnswers(options, nil), next: stranger(options, store)}
	return func(query []byte, peer server.Peer) ([]byte, error) {
		r := new(dns.Msg)
		if err := r.Unpack(query); err != nil {
			return nil, err
		}
		w := &caught{ResponseWriter: test.ResponseWriter{TCP: peer.Transport == server.TCP, RemoteIP: peer.Addr.Addr().String()}}
		rcode, err := h.ServeDNS(context.Background(), request.NewScrubWriter(r, w), r)
		switch {
		case err != nil:
			return nil, err
		case w.msg == nil:
			return nil, errors.New("nothing is written, but " + dns.RcodeToString[rcode])
		}
		return w.msg.Pack()
	}
}

// stranger is the next plugin: to names outside of the zones it says what the
// server does, since these are not the plugin's.
func stranger(options server.Options, store *zones.Store) plugin.Handler {
	responder := server.Responder{Options: options}
	return plugin.HandlerFunc(func(_ context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
		query, err := r.Pack()
		if err != nil {
			return 0, err
		}
		reply, _ := responder.Respond(nil, query, store.Load(), peerOf(w))
		m := new(dns.Msg)
		if err := m.Unpack(reply); err != nil {
			return 0, err
		}
		return 0, w.WriteMsg(m)
	})
}

// caught keeps what is written.
type caught struct {
	test.ResponseWriter
	msg *dns.Msg
}

func (c *caught) WriteMsg(m *dns.Msg) error {
	c.msg = m
	return nil
}
