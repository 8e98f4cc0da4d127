package sources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// oneOf picks a value; the more often it stands in the list, the likelier.
func oneOf[T any](d *oddity, values ...T) T { return values[d.IntN(len(values))] }

// maybe picks a value to point at, or nil.
func maybe[T any](d *oddity, values ...T) *T {
	if d.rarely() {
		return nil
	}
	value := oneOf(d, values...)
	return &value
}

func (d *oddity) routes() []metav1.Object {
	var spec gatewayv1.CommonRouteSpec
	var status gatewayv1.RouteStatus
	for range d.IntN(5) {
		spec.ParentRefs = append(spec.ParentRefs, d.parentRef())
	}
	for _, ref := range spec.ParentRefs {
		if d.rarely() {
			ref = d.parentRef()
		}
		status.Parents = append(status.Parents, gatewayv1.RouteParentStatus{
			ParentRef: ref, ControllerName: gatewayv1.GatewayController(d.text()), Conditions: d.conditions(),
		})
	}
	var hostnames []gatewayv1.Hostname
	for _, host := range d.list(4) {
		hostnames = append(hostnames, gatewayv1.Hostname(host))
	}
	meta := d.meta("route")
	meta.Generation = int64(d.IntN(3))
	return []metav1.Object{
		&gatewayv1.HTTPRoute{ObjectMeta: *meta.DeepCopy(), Spec: gatewayv1.HTTPRouteSpec{CommonRouteSpec: *spec.DeepCopy(), Hostnames: hostnames},
			Status: gatewayv1.HTTPRouteStatus{RouteStatus: *status.DeepCopy()}},
		&gatewayv1.GRPCRoute{ObjectMeta: *meta.DeepCopy(), Spec: gatewayv1.GRPCRouteSpec{CommonRouteSpec: *spec.DeepCopy()},
			Status: gatewayv1.GRPCRouteStatus{RouteStatus: *status.DeepCopy()}},
		&gatewayv1.TLSRoute{ObjectMeta: *meta.DeepCopy(), Spec: gatewayv1.TLSRouteSpec{CommonRouteSpec: *spec.DeepCopy()},
			Status: gatewayv1.TLSRouteStatus{RouteStatus: *status.DeepCopy()}},
		&gatewayv1.TCPRoute{ObjectMeta: *meta.DeepCopy(), Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: *spec.DeepCopy()},
			Status: gatewayv1.TCPRouteStatus{RouteStatus: *status.DeepCopy()}},
		&gatewayv1.UDPRoute{ObjectMeta: *meta.DeepCopy(), Spec: gatewayv1.UDPRouteSpec{CommonRouteSpec: *spec.DeepCopy()},
			Status: gatewayv1.UDPRouteStatus{RouteStatus: *status.DeepCopy()}},
	}
}

func (d *oddity) parentRef() gatewayv1.ParentReference {
	ref := gatewayv1.ParentReference{Name: oneOf[gatewayv1.ObjectName](d, "edge", "edge", "other", "set", "none")}
	ref.Kind = maybe(d, gatewayv1.Kind(KindGateway), gatewayv1.Kind(KindListenerSet), gatewayv1.Kind(KindListenerSet), "Service", "")
	if d.rarely() {
		ref.Group = maybe(d, gatewayv1.Group(groupGateway), "", "acme.test")
	}
	if d.rarely() {
		ref.Namespace = maybe(d, gatewayv1.Namespace("default"), "", "elsewhere")
	}
	if d.rarely() {
		ref.SectionName = maybe(d, gatewayv1.SectionName("a"), "b", "", "z")
	}
	if d.rarely() {
		ref.Port = maybe(d, gatewayv1.PortNumber(80), 443, 0, -1)
	}
	return ref
}

// conditions are of different types, as the API server has it.
func (d *oddity) conditions() []metav1.Condition {
	var conditions []metav1.Condition
	if !d.rarely() {
		conditions = append(conditions, metav1.Condition{
			Type: "Accepted", Status: oneOf(d, metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown, ""),
			Reason: d.text(), Message: d.text(), ObservedGeneration: int64(d.IntN(3)),
		})
	}
	if d.rarely() {
		conditions = append(conditions, metav1.Condition{Type: "Programmed", Status: metav1.ConditionFalse})
	}
	return conditions
}

func (d *oddity) allowedRoutes() *gatewayv1.AllowedRoutes {
	if d.rarely() {
		return nil
	}
	allowed := &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: d.from(), Selector: d.namespaceSelector()}}
	if d.rarely() {
		allowed.Namespaces = nil
	}
	if d.rarely() {
		allowed.Kinds = []gatewayv1.RouteGroupKind{
			{Group: maybe(d, gatewayv1.Group(groupGateway), "acme.test"), Kind: gatewayv1.Kind(oneOf(d, KindHTTPRoute, KindTCPRoute, Kind(d.text())))},
			{Kind: gatewayv1.Kind(KindUDPRoute)},
		}
	}
	return allowed
}

