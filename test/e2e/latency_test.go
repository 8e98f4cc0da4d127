package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// An asker asks one server over one UDP socket, as fast as it answers or, with a pause,
// now and then. It makes
// no garbage and parses little: what it takes of the processor is missing
// elsewhere.
type asker struct {
	conn    *net.UDPConn
	pause   time.Duration // of until, between two questions
	reply   [1232]byte
	control [128]byte
}

func newAsker(b *testing.B, address string) *asker {
	b.Helper()
	server, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := net.DialUDP("udp", nil, server)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	if err := stampArrivals(conn); err != nil {
		b.Fatal(err)
	}
	return &asker{conn: conn}
}

// read returns the next reply, and when it reached the socket.
func (a *asker) read() (reply []byte, at time.Time, err error) {
	n, control, _, _, err := a.conn.ReadMsgUDPAddrPort(a.reply[:], a.control[:])
	if err != nil {
		return nil, time.Time{}, err
	}
	return a.reply[:n], arrival(a.control[:control]), nil
}

const headerSize = 12 // RFC 1035 section 4.1.1

// until asks for the A records of name until the answer is want, and returns
// when that was.
func (a *asker) until(name string, want netip.Addr) (time.Time, error) {
	var query dns.Msg
	query.SetQuestion(dns.Fqdn(name), dns.TypeA)
	wire, err := query.Pack()
	if err != nil {
		return time.Time{}, err
	}
	address := want.As4()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if _, err := a.conn.Write(wire); err != nil {
			return time.Time{}, err
		}
		if err := a.conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return time.Time{}, err
		}
		reply, at, err := a.read()
		if err != nil {
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				continue
			}
			return time.Time{}, err
		}
		// One record in all sections but the question, and it is the address at
		// the reply's end: there is no EDNS. An earlier reply has another ID.
		if len(reply) > headerSize && bytes.Equal(reply[:2], wire[:2]) && string(reply[4:headerSize]) == "\x00\x01\x00\x01\x00\x00\x00\x00" &&
			bytes.HasSuffix(reply, address[:]) {
			return at, nil
		}
		time.Sleep(a.pause)
	}
	return time.Time{}, fmt.Errorf("%s is not %s after %s", name, want, patience)
}

// once asks for the A records of name once, and returns how long it took until the
// answer reached the socket.
func (a *asker) once(name string) (time.Duration, error) {
	var query dns.Msg
	query.SetQuestion(dns.Fqdn(name), dns.TypeA)
	wire, err := query.Pack()
	if err != nil {
		return 0, err
	}
	if err := a.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := a.conn.Write(wire); err != nil {
		return 0, err
	}
	for {
		reply, at, err := a.read()
		if err != nil {
			return 0, err
		}
		if len(reply) > headerSize && bytes.Equal(reply[:2], wire[:2]) {
			return at.Sub(begin), nil
		}
	}
}

// BenchmarkChangeToAnswer changes the status of one Ingress of 10 000 at a time
// and reports the time from the API server's response to the first right answer
// over UDP, and from the change's request. An answer that comes before the
// response counts as 0 in the former. It also reports how long the program takes
// from its start to its first answer.
func BenchmarkChangeToAnswer(b *testing.B) { changeToAnswer(b, fill(b, manyIngresses), b.Loop) }

// changeToAnswer makes changes as long as more says so.
func changeToAnswer(b *testing.B, f *full, more func() bool) {
	path, err := buildPlain()
	if err != nil {
		b.Fatal(err)
	}
	kubeconfig := "--kubeconfig=" + f.cluster.Kubeconfig(b, f.cluster.Admin())
	begin := time.Now()
	p := serve(b, path, kubeconfig)
	a := newAsker(b, p.dns)
	ready, err := a.until(manyName(0), f.address(0))
	if err != nil {
		b.Fatal(err)
	}

	type seen struct {
		at  time.Time
		err error
	}
	var fromResponse, fromRequest []time.Duration
	change := 0
	for more() {
		change++
		i := change * 7919 % len(f.ingresses)
		want := f.next(i)
		first := make(chan seen, 1)
		go func() {
			at, err := a.until(manyName(i), want)
			first <- seen{at, err}
		}()
		request := time.Now()
		if err := f.setAddress(b.Context(), i, want); err != nil {
			b.Fatal(err)
		}
		response := time.Now()
		right := <-first
		if right.err != nil {
			b.Fatal(right.err)
		}
		fromResponse = append(fromResponse, max(0, right.at.Sub(response)))
		fromRequest = append(fromRequest, right.at.Sub(request))
	}
	b.ReportMetric(0, "ns/op") // says nothing: most of it is the API server's
	report(b, "response", fromResponse)
	report(b, "request", fromRequest)
	b.ReportMetric(ready.Sub(begin).Seconds()*1000, "start-to-answer-ms")
	p.stop(b)
}

func report(b *testing.B, name string, all []time.Duration) {
	slices.Sort(all)
	for _, part := range []struct {
		name    string
		percent int
	}{{"p50", 50}, {"p99", 99}, {"max", 100}} {
		d := all[max(0, (len(all)*part.percent+99)/100-1)]
		b.ReportMetric(float64(d.Microseconds())/1000, name+"-"+part.name+"-ms")
	}
}
