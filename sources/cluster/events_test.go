package cluster

import (
	"context"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/clusterzone/clusterzone/zones"
)

func TestRecorder(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	client := fake.NewClientset()
	posted := make(chan *corev1.Event, 100)
	client.PrependReactor("create", "events", func(action kubetesting.Action) (bool, runtime.Object, error) {
		event := action.(kubetesting.CreateAction).GetObject().(*corev1.Event)
		posted <- event
		return true, event, nil
	})
	recorder := NewRecorder(ctx, client, slog.New(slog.DiscardHandler))

	shop := ingress("web", "shop", "1")
	shop.UID = "u-1"
	owner := zones.Owner{Source: "ingress", Namespace: "web", Name: "shop"}
	object := func(o zones.Owner) metav1.Object {
		if o == owner {
			return shop
		}
		return nil
	}
	name, err := zones.ParseName("shop.corp.test")
	if err != nil {
		t.Fatal(err)
	}
	recorder.Record([]zones.Skipped{
		{Owner: owner, Reason: zones.ReasonNoAddress, Message: "not for its author"},
		{Owner: zones.Owner{Source: "ingress", Namespace: "web", Name: "gone"}, Reason: zones.ReasonInvalidName, Message: "of an object that is gone"},
		{Owner: owner, Reason: zones.ReasonConflict, Name: name, Message: "ingress red/shop has it"},
		{Owner: owner, Reason: zones.ReasonCNAMEConflict, Name: name, Message: "shop.corp.test has other records"},
	}, object)
	recorder.Record([]zones.Skipped{{Owner: owner, Reason: zones.ReasonInvalidName, Asked: "a/b", Message: `"a/b" is no name`}}, object)
	recorder.Record([]zones.Skipped{{Owner: owner, Reason: zones.ReasonHeld, Name: name, Message: "held until noon"}}, object)

	for _, want := range []corev1.Event{
		{Reason: "DNSConflict", Message: "shop.corp.test: ingress red/shop has it"},
		{Reason: "DNSCnameConflict", Message: "shop.corp.test has other records"},
		{Reason: "DNSInvalidName", Message: `"a/b" is no name`},
		{Reason: "DNSHeld", Message: "shop.corp.test: held until noon"},
	} {
		var got *corev1.Event
		select {
		case got = <-posted:
		case <-time.After(30 * time.Second):
			t.Fatalf("the event %q never came", want.Message)
		}
		regarding := corev1.ObjectReference{
			Kind: "Ingress", APIVersion: "networking.k8s.io/v1", Namespace: "web", Name: "shop", UID: "u-1",
		}
		got.InvolvedObject.ResourceVersion = ""
		if got.Type != corev1.EventTypeWarning || got.Reason != want.Reason || got.Message != want.Message ||
			got.Namespace != "web" || got.Source.Component != "clusterzone" || got.InvolvedObject != regarding {
			t.Errorf("got %+v", got)
		}
	}
	if len(posted) > 0 {
		t.Errorf("one more came: %+v", <-posted)
	}
}

// TestRecorderIsLimited holds that one object can't flood the API server.
func TestRecorderIsLimited(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	client := fake.NewClientset()
	posted := make(chan string, 1000)
	client.PrependReactor("*", "events", func(action kubetesting.Action) (bool, runtime.Object, error) {
		var event *corev1.Event
		if create, ok := action.(kubetesting.CreateAction); ok {
			event = create.GetObject().(*corev1.Event)
			posted <- event.InvolvedObject.Name
		}
		return true, event, nil
	})
	recorder := NewRecorder(ctx, client, slog.New(slog.DiscardHandler))
	object := func(o zones.Owner) metav1.Object {
		obj := ingress(o.Namespace, o.Name, "1")
		obj.UID = "u"
		return obj
	}
	for i := range 100 {
		recorder.Record([]zones.Skipped{{
			Owner: zones.Owner{Source: "ingress", Namespace: "web", Name: "noisy"}, Reason: zones.ReasonInvalidName, Message: string(rune('a' + i)),
		}}, object)
	}
	recorder.Record([]zones.Skipped{{
		Owner: zones.Owner{Source: "ingress", Namespace: "web", Name: "quiet"}, Reason: zones.ReasonInvalidName, Message: "once",
	}}, object)
	noisy := 0
	for {
		select {
		case name := <-posted:
			if name == "quiet" {
				if noisy == 0 || noisy > eventBurst {
					t.Errorf("%d events of the noisy object came, want at most %d", noisy, eventBurst)
				}
				return
			}
			noisy++
		case <-time.After(30 * time.Second):
			t.Fatal("the quiet object's event never came")
		}
	}
}
