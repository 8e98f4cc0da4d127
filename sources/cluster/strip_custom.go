package cluster

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/clusterzone/clusterzone/sources"
)

// A mask says which fields of an object stay: those it names, each cut by its
// own mask; one that is nil keeps all. Lists are cut item by item.
type mask map[string]mask

// newMask makes a mask of paths like "spec.listeners.port".
func newMask(paths ...string) mask {
	root := mask{}
	for _, path := range paths {
		at := root
		names := strings.Split(path, ".")
		for i, name := range names {
			if i == len(names)-1 {
				at[name] = nil
				break
			}
			if at[name] == nil {
				at[name] = mask{}
			}
			at = at[name]
		}
	}
	return root
}

// cut returns what the mask leaves of a value; it changes nothing.
func (m mask) cut(value any) any {
	if m == nil {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(m))
		for name, below := range m {
			if field, ok := value[name]; ok {
				kept[name] = below.cut(field)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, item := range value {
			kept[i] = m.cut(item)
		}
		return kept
	}
	return value
}

// maskOf returns what translations read of a kind. A Gateway's status counts
// the routes of each listener: left in, one new route would look like a change
// of all routes' Gateway.
func maskOf(kind sources.Kind) mask {
	paths := []string{"apiVersion", "kind", "metadata"}
	conditions := func(at string) {
		for _, field := range []string{"type", "status", "reason", "message", "observedGeneration"} {
			paths = append(paths, at+".conditions."+field)
		}
	}
	listeners := func() {
		for _, field := range []string{"name", "hostname", "port", "protocol", "allowedRoutes"} {
			paths = append(paths, "spec.listeners."+field)
		}
	}
	switch kind {
	case sources.KindGateway:
		paths = append(paths, "spec.gatewayClassName", "spec.allowedListeners", "status.addresses")
		listeners()
		conditions("status")
	case sources.KindListenerSet:
		paths = append(paths, "spec.parentRef", "status.listeners.name")
		listeners()
		conditions("status")
		conditions("status.listeners")
	case sources.KindHTTPRoute, sources.KindGRPCRoute, sources.KindTLSRoute, sources.KindTCPRoute, sources.KindUDPRoute:
		paths = append(paths, "spec.hostnames", "spec.parentRefs", "status.parents.parentRef", "status.parents.controllerName")
		conditions("status.parents")
	case sources.KindRouteGroup:
		paths = append(paths, "spec.hosts", "status")
	default:
		return nil
	}
	return newMask(paths...)
}

// stripCustom returns what a mask leaves of a custom object, without who wrote
// what. It changes nothing.
func stripCustom(fields mask, object map[string]any) map[string]any {
	kept, ok := fields.cut(object).(map[string]any)
	if !ok {
		return object
	}
	kept = maps.Clone(kept)
	if metadata, ok := kept["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			annotations = maps.Clone(annotations)
			delete(annotations, corev1.LastAppliedConfigAnnotation)
			metadata["annotations"] = annotations
		}
		kept["metadata"] = metadata
	}
	return kept
}
