//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A server is one that runs.
type server struct {
	name    string
	address string // 127.0.0.1 with its port
	cmd     *exec.Cmd
	log     *bytes.Buffer
	exited  chan struct{} // closed when it has ended, with why in ended
	ended   error
	pids    []int // of all of its processes, once it answers
}

// commands make the command line of each server, for the zone in dir. They
// write the configuration that it needs.
var commands = map[string]func(ctx context.Context, o *options, dir, port string) ([]string, error){
	"clusterzone": clusterzone,
	"echo": func(ctx context.Context, _ *options, dir, port string) ([]string, error) {
		path, err := build(ctx, dir, "echo", "./test/bench/echo")
		return []string{path, "127.0.0.1:" + port}, err
	},
	"nsd": func(_ context.Context, _ *options, dir, port string) ([]string, error) {
		return configured(dir, "nsd.conf", `server:
  ip-address: 127.0.0.1@`+port+`
  username: ""
  server-count: 1
  minimal-responses: yes
  rrl-ratelimit: 0
  tcp-count: 1000
  zonesdir: "`+dir+`"
  pidfile: ""
  xfrdfile: ""
  xfrdir: "`+dir+`"
  zonelistfile: "`+dir+`/zone.list"
remote-control:
  control-enable: no
zone:
  name: `+origin+`
  zonefile: zone.db
`, "nsd", "-d", "-c")
	},
	"knot": func(_ context.Context, _ *options, dir, port string) ([]string, error) {
		return configured(dir, "knot.conf", `server:
  listen: 127.0.0.1@`+port+`
  udp-workers: 1
  tcp-workers: 1
  rundir: `+dir+`
database:
  storage: `+dir+`
zone:
  - domain: `+origin+`
    file: `+dir+`/zone.db
    zonefile-load: whole
    journal-content: none
`, "knotd", "-c")
	},
	"bind": func(_ context.Context, _ *options, dir, port string) ([]string, error) {
		return configured(dir, "named.conf", `options {
  directory "`+dir+`";
  listen-on port `+port+` { 127.0.0.1; };
  listen-on-v6 { none; };
  pid-file none;
  session-keyfile none;
  recursion no;
  dnssec-validation no;
  minimal-responses yes;
  tcp-clients 1000;
};
controls { };
zone "`+origin+`" { type primary; file "zone.db"; };
`, "named", "-g", "-n", "1", "-c")
	},
	"coredns": func(ctx context.Context, _ *options, dir, port string) ([]string, error) {
		find := exec.CommandContext(ctx, "go", "tool", "-n", "coredns")
		find.Dir, find.Env = "plugin", append(os.Environ(), "GOWORK=off")
		path, err := find.Output()
		if err != nil {
			return nil, fmt.Errorf("CoreDNS can't be built: %w", err)
		}
		return configured(dir, "Corefile", origin+":"+port+" {\n bind 127.0.0.1\n file "+dir+"/zone.db\n}\n", strings.TrimSpace(string(path)), "-conf")
	},
}

func serverNames() []string { return slices.Sorted(maps.Keys(commands)) }

// configured writes a configuration and returns a command that ends with its
// path.
func configured(dir, name, text string, command ...string) ([]string, error) {
	path := filepath.Join(dir, name)
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, fmt.Errorf("%s is missing; install it, or leave it out of -servers", command[0])
	}
	return append(command, path), os.WriteFile(path, []byte(text), 0o600)
}

func clusterzone(ctx context.Context, o *options, dir, port string) ([]string, error) {
	path := o.program
	if path == "" {
		var err error
		if path, err = build(ctx, dir, "clusterzone", "./cmd/clusterzone"); err != nil {
			return nil, err
		}
	}
	return []string{path, "serve", "--zone-file", origin + "=" + filepath.Join(dir, "zone.db"), "--listen", "127.0.0.1:" + port,
		"--metrics-address", "", "--admin-address", "", "--resolver", "none", "--shutdown-delay", "0"}, nil
}

// build builds a program of this module.
func build(ctx context.Context, dir, name, pkg string) (string, error) {
	path := filepath.Join(dir, name)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s can't be built from here; run bench in the main module's folder: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// start starts a server on its processor.
func start(ctx context.Context, o *options, name, dir string) (*server, error) {
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.LocalAddr().String()
	_, port, err := net.SplitHostPort(address)
	if err = errors.Join(err, free.Close()); err != nil {
		return nil, err
	}
	command, err := commands[name](ctx, o, dir, port)
	if err != nil {
		return nil, err
	}
	s := &server{name: name, address: address, log: &bytes.Buffer{}, exited: make(chan struct{})}
	s.cmd = pinned(o.serverCPU, command)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.exited)
		s.ended = s.cmd.Wait()
	}()
	if o.boost {
		err = boost(s.cmd.Process.Pid)
	}
	return s, err
}

// pinned is a command on one processor, in a session of its own: the scheduler
// weighs sessions against one another (sched(7), autogroups).
func pinned(cpu int, command []string) *exec.Cmd {
	cmd := exec.Command("taskset", append([]string{"-c", strconv.Itoa(cpu)}, command...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// boost prefers a process' session.
func boost(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte("-18"), 0)
}

// serves reports whether the server knows the transport: echo has no TCP.
func (s *server) serves(transport string) bool { return s.name != "echo" || transport == "udp" }

// startTime is how long a server may take to load a zone of millions of names.
const startTime = 5 * time.Minute

// await asks until the server answers.
func (s *server) await(ctx context.Context) error {
	conn, err := net.Dial("udp", s.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	query := append([]byte{0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2}, "h0\x04corp\x04test\x00\x00\x01\x00\x01"...)
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline) && ctx.Err() == nil; {
		select {
		case <-s.exited:
			return fmt.Errorf("%s has ended (%v):\n%s", s.name, s.ended, s.log)
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := conn.Write(query); err != nil {
			continue // nobody listens yet
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return err
		}
		reply := make([]byte, 512)
		if n, err := conn.Read(reply); err == nil && n > 12 && reply[2]&0x80 != 0 && reply[3]&0xf == 0 {
			s.pids, err = family(s.cmd.Process.Pid)
			return err
		}
	}
	return fmt.Errorf("%s does not answer:\n%s", s.name, s.log)
}

// stop ends the server and what it has started.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
	}
}
