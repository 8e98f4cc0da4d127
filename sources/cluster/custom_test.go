package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// A definer is an API server whose custom kinds come and go: what it doesn't
// serve it doesn't list, and answers with 404.
type definer struct {
	kubernetes.Interface
	custom *dynamicfake.FakeDynamicClient

	mu      sync.Mutex
	serves  map[schema.GroupVersionResource]bool
	watches map[schema.GroupVersionResource]*watch.FakeWatcher
	opened  chan schema.GroupVersionResource
}

func newDefiner(objects ...runtime.Object) *definer {
	lists := make(map[schema.GroupVersionResource]string)
	for _, info := range sources.KnownKinds() {
		for _, version := range info.Versions {
			lists[schema.GroupVersionResource{Group: info.Group, Version: version, Resource: info.Resource}] = string(info.Kind) + "List"
		}
	}
	d := &definer{
		Interface: fake.NewClientset(),
		custom:    dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...),
		serves:    make(map[schema.GroupVersionResource]bool),
		watches:   make(map[schema.GroupVersionResource]*watch.FakeWatcher),
		opened:    make(chan schema.GroupVersionResource, 100),
	}
	d.custom.PrependReactor("list", "*", func(action kubetesting.Action) (bool, runtime.Object, error) {
		err := d.refuses(action.GetResource())
		return err != nil, nil, err
	})
	d.custom.PrependWatchReactor("*", func(action kubetesting.Action) (bool, watch.Interface, error) {
		resource := action.GetResource()
		if err := d.refuses(resource); err != nil {
			return true, nil, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		stream := watch.NewFake()
		d.watches[resource] = stream
		d.opened <- resource
		return true, stream, nil
	})
	return d
}

func (d *definer) refuses(resource schema.GroupVersionResource) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.serves[resource] {
		return nil
	}
	return apierrors.NewNotFound(resource.GroupResource(), "")
}

// serve installs a version of a kind, or takes it away.
func (d *definer) serve(resource schema.GroupVersionResource, served bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.serves[resource] = served
	if stream := d.watches[resource]; stream != nil && !served {
		stream.Stop()
		delete(d.watches, resource)
	}
}

// IsWatchListSemanticsUnSupported keeps informers from asking for what the fakes
// can't.
func (d *definer) IsWatchListSemanticsUnSupported() bool { return true }

// Discovery implements kubernetes.Interface.
func (d *definer) Discovery() discovery.DiscoveryInterfaces {
	return definitions{d.Interface.Discovery(), d}
}

type definitions struct {
	discovery.DiscoveryInterfaces
	of *definer
}

// ServerResourcesForGroupVersionWithContext implements
// discovery.ServerResourcesInterfaceWithContext.
func (d definitions) ServerResourcesForGroupVersionWithContext(_ context.Context, version string) (*metav1.APIResourceList, error) {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	list := &metav1.APIResourceList{GroupVersion: version}
	for resource, served := range d.of.serves {
		if served && resource.GroupVersion().String() == version {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource.Resource})
		}
	}
	if len(list.APIResources) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, version)
	}
	return list, nil
}

func resource(kind sources.Kind, version string) schema.GroupVersionResource {
	info, _ := sources.Info(kind)
	return schema.GroupVersionResource{Group: info.Group, Version: version, Resource: info.Resource}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	return obj
}

// route returns an object that says its version in the label v.
func route(t *testing.T, kind sources.Kind, version, namespace, name string) *unstructured.Unstructured {
	info, _ := sources.Info(kind)
	return object(t, "{apiVersion: "+info.Group+"/"+version+", kind: "+string(kind)+", metadata: {namespace: "+namespace+", name: "+name+", labels: {v: "+version+"}}}")
}

func runCustom(t *testing.T, d *definer, options Options) *script {
	t.Helper()
	options.Custom = d.custom
	return run(t, d, options)
}

// TestCustomReadsTheVersionServed: the best of those that the API server has.
func TestCustomReadsTheVersionServed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		served, want string
	}{
		{"v1 v1alpha3 v1alpha2", "v1"},
		{"v1alpha2", "v1alpha2"},
		{"v1alpha2 v1alpha3", "v1alpha3"},
	} {
		t.Run(test.served, func(t *testing.T) {
			t.Parallel()
			var objects []runtime.Object
			for _, version := range []string{"v1", "v1alpha3", "v1alpha2"} {
				objects = append(objects, route(t, sources.KindTLSRoute, version, "web", "r"))
			}
			d := newDefiner(objects...)
			for version := range strings.FieldsSeq(test.served) {
				d.serve(resource(sources.KindTLSRoute, version), true)
			}
			sink := runCustom(t, d, Options{Kinds: []sources.Kind{sources.KindTLSRoute}})
			sink.await(t, "set TLSRoute web/r "+test.want)
			sink.await(t, "synced TLSRoute <nil>")
		})
	}
}

