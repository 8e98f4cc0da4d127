package cluster

import (
	"errors"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

func TestNotesAreKept(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	notes := NewNotes(client, "dns", "one")
	if text, err := notes.Read(t.Context()); text != "" || err != nil {
		t.Errorf("at first there is %q (%v)", text, err)
	}
	for _, text := range []string{"first", "second"} {
		if err := notes.Write(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		// Another process finds it.
		if got, err := NewNotes(client, "dns", "one").Read(t.Context()); got != text || err != nil {
			t.Errorf("%q (%v) is there, and not %q", got, err, text)
		}
	}
}

// What others have written on the Lease stays.
func TestNotesLeaveTheRest(t *testing.T) {
	t.Parallel()
	for _, annotations := range []map[string]string{nil, {"mine": "stays"}} {
		client := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "one", Annotations: annotations, Labels: map[string]string{"a": "b"}}})
		notes := NewNotes(client, "dns", "one")
		if err := notes.Write(t.Context(), "text"); err != nil {
			t.Fatal(err)
		}
		lease, err := client.CoordinationV1().Leases("dns").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil || lease.Annotations["mine"] != annotations["mine"] || lease.Labels["a"] != "b" || lease.Annotations[noteKey] != "text" {
			t.Errorf("the lease is %+v (%v)", lease, err)
		}
	}
}

func TestNotesTellWhatIsWrong(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for verb, c := range map[string]struct {
		err  error
		says string
	}{
		"get":    {apierrors.NewForbidden(resource, "one", errors.New("no rights")), "allow get, create and update on leases"},
		"create": {apierrors.NewForbidden(resource, "one", errors.New("no rights")), "allow get, create and update on leases"},
		"update": {apierrors.NewConflict(resource, "one", errors.New("changed")), "the lease dns/one: "},
	} {
		client := fake.NewClientset()
		notes := NewNotes(client, "dns", "one")
		if verb == "update" {
			if err := notes.Write(t.Context(), "text"); err != nil {
				t.Fatal(err)
			}
		}
		client.PrependReactor(verb, "leases", func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		if err := notes.Write(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "dns/one") {
			t.Errorf("%s: %v", verb, err)
		}
		if _, err := notes.Read(t.Context()); (err != nil) != (verb == "get") {
			t.Errorf("%s: reading says %v", verb, err)
		}
	}
}
