package sources

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// TestNoRoute: what is no route, or none at all, claims nothing.
func TestNoRoute(t *testing.T) {
	t.Parallel()
	tr, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range []metav1.Object{
		nil, (*gatewayv1.HTTPRoute)(nil), (*gatewayv1.GRPCRoute)(nil), (*gatewayv1.TLSRoute)(nil), (*gatewayv1.TCPRoute)(nil), (*gatewayv1.UDPRoute)(nil),
		&gatewayv1.Gateway{},
	} {
		if got := tr.route(obj, nil); !reflect.DeepEqual(got, zones.Object{}) {
			t.Errorf("%T gives %+v", obj, got)
		}
	}
}

// TestCommonHost: the rule holds whichever of the two is the route's, and the
// result is never wider than either.
func TestCommonHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"a.test", "a.test", "a.test"},
		{"a.test", "b.test", ""},
		{"*.test", "a.test", "a.test"},
		{"*.test", "a.b.test", "a.b.test"},
		{"*.test", "test", ""},
		{"*.test", "*.test", "*.test"},
		{"*.test", "*.a.test", "*.a.test"},
		{"*.a.test", "*.b.test", ""},
		{"*.a.test", "ba.test", ""},
		{"*", "a.test", "a.test"},
	} {
		a, b := nameOf(t, c.a), nameOf(t, c.b)
		for _, got := range []zones.Name{commonHost(a, b), commonHost(b, a)} {
			if got.String() != c.want {
				t.Errorf("%s and %s have %q in common, want %q", c.a, c.b, got, c.want)
			}
		}
		if got := commonHost(a, anyHost); got != a {
			t.Errorf("%s and any host have %q in common", c.a, got)
		}
	}
}