// TestCustomInstalledLater: a kind without definition is absent at once, and is
// read as soon as it is there.
func TestCustomInstalledLater(t *testing.T) {
	t.Parallel()
	d := newDefiner(route(t, sources.KindHTTPRoute, "v1", "web", "r"))
	sink := runCustom(t, d, Options{Kinds: []sources.Kind{sources.KindHTTPRoute}})
	const said = "synced HTTPRoute the API server does not serve this kind (no CustomResourceDefinition httproutes.gateway.networking.k8s.io serves version v1 or v1beta1 or v1alpha2)"
	if lines := sink.await(t, "synced HTTPRoute "); lines[0] != said {
		t.Errorf("got  %s\nwant %s", lines[0], said)
	}
	d.serve(resource(sources.KindHTTPRoute, "v1"), true)
	text := strings.Join(sink.await(t, "synced HTTPRoute <nil>"), "\n")
	if !strings.Contains(text, "set HTTPRoute web/r v1") || strings.Count(text, said) != 1 {
		t.Errorf("installed later:\n%s", text)
	}
}

// TestCustomVersionTakenAway: where the version that is read goes, the watch goes
// on in another, without a word of trouble.
func TestCustomVersionTakenAway(t *testing.T) {
	t.Parallel()
	d := newDefiner(route(t, sources.KindTLSRoute, "v1alpha2", "web", "old"), route(t, sources.KindTLSRoute, "v1", "web", "old"))
	older, newer := resource(sources.KindTLSRoute, "v1alpha2"), resource(sources.KindTLSRoute, "v1")
	d.serve(older, true)
	sink := runCustom(t, d, Options{Kinds: []sources.Kind{sources.KindTLSRoute}})
	sink.await(t, "synced TLSRoute <nil>")
	for <-d.opened != older {
		t.Error("another version is watched")
	}
	d.serve(newer, true)
	d.serve(older, false)
	for <-d.opened != newer {
		t.Error("another version is watched")
	}
	d.mu.Lock()
	stream := d.watches[newer]
	d.mu.Unlock()
	stream.Add(route(t, sources.KindTLSRoute, "v1", "web", "new"))
	sink.await(t, "set TLSRoute web/new v1")
	if text := sink.text(); strings.Contains(text, "not serve") || strings.Contains(text, "gone") {
		t.Errorf("the change made trouble:\n%s", text)
	}
}

// TestCustomNamespaces: --namespace limits routes but not what they attach to,
// and --gateway-namespace limits Gateways.
func TestCustomNamespaces(t *testing.T) {
	t.Parallel()
	limited := map[sources.Kind]string{
		sources.KindHTTPRoute: "web", sources.KindRouteGroup: "web", sources.KindDNSEndpoint: "web",
		sources.KindGateway: "infra", sources.KindListenerSet: "",
	}
	for kind, want := range limited {
		if got := namespaceOf(t, kind, recording{make(chan string, 1)}); got != want {
			t.Errorf("%s is read in namespace %q, want %q", kind, got, want)
		}
	}
}

// recording is a client that tells which namespace it is asked for.
type recording struct{ asked chan string }

// Resource implements dynamic.Interface.
func (r recording) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return recordingResource{r, nil}
}

type recordingResource struct {
	recording
	dynamic.NamespaceableResourceInterface
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r recordingResource) Namespace(namespace string) dynamic.ResourceInterface {
	r.asked <- namespace
	return r
}

// List implements dynamic.ResourceInterface.
func (r recordingResource) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return nil, errors.New("nothing here")
}

