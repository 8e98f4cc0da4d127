package peers_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"text/template"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// A kind is a peer: how it is started, and the configuration that every test
// needs. Its text gets a config.
type kind struct {
	name     string
	args     []string // FILE stands for the configuration file
	text     *template.Template
	recurses bool // is asked with RD
}

// A config is what a test adds to the configuration of a peer.
type config struct {
	// Address is where the peer answers, as 127.0.0.1:PORT; "" is a new one. Take it
	// from freeAddress where others have to know it before the peer starts.
	Address string
	// Options are lines for the section that holds the server's options: options of
	// named, server of nsd, knotd and unbound. They are indented by two spaces.
	Options string
	// Rest are further sections, zones say.
	Rest string

	Dir string // the folder of the peer; set by start
}

// IP and Port are the parts of the address.
func (c config) IP() string   { return hostOf(c.Address) }
func (c config) Port() string { return portOf(c.Address) }

var (
	named = kind{name: "named", args: []string{"-g", "-n", "1", "-c", "FILE"}, text: text(`
options {
  directory "{{.Dir}}";
  pid-file none;
  session-keyfile "{{.Dir}}/session.key";
  managed-keys-directory "{{.Dir}}";
  listen-on port {{.Port}} { {{.IP}}; };
  listen-on-v6 { none; };
  empty-zones-enable no;
  dnssec-validation no;
  check-names primary ignore;
  check-names secondary ignore;
{{.Options}}
};
controls { };
{{.Rest}}
`)}
	nsd = kind{name: "nsd", args: []string{"-d", "-c", "FILE"}, text: text(`
server:
  ip-address: {{.IP}}@{{.Port}}
  username: ""
  zonesdir: "{{.Dir}}"
  database: ""
  pidfile: ""
  xfrdfile: "{{.Dir}}/xfrd.state"
  xfrdir: "{{.Dir}}"
  zonelistfile: "{{.Dir}}/zone.list"
  server-count: 1
  rrl-ratelimit: 0
{{.Options}}
remote-control:
  control-enable: no
{{.Rest}}
`)}
	knotd = kind{name: "knotd", args: []string{"-c", "FILE"}, text: text(`
server:
  listen: {{.IP}}@{{.Port}}
  rundir: "{{.Dir}}"
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
{{.Options}}
log:
  - target: stderr
    any: info
database:
  storage: "{{.Dir}}"
{{.Rest}}
`)}
	unbound = kind{name: "unbound", recurses: true, args: []string{"-d", "-d", "-p", "-c", "FILE"}, text: text(`
server:
  interface: {{.IP}}@{{.Port}}
  outgoing-interface: {{.IP}}
  do-ip6: no
  username: ""
  chroot: ""
  directory: "{{.Dir}}"
  pidfile: ""
  use-syslog: no
  logfile: ""
  num-threads: 1
  access-control: 127.0.0.0/8 allow
  do-not-query-localhost: no
  module-config: "iterator"
  local-zone: "test." nodefault
{{.Options}}
remote-control:
  control-enable: no
{{.Rest}}
`)}
)

func text(s string) *template.Template { return template.Must(template.New("config").Parse(s)) }

// A peer is a running server of another maker.
type peer struct {
	*daemon.Process
	kind    kind
	address string // of DNS, UDP and TCP
	dir     string // its own folder, with its configuration
}

// start starts a peer and returns when it answers, whatever it answers.
func start(t testing.TB, k kind, c config) *peer {
	t.Helper()
	path := tool(t, k.name)
	if c.Address == "" {
		c.Address = freeAddress(t)
	}
	c.Dir = newDir(t)
	var b strings.Builder
	if err := k.text.Execute(&b, c); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.Dir, k.name+".conf")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return launch(t, path, k, c, file)
}

func launch(t testing.TB, path string, k kind, c config, file string) *peer {
	t.Helper()
	args := make([]string, len(k.args))
	for i, arg := range k.args {
		args[i] = strings.ReplaceAll(arg, "FILE", file)
	}
	p := &peer{kind: k, address: c.Address, dir: c.Dir}
	p.Process = daemon.Start(t, daemon.Spec{Path: path, Args: args, Dir: c.Dir})
	// Without RD even by a resolver, which then asks nobody.
	p.awaitReply(t, query(".", dns.TypeSOA), func(*dns.Msg) error { return nil })
	return p
}

