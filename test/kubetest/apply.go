package kubetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// An appliedObject is one that Apply made or changed.
type appliedObject struct {
	resource        schema.GroupVersionResource
	namespace, name string
	// before is the object as Apply found it, nil if Apply made it.
	before *unstructured.Unstructured
}

// An objectKey tells objects apart, whatever version they were applied in.
type objectKey struct {
	resource        schema.GroupResource
	namespace, name string
}

// Apply creates or updates the objects of the YAML documents data, in order.
//
// An object that exists already gets the document's metadata and spec in place
// of its own, and keeps its status. Then a status in the document, which the
// API server ignores up to here, goes in as a merge patch of the status
// subresource (where the kind has none, of the object): lists replace lists,
// maps are merged, and null removes, as in "loadBalancer: {ingress: null}".
// Namespaces that are missing are made; an object that names none belongs to
// "default". After a CustomResourceDefinition Apply waits until its kinds can be
// used; the API server itself then holds up their first objects for two seconds,
// so definitions are better given as Options.CRDs. Fields unknown to the API
// server are errors.
func (c *Cluster) Apply(t testing.TB, data []byte) {
	t.Helper()
	if err := c.apply(context.Background(), data); err != nil {
		t.Fatalf("kubetest: apply: %v", err)
	}
}

// Delete removes an object at once, without a grace period. kind is a kind or a
// resource in any case, such as "Ingress" or "httproutes", with the group behind
// a dot where that is not clear. ns is "" for the namespace "default" and for
// kinds without namespaces. An object with finalizers stays, marked as deleted,
// until someone removes those; so does a Namespace until Reset, as no controller
// runs.
func (c *Cluster) Delete(t testing.TB, kind, ns, name string) {
	t.Helper()
	ctx, cancel := callContext()
	defer cancel()
	if err := c.delete(ctx, kind, ns, name); err != nil {
		t.Fatalf("kubetest: delete: %v", err)
	}
}

func (c *Cluster) delete(ctx context.Context, kind, ns, name string) error {
	wanted := schema.ParseGroupResource(strings.ToLower(kind))
	resource, err := c.mapper.ResourceFor(wanted.WithVersion(""))
	if err != nil {
		return err
	}
	gvk, err := c.mapper.KindFor(resource)
	if err != nil {
		return err
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		ns = ""
	} else if ns == "" {
		ns = metav1.NamespaceDefault
	}
	return c.client(resource, ns).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
}

func (c *Cluster) applyFiles(ctx context.Context, path string) error {
	files, err := manifestFiles(path)
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := c.apply(ctx, data); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (c *Cluster) apply(ctx context.Context, data []byte) error {
	objects, err := parse(data)
	if err != nil {
		return err
	}
	for _, object := range objects {
		// Bounded one by one: a file may hold thousands.
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		err := c.applyObject(bounded, object)
		cancel()
		if err != nil {
			return fmt.Errorf("%s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
	}
	return nil
}

func (c *Cluster) applyObject(ctx context.Context, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		object.SetNamespace("")
	} else if object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	// As "kubectl get -o yaml" prints them; they belong to the API server.
	for _, field := range []string{"uid", "resourceVersion", "managedFields", "generation", "creationTimestamp"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	status, hasStatus := object.Object["status"]
	unstructured.RemoveNestedField(object.Object, "status")

	client := c.client(mapping.Resource, object.GetNamespace())
	if err := c.put(ctx, client, mapping.Resource, object); err != nil {
		return err
	}
	if hasStatus {
		if err := patchStatus(ctx, client, object.GetName(), status); err != nil {
			return fmt.Errorf("status: %w", err)
		}
	}
	if gvk.Group == "apiextensions.k8s.io" && gvk.Kind == "CustomResourceDefinition" {
		return c.awaitDefinition(ctx, object)
	}
	return nil
}

// put creates object or replaces the one of its name.
func (c *Cluster) put(ctx context.Context, client dynamic.ResourceInterface, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	var last error
	// Others may write, make or remove the object in between.
	for range 10 {
		live, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			last = c.create(ctx, client, resource, object)
			if last == nil {
				return nil
			}
			if !apierrors.IsAlreadyExists(last) {
				return last
			}
			continue
		}
		if err != nil {
			return err
		}
		update := object.DeepCopy()
		update.SetResourceVersion(live.GetResourceVersion())
		// Ignored by kinds with a status subresource; the others would lose it.
		if status, ok := live.Object["status"]; ok {
			update.Object["status"] = status
		}
		_, last = client.Update(ctx, update, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
		if last == nil {
			c.note(&appliedObject{resource, object.GetNamespace(), object.GetName(), live})
			return nil
		}
		if !apierrors.IsConflict(last) && !apierrors.IsNotFound(last) {
			return last
		}
	}
	return last
}

func (c *Cluster) create(ctx context.Context, client dynamic.ResourceInterface, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	strict := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	_, err := client.Create(ctx, object, strict)
	if namespace := object.GetNamespace(); apierrors.IsNotFound(err) && namespace != "" {
		if made := c.createNamespace(ctx, namespace); made != nil {
			return made
		}
		_, err = client.Create(ctx, object, strict)
	}
	if err != nil {
		return err
	}
	c.note(&appliedObject{resource, object.GetNamespace(), object.GetName(), nil})
	return nil
}

func (c *Cluster) createNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.clientset.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.note(&appliedObject{resource: namespaces, name: name})
	return nil
}

// patchStatus merges status into the status of the object name.
func patchStatus(ctx context.Context, client dynamic.ResourceInterface, name string, status any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, options, "status")
	if apierrors.IsNotFound(err) {
		// The kind has no status subresource: a status is a field like others.
		_, err = client.Patch(ctx, name, types.MergePatchType, patch, options)
	}
	return err
}

// awaitDefinition returns when the kinds of a CustomResourceDefinition are known
// to discovery, and served. Both lag behind the definition.
func (c *Cluster) awaitDefinition(ctx context.Context, definition *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["served"] != true {
			continue
		}
		name, _ := version["name"].(string)
		var last error
		err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
			c.mapper.Reset()
			mapping, err := c.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind}, name)
			if err == nil {
				_, err = c.client(mapping.Resource, "").List(ctx, metav1.ListOptions{Limit: 1})
			}
			last = err
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("%s %s of group %s isn't served: %w (%v)", name, kind, group, err, last)
		}
	}
	return nil
}

// client returns the client for a resource; namespace is "" for all namespaces
// and for kinds without.
func (c *Cluster) client(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.dynamic.Resource(resource)
	}
	return c.dynamic.Resource(resource).Namespace(namespace)
}

// note remembers what Reset has to undo: the first touch of each object.
func (c *Cluster) note(object *appliedObject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := objectKey{object.resource.GroupResource(), object.namespace, object.name}
	if c.noted[key] {
		return
	}
	c.noted[key] = true
	c.applied = append(c.applied, object)
}

// takeNotes returns what note has noted and starts afresh.
func (c *Cluster) takeNotes() []*appliedObject {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes := c.applied
	c.applied, c.noted = nil, make(map[objectKey]bool)
	return notes
}
