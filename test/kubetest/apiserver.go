package kubetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// readyTimeout bounds the time from the API server's start to its readiness;
// it takes some five seconds on an idle machine with two cores.
const readyTimeout = 2 * time.Minute

// serviceRange is where the API server takes cluster IPs from.
const serviceRange = "10.96.0.0/16,fd00:96::/112"

// etcdFlags start a single member that clients reach by a socket in dir. Its
// peer port is the kernel's choice: there is no peer.
func etcdFlags(dir string) []string {
	socket := "unix://" + filepath.Join(dir, "etcd.sock")
	const peer = "http://127.0.0.1:0"
	return []string{
		"--name=kubetest",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + socket,
		"--advertise-client-urls=" + socket,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=kubetest=" + peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

// apiserverFlags start the API server on loopback with what writeKeys wrote.
func (c *Cluster) apiserverFlags() []string {
	in := func(name string) string { return filepath.Join(c.dir, name) }
	return append([]string{
		"--etcd-servers=unix://" + in("etcd.sock"),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.port),
		"--cert-dir=" + c.dir,
		"--tls-cert-file=" + in("server.crt"),
		"--tls-private-key-file=" + in("server.key"),
		"--client-ca-file=" + in("ca.crt"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in("serviceaccount.key"),
		"--service-account-signing-key-file=" + in("serviceaccount.key"),
		"--service-cluster-ip-range=" + serviceRange,
		"--allow-privileged=true",
		// These change objects (tokens, tolerations, taints, finalizers) for
		// controllers and nodes that don't run here.
		"--disable-admission-plugins=ServiceAccount,DefaultTolerationSeconds,TaintNodesByCondition,StorageObjectInUseProtection",
		// Nothing keeps EndpointSlices here, not even the API server's own.
		"--endpoint-reconciler-type=none",
		// Tests ask as fast as they can.
		"--enable-priority-and-fairness=false",
		"--etcd-compaction-interval=0",
		"--profiling=false",
		"--v=0",
	}, c.flags...)
}

// writeKeys writes the keys and certificates that the API server reads.
func (c *Cluster) writeKeys() error {
	var err error
	if c.ca, err = newAuthority(); err != nil {
		return err
	}
	cert, key, err := c.ca.server()
	if err != nil {
		return err
	}
	accounts, err := serviceAccountKey()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"ca.crt": c.ca.pem, "server.crt": cert, "server.key": key, "serviceaccount.key": accounts,
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// launchAPIServer starts the API server and waits until it is ready. The first
// time it chooses the port, and another one if someone takes it in between;
// later times keep it. The caller holds c.mu.
func (c *Cluster) launchAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	first := c.admin == nil
	for attempt := 1; ; attempt++ {
		if first {
			if err := c.choosePort(); err != nil {
				return err
			}
		}
		p, err := startProcess("kube-apiserver", c.apiserver, c.dir, c.apiserverFlags(), c.env...)
		if err != nil {
			return err
		}
		err = c.waitReady(ctx, p)
		if err == nil {
			c.api = p
			return nil
		}
		p.kill()
		if attempt == 5 || !p.logHas("address already in use") {
			return err
		}
	}
}

// choosePort chooses the port and makes the clients for it.
func (c *Cluster) choosePort() error {
	port, err := c.pick()
	if err != nil {
		return err
	}
	c.port = port
	admin, err := c.clientConfig("kubetest-admin", "system:masters")
	if err != nil {
		return err
	}
	admin.QPS = -1
	return c.connect(admin)
}

// freePort finds a port of 127.0.0.1 that nobody listens on. Its range is below
// the one from which Linux takes ports for outgoing connections, so that none
// of those sits on it while the API server is stopped.
func freePort() (int, error) {
	var err error
	for range 50 {
		port := 20000 + rand.IntN(12000)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			l.Close()
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1: %w", err)
}

// waitReady returns nil when p is ready and has made the objects that every
// cluster has. It fails when one of the programs ends before.
func (c *Cluster) waitReady(ctx context.Context, p *process) error {
	// A question that hangs, for someone else has the port, ends with p.
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
		case <-c.etcd.exited:
		case <-asking.Done():
		}
		cancel()
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.exited:
			return fmt.Errorf("kube-apiserver ended (%v) before it was ready; its last lines:\n%s", p.err, p.tail(25))
		case <-c.etcd.exited:
			return fmt.Errorf("etcd ended (%v); its last lines:\n%s", c.etcd.err, c.etcd.tail(25))
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver isn't ready: %w; its last lines:\n%s", ctx.Err(), p.tail(25))
		case <-tick.C:
			if c.ready(asking) {
				return nil
			}
		}
	}
}

func (c *Cluster) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := c.clientset.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return false
	}
	// Made after readiness is claimed, and with the first cluster IP: from here
	// on Services can have theirs.
	_, err := c.clientset.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	return err == nil
}

// clientConfig returns the configuration of a client that the API server knows
// as user, a member of groups.
func (c *Cluster) clientConfig(user string, groups ...string) (*rest.Config, error) {
	cert, key, err := c.ca.client(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem, CertData: cert, KeyData: key},
		WarningHandler:  rest.NoWarnings{},
	}, nil
}