func namespaceOf(t *testing.T, kind sources.Kind, client recording) string {
	t.Helper()
	d := newDefiner()
	info, _ := sources.Info(kind)
	d.serve(resource(kind, info.Versions[0]), true)
	w, err := newWatcher(d, kind, Options{Namespace: "web", GatewayNamespace: "infra", Custom: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.list(context.Background(), metav1.ListOptions{}); err == nil {
		t.Fatal("the list came from elsewhere")
	}
	return <-client.asked
}

// TestCustomStrips: what translations read stays, whatever the version.
func TestCustomStrips(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind      sources.Kind
		in, wants string
	}{
		{sources.KindHTTPRoute, `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: HTTPRoute
metadata:
  namespace: web
  name: r
  generation: 3
  labels: {a: b}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", keep: me}
  managedFields: [{manager: kubectl}]
spec:
  hostnames: [a.test]
  parentRefs: [{name: gw, sectionName: s, port: 443}]
  rules: [{matches: [{path: {value: /}}]}]
status:
  parents:
  - parentRef: {name: gw}
    controllerName: c.test/c
    conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", observedGeneration: 3, lastTransitionTime: "2026-01-01T00:00:00Z"}]
`, `{"kind":"HTTPRoute","apiVersion":"gateway.networking.k8s.io/v1beta1","metadata":{"name":"r","namespace":"web","generation":3,"labels":{"a":"b"},"annotations":{"keep":"me"}},` +
			`"spec":{"parentRefs":[{"name":"gw","sectionName":"s","port":443}],"hostnames":["a.test"]},` +
			`"status":{"parents":[{"parentRef":{"name":"gw"},"controllerName":"c.test/c","conditions":[{"type":"Accepted","status":"True","observedGeneration":3,"lastTransitionTime":null,"reason":"Accepted","message":""}]}]}}`},
		{sources.KindGateway, `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: infra, name: g}
spec:
  gatewayClassName: c
  listeners: [{name: l, port: 443, protocol: HTTPS, hostname: "*.a.test", tls: {mode: Terminate}, allowedRoutes: {namespaces: {from: All}}}]
  allowedListeners: {namespaces: {from: Same}}
status:
  addresses: [{type: IPAddress, value: 192.0.2.1}]
  listeners: [{name: l, attachedRoutes: 7}]
`, `{"kind":"Gateway","apiVersion":"gateway.networking.k8s.io/v1","metadata":{"name":"g","namespace":"infra"},"spec":{"gatewayClassName":"c",` +
			`"listeners":[{"name":"l","hostname":"*.a.test","port":443,"protocol":"HTTPS","allowedRoutes":{"namespaces":{"from":"All"}}}],"allowedListeners":{"namespaces":{"from":"Same"}}},` +
			`"status":{"addresses":[{"type":"IPAddress","value":"192.0.2.1"}]}}`},
		{sources.KindListenerSet, `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: web, name: s}
spec:
  parentRef: {name: g, namespace: infra}
  listeners: [{name: l, port: 443, protocol: HTTPS, tls: {mode: Terminate}}]
status:
  listeners: [{name: l, attachedRoutes: 7, supportedKinds: [{kind: HTTPRoute}], conditions: [{type: Accepted, status: "True"}]}]
`, `{"kind":"ListenerSet","apiVersion":"gateway.networking.k8s.io/v1","metadata":{"name":"s","namespace":"web"},"spec":{"parentRef":{"namespace":"infra","name":"g"},` +
			`"listeners":[{"name":"l","port":443,"protocol":"HTTPS"}]},` +
			`"status":{"listeners":[{"name":"l","attachedRoutes":0,"conditions":[{"type":"Accepted","status":"True","lastTransitionTime":null,"reason":"","message":""}]}]}}`},
		{sources.KindRouteGroup, `
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {namespace: web, name: rg}
spec: {hosts: [a.test], backends: [{name: b, type: shunt}], routes: [{pathSubtree: /}]}
status: {loadBalancer: {routegroup: [{hostname: lb.test}]}}
`, `{"kind":"RouteGroup","apiVersion":"zalando.org/v1","metadata":{"name":"rg","namespace":"web"},"spec":{"hosts":["a.test"],"backends":null},` +
			`"status":{"loadBalancer":{"routegroup":[{"hostname":"lb.test"}]}}}`},
		{sources.KindDNSEndpoint, `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {namespace: web, name: e}
spec: {endpoints: [{dnsName: a.test, recordType: A, recordTTL: 60, targets: [192.0.2.1], providerSpecific: [{name: key, value: v}]}]}
`, `{"kind":"DNSEndpoint","apiVersion":"externaldns.k8s.io/v1alpha1","metadata":{"name":"e","namespace":"web"},` +
			`"spec":{"endpoints":[{"dnsName":"a.test","targets":["192.0.2.1"],"recordType":"A","recordTTL":60,"providerSpecific":[{"name":"key","value":"v"}]}]},"status":{}}`},
	} {
		info, _ := sources.Info(test.kind)
		c := &custom{info: info, mask: maskOf(test.kind), log: slog.Default()}
		raw := object(t, test.in)
		before := raw.DeepCopy()
		got, err := c.convert(raw)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := c.convert(got); err != nil || again != got {
			t.Errorf("%s: converted twice: %v, %v", test.kind, again, err)
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if canonical(t, string(text)) != canonical(t, test.wants) {
			t.Errorf("%s: got\n%s\nwant\n%s", test.kind, text, test.wants)
		}
		if !equalJSON(t, before, raw) {
			t.Errorf("%s: the object itself was changed", test.kind)
		}
	}
}

// canonical writes JSON with sorted keys, and without an empty creation time.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), `,"creationTimestamp":null`, "")
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	left, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	right, err := json.Marshal(b)
	return err == nil && string(left) == string(right)
}

// TestCustomOddObject: an object whose form its definition should not allow
// harms nobody else, and is told of.
func TestCustomOddObject(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	info, _ := sources.Info(sources.KindHTTPRoute)
	c := &custom{info: info, mask: maskOf(info.Kind), log: slog.New(slog.NewTextHandler(&out, nil))}
	got, err := c.convert(object(t, "{kind: HTTPRoute, metadata: {namespace: web, name: odd}, spec: {hostnames: {a: b}}}"))
	if err != nil {
		t.Fatal(err)
	}
	route, ok := got.(*gatewayv1.HTTPRoute)
	if !ok || route.Name != "odd" || len(route.Spec.Hostnames) != 0 || !strings.Contains(out.String(), "name=odd") {
		t.Errorf("got %+v and the log\n%s", got, out.String())
	}
}

func TestCustomNeedsAClient(t *testing.T) {
	t.Parallel()
	err := Run(context.Background(), fake.NewClientset(), Options{Kinds: []sources.Kind{sources.KindGateway}}, newScript())
	if err == nil || !strings.Contains(err.Error(), "Gateway") {
		t.Errorf("got %v", err)
	}
}

// TestAbsent: that a kind is not there can be told from other trouble.
func TestAbsent(t *testing.T) {
	t.Parallel()
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "")
	var absent *sources.Absent
	var unreachable *sources.Unreachable
	core := &kindWatcher{refused: time.Now()}
	if err := core.explain(missing); !errors.As(err, &absent) || !errors.As(err, &unreachable) {
		t.Errorf("a young 404 of a kind that every API server has is %T", err)
	}
	later := &kindWatcher{refused: time.Now().Add(-2 * refusalPatience)}
	if err := later.explain(missing); !errors.As(err, &absent) || errors.As(err, &unreachable) {
		t.Errorf("an old 404 is %T", err)
	}
	if err := (&kindWatcher{custom: true}).explain(missing); !errors.As(err, &absent) || errors.As(err, &unreachable) {
		t.Errorf("a 404 of a custom kind is %T", err)
	}
	if err := (&kindWatcher{custom: true, synced: true}).explain(missing); !errors.As(err, &unreachable) {
		t.Errorf("a young 404 of a custom kind that was there is %T", err)
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	if err := later.explain(forbidden); errors.As(err, new(*sources.Absent)) {
		t.Errorf("a refusal is no absence: %v", err)
	}
}

// TestRecorderNamesTheVersionRead: events on custom objects refer to them in the
// version in which they were read.
func TestRecorderNamesTheVersionRead(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	posted := make(chan *corev1.Event, 10)
	client.PrependReactor("create", "events", func(action kubetesting.Action) (bool, runtime.Object, error) {
		event, _ := action.(kubetesting.CreateAction).GetObject().(*corev1.Event)
		posted <- event
		return true, event, nil
	})
	recorder := NewRecorder(t.Context(), client, slog.New(slog.DiscardHandler))
	for kind, version := range map[sources.Kind]string{
		sources.KindTLSRoute: "v1alpha2", sources.KindRouteGroup: "v1", sources.KindDNSEndpoint: "v1alpha1",
	} {
		info, _ := sources.Info(kind)
		c := &custom{info: info, mask: maskOf(kind), log: slog.Default()}
		obj, err := c.convert(route(t, kind, version, "web", "r"))
		if err != nil {
			t.Fatal(err)
		}
		owner := zones.Owner{Source: info.Source, Namespace: "web", Name: "r"}
		recorder.Record([]zones.Skipped{{Owner: owner, Reason: zones.ReasonInvalidName, Message: string(kind)}}, func(zones.Owner) metav1.Object {
			object, _ := obj.(metav1.Object)
			return object
		})
		select {
		case event := <-posted:
			if got := event.InvolvedObject; got.Kind != string(kind) || got.APIVersion != info.Group+"/"+version || got.Name != "r" {
				t.Errorf("the event refers to %+v", got)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no event came on a %s", kind)
		}
	}
}
