package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// LeaseOptions say which Lease it is and who wants it. Namespace, Name and Log
// must be set.
type LeaseOptions struct {
	Namespace, Name string
	// Identity tells processes apart; "" is the machine's name (in a cluster the
	// Pod's) with a random end.
	Identity string
	// Duration is how long a holder that is heard of no more keeps the Lease; 0 is
	// 15 seconds. It is renewed in two thirds of that.
	Duration time.Duration
	Log      *slog.Logger
	// Won is called on a goroutine of its own when this process gets the Lease; nil
	// for nothing.
	Won func()
}

// A Lease says which of several processes does what only one may do. It is safe
// for concurrent use.
type Lease struct {
	options LeaseOptions
	elector *leaderelection.LeaderElector
	lock    *watchedLock
	margin  time.Duration
}

// NewLease returns a Lease that nobody has asked for yet: Run does.
func NewLease(client kubernetes.Interface, o LeaseOptions) (*Lease, error) {
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			host = component
		}
		o.Identity = host + "_" + strings.ToLower(rand.Text()[:10])
	}
	o.Duration = cmp.Or(o.Duration, 15*time.Second)
	l := &Lease{options: o, margin: o.Duration / 3}
	l.lock = &watchedLock{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
	}}
	var err error
	l.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l.lock, Name: o.Name, ReleaseOnCancel: true,
		LeaseDuration: o.Duration, RenewDeadline: o.Duration - l.margin, RetryPeriod: o.Duration / 8,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				o.Log.Info("this process has the lease", "lease", l.String())
				if o.Won != nil {
					o.Won()
				}
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(holder string) {
				if holder != o.Identity && holder != "" {
					o.Log.Info("another process has the lease", "lease", l.String(), "holder", holder)
				}
			},
		},
	})
	return l, err
}

// String returns namespace and name.
func (l *Lease) String() string { return l.options.Namespace + "/" + l.options.Name }

// Leads reports whether this process has the Lease for some more seconds; if not,
// who says in words why. Well before others may take the Lease it is false: also
// when the process was stopped meanwhile, or doesn't reach the API server.
func (l *Lease) Leads() (ok bool, who string) {
	if l.elector.IsLeader() {
		if l.elector.Check(-l.margin) == nil {
			return true, ""
		}
		return false, fmt.Sprintf("the lease %s could not be renewed in time%s", l, l.lock.problem())
	}
	if holder := l.elector.GetLeader(); holder != "" {
		return false, fmt.Sprintf("%s has the lease %s", holder, l)
	}
	if problem := l.lock.problem(); problem != "" {
		return false, fmt.Sprintf("the lease %s can't be had%s", l, problem)
	}
	return false, fmt.Sprintf("nobody has the lease %s yet", l)
}

// Run campaigns for the Lease until ctx is done, then gives it up, so that another
// process needs not wait. What the Lease guards must have ended by then.
func (l *Lease) Run(ctx context.Context) {
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(quieter{l.options.Log.Handler()}))
	for ctx.Err() == nil {
		l.elector.Run(ctx) // until the Lease is lost
	}
}

// A watchedLock remembers what the API server said last, for messages.
type watchedLock struct {
	resourcelock.Interface

	mu   sync.Mutex
	last error
}

func (w *watchedLock) note(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		w.last = err
	}
	return err
}

// problem is what stands in the way, after a colon; "" for nothing.
func (w *watchedLock) problem() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.last == nil:
		return ""
	case apierrors.IsForbidden(w.last):
		return fmt.Sprintf(" (%v); allow get, create and update on leases of coordination.k8s.io", w.last)
	}
	return fmt.Sprintf(" (%v)", w.last)
}

// Get implements resourcelock.Interface.
func (w *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := w.Interface.Get(ctx)
	return record, raw, w.note(err)
}

// Create implements resourcelock.Interface.
func (w *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.note(w.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (w *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.note(w.Interface.Update(ctx, record))
}

// Namespace returns the namespace in which the program keeps objects of its own:
// the Pod's, or that of the kubeconfig's context; "default" where neither says.
func Namespace(c Connection) (string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}).Namespace()
	return namespace, err
}
