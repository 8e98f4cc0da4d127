package kubetest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestApplyWithStatus(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	client := clientFor(t, c.Admin())
	ctx, get := t.Context(), metav1.GetOptions{}

	c.Apply(t, readFile(t, "testdata/ingress.yaml"))
	web, err := client.NetworkingV1().Ingresses("status").Get(ctx, "web", get)
	if err != nil {
		t.Fatal(err)
	}
	if lb := web.Status.LoadBalancer.Ingress; len(lb) != 2 || lb[0].IP != "10.20.0.5" || lb[1].Hostname != "lb.internal.example" {
		t.Errorf("Ingress status %v, want the file's", lb)
	}
	db, err := client.CoreV1().Services("status").Get(ctx, "db", get)
	if err != nil {
		t.Fatal(err)
	}
	if ips := db.Spec.ClusterIPs; len(ips) != 2 || !strings.HasPrefix(ips[0], "10.96.") || !strings.HasPrefix(ips[1], "fd00:96::") {
		t.Errorf("cluster IPs %v, want one of each range", ips)
	}
	if lb := db.Status.LoadBalancer.Ingress; len(lb) != 1 || lb[0].IP != "10.20.0.6" {
		t.Errorf("Service status %v, want the file's", lb)
	}
	if pod, err := client.CoreV1().Pods("status").Get(ctx, "db-0", get); err != nil || pod.Status.PodIP != "10.1.0.9" {
		t.Errorf("Pod %v: %v", pod, err)
	}
	if node, err := client.CoreV1().Nodes().Get(ctx, "one", get); err != nil || len(node.Spec.Taints) != 0 || len(node.Status.Addresses) != 1 {
		t.Errorf("Node %v: %v, want the file's and no taints", node, err)
	}

	c.Apply(t, readFile(t, "testdata/update.yaml"))
	updated, err := client.NetworkingV1().Ingresses("status").Get(ctx, "web", get)
	if err != nil {
		t.Fatal(err)
	}
	if updated.UID != web.UID || updated.Spec.Rules[0].Host != "new.internal.example" {
		t.Errorf("update made %v, want the same object with the new host", updated)
	}
	if a := updated.Annotations; len(a) != 1 || a["example.com/new"] != "1" {
		t.Errorf("annotations %v, want the new file's alone", a)
	}
	if lb := updated.Status.LoadBalancer.Ingress; len(lb) != 2 {
		t.Errorf("status %v, want it kept by a document without one", lb)
	}
	db2, err := client.CoreV1().Services("status").Get(ctx, "db", get)
	if err != nil {
		t.Fatal(err)
	}
	if db2.Spec.Type != corev1.ServiceTypeClusterIP || db2.Spec.ClusterIP != db.Spec.ClusterIP || len(db2.Status.LoadBalancer.Ingress) != 0 {
		t.Errorf("Service %v, want its cluster IP, the default type and no addresses", db2)
	}
	if pod, err := client.CoreV1().Pods("status").Get(ctx, "db-0", get); err != nil || pod.Labels["role"] != "primary" || pod.Status.PodIP != "10.1.0.9" {
		t.Errorf("updated Pod %v: %v", pod, err)
	}

	c.Delete(t, "Ingress", "status", "web")
	c.Delete(t, "pods", "status", "db-0")
	c.Delete(t, "node", "", "one")
	if _, err := client.NetworkingV1().Ingresses("status").Get(ctx, "web", get); !apierrors.IsNotFound(err) {
		t.Errorf("deleted Ingress: %v", err)
	}
	if _, err := client.CoreV1().Pods("status").Get(ctx, "db-0", get); !apierrors.IsNotFound(err) {
		t.Errorf("deleted Pod: %v, want it gone without a grace period", err)
	}
	if err := c.delete(ctx, "Ingress", "status", "web"); !apierrors.IsNotFound(err) {
		t.Errorf("delete of what is not there: %v", err)
	}
}

