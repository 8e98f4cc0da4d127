package plugin

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"

	_ "github.com/coredns/coredns/plugin/bind"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// TestReloadUnderLoad: CoreDNS is reloaded again and again, with another TTL each
// time, while clients ask; each query gets a reply, and each reply is right.
func TestReloadUnderLoad(t *testing.T) {
	const reloads, clients = 30, 4
	corefile := func(ttl int) caddy.Input {
		return caddy.CaddyfileInput{
			Contents: fmt.Appendf(nil, "corp.test:0 {\n bind 127.0.0.1\n clusterzone {\n  %s\n  resolver none\n  ttl %d\n }\n}\n", objectsFile, ttl),
			Filepath: "Corefile", ServerTypeName: "dns",
		}
	}
	instance, err := caddy.Start(corefile(100))
	if err != nil {
		t.Fatal(err)
	}
	stop := func() {
		for _, err := range instance.ShutdownCallbacks() {
			t.Error(err)
		}
		if err := instance.Stop(); err != nil {
			t.Error(err)
		}
	}
	defer func() { stop() }()
	udp := address(t, instance)
	daemon.Await(t, func() error {
		if got := exchange(udp); got != "" {
			return fmt.Errorf("before the first reload: %s", got)
		}
		return nil
	})

	var ended atomic.Bool
	var load sync.WaitGroup
	var answered atomic.Int64
	for client := range clients {
		load.Go(func() {
			for !ended.Load() {
				if wrong := exchange(udp); wrong != "" {
					t.Errorf("client %d, after %d replies to all: %s", client, answered.Load(), wrong)
					return
				}
				answered.Add(1)
			}
		})
	}
	for i := range reloads {
		next, err := instance.Restart(corefile(101 + i))
		if err != nil {
			t.Errorf("reload %d: %v", i, err)
			break
		}
		instance = next
		before := answered.Load()
		daemon.Await(t, func() error {
			if answered.Load() < before+2*clients && !t.Failed() {
				return errors.New("the clients get no replies")
			}
			return nil
		})
	}
	// The last Corefile's own objects answer in the end.
	daemon.Await(t, func() error {
		reply, err := query(udp)
		if err == nil && reply.Answer[0].Header().Ttl != 100+reloads {
			err = fmt.Errorf("the TTL is still %d", reply.Answer[0].Header().Ttl)
		}
		return err
	})
	ended.Store(true)
	load.Wait()
	t.Logf("%d queries, %d reloads", answered.Load(), reloads)
}

// A Corefile that can't be used changes nothing.
func TestReloadOfABadCorefile(t *testing.T) {
	good := fmt.Sprintf("corp.test:0 {\n bind 127.0.0.1\n clusterzone {\n  %s\n  resolver none\n }\n}\n", objectsFile)
	input := func(text string) caddy.Input {
		return caddy.CaddyfileInput{Contents: []byte(text), Filepath: "Corefile", ServerTypeName: "dns"}
	}
	instance, err := caddy.Start(input(good))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, err := range instance.ShutdownCallbacks() {
			t.Error(err)
		}
		if err := instance.Stop(); err != nil {
			t.Error(err)
		}
	}()
	udp := address(t, instance)
	daemon.Await(t, func() error {
		if got := exchange(udp); got != "" {
			return fmt.Errorf("at the start: %s", got)
		}
		return nil
	})
	// The second server's address is taken, so that all was started before it fails.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"a wrong option":   strings.Replace(good, "resolver none", "resolvre none", 1),
		"an address taken": good + "other.test:" + port + " {\n bind 127.0.0.1\n}\n",
	} {
		if next, err := instance.Restart(input(text)); err == nil {
			instance = next
			t.Errorf("%s: the reload succeeds", what)
		}
		if wrong := exchange(udp); wrong != "" {
			t.Errorf("after %s: %s", what, wrong)
		}
	}
}

// address is where the instance answers over UDP.
func address(t *testing.T, instance *caddy.Instance) string {
	t.Helper()
	for _, server := range instance.Servers() {
		if local := server.LocalAddr(); local != nil {
			return local.String()
		}
	}
	t.Fatal("CoreDNS has no UDP address")
	return ""
}

// query asks once, over UDP. A reply that takes so long is lost: there are few
// clients, each with one query, so that no buffer overflows.
func query(server string) (*dns.Msg, error) {
	client := &dns.Client{Timeout: time.Minute}
	reply, _, err := client.Exchange(new(dns.Msg).SetQuestion("shop.corp.test.", dns.TypeA), server)
	if err == nil && (reply.Rcode != dns.RcodeSuccess || len(reply.Answer) != 2) {
		err = fmt.Errorf("the reply is %s with %d records", dns.RcodeToString[reply.Rcode], len(reply.Answer))
	}
	return reply, err
}

// exchange says what is wrong with the reply to a query, or nothing.
func exchange(server string) string {
	if _, err := query(server); err != nil {
		return err.Error()
	}
	return ""
}
