package kubetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
)

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// Reset undoes every Apply since the start or the last Reset, in reverse order:
// it removes what Apply made, finalizers or not, and gives objects that were
// there before their former content. Namespaces that Apply made go with all
// that is in them; elsewhere what tests made by other means stays, but for
// Events, which Reset removes everywhere.
func (c *Cluster) Reset(t testing.TB) {
	t.Helper()
	if err := c.reset(context.Background()); err != nil {
		t.Fatalf("kubetest: reset: %v", err)
	}
}

func (c *Cluster) reset(ctx context.Context) error {
	applied := c.takeNotes()
	var failed []error
	for i := len(applied) - 1; i >= 0; i-- {
		object := applied[i]
		undo := c.remove
		if object.before != nil {
			undo = c.restore
		}
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		err := undo(bounded, object)
		cancel()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s %s/%s: %w", object.resource.Resource, object.namespace, object.name, err))
		}
	}
	if err := c.removeEvents(ctx); err != nil {
		failed = append(failed, fmt.Errorf("events: %w", err))
	}
	return errors.Join(failed...)
}

// remove deletes the object and returns when it is gone.
func (c *Cluster) remove(ctx context.Context, object *appliedObject) error {
	if object.resource == namespaces {
		return c.removeNamespace(ctx, object.name)
	}
	client := c.client(object.resource, object.namespace)
	isDefinition := object.resource.Resource == "customresourcedefinitions"
	err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
		err := client.Delete(ctx, object.name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil && !apierrors.IsConflict(err) {
			return false, err
		}
		live, err := client.Get(ctx, object.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		// The API server itself works off the finalizer of a definition.
		if len(live.GetFinalizers()) > 0 && !isDefinition {
			_, err = client.Patch(ctx, object.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return false, nil
	})
	if isDefinition {
		c.mapper.Reset()
	}
	return err
}

// removeNamespace does what the namespace controller does elsewhere: it deletes
// what is in the namespace, then lets the namespace go.
func (c *Cluster) removeNamespace(ctx context.Context, name string) error {
	client := c.clientset.CoreV1().Namespaces()
	err := client.Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	// A conflict means that it is being deleted already.
	if err != nil && !apierrors.IsConflict(err) {
		return err
	}
	if err := c.empty(ctx, name); err != nil {
		return err
	}
	return poll(ctx, 20*time.Millisecond, func() (bool, error) {
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		live.Finalizers = nil
		live.Spec.Finalizers = nil
		_, err = client.Finalize(ctx, live, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return false, err
		}
		return false, nil
	})
}

// empty deletes all objects in a namespace.
func (c *Cluster) empty(ctx context.Context, namespace string) error {
	lists, err := discovery.ServerPreferredNamespacedResources(c.clientset.Discovery())
	if err != nil {
		return err
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "deletecollection"}}, lists)
	resources, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return err
	}
	for resource := range resources {
		client := c.client(resource, namespace)
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list %s: %w", resource.GroupResource(), err)
		}
		for _, object := range list.Items {
			if err := c.remove(ctx, &appliedObject{resource: resource, namespace: namespace, name: object.GetName()}); err != nil {
				return fmt.Errorf("%s %s: %w", resource.Resource, object.GetName(), err)
			}
		}
	}
	return nil
}

// restore gives an object its former content again.
func (c *Cluster) restore(ctx context.Context, object *appliedObject) error {
	client := c.client(object.resource, object.namespace)
	live, err := client.Get(ctx, object.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	former := object.before.DeepCopy()
	former.SetResourceVersion(live.GetResourceVersion())
	live, err = client.Update(ctx, former, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	former.SetResourceVersion(live.GetResourceVersion())
	_, err = client.UpdateStatus(ctx, former, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil // the kind has no status subresource: Update did it all
	}
	return err
}

// removeEvents deletes the Events of all namespaces.
func (c *Cluster) removeEvents(ctx context.Context) error {
	list, err := c.clientset.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	done := make(map[string]bool)
	for _, event := range list.Items {
		if done[event.Namespace] {
			continue
		}
		done[event.Namespace] = true
		err := c.clientset.CoreV1().Events(event.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}