func TestApplyCustomResources(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	c.Apply(t, readFile(t, "testdata/lamps.yaml"))
	group := schema.GroupVersion{Group: "kubetest.example", Version: "v1"}
	hall, err := c.client(group.WithResource("lamps"), "lamps").Get(t.Context(), "hall", metav1.GetOptions{})
	if err != nil || hall.Object["status"].(map[string]any)["watts"] != int64(7) {
		t.Errorf("with a status subresource: %v, %v", hall, err)
	}
	small, err := c.client(group.WithResource("bulbs"), "").Get(t.Context(), "small", metav1.GetOptions{})
	if err != nil || small.Object["status"].(map[string]any)["watts"] != int64(3) || small.Object["spec"].(map[string]any)["lit"] != false {
		t.Errorf("without a status subresource: %v, %v", small, err)
	}
	c.Delete(t, "lamp.kubetest.example", "lamps", "hall")
}

func TestApplyErrors(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for _, test := range []struct{ name, yaml, want string }{
		{"unknown field", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dota: {}}", "ConfigMap default/a: "},
		{"unknown field of the status", "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 1}]}, status: {lb: {}}}", "status: "},
		{"unknown kind", "{apiVersion: v1, kind: Nonsense, metadata: {name: a}}", "Nonsense"},
		{"key twice", "apiVersion: v1\nkind: ConfigMap\nkind: Secret\n", "document 1: "},
		{"no kind", "---\n{}\n---\nmetadata: {name: a}\n", "document 1: "},
		{"no YAML", "---\n# empty\n---\n[\n", "document 2: "},
		{"invalid object", "{apiVersion: v1, kind: Service, metadata: {name: -}, spec: {}}", "Service default/-: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := c.apply(t.Context(), []byte(test.yaml))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	if err := c.delete(t.Context(), "nonsense", "", "a"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("delete of an unknown kind: %v", err)
	}
	if err := c.applyFiles(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no .yaml file") {
		t.Errorf("an empty folder: %v", err)
	}
}

// Not parallel: it removes what other tests on the cluster have applied.
func TestReset(t *testing.T) {
	c := shared.Cluster(t)
	client := clientFor(t, c.Admin())
	ctx, get := t.Context(), metav1.GetOptions{}
	// Twice: what is gone leaves nothing in the way of the next.
	for range 2 {
		c.Apply(t, readFile(t, "testdata/reset.yaml"))
		// By other means, in a namespace that goes, and an Event in one that stays.
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
		if _, err := client.CoreV1().Secrets("gone").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"}}
		if _, err := client.CoreV1().Events("default").Create(ctx, event, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Reset(t)

		if _, err := client.CoreV1().Namespaces().Get(ctx, "gone", get); !apierrors.IsNotFound(err) {
			t.Errorf("namespace that Apply made: %v, want it gone", err)
		}
		for _, resource := range []string{"services", "pods", "secrets"} {
			list, err := c.client(corev1.SchemeGroupVersion.WithResource(resource), "gone").List(ctx, metav1.ListOptions{})
			if err != nil || len(list.Items) != 0 {
				t.Errorf("%s of that namespace: %v, %v, want none", resource, list, err)
			}
		}
		if _, err := client.NetworkingV1().Ingresses("default").Get(ctx, "plain", get); !apierrors.IsNotFound(err) {
			t.Errorf("Ingress that Apply made: %v, want it gone", err)
		}
		namespace, err := client.CoreV1().Namespaces().Get(ctx, "default", get)
		if err != nil || namespace.Labels["team"] != "" {
			t.Errorf("namespace default: %v, %v, want its former labels", namespace, err)
		}
		events, err := client.CoreV1().Events("").List(ctx, metav1.ListOptions{})
		if err != nil || len(events.Items) != 0 {
			t.Errorf("events: %v, %v, want none", events, err)
		}
		if _, err := c.mapper.RESTMapping(schema.GroupKind{Group: "kubetest.example", Kind: "Plug"}); err == nil {
			t.Error("the kind that Apply defined is still served")
		}
		if _, err := c.mapper.RESTMapping(schema.GroupKind{Group: "kubetest.example", Kind: "Lamp"}); err != nil {
			t.Errorf("the kind of Options.CRDs: %v", err)
		}
	}
}
