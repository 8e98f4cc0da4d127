package cluster

import (
	"context"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// component is the name under which events are posted.
const component = "clusterzone"

// An object may cause so many events at once, and then one in so many seconds.
const (
	eventBurst   = 10
	eventSeconds = 60
)

// A Recorder posts a Kubernetes Warning event on an object for a Skipped that
// its author can mend, or ought to know of. What one object causes is limited in rate and aggregated;
// when the API server is slow or gone, events are dropped, not queued without
// bound.
//
// A Recorder is safe for concurrent use. Record never blocks.
type Recorder struct {
	recorder record.EventRecorder
	scheme   *runtime.Scheme
}

// NewRecorder returns a recorder that posts to the API server of client until
// ctx is done. log takes client-go's words at debug level.
func NewRecorder(ctx context.Context, client kubernetes.Interface, log *slog.Logger) *Recorder {
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(quieter{log.Handler()}))
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{
		BurstSize: eventBurst, QPS: 1.0 / eventSeconds,
	}))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	kinds := sources.NewScheme()
	return &Recorder{broadcaster.NewRecorder(kinds, corev1.EventSource{Component: component}), kinds}
}

// Record posts those of skipped whose reason helps on the object (Reason.Posted).
// Given the news of each commit (zones.Commit.Skipped), it says one thing of an
// object once, until that has gone and come back. object finds the object of an
// owner; nil stands for one that has gone meanwhile and gets no event.
func (r *Recorder) Record(skipped []zones.Skipped, object func(zones.Owner) metav1.Object) {
	for _, skip := range skipped {
		if !skip.Reason.Posted() {
			continue
		}
		obj, ok := object(skip.Owner).(runtime.Object)
		if !ok {
			continue
		}
		regarding, err := reference.GetReference(r.scheme, obj)
		if err != nil {
			continue // none of our kinds
		}
		text := skip.Message
		if name := skip.Name.String(); !strings.Contains(text, name) {
			text = name + ": " + text
		}
		r.recorder.Event(regarding, corev1.EventTypeWarning, eventReason(skip.Reason), text)
	}
}

// Warn posts one Warning event on an object, Tell a Normal one. An object that
// isn't of our kinds gets none.
func (r *Recorder) Warn(object metav1.Object, reason, text string) {
	r.post(object, corev1.EventTypeWarning, reason, text)
}

// Tell posts one Normal event on an object, as Warn does.
func (r *Recorder) Tell(object metav1.Object, reason, text string) {
	r.post(object, corev1.EventTypeNormal, reason, text)
}

func (r *Recorder) post(object metav1.Object, kind, reason, text string) {
	obj, ok := object.(runtime.Object)
	if !ok {
		return
	}
	if regarding, err := reference.GetReference(r.scheme, obj); err == nil {
		r.recorder.Event(regarding, kind, reason, text)
	}
}

// WarnLease posts a Warning event on a Lease, for what concerns no single object.
func (r *Recorder) WarnLease(l *Lease, reason, text string) {
	r.recorder.Event(&corev1.ObjectReference{
		Kind: "Lease", APIVersion: "coordination.k8s.io/v1", Namespace: l.options.Namespace, Name: l.options.Name,
	}, corev1.EventTypeWarning, reason, text)
}

// eventReason writes a reason as Kubernetes writes them: DNSInvalidName.
func eventReason(reason zones.Reason) string {
	text := []byte("DNS")
	upper := true
	for _, c := range []byte(reason) {
		if c == '-' {
			upper = true
			continue
		}
		if upper && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper = false
		text = append(text, c)
	}
	return string(text)
}
