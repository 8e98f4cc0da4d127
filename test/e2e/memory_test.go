package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// settleTime is how long a program is left alone before its memory is read: the
// garbage collector gives memory back with a delay.
const settleTime = 30 * time.Second

// BenchmarkMemory reports the resident memory of the program with 10 000
// Ingresses of an API server: when it has just synced, and after each name was
// asked for and nothing has happened for half a minute. Then the same of CoreDNS
// with the same names as a zone file (plugin file), and of the program with the
// Ingresses as manifest files. In MiB, from /proc: rss is VmRSS, anon RssAnon
// (without the pages of the executable), peak VmHWM.
func BenchmarkMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("memory is read from /proc, which is Linux's")
	}
	path, err := buildPlain()
	if err != nil {
		b.Fatal(err)
	}
	coredns, err := daemon.BuildCoreDNS(root)
	if err != nil {
		b.Fatal(err)
	}
	f := fill(b, manyIngresses)
	kubeconfig := "--kubeconfig=" + f.cluster.Kubeconfig(b, f.cluster.Admin())
	p := serve(b, path, kubeconfig)
	measure(b, "clusterzone", p.dns, p.Pid())
	zone, err := exec.CommandContext(b.Context(), path, "records", "--output=zone", "--zone=corp.test", kubeconfig).Output()
	if err != nil {
		b.Fatal(err)
	}
	p.stop(b)

	address, pid := startCoreDNS(b, coredns, zone)
	measure(b, "coredns", address, pid)

	manifests := filepath.Join(b.TempDir(), "ingresses.yaml")
	if err := os.WriteFile(manifests, manyManifests(), 0o600); err != nil {
		b.Fatal(err)
	}
	p = serve(b, path, "--manifests="+manifests)
	measure(b, "manifests", p.dns, p.Pid())
	b.ReportMetric(0, "ns/op")
}

// measure reads a server's memory at its first answer and after it has settled.
func measure(b *testing.B, name, address string, pid int) {
	b.Helper()
	a := newAsker(b, address)
	for i := range manyIngresses {
		if _, err := a.until(manyName(i), manyAddress(i, 0)); err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		if i == 0 {
			b.ReportMetric(memory(b, pid, "VmRSS"), name+"-synced-rss-MiB")
		}
	}
	select {
	case <-time.After(settleTime):
	case <-b.Context().Done():
	}
	b.ReportMetric(memory(b, pid, "VmRSS"), name+"-rss-MiB")
	b.ReportMetric(memory(b, pid, "RssAnon"), name+"-anon-MiB")
	b.ReportMetric(memory(b, pid, "VmHWM"), name+"-peak-MiB")
}

// memory reads one field of a process' status, in MiB.
func memory(b *testing.B, pid int, field string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	b.Fatalf("/proc/%d/status has no %s", pid, field)
	return 0
}

// startCoreDNS serves a zone file, and returns when CoreDNS answers.
func startCoreDNS(b *testing.B, path string, zone []byte) (address string, pid int) {
	b.Helper()
	dir := b.TempDir()
	// CoreDNS does not say which port it has bound, so it gets one that was free
	// a moment ago.
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address = free.LocalAddr().String()
	_, port, err := net.SplitHostPort(address)
	if err = errors.Join(err, free.Close()); err != nil {
		b.Fatal(err)
	}
	corefile := fmt.Sprintf("corp.test:%s {\n bind 127.0.0.1\n file zone\n}\n", port)
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "Corefile"), []byte(corefile), 0o600),
		os.WriteFile(filepath.Join(dir, "zone"), zone, 0o600))
	if err != nil {
		b.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(path, "-conf", "Corefile")
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = []string{"HOME=" + dir}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if b.Failed() {
			b.Logf("CoreDNS' log:\n%s", log.String())
		}
	})
	await(b, func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	return address, cmd.Process.Pid
}

// manyManifests are the Ingresses of fill as YAML.
func manyManifests() []byte {
	var text bytes.Buffer
	for i := range manyIngresses {
		fmt.Fprintf(&text, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: team-%[1]d
  name: app-%[2]d
  labels: {app.kubernetes.io/name: app-%[2]d, app.kubernetes.io/managed-by: Helm}
spec:
  rules:
  - host: %[3]s
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: app-%[2]d, port: {number: 80}}}}]}
status: {loadBalancer: {ingress: [{ip: %[4]s}]}}
`, i%manyNamespaces, i, manyName(i), manyAddress(i, 0))
	}
	return text.Bytes()
}
