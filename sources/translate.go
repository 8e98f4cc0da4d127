package sources

import (
	routegroupv1 "github.com/szuecs/routegroup-client/apis/zalando.org/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// The sources, as --source spells them.
const (
	SourceIngress    = "ingress"
	SourceService    = "service"
	SourceHTTPRoute  = "gateway-httproute"
	SourceGRPCRoute  = "gateway-grpcroute"
	SourceTLSRoute   = "gateway-tlsroute"
	SourceTCPRoute   = "gateway-tcproute"
	SourceUDPRoute   = "gateway-udproute"
	SourceRouteGroup = "skipper-routegroup"
	SourceCRD        = "crd"
	SourceNode       = "node"
	SourcePod        = "pod"
)

// Translate turns an object of a source's own kind into all that it claims and
// all that it asks for in vain. It is pure, and total: an object of another
// type, or of a kind whose source is not wanted, claims nothing.
func (tr *Translator) Translate(obj metav1.Object, beside neighbours) zones.Object {
	switch obj := obj.(type) {
	case *networkingv1.Ingress:
		return tr.Ingress(obj, beside)
	case *corev1.Service:
		return tr.Service(obj, beside)
	case *gatewayv1.HTTPRoute, *gatewayv1.GRPCRoute, *gatewayv1.TLSRoute, *gatewayv1.TCPRoute, *gatewayv1.UDPRoute:
		return tr.route(obj, beside)
	case *routegroupv1.RouteGroup:
		return tr.routeGroup(obj)
	case *DNSEndpoint:
		return tr.dnsEndpoint(obj)
	case *corev1.Node:
		return tr.nodeNames(obj)
	case *corev1.Pod:
		return tr.podNames(obj, beside)
	}
	return zones.Object{}
}
