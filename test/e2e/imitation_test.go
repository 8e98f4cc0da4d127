package e2e_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// BenchmarkImitatedChurn is StatusChurn of BenchmarkLarge without an API server: an
// imitation of one sends events that were made beforehand, and so takes next to
// nothing of the processors. behind counts from the moment at which the event was
// written to the connection.
func BenchmarkImitatedChurn(b *testing.B) {
	path, err := buildPlain()
	if err != nil {
		b.Fatal(err)
	}
	w := &imitation{count: largeIngresses, events: make(chan []byte)}
	for i := range w.count {
		w.initial = append(w.initial, eventFrame(b, watch.Added, manyIngress(i, manyAddress(i, 0)))...)
	}
	end := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "1", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	w.initial = append(w.initial, eventFrame(b, watch.Bookmark, end)...)
	server := httptest.NewServer(w)
	b.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
clusters: [{name: x, cluster: {server: %q}}], users: [{name: x, user: {}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}

	begin := time.Now()
	p := serve(b, path, "--kubeconfig="+kubeconfig, "--source=ingress")
	ready, err := newAsker(b, p.dns).until(manyName(0), manyAddress(0, 0))
	if err != nil {
		b.Fatal(err)
	}
	c := newChurn(b, p.dns, w.count)
	next := make([]int, w.count)
	type made struct {
		frame []byte
		look  lagging
	}
	// All events are made before the first is sent.
	var ahead []made
	for change := range int(churnTime.Seconds()*churnRate) + churnRate {
		i := change * 7919 % w.count
		next[i]++
		address := manyAddress(i, next[i])
		ahead = append(ahead, made{eventFrame(b, watch.Modified, manyIngress(i, address)), lagging{name: manyName(i), want: address}})
	}
	c.run(b, func(ctx context.Context, changes <-chan int) error {
		for change := range changes {
			one := ahead[change]
			select {
			case w.events <- one.frame:
			case <-ctx.Done():
				return ctx.Err()
			}
			one.look.at = time.Now()
			c.changed(change, one.look)
		}
		return nil
	})
	b.ReportMetric(ready.Sub(begin).Seconds()*1000, "start-to-answer-ms")
	b.ReportMetric(memory(b, p.Pid(), "VmRSS"), "rss-MiB")
	p.stop(b)
}

// An imitation answers watches of Ingresses: with all that there are, then with
// what comes.
type imitation struct {
	count   int
	initial []byte
	events  chan []byte
}

// ServeHTTP implements http.Handler.
func (w *imitation) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/apis/networking.k8s.io/v1/ingresses" || r.URL.Query().Get("sendInitialEvents") != "true" {
		http.NotFound(out, r)
		return
	}
	out.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	flush := out.(http.Flusher).Flush
	send := func(event []byte) bool {
		_, err := out.Write(event)
		flush()
		return err == nil
	}
	if !send(w.initial) {
		return
	}
	for {
		select {
		case event := <-w.events:
			if !send(event) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// eventFrame returns an event as API servers send it in protobuf.
func eventFrame(b *testing.B, kind watch.EventType, ingress *networkingv1.Ingress) []byte {
	b.Helper()
	ingress.TypeMeta = metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}
	var object bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(ingress, &object); err != nil {
		b.Fatal(err)
	}
	event := metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: object.Bytes()}}
	wire, err := event.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(wire))), wire...)
}

// manyIngress is an Ingress of fill with its address, as an API server would have it.
func manyIngress(i int, address netip.Addr) *networkingv1.Ingress {
	ingress := emptyIngress(i)
	ingress.UID = "00000000-0000-0000-0000-000000000000"
	ingress.ResourceVersion = "12345678"
	ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: address.String()}}
	return ingress
}
