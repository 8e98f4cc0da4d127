//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-sizes", "1000,2000", "-servers", "nsd,echo", "-cases", "mix"}, io.Discard)
	if err != nil || len(o.sizes) != 2 || o.servers[1] != "echo" || o.cases[0] != "mix" || o.rounds < 5 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range []string{"-sizes 10", "-sizes many", "-cases b", "-servers nds", "-transports quic", "-rounds 0", "-time 10ms", "a"} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// Every question is about a name that the zone has, or says that it is absent.
func TestZone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeZone(dir, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "zone.db"))
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		owners[strings.Fields(line)[0]] = true
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, what := range caseNames {
		for range 1000 {
			fields := strings.Fields(question(what, 1000, random))
			host := strings.TrimSuffix(fields[0], "."+origin)
			if len(fields) != 2 || !owners[host] && !strings.HasPrefix(host, "absent") && !strings.HasSuffix(host, ".wild") {
				t.Fatalf("%s asks %v", what, fields)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, what+".queries")); err != nil {
			t.Error(err)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	report := "  Queries sent:         200\n  Queries completed:    190 (95.00%)\n  Queries lost:         10 (5.00%)\n  Queries per second:   123.5\n"
	for label, want := range map[string]float64{"Queries sent:": 200, "Queries lost:": 10, "Queries per second:": 123.5, "Queries gone:": 0} {
		if got := number(report, label); got != want {
			t.Errorf("%s %v, want %v", label, got, want)
		}
	}
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "> NOERROR h1.corp.test A 0.%06d\n[Status] a line\n", i+1)
	}
	p50, p99, p999 := percentiles(lines.String())
	if p50 != 500*time.Microsecond || p99 != 990*time.Microsecond || p999 != 999*time.Microsecond {
		t.Errorf("%v %v %v", p50, p99, p999)
	}
	var table strings.Builder
	printTable(&table, []string{"nsd", "echo", "knot"}, map[string][]result{
		"nsd":  {{cost: 3 * time.Microsecond}, {cost: 2 * time.Microsecond}, {cost: 9 * time.Microsecond}},
		"knot": {{cost: 6 * time.Microsecond}},
	})
	if !strings.Contains(table.String(), "| nsd | 3.00 µs | 1.00 |") || !strings.Contains(table.String(), "| knot | 6.00 µs | 2.00 |") || strings.Contains(table.String(), "echo") {
		t.Errorf("the table is\n%s", table.String())
	}
}

// The times of a process and of all that it has started are found, whatever
// their names.
func TestFamily(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc/PID/stat: ", err)
	}
	cmd := exec.Command("sh", "-c", "sleep 60 & echo started; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	defer func() {
		for _, pid := range pids {
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill()
			}
		}
		_ = cmd.Wait() // killed
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if pids, err = family(cmd.Process.Pid); err != nil || len(pids) != 2 {
		t.Fatalf("%v, %v", pids, err)
	}
	if used, err := cpuTime(pids); err != nil || used > time.Minute {
		t.Errorf("%v, %v", used, err)
	}
	if mib, err := resident(pids); err != nil || mib <= 0 {
		t.Errorf("%v MiB, %v", mib, err)
	}
}

// The echo program echoes.
func TestEcho(t *testing.T) {
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Skip("taskset is missing; it is in util-linux")
	}
	t.Chdir(filepath.Join("..", ".."))
	o := options{}
	s, err := start(t.Context(), &o, "echo", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.await(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("udp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := conn.Write([]byte{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, 4)
		if n, err := conn.Read(reply); err != nil || n != 3 || reply[2] != 3|0x80 {
			t.Fatalf("%x, %v", reply[:n], err)
		}
	}
}
