package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// A fixedCloud hands out a cloud that the test has made.
type fixedCloud struct{ cloud mirror.Cloud }

func (c fixedCloud) add(flags) {}

func (c fixedCloud) open(context.Context, cloudOptions) (mirror.Cloud, error) { return c.cloud, nil }

// stuck is a provider whose calls last until they are given up.
type stuck struct{ called chan struct{} }

func (s stuck) Zones(ctx context.Context) ([]mirror.Zone, error) {
	select {
	case s.called <- struct{}{}:
	default: // called before
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s stuck) Records(ctx context.Context, _ mirror.Zone) ([]mirror.Record, error) {
	return nil, ctx.Err()
}

func (s stuck) Apply(ctx context.Context, _ mirror.Zone, batch []mirror.Group) []mirror.Result {
	return mirror.Fail(batch, ctx.Err())
}

const mirrorsYAML = `
zone: [corp.test]
mirrors:
  - {name: slow, provider: stuck, txt-owner-id: one, policy: sync}
  - {name: broken, provider: broken, txt-owner-id: one}
  - {name: good, provider: good, txt-owner-id: one, txt-prefix: "%{record_type}-own.", interval: 1s}
`

const ingressYAML = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec: {rules: [{host: shop.corp.test}, {host: other.corp.test}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.10}]}}
`

// TestASlowOrFailingMirrorDelaysNothing: beside a cloud that never answers and one
// that always fails, queries are answered and a third cloud is written.
func TestASlowOrFailingMirrorDelaysNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, text := range map[string]string{"config.yaml": mirrorsYAML, "objects.yaml": ingressYAML} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	zone := name(t, "corp.test")
	good, broken := memory.New(memory.DefaultLimits(), zone), memory.New(memory.DefaultLimits(), zone)
	broken.SetFault(func(memory.Call) memory.Fault { return memory.Fault{Err: errors.New("out of order")} })
	never := stuck{make(chan struct{}, 1)}

	var serving serveSettings
	serving.mirrors.kinds = []cloudKind{
		{"stuck", func() cloudSettings {
			return fixedCloud{mirror.Cloud{Name: "stuck", Provider: never, Limits: memory.DefaultLimits()}}
		}},
		{"broken", func() cloudSettings { return fixedCloud{broken.Cloud()} }},
		{"good", func() cloudSettings { return fixedCloud{good.Cloud()} }},
	}
	var objects objectSettings
	cmd := newServe()
	cmd.ResetFlags()
	serving.add(cmd)
	objects.add(cmd)
	if err := cmd.ParseFlags([]string{"--config=" + filepath.Join(dir, "config.yaml"), "--manifests=" + filepath.Join(dir, "objects.yaml"),
		"--listen=127.0.0.1:0", "--metrics-address=", "--admin-address=", "--resolver=none", "--shutdown-delay=0"}); err != nil {
		t.Fatal(err)
	}
	if err := resolve(cmd, noVariables); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := objects.prepare(log, noVariables); err != nil {
		t.Fatal(err)
	}
	d, err := newDaemon(log, &objects, &serving)
	if err != nil {
		t.Fatal(err)
	}
	bound := make(chan netip.AddrPort, 1)
	d.dns.Bound = func(addrs []netip.AddrPort) { bound <- addrs[0] }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.run(ctx, nil) }()
	address := (<-bound).String()
	<-never.called

	client := dns.Client{Timeout: patience}
	awaiting(t, func() error {
		reply, _, err := client.Exchange(new(dns.Msg).SetQuestion("shop.corp.test.", dns.TypeA), address)
		if err != nil || len(reply.Answer) != 1 {
			return fmt.Errorf("the reply is %v (%w)", reply, err)
		}
		return nil
	})
	awaiting(t, func() error {
		if n := len(good.Held("corp.test")); n != 4 {
			return fmt.Errorf("the good cloud has %d records", n)
		}
		return nil
	})
	awaiting(t, func() error {
		states := d.pipeline.explain(name(t, "shop.corp.test"), 0).Mirrors
		if len(states) != 1 || states[0].Mirror != "good" || states[0].State != "in sync" {
			return fmt.Errorf("explain says %+v", states)
		}
		return nil
	})
	if problem := d.pipeline.mirrors.statuses()[1].Problem; !strings.Contains(problem, "out of order") {
		t.Errorf("the broken cloud's problem is %q", problem)
	}
	awaiting(t, func() error { return metricsThere(d) }) // some of them from the second comparison on
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// metricsThere says which metric of mirrors is missing.
func metricsThere(d *daemon) error {
	families, err := d.registry.Gather()
	if err != nil {
		return err
	}
	metrics := map[string]bool{}
	for _, family := range families {
		metrics[family.GetName()] = true
	}
	for _, want := range []string{
		"external_dns_controller_last_sync_timestamp_seconds", "external_dns_controller_last_reconcile_timestamp_seconds", "external_dns_controller_no_op_runs_total",
		"external_dns_controller_consecutive_soft_errors", "external_dns_registry_errors_total", "external_dns_registry_endpoints_total",
		"external_dns_registry_records", "external_dns_controller_verified_records", "external_dns_source_endpoints_total", "external_dns_source_records",
		"clusterzone_mirror_last_success_timestamp_seconds", "clusterzone_mirror_owned_records",
	} {
		if !metrics[want] {
			return fmt.Errorf("the metric %s is missing", want)
		}
	}
	return nil
}

// TestLeaseNames: owners that differ have Leases that differ, under names that
// Kubernetes takes.
func TestLeaseNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, owner := range []string{"one", "One", "ONE", "one-", "-one", "on.e", "on-e", "_", strings.Repeat("a", 200), strings.Repeat("a", 201)} {
		got := leaseName("aws", owner)
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q both have %s", owner, other, got)
		}
		seen[got] = owner
		if len(got) > 63 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasSuffix(got, "-") {
			t.Errorf("%q has %s, which is no name", owner, got)
		}
	}
	if got := leaseName("aws", "one"); got != "clusterzone-aws-one" {
		t.Errorf("one has %s", got)
	}
}
