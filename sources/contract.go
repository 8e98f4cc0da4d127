package sources

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A Kind is a kind of Kubernetes object that a source reads.
type Kind string

// The kinds. Those that have a source of their own are the owners of claims;
// Nodes and Pods are both; the others only decide part of others' claims.
// Kinds of Gateway API come as the structs of its version v1, whichever version
// the cluster serves.
const (
	KindIngress       Kind = "Ingress"
	KindIngressClass  Kind = "IngressClass"
	KindService       Kind = "Service"
	KindEndpointSlice Kind = "EndpointSlice"
	KindPod           Kind = "Pod"
	KindNode          Kind = "Node"
	KindNamespace     Kind = "Namespace"

	KindGateway     Kind = "Gateway"
	KindListenerSet Kind = "ListenerSet"
	KindHTTPRoute   Kind = "HTTPRoute"
	KindGRPCRoute   Kind = "GRPCRoute"
	KindTLSRoute    Kind = "TLSRoute"
	KindTCPRoute    Kind = "TCPRoute"
	KindUDPRoute    Kind = "UDPRoute"
	KindRouteGroup  Kind = "RouteGroup"
	KindDNSEndpoint Kind = "DNSEndpoint"
)

// A Sink takes what an origin (the cluster, or manifest files) reports. Its
// methods may be called from several goroutines; for one kind the calls come
// in order. They never block for long.
//
// The objects handed over are frozen: neither side changes them afterwards.
type Sink interface {
	// Set reports that obj (of a type that belongs to kind, *networkingv1.Ingress
	// and so on, or a *Packed of it) exists in this form now.
	Set(kind Kind, obj metav1.Object)
	// Gone reports that the object no longer exists.
	Gone(kind Kind, namespace, name string)
	// Synced reports that every object of kind that existed at the start has
	// been Set, or (problem not nil) that the kind can't be read: its source is
	// then off, and the others don't wait for it. A problem that is an
	// *Unreachable ends no wait; one that is an *Absent may be no problem to
	// anybody. Called again when any of that changes.
	Synced(kind Kind, problem error)
}

// An Unreachable is the problem of a kind of which nothing is known, because
// the origin itself can't be reached: whoever waits for the kind goes on
// waiting, and objects known before stay as they were.
type Unreachable struct{ Err error }

// Error returns the text of the cause.
func (u *Unreachable) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

// An Absent is the problem of a kind that the origin doesn't have: a cluster
// without its CustomResourceDefinition.
type Absent struct{ Err error }

// Error returns the text of the cause.
func (a *Absent) Error() string { return a.Err.Error() }

// Unwrap returns the cause.
func (a *Absent) Unwrap() error { return a.Err }

// neighbours gives a translation the objects beside its own. All lists come
// sorted by name, so that translations are deterministic.
type neighbours interface {
	// defaultClass is the name of the cluster's default IngressClass, or "".
	defaultClass() string
	// slices are the EndpointSlices labelled kubernetes.io/service-name=service.
	slices(namespace, service string) []*discoveryv1.EndpointSlice
	// pod is nil where the Pod is unknown.
	pod(namespace, name string) *corev1.Pod
	// podsMatching are the Pods of the namespace whose labels hold all of
	// selector (an empty selector matches none).
	podsMatching(namespace string, selector map[string]string) []*corev1.Pod
	// node is nil where the Node is unknown.
	node(name string) *corev1.Node
	nodes() []*corev1.Node
	// namespace, gateway and listenerSet are nil where the object is unknown.
	namespace(name string) *corev1.Namespace
	gateway(namespace, name string) *gatewayv1.Gateway
	listenerSet(namespace, name string) *gatewayv1.ListenerSet
	// unreadable says why objects of kind can't be read, or nil.
	unreadable(kind Kind) error
}
