package cluster

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

// campaign runs a Lease until the test ends or stop is called, which returns when
// the Lease was given up.
func campaign(t *testing.T, client kubernetes.Interface, identity string, lasts time.Duration, won func()) (l *Lease, stop func()) {
	t.Helper()
	l, err := NewLease(client, LeaseOptions{Namespace: "dns", Name: "one", Identity: identity, Duration: lasts, Log: slog.New(slog.DiscardHandler), Won: won})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		l.Run(ctx)
		close(done)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return l, stop
}

func awaitLease(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(what)
		}
	}
}

// TestOneHasTheLease: the second one learns who has it, and gets it when the first
// gives it up.
func TestOneHasTheLease(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	const lasts = 45 * time.Second // a busy machine renews late
	won := make(chan struct{}, 1)
	first, stop := campaign(t, client, "first", lasts, func() { won <- struct{}{} })
	<-won
	if ok, who := first.Leads(); !ok {
		t.Fatalf("the first one doesn't lead: %s", who)
	}
	second, _ := campaign(t, client, "second", lasts, nil)
	awaitLease(t, "the second one never learns who leads", func() bool {
		ok, who := second.Leads()
		if ok {
			t.Fatal("both lead")
		}
		return who == "first has the lease dns/one"
	})
	stop()
	if ok, _ := first.Leads(); ok {
		t.Error("the first one still leads after it gave the lease up")
	}
	awaitLease(t, "the second one never leads", func() bool {
		ok, _ := second.Leads()
		return ok
	})
}

// TestALeaseThatCannotBeRenewedIsNoLongerCountedOn: well before others may take it.
// Afterwards it is had again.
func TestALeaseThatCannotBeRenewedIsNoLongerCountedOn(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	broken := make(chan bool, 1)
	broken <- false
	isBroken := func() bool {
		now := <-broken
		broken <- now
		return now
	}
	client.PrependReactor("*", "leases", func(kubetesting.Action) (bool, runtime.Object, error) {
		if isBroken() {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "one", nil)
		}
		return false, nil, nil
	})
	l, _ := campaign(t, client, "only", 3*time.Second, nil)
	leads := func() bool {
		ok, _ := l.Leads()
		return ok
	}
	awaitLease(t, "it never leads", leads)
	<-broken
	broken <- true
	awaitLease(t, "it leads on", func() bool {
		ok, who := l.Leads()
		return !ok && strings.Contains(who, "could not be renewed in time") && strings.Contains(who, "allow get, create and update on leases")
	})
	<-broken
	broken <- false
	awaitLease(t, "it never leads again", leads)
}
