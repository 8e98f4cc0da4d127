package fronts_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// The servers' addresses: clusterzone and CoreDNS as docs/forwarding.md has them,
// the resolver of a network, and the name server of the zones above.
const (
	oursIP      = "10.96.0.53"
	corednsIP   = "10.96.0.10"
	nodeLocalIP = "169.254.20.10"
	resolverIP  = "10.0.0.1"
	parentIP    = "10.0.0.3"
)

// serve starts clusterzone as the page says, with the objects of these tests, and
// returns when it can answer all questions.
func serve(t *testing.T, flags ...string) *daemon.Server {
	t.Helper()
	s := start(t, append([]string{"--manifests=testdata/objects.yaml"}, flags...)...)
	await(t, oursIP, question{"elb.corp.test", dns.TypeA, "NOERROR  CNAME lb-1.provider.test.; A 198.51.100.1"})
	await(t, oursIP, question{"mail.corp.test", dns.TypeA, "NOERROR  CNAME mx.provider.test.; A 198.51.100.25"})
	return s
}

// start starts clusterzone as the page says, with more flags, and returns when it
// has bound its addresses.
func start(t *testing.T, flags ...string) *daemon.Server {
	t.Helper()
	words := strings.Fields(block(t, "clusterzone"))
	if len(words) < 2 || words[0] != "clusterzone" || words[1] != "serve" {
		t.Fatalf("%s doesn't start with clusterzone serve", page)
	}
	// The test's helper writes --flag=value to see which are given.
	own := strings.Split(strings.ReplaceAll(" "+strings.Join(words[2:], " "), " --", "\n--"), "\n")[1:]
	for i, flag := range own {
		own[i] = strings.Replace(flag, " ", "=", 1)
	}
	own = append(own, "--listen="+oursIP+":53", "--listen="+oursIP+":5353", "--resolver="+outsideIP)
	return daemon.Serve(t, clusterzone.path(), append(own, flags...)...)
}

// await asks until the reply is right.
func await(t *testing.T, ip string, q question) {
	t.Helper()
	daemon.Await(t, func() error {
		reply, err := ask(ip, q.name, q.kind)
		if err != nil {
			return err
		}
		got, err := describe(reply)
		if err == nil && got != q.want {
			err = fmt.Errorf("%s at %s is %s, not yet %s", q, ip, got, q.want)
		}
		return err
	})
}

// A front is a server with a configuration: where it answers, and how it is run.
type front struct {
	name  string
	ip    string
	prog  program
	args  []string          // FILE stands for the first file
	files map[string]string // by name, FOLDER in them stands for their folder
	first string            // name of the file that args mean
}

// start starts the front and returns when it answers, whatever it does. It asks
// for a name outside of the zones, so that it knows nothing of these yet.
func (f front) start(t *testing.T) *daemon.Process {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f.files {
		text = strings.ReplaceAll(text, "FOLDER", dir)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := make([]string, len(f.args))
	for i, arg := range f.args {
		args[i] = strings.ReplaceAll(arg, "FILE", filepath.Join(dir, f.first))
	}
	p := daemon.Start(t, daemon.Spec{Path: f.prog.path(), Args: args, Dir: dir})
	daemon.Await(t, func() error {
		select {
		case <-p.Exited():
			t.Fatalf("%s has ended: %v", f.name, p.Err())
		default:
		}
		reply, err := ask(f.ip, "mx.provider.test", dns.TypeA)
		if err == nil && reply.Rcode != dns.RcodeSuccess {
			err = errors.New(f.name + " says " + dns.RcodeToString[reply.Rcode])
		}
		return err
	})
	return p
}

// corefile is a CoreDNS with server blocks beside one for the outside.
func corefile(name, ip, text string) front {
	return front{name: name, ip: ip, prog: coredns, args: []string{"-conf", "FILE"}, first: "Corefile", files: map[string]string{
		"Corefile": text + `
.:53 {
    bind ` + ip + `
    errors
    forward . ` + outsideIP + `
    cache 30
}
`,
	}}
}
