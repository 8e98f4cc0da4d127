package cluster

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A stripper cuts objects down to what translations read, before they are kept.
type stripper struct {
	prefixes []string // of the annotations kept on Pods and Nodes; none keeps all
}

// strip implements cache.TransformFunc. It may change obj, gives the same when
// applied twice, never fails and never returns nil; what it doesn't know (a
// cache.DeletedFinalStateUnknown) passes as it is.
func (s stripper) strip(obj any) (any, error) {
	switch obj := obj.(type) {
	case *networkingv1.Ingress: // templates may read any field of it
		stripMeta(&obj.ObjectMeta)
	case *corev1.Service: // likewise
		stripMeta(&obj.ObjectMeta)
	case *networkingv1.IngressClass:
		return &networkingv1.IngressClass{ObjectMeta: keptMeta(&obj.ObjectMeta, func(key string) bool {
			return key == networkingv1.AnnotationIsDefaultIngressClass
		})}, nil
	case *corev1.Namespace: // matched by its labels
		return &corev1.Namespace{ObjectMeta: keptMeta(&obj.ObjectMeta, func(string) bool { return false })}, nil
	case *discoveryv1.EndpointSlice:
		return stripSlice(obj), nil
	case *corev1.Pod:
		return s.pod(obj), nil
	case *corev1.Node:
		return &corev1.Node{
			ObjectMeta: keptMeta(&obj.ObjectMeta, s.wanted),
			Spec:       corev1.NodeSpec{Unschedulable: obj.Spec.Unschedulable},
			Status:     corev1.NodeStatus{Addresses: obj.Status.Addresses},
		}, nil
	}
	return obj, nil
}

// stripMeta drops who wrote what, and the copy of the object that kubectl apply
// keeps in an annotation.
func stripMeta(meta *metav1.ObjectMeta) {
	meta.ManagedFields = nil
	delete(meta.Annotations, corev1.LastAppliedConfigAnnotation)
}

// wanted reports whether an annotation of a Pod or Node is kept.
func (s stripper) wanted(key string) bool {
	return len(s.prefixes) == 0 ||
		slices.ContainsFunc(s.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// keptMeta returns what neighbours need of their metadata: labels, and the
// annotations wanted. The resource version stays, since informers compare it.
func keptMeta(meta *metav1.ObjectMeta, wanted func(key string) bool) metav1.ObjectMeta {
	maps.DeleteFunc(meta.Annotations, func(key, _ string) bool {
		return key == corev1.LastAppliedConfigAnnotation || !wanted(key)
	})
	kept := metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
		Labels: meta.Labels,
	}
	if len(meta.Annotations) > 0 {
		kept.Annotations = meta.Annotations
	}
	return kept
}

func stripSlice(obj *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	kept := &discoveryv1.EndpointSlice{
		ObjectMeta:  keptMeta(&obj.ObjectMeta, func(string) bool { return false }),
		AddressType: obj.AddressType,
	}
	if len(obj.Endpoints) > 0 {
		kept.Endpoints = make([]discoveryv1.Endpoint, len(obj.Endpoints))
	}
	for i, endpoint := range obj.Endpoints {
		kept.Endpoints[i] = discoveryv1.Endpoint{
			Addresses: endpoint.Addresses, Conditions: endpoint.Conditions, Hostname: endpoint.Hostname,
			TargetRef: endpoint.TargetRef, NodeName: endpoint.NodeName,
		}
	}
	return kept
}

func (s stripper) pod(obj *corev1.Pod) *corev1.Pod {
	kept := &corev1.Pod{
		ObjectMeta: keptMeta(&obj.ObjectMeta, s.wanted),
		Spec: corev1.PodSpec{
			NodeName: obj.Spec.NodeName, Hostname: obj.Spec.Hostname,
			Subdomain: obj.Spec.Subdomain, HostNetwork: obj.Spec.HostNetwork,
		},
		Status: corev1.PodStatus{
			Phase: obj.Status.Phase, HostIP: obj.Status.HostIP, HostIPs: obj.Status.HostIPs,
			PodIP: obj.Status.PodIP, PodIPs: obj.Status.PodIPs,
		},
	}
	for _, condition := range obj.Status.Conditions {
		if condition.Type == corev1.PodReady {
			kept.Status.Conditions = []corev1.PodCondition{{Type: condition.Type, Status: condition.Status}}
		}
	}
	return kept
}
