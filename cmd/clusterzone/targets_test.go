package main

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// TestResolverFlags: which resolvers the flags give; "none" gives none.
func TestResolverFlags(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"10.0.0.2 [2001:db8::1]:5353": "10.0.0.2:53 [2001:db8::1]:5353",
		"10.0.0.2,10.0.0.3":           "10.0.0.2:53 10.0.0.3:53",
		"127.0.0.1:5300":              "127.0.0.1:5300",
		"none":                        "",
	} {
		s := targetSettings{resolvers: strings.Fields(flags)}
		servers, err := s.servers(slog.New(slog.DiscardHandler), newOwnListen([]server.Listen{{Port: 53}}))
		var got []string
		for _, server := range servers {
			got = append(got, server.String())
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("--resolver %s gives %v, %v", flags, got, err)
		}
	}
}

// TestSystemResolverIsNotUs: the system's resolver that is this server is left out
// with a word, and the program serves on.
func TestSystemResolverIsNotUs(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := targetSettings{}
	servers := s.system(slog.New(slog.NewTextHandler(&log, nil)), func(netip.AddrPort) (server.Listen, bool) {
		return server.Listen{Port: 53}, true
	})
	if len(servers) > 0 || !strings.Contains(log.String(), "--resolver") {
		t.Errorf("%v are asked; the log says %s", servers, log.String())
	}
}

// TestServeLooksUp: a server tells its resolver which targets the objects need,
// and says in explain and metrics what is known of them.
func TestServeLooksUp(t *testing.T) {
	t.Parallel()
	upstream, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	d, _ := startable(t, "--zone=corp.test", "--source=ingress", "--resolver="+upstream.LocalAddr().String())
	d.pipeline.feed.Set(sources.KindIngress, &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "shop.corp.test"}}},
		Status:     networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: []networkingv1.IngressLoadBalancerIngress{{Hostname: "lb.provider.example"}}}},
	})
	d.pipeline.feed.Synced(sources.KindIngress, nil)
	d.pipeline.feed.Apply()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.resolver.Run(ctx) }()
	question := make([]byte, 512)
	n, _, err := upstream.ReadFrom(question)
	if err != nil || !strings.Contains(string(question[:n]), "\x02lb\x08provider\x07example\x00") {
		t.Errorf("the resolver is asked %q, %v", question[:n], err)
	}
	var text strings.Builder
	writeExplanation(&text, &d.pipeline.explain(name(t, "shop.corp.test"), zones.TypeA).Explanation)
	for _, want := range []string{"unresolved", "target lb.provider.example of ingress shop/web can't be resolved", "lb.provider.example: waiting", "shop.corp.test 300 CNAME"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("explain doesn't say %q:\n%s", want, text.String())
		}
	}
	families, err := d.registry.Gather()
	if err != nil {
		t.Error(err)
	}
	waiting := 0.0
	for _, family := range families {
		if family.GetName() != "clusterzone_targets" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == "waiting" {
				waiting = metric.GetGauge().GetValue()
			}
		}
	}
	if waiting != 1 {
		t.Errorf("%v targets are counted as waiting", waiting)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
