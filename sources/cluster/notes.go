package cluster

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// noteKey is the annotation that holds a note.
const noteKey = "clusterzone/note"

// Notes keep a text in the cluster, over restarts and for all processes. It stands
// in an annotation of a Lease that nobody holds: so they need no rights beyond those
// of NewLease, and above all none to read other people's ConfigMaps. Notes are safe
// for concurrent use.
type Notes struct {
	client          kubernetes.Interface
	namespace, name string
}

// NewNotes returns the notes in the Lease of that name, which no election may have.
// Nothing is read yet.
func NewNotes(client kubernetes.Interface, namespace, name string) *Notes {
	return &Notes{client, namespace, name}
}

// Read returns the text, "" where there is none. The error names the Lease.
func (n *Notes) Read(ctx context.Context) (string, error) {
	lease, err := n.client.CoordinationV1().Leases(n.namespace).Get(ctx, n.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", n.failed(err)
	}
	return lease.Annotations[noteKey], nil
}

// Write puts text in place of what was there. Where another process writes at the
// same time, one of the two gets an error.
func (n *Notes) Write(ctx context.Context, text string) error {
	leases := n.client.CoordinationV1().Leases(n.namespace)
	lease, err := leases.Get(ctx, n.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: n.name, Annotations: map[string]string{noteKey: text}}}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: component})
		return n.failed(err)
	case err != nil:
		return n.failed(err)
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[noteKey] = text
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{FieldManager: component})
	return n.failed(err)
}

func (n *Notes) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the lease %s/%s: %w; allow get, create and update on leases of coordination.k8s.io", n.namespace, n.name, err)
	}
	return fmt.Errorf("the lease %s/%s: %w", n.namespace, n.name, err)
}
