package sources

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A routeView is what the five kinds of routes have in common.
type routeView struct {
	source    string
	kind      Kind
	meta      *metav1.ObjectMeta
	hostnames []string // spec.hostnames
	hosted    bool     // the kind has spec.hostnames
	refs      []gatewayv1.ParentReference
	statuses  []gatewayv1.RouteParentStatus
	// protocols are those of listeners that can take the route.
	protocols []gatewayv1.ProtocolType
	// seen makes the object that templates see.
	seen func() any
}

// viewRoute returns nil for an object that is no route.
func viewRoute(obj metav1.Object) *routeView {
	if obj == nil || reflect.ValueOf(obj).IsNil() {
		return nil
	}
	v := &routeView{}
	var hostnames []gatewayv1.Hostname
	fill := func(kind Kind, meta *metav1.ObjectMeta, spec *gatewayv1.CommonRouteSpec, status *gatewayv1.RouteStatus, protocols ...gatewayv1.ProtocolType) {
		v.source, v.kind, v.meta, v.protocols = sourceOf(kind), kind, meta, protocols
		v.refs, v.statuses = spec.ParentRefs, status.Parents
	}
	switch r := obj.(type) {
	case *gatewayv1.HTTPRoute:
		fill(KindHTTPRoute, &r.ObjectMeta, &r.Spec.CommonRouteSpec, &r.Status.RouteStatus, gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType)
		hostnames, v.hosted = r.Spec.Hostnames, true
		v.seen = func() any { seen := *r; v.strip(&seen.TypeMeta, &seen.ObjectMeta); return &seen }
	case *gatewayv1.GRPCRoute:
		fill(KindGRPCRoute, &r.ObjectMeta, &r.Spec.CommonRouteSpec, &r.Status.RouteStatus, gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType)
		hostnames, v.hosted = r.Spec.Hostnames, true
		v.seen = func() any { seen := *r; v.strip(&seen.TypeMeta, &seen.ObjectMeta); return &seen }
	case *gatewayv1.TLSRoute:
		fill(KindTLSRoute, &r.ObjectMeta, &r.Spec.CommonRouteSpec, &r.Status.RouteStatus, gatewayv1.TLSProtocolType)
		hostnames, v.hosted = r.Spec.Hostnames, true
		v.seen = func() any { seen := *r; v.strip(&seen.TypeMeta, &seen.ObjectMeta); return &seen }
	case *gatewayv1.TCPRoute:
		// A listener that terminates TLS hands on plain TCP.
		fill(KindTCPRoute, &r.ObjectMeta, &r.Spec.CommonRouteSpec, &r.Status.RouteStatus, gatewayv1.TCPProtocolType, gatewayv1.TLSProtocolType)
		v.seen = func() any { seen := *r; v.strip(&seen.TypeMeta, &seen.ObjectMeta); return &seen }
	case *gatewayv1.UDPRoute:
		fill(KindUDPRoute, &r.ObjectMeta, &r.Spec.CommonRouteSpec, &r.Status.RouteStatus, gatewayv1.UDPProtocolType)
		v.seen = func() any { seen := *r; v.strip(&seen.TypeMeta, &seen.ObjectMeta); return &seen }
	default:
		return nil
	}
	for _, hostname := range hostnames {
		v.hostnames = append(v.hostnames, string(hostname))
	}
	return v
}

// strip gives a shallow copy of the route the metadata that templates see.
func (v *routeView) strip(kind *metav1.TypeMeta, meta *metav1.ObjectMeta) {
	*kind = metav1.TypeMeta{Kind: string(v.kind), APIVersion: gatewayv1.GroupVersion.String()}
	*meta = templateMeta(*meta)
}

// protocolList is "HTTP or HTTPS".
func (v *routeView) protocolList() string {
	texts := make([]string, len(v.protocols))
	for i, p := range v.protocols {
		texts[i] = string(p)
	}
	return strings.Join(texts, " or ")
}
