package peers_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// soakVariable says how many packets the soak sends; without it, few.
const soakVariable = "CLUSTERZONE_SOAK"

// fewPackets is enough for each kind of packet to come thousands of times.
const fewPackets = 20_000

// mayGrow is how much more memory the program may have after a soak than after its
// first half, in octets: what the runtime keeps for itself varies by some.
const mayGrow = 24 << 20

// TestSoak sends good and malformed packets over UDP and TCP, as many as the
// environment asks for: the program must answer to the end, without a panic, and
// have no more memory at the end than in the middle.
func TestSoak(t *testing.T) {
	t.Parallel()
	packets := fewPackets
	start := serve
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		if packets, err = strconv.Atoi(text); err != nil || packets < 1 {
			t.Fatalf("%s=%s is no number of packets", soakVariable, text)
		}
		path, err := buildPlain() // whose memory is the program's own
		if err != nil {
			t.Fatal(err)
		}
		start = func(t testing.TB, flags ...string) *server { return daemon.Serve(t, path, flags...) }
	}
	s := start(t, "--zone-file=corp.test="+probeFile(t), "--rrl=100000", "--tcp-idle-timeout=2s")
	began := time.Now()
	answered := soak(t, s.DNS, packets/2)
	middle := resident(t, s.Pid())
	answered += soak(t, s.DNS, packets-packets/2)
	end := resident(t, s.Pid())
	t.Logf("%d packets in %s, %d replies; resident memory %d KiB in the middle, %d KiB at the end",
		packets, time.Since(began).Round(time.Second), answered, middle>>10, end>>10)
	if end > middle+mayGrow {
		t.Errorf("the memory has grown from %d KiB to %d KiB", middle>>10, end>>10)
	}
	if answered < int64(packets/4) {
		t.Errorf("%d replies to %d packets are too few", answered, packets)
	}
	reply, err := exchange(s.DNS, query(probeName, dns.TypeA))
	if err != nil || len(reply.Answer) != 1 {
		t.Errorf("no right answer at the end: %v\n%v", err, reply)
	}
	if panics := counter(t, s.Metrics, "clusterzone_dns_panics_total"); panics != 0 {
		t.Errorf("%d queries have panicked", panics)
	}
}

// soak sends packets from four clients, and returns how many replies came.
func soak(t testing.TB, address string, packets int) int64 {
	var answered atomic.Int64
	var clients sync.WaitGroup
	const many = 4
	for i := range many {
		clients.Go(func() {
			c := soaker{Rand: rand.New(rand.NewPCG(uint64(i), uint64(packets))), address: address, answered: &answered}
			if err := c.run(packets / many); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	return answered.Load()
}

// A soaker sends packets.
type soaker struct {
	*rand.Rand
	address  string
	answered *atomic.Int64
}

// atOnce is how many packets are sent before replies are read: few enough for the
// buffers of a socket.
const atOnce = 32

func (s *soaker) run(packets int) error {
	conn, err := net.Dial("udp", s.address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	seeds, err := soakSeeds()
	if err != nil {
		return err
	}
	buf := make([]byte, 65535)
	for sent := 0; sent < packets; {
		if s.IntN(200) == 0 {
			n, err := s.stream(seeds, min(atOnce, packets-sent))
			if err != nil {
				return err
			}
			sent += n
			continue
		}
		due := 0
		for ; due < atOnce && sent < packets; sent++ {
			message, good := s.packet(seeds)
			if _, err := conn.Write(message); err != nil {
				return fmt.Errorf("after %d packets: %w", sent, err)
			}
			if good {
				due++
			}
		}
		// A reply to a malformed packet may come, too. None is lost unless the socket's
		// buffer is full; then the wait ends.
		for range due {
			if err := conn.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
				return err
			}
			if _, err := conn.Read(buf); err != nil {
				break
			}
			s.answered.Add(1)
		}
	}
	return nil
}

// stream sends messages over one TCP connection and reads what comes back; half of
// the connections are broken off.
func (s *soaker) stream(seeds [][]byte, n int) (sent int, err error) {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return 0, fmt.Errorf("TCP: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return 0, err
	}
	var out []byte
	for ; sent < n; sent++ {
		message, good := s.packet(seeds)
		length := len(message)
		if !good && s.IntN(4) == 0 {
			length = s.IntN(1 << 16) // a lie
		}
		out = append(binary.BigEndian.AppendUint16(out, uint16(length)), message...)
	}
	if _, err := conn.Write(out); err != nil {
		return sent, nil // the server has hung up: it may, after rubbish
	}
	if s.IntN(2) == 0 {
		return sent, nil
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return sent, nil // hung up meanwhile
	}
	var length [2]byte
	for {
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return sent, nil
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint16(length[:]))); err != nil {
			return sent, nil
		}
		s.answered.Add(1)
	}
}

// packet is a query, good or malformed.
func (s *soaker) packet(seeds [][]byte) (message []byte, good bool) {
	message = append([]byte(nil), seeds[s.IntN(len(seeds))]...)
	binary.BigEndian.PutUint16(message, uint16(s.Uint32()))
	switch s.IntN(8) {
	case 0: // some octets changed
		for range 1 + s.IntN(4) {
			message[s.IntN(len(message))] = byte(s.Uint32())
		}
	case 1: // cut off
		message = message[:s.IntN(len(message))]
	case 2: // something behind
		for range 1 + s.IntN(40) {
			message = append(message, byte(s.Uint32()))
		}
	case 3: // rubbish
		message = message[:0]
		for range s.IntN(600) {
			message = append(message, byte(s.Uint32()))
		}
	default:
		return message, true
	}
	return message, false
}

// soakSeeds are good queries of all kinds.
func soakSeeds() ([][]byte, error) {
	var seeds [][]byte
	for _, name := range []string{probeZone, probeName, probeBig, "nothere." + probeZone, "a.b.c.d.e." + probeZone, "outside.invalid.", ".", "version.bind."} {
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeSOA, dns.TypeANY, dns.TypeHTTPS, 65280} {
			for _, edns := range []bool{false, true} {
				m := new(dns.Msg).SetQuestion(name, kind)
				if name == "version.bind." {
					m.Question[0].Qclass = dns.ClassCHAOS
				}
				if edns {
					m.SetEdns0(4096, true)
					m.IsEdns0().Option = []dns.EDNS0{
						&dns.EDNS0_LOCAL{Code: dns.EDNS0COOKIE, Data: []byte("12345678")}, &dns.EDNS0_LOCAL{Code: dns.EDNS0NSID}, &dns.EDNS0_LOCAL{Code: 100, Data: []byte("x")},
					}
				}
				seed, err := m.Pack()
				if err != nil {
					return nil, err
				}
				seeds = append(seeds, seed)
			}
		}
	}
	return seeds, nil
}

// resident is the memory of a process, in octets.
func resident(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Skipf("the memory of a process is read from /proc, which is not here: %v", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// counter reads a counter of the program's metrics.
func counter(t testing.TB, address, name string) int64 {
	t.Helper()
	response, err := (&http.Client{Timeout: 10 * time.Second}).Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int64(n)
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
