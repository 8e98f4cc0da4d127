package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/test/daemon"
)

const (
	churnRate    = 1000 // changes a second that are tried for
	churnSample  = 25   // every how manyth change is looked at
	churnTime    = 10 * time.Second
	churnAskers  = 4
	latencyPause = 2 * time.Millisecond // between two queries whose latency counts
	// lookPause is how exactly it is known how far answers are behind. Without any, the
	// askers themselves would take a processor.
	lookPause = time.Millisecond
)

// A lagging is a change that is looked at: name has the address want since at.
type lagging struct {
	name string
	want netip.Addr
	at   time.Time
}

// statusChurn changes addresses 1 000 times a second, or as often as the API server
// can beside everything else on this machine, and reports how often that was, how far
// answers were behind the API server's responses (and how far a bare watch of the same
// objects was, which answers can't come before), and how long queries take while that
// goes on and while nothing happens: of an echo, too, which shows what is the machine's.
func statusChurn(b *testing.B, f *full) {
	path, err := buildPlain()
	if err != nil {
		b.Fatal(err)
	}
	p := serve(b, path, "--kubeconfig="+f.cluster.Kubeconfig(b, f.cluster.Admin()))
	c := newChurn(b, p.dns, len(f.ingresses))
	if _, err := newAsker(b, p.dns).until(manyName(0), f.address(0)); err != nil {
		b.Fatal(err)
	}
	bare := f.watchBare(b)
	c.echo = startEcho(b)
	c.run(b, func(ctx context.Context, changes <-chan int) error {
		all, ctx := errgroup.WithContext(ctx)
		for worker := range writers {
			all.Go(func() error {
				for change := range changes {
					// Each worker has Ingresses of its own.
					i := (change*writers*7919 + worker) % (len(f.ingresses) / writers * writers)
					i = i/writers*writers + worker
					want := f.next(i)
					if err := f.setAddress(ctx, i, want); err != nil {
						return err
					}
					made := lagging{manyName(i), want, time.Now()}
					bare.sent(made)
					c.changed(change, made)
				}
				return nil
			})
		}
		return all.Wait()
	})
	report(b, "bare-watch", bare.behind())
	b.ReportMetric(memory(b, p.Pid(), "VmRSS"), "rss-MiB")
	b.ReportMetric(memory(b, p.Pid(), "VmHWM"), "peak-MiB")
	p.stop(b)
}

// A bareWatch notes when changes come from the API server.
type bareWatch struct {
	mu         sync.Mutex
	made, seen map[string]time.Time // by name and address
}

// watchBare watches the Ingresses as they change from now on, until the benchmark's
// end.
func (f *full) watchBare(b *testing.B) *bareWatch {
	b.Helper()
	api := f.client.NetworkingV1().Ingresses("")
	now, err := api.List(b.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	events, err := api.Watch(b.Context(), metav1.ListOptions{ResourceVersion: now.ResourceVersion})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(events.Stop)
	w := &bareWatch{made: make(map[string]time.Time), seen: make(map[string]time.Time)}
	go func() {
		for event := range events.ResultChan() {
			at := time.Now()
			ingress, ok := event.Object.(*networkingv1.Ingress)
			if !ok {
				continue
			}
			w.mu.Lock()
			w.seen[ingress.Spec.Rules[0].Host+ingress.Status.LoadBalancer.Ingress[0].IP] = at
			w.mu.Unlock()
		}
	}()
	return w
}

func (w *bareWatch) sent(change lagging) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made[change.name+change.want.String()] = change.at
}

// behind returns how far the watch was behind, for each change that it has seen.
func (w *bareWatch) behind() (all []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for change, made := range w.made {
		if seen, ok := w.seen[change]; ok {
			all = append(all, max(0, seen.Sub(made)))
		}
	}
	return all
}

// A churn drives changes, and looks at what becomes of them.
type churn struct {
	address string
	echo    string // of an echo that is asked at the same time; "" for none
	names   int
	looks   chan lagging
}

func newChurn(b *testing.B, address string, names int) *churn {
	b.Helper()
	return &churn{address: address, names: names, looks: make(chan lagging, 1000)}
}

// changed notes that a change was made; some of them are looked at.
func (c *churn) changed(change int, made lagging) {
	if change%churnSample == 0 {
		c.looks <- made
	}
}

// run has change make the changes whose numbers it gets, until they end, and
// reports.
func (c *churn) run(b *testing.B, change func(context.Context, <-chan int) error) {
	b.Helper()
	idle := c.latencies(b, b.Context(), c.address, churnTime/2)
	all, ctx := errgroup.WithContext(b.Context())
	numbers := make(chan int)
	made, took := 0, time.Duration(0)
	all.Go(func() error {
		defer close(numbers)
		begin := time.Now()
		for time.Since(begin) < churnTime {
			if due := int(time.Since(begin).Seconds() * churnRate); made >= due {
				pause(ctx, time.Millisecond)
				continue
			}
			select {
			case numbers <- made:
				made++
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		took = time.Since(begin)
		return nil
	})
	all.Go(func() error {
		defer close(c.looks)
		return change(ctx, numbers)
	})
	lags := make([][]time.Duration, churnAskers)
	for i := range churnAskers {
		a := newAsker(b, c.address)
		a.pause = lookPause
		all.Go(func() error {
			for look := range c.looks {
				at, err := a.until(look.name, look.want)
				if err != nil {
					return err
				}
				lags[i] = append(lags[i], max(0, at.Sub(look.at)))
			}
			return nil
		})
	}
	var busy, echoed []time.Duration
	all.Go(func() error {
		busy = c.latencies(b, ctx, c.address, churnTime)
		return nil
	})
	if c.echo != "" {
		all.Go(func() error {
			echoed = c.latencies(b, ctx, c.echo, churnTime)
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(made)/took.Seconds(), "changes/s")
	report(b, "behind", slices.Concat(lags...))
	report(b, "idle-query", idle)
	report(b, "busy-query", busy)
	if c.echo != "" {
		report(b, "echo-query", echoed)
	}
}

// startEcho starts the program that test/bench measures servers against, and returns
// its address: what it takes to echo a query, no server can do without.
func startEcho(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "echo")
	if out, err := exec.Command("go", "build", "-o", path, "../bench/echo").CombinedOutput(); err != nil {
		b.Fatalf("test/bench/echo can't be built: %v\n%s", err, out)
	}
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := free.LocalAddr().String()
	if err := free.Close(); err != nil {
		b.Fatal(err)
	}
	p := daemon.Start(b, daemon.Spec{Path: path, Args: []string{address}})
	b.Cleanup(p.Kill)
	return address
}

func pause(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}

// latencies asks for names at random, one after another, and returns how long each
// answer took.
func (c *churn) latencies(b *testing.B, ctx context.Context, address string, long time.Duration) (took []time.Duration) {
	b.Helper()
	a := newAsker(b, address)
	for begin := time.Now(); time.Since(begin) < long && ctx.Err() == nil; {
		one, err := a.once(manyName(rand.IntN(c.names)))
		if err != nil {
			b.Error(err)
			return took
		}
		took = append(took, one)
		pause(ctx, latencyPause)
	}
	return took
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// processorTime is how long a process has been on a processor.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	// The name before the fields may hold spaces; of those after it, the 12th and
	// 13th are user and system time in hundredths of a second.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err := errors.Join(err1, err2); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * time.Second / 100
}