func (d *oddity) from() *gatewayv1.FromNamespaces {
	return maybe(d, gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromSame, gatewayv1.NamespacesFromSelector,
		gatewayv1.NamespacesFromNone, gatewayv1.FromNamespaces(d.text()))
}

func (d *oddity) namespaceSelector() *metav1.LabelSelector {
	return maybe(d, metav1.LabelSelector{}, metav1.LabelSelector{MatchLabels: map[string]string{"dns": "yes"}},
		metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: d.text(), Operator: "In", Values: d.list(2)}}})
}

func (d *oddity) hostname() *gatewayv1.Hostname {
	return maybe(d, gatewayv1.Hostname(d.text()), "*.test", "*.a.test", "*")
}

func (d *oddity) protocol() gatewayv1.ProtocolType {
	return oneOf(d, gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType, gatewayv1.TLSProtocolType, gatewayv1.TCPProtocolType,
		gatewayv1.UDPProtocolType, gatewayv1.ProtocolType(d.text()))
}

// gateways puts Gateways, a ListenerSet and a Namespace into the world.
func (d *oddity) gateways(w *world) {
	touched := make(ownerSet)
	meta := func(name string) metav1.ObjectMeta {
		m := d.meta(name)
		if !d.rarely() {
			m.Annotations = nil
		}
		return m
	}
	names := []gatewayv1.SectionName{"a", "b", "c"}
	for _, name := range []string{"edge", "other"} {
		gw := &gatewayv1.Gateway{ObjectMeta: meta(name)}
		for _, section := range names[:d.IntN(4)] {
			gw.Spec.Listeners = append(gw.Spec.Listeners, gatewayv1.Listener{
				Name: section, Hostname: d.hostname(), Port: oneOf[gatewayv1.PortNumber](d, 80, 443), Protocol: d.protocol(), AllowedRoutes: d.allowedRoutes(),
			})
		}
		if !d.rarely() {
			gw.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: d.from(), Selector: d.namespaceSelector()}}
		}
		for range d.IntN(4) {
			gw.Status.Addresses = append(gw.Status.Addresses, gatewayv1.GatewayStatusAddress{
				Type: maybe(d, gatewayv1.IPAddressType, gatewayv1.HostnameAddressType, gatewayv1.AddressType(d.text())), Value: d.text(),
			})
		}
		w.set(gw, touched)
	}
	set := &gatewayv1.ListenerSet{ObjectMeta: meta("set")}
	set.Spec.ParentRef = gatewayv1.ParentGatewayReference{
		Kind: maybe(d, gatewayv1.Kind(KindGateway), gatewayv1.Kind(KindGateway), "Service"), Name: oneOf[gatewayv1.ObjectName](d, "edge", "other", "none"),
	}
	set.Status.Conditions = d.conditions()
	for _, section := range names[:d.IntN(4)] {
		set.Spec.Listeners = append(set.Spec.Listeners, gatewayv1.ListenerEntry{
			Name: section, Hostname: d.hostname(), Port: oneOf[gatewayv1.PortNumber](d, 80, 443), Protocol: d.protocol(), AllowedRoutes: d.allowedRoutes(),
		})
		if !d.rarely() {
			set.Status.Listeners = append(set.Status.Listeners, gatewayv1.ListenerEntryStatus{Name: section, Conditions: d.conditions()})
		}
	}
	w.set(set, touched)
	if !d.rarely() {
		w.set(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"dns": oneOf(d, "yes", "no")}}}, touched)
	}
}

// shuffleRoute changes the order of what has none in a route.
func (d *oddity) shuffleRoute(obj metav1.Object) {
	v := viewRoute(obj)
	if v == nil {
		return
	}
	mix(d, v.refs)
	mix(d, v.statuses)
	for i := range v.statuses {
		mix(d, v.statuses[i].Conditions)
	}
	if r, ok := obj.(*gatewayv1.HTTPRoute); ok {
		mix(d, r.Spec.Hostnames)
	}
}

// shuffleGateways does so in what gateways has made.
func (d *oddity) shuffleGateways(w *world) {
	seen := w.reader("default")
	for _, name := range []string{"edge", "other"} {
		gw := seen.gateway("default", name)
		mix(d, gw.Spec.Listeners)
		mix(d, gw.Status.Addresses)
	}
	set := seen.listenerSet("default", "set")
	mix(d, set.Spec.Listeners)
	mix(d, set.Status.Listeners)
}
