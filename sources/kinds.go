package sources

import (
	"slices"

	routegroupv1 "github.com/szuecs/routegroup-client/apis/zalando.org/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const (
	groupGateway    = "gateway.networking.k8s.io"
	groupRouteGroup = "zalando.org"
	groupEndpoint   = "externaldns.k8s.io"
)

// A KindInfo says how API servers name a kind, and who reads it.
type KindInfo struct {
	Kind  Kind
	Group string
	// Versions are those that can be read, the preferred one first. What
	// translations look at has the same JSON form in all of them.
	Versions   []string
	Resource   string // as in a Role: "httproutes"
	Namespaced bool
	// Custom says that the kind comes with a CustomResourceDefinition, which a
	// cluster need not have, and may get or lose at any time.
	Custom bool
	// Source is the source whose owners are the objects of this kind, or "".
	Source string

	example runtime.Object
}

// New returns an empty object of the kind, of the type that a Sink wants.
func (k KindInfo) New() runtime.Object { return k.example.DeepCopyObject() }

// kinds lists all kinds there are. It never changes.
var kinds = []KindInfo{
	{KindIngress, "networking.k8s.io", []string{"v1"}, "ingresses", true, false, SourceIngress, &networkingv1.Ingress{}},
	{KindIngressClass, "networking.k8s.io", []string{"v1"}, "ingressclasses", false, false, "", &networkingv1.IngressClass{}},
	{KindService, "", []string{"v1"}, "services", true, false, SourceService, &corev1.Service{}},
	{KindEndpointSlice, "discovery.k8s.io", []string{"v1"}, "endpointslices", true, false, "", &discoveryv1.EndpointSlice{}},
	{KindPod, "", []string{"v1"}, "pods", true, false, SourcePod, &corev1.Pod{}},
	{KindNode, "", []string{"v1"}, "nodes", false, false, SourceNode, &corev1.Node{}},
	{KindNamespace, "", []string{"v1"}, "namespaces", false, false, "", &corev1.Namespace{}},

	{KindGateway, groupGateway, []string{"v1", "v1beta1", "v1alpha2"}, "gateways", true, true, "", &gatewayv1.Gateway{}},
	{KindListenerSet, groupGateway, []string{"v1"}, "listenersets", true, true, "", &gatewayv1.ListenerSet{}},
	{KindHTTPRoute, groupGateway, []string{"v1", "v1beta1", "v1alpha2"}, "httproutes", true, true, SourceHTTPRoute, &gatewayv1.HTTPRoute{}},
	{KindGRPCRoute, groupGateway, []string{"v1", "v1alpha2"}, "grpcroutes", true, true, SourceGRPCRoute, &gatewayv1.GRPCRoute{}},
	{KindTLSRoute, groupGateway, []string{"v1", "v1alpha3", "v1alpha2"}, "tlsroutes", true, true, SourceTLSRoute, &gatewayv1.TLSRoute{}},
	{KindTCPRoute, groupGateway, []string{"v1", "v1alpha2"}, "tcproutes", true, true, SourceTCPRoute, &gatewayv1.TCPRoute{}},
	{KindUDPRoute, groupGateway, []string{"v1", "v1alpha2"}, "udproutes", true, true, SourceUDPRoute, &gatewayv1.UDPRoute{}},
	{KindRouteGroup, groupRouteGroup, []string{"v1"}, "routegroups", true, true, SourceRouteGroup, &routegroupv1.RouteGroup{}},
	{KindDNSEndpoint, groupEndpoint, []string{"v1alpha1"}, "dnsendpoints", true, true, SourceCRD, &DNSEndpoint{}},
}

// KnownKinds returns all kinds there are, in a fixed order.
func KnownKinds() []KindInfo { return slices.Clone(kinds) }

// Info returns what is known of a kind; ok is false for one that is none of
// ours.
func Info(kind Kind) (info KindInfo, ok bool) {
	for _, info := range kinds {
		if info.Kind == kind {
			return info, true
		}
	}
	return KindInfo{}, false
}

// KindOf returns the kind that an object's type belongs to, or "".
func KindOf(obj metav1.Object) Kind {
	switch obj := obj.(type) {
	case *Packed:
		return obj.kind
	case *networkingv1.Ingress:
		return KindIngress
	case *networkingv1.IngressClass:
		return KindIngressClass
	case *corev1.Service:
		return KindService
	case *discoveryv1.EndpointSlice:
		return KindEndpointSlice
	case *corev1.Pod:
		return KindPod
	case *corev1.Node:
		return KindNode
	case *corev1.Namespace:
		return KindNamespace
	case *gatewayv1.Gateway:
		return KindGateway
	case *gatewayv1.ListenerSet:
		return KindListenerSet
	case *gatewayv1.HTTPRoute:
		return KindHTTPRoute
	case *gatewayv1.GRPCRoute:
		return KindGRPCRoute
	case *gatewayv1.TLSRoute:
		return KindTLSRoute
	case *gatewayv1.TCPRoute:
		return KindTCPRoute
	case *gatewayv1.UDPRoute:
		return KindUDPRoute
	case *routegroupv1.RouteGroup:
		return KindRouteGroup
	case *DNSEndpoint:
		return KindDNSEndpoint
	}
	return ""
}

// kindOf returns the kind whose objects are the owners of a source, or "".
func kindOf(source string) Kind {
	for i := range kinds {
		if kinds[i].Source == source {
			return kinds[i].Kind
		}
	}
	return ""
}

// sourceOf returns the source whose owners are the objects of kind, or "".
func sourceOf(kind Kind) string {
	for i := range kinds {
		if kinds[i].Kind == kind {
			return kinds[i].Source
		}
	}
	return ""
}

// NewScheme returns a scheme of all kinds there are, in every version that can
// be read: decoding gives an object of the type that a Sink wants, whichever
// version it was written in.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, info := range kinds {
		for _, version := range info.Versions {
			scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: info.Group, Version: version, Kind: string(info.Kind)}, info.New())
		}
	}
	return scheme
}
