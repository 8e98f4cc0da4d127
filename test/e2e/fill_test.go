package e2e_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/clusterzone/clusterzone/test/kubetest"
)

const (
	manyIngresses  = 10_000
	manyNamespaces = 100
	writers        = 16 // at the same time
)

// A full is an API server that holds many Ingresses, each with one
// host and one address.
type full struct {
	cluster   *kubetest.Cluster
	client    *kubernetes.Clientset
	ingresses []*networkingv1.Ingress // as the API server returned them last
	changes   []int                   // how often the address of each has changed
}

// fill starts an API server and gives it so many Ingresses.
func fill(b *testing.B, count int) *full {
	b.Helper()
	f := &full{cluster: kubetest.Start(b, kubetest.Options{MemoryLimit: "4GiB"}), ingresses: make([]*networkingv1.Ingress, count), changes: make([]int, count)}
	config := f.cluster.Admin()
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	f.client = client
	ctx := b.Context()
	for i := range manyNamespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%d", i)}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	var all errgroup.Group
	for worker := range writers {
		all.Go(func() error {
			for i := worker; i < count; i += writers {
				if err := f.create(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
	return f
}

// emptyIngress is one of the Ingresses, without its address.
func emptyIngress(i int) *networkingv1.Ingress {
	pathType := networkingv1.PathTypePrefix
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: fmt.Sprintf("app-%d", i), Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", i%manyNamespaces), Name: fmt.Sprintf("app-%d", i),
			Labels: map[string]string{"app.kubernetes.io/name": fmt.Sprintf("app-%d", i), "app.kubernetes.io/managed-by": "Helm"},
		},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			Host: manyName(i),
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &pathType, Backend: backend}},
			}},
		}}},
	}
}

func (f *full) create(ctx context.Context, i int) error {
	ingress := emptyIngress(i)
	created, err := f.client.NetworkingV1().Ingresses(ingress.Namespace).Create(ctx, ingress, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	f.ingresses[i] = created
	return f.setAddress(ctx, i, manyAddress(i, 0))
}

// setAddress gives an Ingress its address, and returns when the API server has
// answered.
func (f *full) setAddress(ctx context.Context, i int, address netip.Addr) error {
	ingress := f.ingresses[i]
	ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: address.String()}}
	updated, err := f.client.NetworkingV1().Ingresses(ingress.Namespace).UpdateStatus(ctx, ingress, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	f.ingresses[i] = updated
	return nil
}

// address is what an Ingress has now, next what it is to have next: no other
// change of it gives the same. Neither is safe for concurrent use on one Ingress.
func (f *full) address(i int) netip.Addr { return manyAddress(i, f.changes[i]) }

func (f *full) next(i int) netip.Addr {
	f.changes[i]++
	return f.address(i)
}

func manyName(i int) string { return fmt.Sprintf("app-%d.team-%d.corp.test", i, i%manyNamespaces) }

// manyAddress is the address of an Ingress after so many changes.
func manyAddress(i, change int) netip.Addr {
	n := i + change*manyIngresses
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}
