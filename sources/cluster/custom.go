package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/clusterzone/clusterzone/sources"
)

// A custom reads a kind that comes with a CustomResourceDefinition: in the
// first of its versions that the API server serves. Which that is, it asks
// anew whenever the API server no longer knows the one at hand, so that
// definitions may come, change and go while the program runs.
type custom struct {
	info      sources.KindInfo
	mask      mask
	namespace string
	discovery discovery.ServerResourcesInterfaceWithContext
	client    dynamic.Interface
	log       *slog.Logger

	mu      sync.Mutex
	version string // served when last asked; "" where that must be found out
}

func (c *custom) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return inServedVersion(ctx, c, func(api dynamic.ResourceInterface) (runtime.Object, error) {
		return api.List(ctx, options)
	})
}

func (c *custom) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return inServedVersion(ctx, c, func(api dynamic.ResourceInterface) (watch.Interface, error) {
		return api.Watch(ctx, options)
	})
}

// inServedVersion makes a call in the version at hand, and where the API server
// doesn't know that any more, once again in another.
func inServedVersion[T any](ctx context.Context, c *custom, call func(dynamic.ResourceInterface) (T, error)) (got T, err error) {
	for range 2 {
		version, err := c.served(ctx)
		if err != nil {
			return got, err
		}
		api := c.client.Resource(schema.GroupVersionResource{Group: c.info.Group, Version: version, Resource: c.info.Resource})
		got, err = call(api.Namespace(c.namespace))
		if !apierrors.IsNotFound(err) {
			return got, err
		}
		c.forget(version)
	}
	return got, c.absent()
}

// served returns the version to read. Where the API server may not be asked
// which it has, that is the preferred one.
func (c *custom) served(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != "" {
		return c.version, nil
	}
	for _, version := range c.info.Versions {
		list, err := c.discovery.ServerResourcesForGroupVersionWithContext(ctx, c.info.Group+"/"+version)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			return c.info.Versions[0], nil
		case err != nil:
			return "", err
		}
		if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == c.info.Resource }) {
			c.version = version
			return version, nil
		}
	}
	return "", c.absent()
}

func (c *custom) forget(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == version {
		c.version = ""
	}
}

// absent says that no version of the kind is served.
func (c *custom) absent() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("no CustomResourceDefinition %s.%s serves version %s",
			c.info.Resource, c.info.Group, strings.Join(c.info.Versions, " or ")),
	}}
}

// convert implements cache.TransformFunc: it strips an object and gives it the
// type that sinks want. Of one whose form is another than its definition should
// allow only the metadata is left.
func (c *custom) convert(obj any) (any, error) {
	raw, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // a cache.DeletedFinalStateUnknown, or converted before
	}
	kept := stripCustom(c.mask, raw.Object)
	converted := c.info.New()
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(kept, converted)
	if err == nil {
		return converted, nil
	}
	c.log.Warn("an object can't be read, and nothing of it is served; its CustomResourceDefinition allows what it should not",
		"kind", string(c.info.Kind), "namespace", raw.GetNamespace(), "name", raw.GetName(), "error", err)
	bare := c.info.New()
	metadata := map[string]any{"metadata": kept["metadata"]}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, bare); err != nil {
		return obj, nil // no name either: the handler drops it
	}
	return bare, nil
}
