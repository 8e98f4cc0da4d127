package nodes_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

var (
	// serverIP is where the nodes find the API server.
	serverIP = netip.MustParseAddr("10.99.0.1")
	// localIP is what programs on each node ask, the same on all.
	localIP = netip.MustParseAddr("169.254.20.10")
)

const bridgeName = "br0"

// A node is a network namespace with a server in it.
type node struct {
	namespace
	name  string // of the node, and of its cable at the bridge
	flags []string
	path  string
	state string // file
	*daemon.Server
}

// newNodes makes the bridge, and nodes with cables to it.
func newNodes(t *testing.T, names ...string) []*node {
	t.Helper()
	err := errors.Join(raise("lo", true), bridge(bridgeName))
	if err == nil {
		err = errors.Join(address(bridgeName, serverIP), raise(bridgeName, true))
	}
	if err != nil {
		unavailable(t, err)
	}
	var all []*node
	ip := serverIP
	for _, name := range names {
		n := &node{name: name, state: filepath.Join(t.TempDir(), "state")}
		ip = ip.Next()
		if n.namespace, err = newNamespace(localIP); err == nil {
			err = cable(name, "eth0", n.namespace)
		}
		if err != nil {
			unavailable(t, err)
		}
		err = n.do(func() error { return errors.Join(address("eth0", ip), raise("eth0", true)) })
		if err = errors.Join(err, plug(bridgeName, name), raise(name, true)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.file.Close() })
		all = append(all, n)
	}
	return all
}

// start starts the node's server, and returns when it has bound its addresses.
func (n *node) start(t *testing.T, more ...string) {
	t.Helper()
	n.Server = daemon.ServeAs(t, daemon.Spec{
		Path: n.path, Within: n.within,
		// How client-go learns that a connection is dead, in seconds: 30 and 15 unless
		// told otherwise.
		Env: []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS=5", "HTTP2_PING_TIMEOUT_SECONDS=5"},
	}, append(append([]string{"--listen=" + localIP.String() + ":53", "--nsid=" + n.name}, n.flags...), more...)...)
}

// setCable takes the node's cable up or down, at the bridge.
func (n *node) setCable(t *testing.T, up bool) {
	t.Helper()
	if err := raise(n.name, up); err != nil {
		t.Fatal(err)
	}
}

// ask asks the node's server as a program on the node does, and returns what
// matters of the reply: "RCODE ADDRESSES @NODE (EXTENDED ERRORS)".
func (n *node) ask(name string) (text string, err error) {
	query := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
	query.SetEdns0(1232, false)
	query.IsEdns0().Option = append(query.IsEdns0().Option, &dns.EDNS0_NSID{Code: dns.EDNS0NSID})
	var reply *dns.Msg
	err = n.do(func() (err error) {
		reply, _, err = (&dns.Client{Timeout: 10 * time.Second}).Exchange(query, localIP.String()+":53")
		return err
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.name, err)
	}
	words := []string{dns.RcodeToString[reply.Rcode]}
	for _, rr := range reply.Answer {
		if a, ok := rr.(*dns.A); ok {
			words = append(words, a.A.String())
		}
	}
	if edns := reply.IsEdns0(); edns != nil {
		for _, option := range edns.Option {
			switch option := option.(type) {
			case *dns.EDNS0_NSID:
				id, err := hex.DecodeString(option.Nsid)
				if err != nil {
					return "", err
				}
				words = append(words, "@"+string(id))
			case *dns.EDNS0_EDE:
				words = append(words, fmt.Sprintf("(%d)", option.InfoCode))
			}
		}
	}
	return strings.Join(words, " "), nil
}

// expect wants the answer at once, and await some time.
func (n *node) expect(t *testing.T, name, want string) {
	t.Helper()
	if err := n.answers(name, want); err != nil {
		t.Error(err)
	}
}

func (n *node) await(t *testing.T, name, want string) {
	t.Helper()
	daemon.Await(t, func() error { return n.answers(name, want) })
}

// answers returns an error unless the node answers with want, which lacks the name
// of the node.
func (n *node) answers(name, want string) error {
	got, err := n.ask(name)
	if err != nil {
		return err
	}
	full := want + " @" + n.name
	if before, codes, found := strings.Cut(want, " ("); found {
		full = before + " @" + n.name + " (" + codes
	}
	if got != full {
		return fmt.Errorf("%s at %s is %q, not %q", name, n.name, got, full)
	}
	return nil
}

// page returns a page of the node's metrics address with its status.
func (n *node) page(path string) (int, string, error) {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
			err = n.do(func() (err error) {
				conn, err = new(net.Dialer).DialContext(ctx, network, addr)
				return err
			})
			return conn, err
		},
	}}
	response, err := client.Get("http://" + n.Metrics + path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// awaitReady returns when /readyz has the status, and says or doesn't say a text.
func (n *node) awaitReady(t *testing.T, status int, text string, says bool) {
	t.Helper()
	daemon.Await(t, func() error {
		got, body, err := n.page("/readyz")
		if err == nil && (got != status || strings.Contains(body, text) != says) {
			err = fmt.Errorf("/readyz of %s has status %d and says:\n%s\nwanted: status %d, and that it says %q: %t", n.name, got, body, status, text, says)
		}
		return err
	})
}

// writes tells whether the node's mirror may write.
func (n *node) writes() (bool, error) {
	_, text, err := n.page("/metrics")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, `clusterzone_mirror_writes{mirror="inmemory"} `); found {
			return strings.TrimSpace(value) == "1", nil
		}
	}
	return false, fmt.Errorf("%s has no clusterzone_mirror_writes", n.name)
}
