package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// built makes the handler of a block for corp.test without starting it.
func built(t *testing.T, options ...string) *Handler {
	t.Helper()
	h, err := builtFor([]string{"corp.test."}, append(options, "resolver none")...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// started runs a handler until the test's end.
func started(t *testing.T, before []*Handler, told notifier, options ...string) *Handler {
	t.Helper()
	h := built(t, options...)
	h.start(before, told)
	t.Cleanup(h.stop)
	return h
}

const objectsFile = "manifests testdata/objects.yaml"

func readyHandler(t *testing.T, told notifier, options ...string) *Handler {
	t.Helper()
	h := started(t, nil, told, append(options, objectsFile)...)
	daemon.Await(t, func() error {
		if !h.Ready() {
			return errors.New("the handler isn't ready")
		}
		return nil
	})
	return h
}

// ask returns rcode and answer section of what the handler writes.
func ask(t *testing.T, h plugin.Handler, name string, kind uint16) string {
	t.Helper()
	r := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	w := &caught{}
	rcode, err := h.ServeDNS(t.Context(), request.NewScrubWriter(r, w), r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if w.msg == nil {
		return "nothing, " + dns.RcodeToString[rcode]
	}
	words := []string{dns.RcodeToString[w.msg.Rcode]}
	for _, rr := range w.msg.Answer {
		words = append(words, strings.Join(strings.Fields(strings.TrimPrefix(rr.String(), rr.Header().String())), " "))
	}
	slices.Sort(words[1:])
	return strings.Join(words, " ")
}

// A nextPlugin stands behind ours, and has an address for every name.
type nextPlugin struct{ asked []string }

func (n *nextPlugin) Name() string { return "next" }

func (n *nextPlugin) ServeDNS(_ context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	name := r.Question[0].Name
	n.asked = append(n.asked, name)
	m := new(dns.Msg).SetReply(r)
	m.Answer = append(m.Answer, test.A(name+" 5 IN A 203.0.113.9"))
	return 0, w.WriteMsg(m)
}

func TestFallthrough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ option, name, want, asked string }{
		{"", "shop.corp.test", "NOERROR 192.0.2.10 192.0.2.11", ""},
		{"", "nobody.corp.test", "NXDOMAIN", ""},
		{"", "away.corp.test", "NXDOMAIN gone.corp.test.", ""},
		{"", "corp.example", "NOERROR 203.0.113.9", "corp.example."},
		{"fallthrough", "shop.corp.test", "NOERROR 192.0.2.10 192.0.2.11", ""},
		{"fallthrough", "nobody.corp.test", "NOERROR 203.0.113.9", "nobody.corp.test."},
		{"fallthrough", "below.corp.test", "NOERROR", ""},
		{"fallthrough", "pending.corp.test", "NOERROR", ""},
		{"fallthrough", "away.corp.test", "NOERROR 203.0.113.9 gone.corp.test.", "gone.corp.test."},
		{"fallthrough sub.corp.test", "nobody.corp.test", "NXDOMAIN", ""},
		{"fallthrough sub.corp.test", "a.sub.corp.test", "NOERROR 203.0.113.9", "a.sub.corp.test."},
	} {
		t.Run(strings.ReplaceAll(c.option+" "+c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			h := readyHandler(t, nil, c.option)
			next := &nextPlugin{}
			h.next = next
			if got := ask(t, h, c.name, dns.TypeA); got != c.want {
				t.Errorf("the answer is %s, not %s", got, c.want)
			}
			if got := strings.Join(next.asked, " "); got != c.asked {
				t.Errorf("the next plugin is asked for %q, not %q", got, c.asked)
			}
		})
	}
}

func TestOtherClassesAreTheNextPlugins(t *testing.T) {
	t.Parallel()
	h := readyHandler(t, nil)
	next := &nextPlugin{}
	h.next = next
	r := new(dns.Msg).SetQuestion("shop.corp.test.", dns.TypeA)
	r.Question[0].Qclass = dns.ClassCHAOS
	if _, err := h.ServeDNS(t.Context(), &caught{}, r); err != nil || len(next.asked) != 1 {
		t.Errorf("the next plugin is asked %v (%v)", next.asked, err)
	}
}

// A query's signature is the plugin tsig's: it has no part in the answer.
func TestSignedQuery(t *testing.T) {
	t.Parallel()
	h := readyHandler(t, nil)
	r := new(dns.Msg).SetQuestion("shop.corp.test.", dns.TypeA)
	r.SetTsig("key.", dns.HmacSHA256, 300, 1)
	w := &caught{}
	if _, err := h.ServeDNS(t.Context(), w, r); err != nil || w.msg == nil || w.msg.Rcode != dns.RcodeSuccess || len(w.msg.Answer) != 2 {
		t.Errorf("the reply is %v (%v)", w.msg, err)
	}
	if r.IsTsig() == nil {
		t.Error("the query has lost its signature: tsig signs replies by it")
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	h := readyHandler(t, nil)
	for _, c := range []struct{ name, label, want string }{
		{"shop.corp.test.", "zone", "corp.test."},
		{"shop.corp.test.", "object", "crd shop/records"},
		{"pending.corp.test.", "object", ""},
		{"pending.corp.test.", "reason", "no-address"},
	} {
		r := new(dns.Msg).SetQuestion(c.name, dns.TypeA)
		ctx := h.Metadata(metadata.ContextWithMetadata(t.Context()), request.Request{Req: r, W: &test.ResponseWriter{}})
		value := metadata.ValueFunc(ctx, Name+"/"+c.label)
		if value == nil {
			t.Errorf("%s has no %s", c.name, c.label)
			continue
		}
		if got := value(); got != c.want {
			t.Errorf("%s has the %s %q, not %q", c.name, c.label, got, c.want)
		}
	}
	r := new(dns.Msg).SetQuestion("corp.example.", dns.TypeA)
	ctx := h.Metadata(metadata.ContextWithMetadata(t.Context()), request.Request{Req: r, W: &test.ResponseWriter{}})
	if metadata.ValueFunc(ctx, Name+"/zone") != nil {
		t.Error("a name outside of the zones has a zone")
	}
}

// ear hears of serials.
type ear struct{ zones chan string }

func (e ear) Notify(zone string) error {
	select {
	case e.zones <- zone:
	default:
	}
	return errors.New("nobody is there")
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	told := ear{make(chan string, 1)}
	h := readyHandler(t, told)
	if _, err := h.Transfer("other.test.", 0); !errors.Is(err, transfer.ErrNotAuthoritative) {
		t.Errorf("a zone that isn't ours gives %v", err)
	}
	var whole []string
	daemon.Await(t, func() error {
		ch, err := h.Transfer("corp.test.", 0)
		if err != nil {
			return err
		}
		whole = nil
		for records := range ch {
			for _, rr := range records {
				whole = append(whole, strings.Join(strings.Fields(rr.String()), " "))
			}
		}
		return nil
	})
	if len(whole) < 2 || whole[0] != whole[len(whole)-1] || !strings.Contains(whole[0], " SOA ") {
		t.Fatalf("the transfer doesn't begin and end with the SOA: %q", whole)
	}
	for _, want := range []string{
		"shop.corp.test. 300 IN A 192.0.2.10", "shop.corp.test. 300 IN A 192.0.2.11", "www.corp.test. 300 IN CNAME shop.corp.test.",
		`deep.below.corp.test. 300 IN TXT "a b"`, "corp.test. 300 IN NS ns1.corp.test.",
	} {
		if !slices.Contains(whole, want) {
			t.Errorf("the transfer lacks %s: %q", want, whole)
		}
	}
	select {
	case zone := <-told.zones:
		if zone != "corp.test." {
			t.Errorf("secondaries hear of %s", zone)
		}
	case <-time.After(daemon.Patience):
		t.Error("secondaries hear of nothing")
	}
	daemon.Await(t, func() error { // another serial may come between the two calls
		ch, err := h.Transfer("corp.test.", h.edition(h.pipeline.Origins[0].Name).Serial())
		if err != nil {
			return err
		}
		count := 0
		for records := range ch {
			count += len(records)
		}
		if count != 1 {
			return fmt.Errorf("who has the serial gets %d records, not the SOA alone", count)
		}
		return nil
	})
}
