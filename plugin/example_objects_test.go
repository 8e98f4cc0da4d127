package plugin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/test/daemon"
)

// TestExampleObjects: for every name of deploy/example, and beside each, the
// plugin writes what the server answers.
func TestExampleObjects(t *testing.T) {
	t.Parallel()
	h := started(t, nil, ear{make(chan string, 1)}, "manifests ../deploy/example")
	var names []string
	daemon.Await(t, func() error {
		if !h.Ready() {
			return errors.New("the handler isn't ready")
		}
		ch, err := h.Transfer("corp.test.", 0)
		if err != nil {
			return err
		}
		names = nil
		for records := range ch {
			for _, rr := range records {
				names = append(names, rr.Header().Name, "missing."+rr.Header().Name)
			}
		}
		return nil
	})
	if len(names) < 20 {
		t.Fatalf("only %d names are asked for", len(names))
	}
	for _, name := range names {
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeSRV, dns.TypeSOA, dns.TypeNS} {
			r := new(dns.Msg).SetQuestion(name, kind)
			r.SetEdns0(1232, false)
			query, err := r.Pack()
			if err != nil {
				t.Fatal(err)
			}
			w := &caught{}
			reply, _ := server.Respond(nil, query, h.pipeline.Store.Load(), peerOf(w))
			want := new(dns.Msg)
			if err := want.Unpack(reply); err != nil {
				t.Fatal(err)
			}
			if _, err := h.ServeDNS(t.Context(), request.NewScrubWriter(r, w), r); err != nil || w.msg == nil {
				t.Fatalf("%s %s: no reply (%v)", name, dns.TypeToString[kind], err)
			}
			if got, want := content(w.msg), content(want); got != want {
				t.Errorf("%s %s:\nthe plugin writes\n%s\nthe server answers\n%s", name, dns.TypeToString[kind], got, want)
			}
		}
	}
}

// content is a message without what differs from reply to reply, and by who
// writes it: the order in a set, and the size that the OPT record offers.
func content(m *dns.Msg) string {
	m = m.Copy()
	if opt := m.IsEdns0(); opt != nil {
		opt.SetUDPSize(1232)
	}
	for _, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
		slices.SortFunc(section, func(a, b dns.RR) int { return strings.Compare(a.String(), b.String()) })
	}
	return m.String()
}