// restart starts a peer that has ended anew, with its folder and configuration.
func (p *peer) restart(t testing.TB) *peer {
	t.Helper()
	p.Stop(t)
	return launch(t, tool(t, p.kind.name), p.kind, config{Address: p.address, Dir: p.dir}, filepath.Join(p.dir, p.kind.name+".conf"))
}

// query is a question as a resolver sends it to an authority, with EDNS.
func query(name string, kind uint16) *dns.Msg {
	q := new(dns.Msg).SetQuestion(name, kind)
	q.RecursionDesired = false
	q.SetEdns0(1232, false)
	return q
}

// query is a question as the peer is asked: with RD where it is a resolver.
func (p *peer) query(name string, kind uint16) *dns.Msg {
	q := query(name, kind)
	q.RecursionDesired = p.kind.recurses
	return q
}

// exchange sends a query over UDP, and over TCP where the reply is truncated. A
// lost packet is sent again.
func exchange(address string, q *dns.Msg) (*dns.Msg, error) {
	var reply *dns.Msg
	var err error
	for range 3 {
		reply, _, err = (&dns.Client{Timeout: 2 * time.Second}).Exchange(q, address)
		if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
			break
		}
	}
	if err == nil && reply.Truncated {
		reply, _, err = (&dns.Client{Net: "tcp", Timeout: 20 * time.Second}).Exchange(q, address)
	}
	return reply, err
}

// ask asks the peer and returns its reply.
func (p *peer) ask(t testing.TB, name string, kind uint16) *dns.Msg {
	t.Helper()
	reply, err := exchange(p.address, p.query(name, kind))
	if err != nil {
		t.Fatalf("%s: %s %s: %v", p.kind.name, name, dns.TypeToString[kind], err)
	}
	return reply
}

// await asks the peer until right takes the reply, and returns that.
func (p *peer) await(t testing.TB, name string, kind uint16, right func(*dns.Msg) error) *dns.Msg {
	t.Helper()
	return p.awaitReply(t, p.query(name, kind), right)
}

func (p *peer) awaitReply(t testing.TB, q *dns.Msg, right func(*dns.Msg) error) *dns.Msg {
	t.Helper()
	var last *dns.Msg
	daemon.Await(t, func() error {
		select {
		case <-p.Exited():
			t.Fatalf("%s has ended: %v", p, p.Err())
		default:
		}
		reply, err := exchange(p.address, q)
		if err != nil {
			return fmt.Errorf("%s: %w", p.kind.name, err)
		}
		last = reply
		if err := right(reply); err != nil {
			return fmt.Errorf("%s: %w\n%s", p.kind.name, err, reply)
		}
		return nil
	})
	return last
}

// authoritative is a right reply of a server that has loaded the zone.
func authoritative(r *dns.Msg) error {
	if r.Rcode != dns.RcodeSuccess || !r.Authoritative {
		return errors.New("not authoritative yet")
	}
	return nil
}

// succeeded is a right reply of a resolver.
func succeeded(r *dns.Msg) error {
	if r.Rcode != dns.RcodeSuccess {
		return errors.New("not answered yet")
	}
	return nil
}

// A server is clusterzone.
type server = daemon.Server

// serve starts clusterzone with flags (see daemon.Serve).
func serve(t testing.TB, flags ...string) *server {
	t.Helper()
	return daemon.Serve(t, program(t), flags...)
}

// lastPort counts the ports that were tried.
var lastPort atomic.Uint32

// freeAddress returns 127.0.0.1 with a port that is free for UDP and TCP, and below
// those that the kernel gives to clients: nobody takes it by chance before the
// server does. Another address of 127.0.0.0/8 would not do: named listens on
// those that an interface has.
func freeAddress(t testing.TB) string {
	t.Helper()
	var err error
	for range 1000 {
		port := 10000 + (uint32(os.Getpid())*37+lastPort.Add(1))%20000
		address := net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
		var tcp net.Listener
		if tcp, err = net.Listen("tcp", address); err != nil {
			continue
		}
		var udp net.PacketConn
		udp, err = net.ListenPacket("udp", address)
		if err == nil {
			err = udp.Close()
		}
		if err = errors.Join(err, tcp.Close()); err == nil {
			return address
		}
	}
	t.Fatalf("no free port: %v", err)
	return ""
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// lastDir counts the folders that were made.
var lastDir atomic.Uint32

// newDir is a folder with a short name: a Unix socket's path may have some 100
// octets, and t.TempDir holds the test's name.
func newDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(binDir, fmt.Sprint(lastDir.Add(1)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
