package deploy_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/clusterzone/clusterzone/test/kubetest"
)

// limit bounds what a test asks the API server for.
const limit = time.Minute

// The API server takes all that is rendered, in each mode, as it would from
// kubectl apply --server-side --dry-run=server: it knows every field, and the
// objects are valid.
func TestAPIServerTakesEveryMode(t *testing.T) {
	c := cluster(t)
	c.Apply(t, []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: dns}\n"))
	dryRun := dryRunner(t, c)
	files := append(modes(t), root+"/deploy/kustomize/daemonset/values.yaml", root+"/deploy/kustomize/deployment/values.yaml")
	for _, values := range files {
		for _, object := range objects(t, template(t, values)) {
			if err := dryRun(object); err != nil {
				t.Errorf("%s: %s %s: %v", values, object.GetKind(), object.GetName(), err)
			}
		}
	}
	// What is wrong is noticed.
	wrong := objects(t, template(t, "testdata/daemonset.values.yaml"))
	for _, object := range wrong {
		if object.GetKind() != "DaemonSet" {
			continue
		}
		if err := unstructured.SetNestedField(object.Object, "true", "spec", "template", "spec", "hostNetwerk"); err != nil {
			t.Fatal(err)
		}
		if err := dryRun(object); err == nil || !strings.Contains(err.Error(), "hostNetwerk") {
			t.Errorf("an unknown field passes: %v", err)
		}
	}
}

// dryRunner returns a function that applies an object and changes nothing.
func dryRunner(t *testing.T, c *kubetest.Cluster) func(*unstructured.Unstructured) error {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	known, err := discovery.NewDiscoveryClientForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(known))
	force := true
	options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "test", Force: &force, FieldValidation: metav1.FieldValidationStrict}
	return func(object *unstructured.Unstructured) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		gvk := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return err
		}
		data, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = client.Resource(mapping.Resource).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.ApplyPatchType, data, options)
		return err
	}
}

// Pods drop the rights that they need not have and write nowhere but where they
// must: what the policy "restricted" of Pod Security asks
// for, but for ports of the host.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	for _, values := range modes(t) {
		text, err := os.ReadFile(strings.TrimSuffix(values, ".values.yaml") + ".golden.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects(t, string(text)) {
			pod, found, err := unstructured.NestedMap(object.Object, "spec", "template", "spec")
			if err != nil || !found {
				continue
			}
			if yes, _, _ := unstructured.NestedBool(pod, "securityContext", "runAsNonRoot"); !yes {
				t.Errorf("%s: the Pod may be root", values)
			}
			if profile, _, _ := unstructured.NestedString(pod, "securityContext", "seccompProfile", "type"); profile != "RuntimeDefault" {
				t.Errorf("%s: the Pod's seccomp profile is %q", values, profile)
			}
			containers, _, err := unstructured.NestedSlice(pod, "containers")
			if err != nil || len(containers) != 1 {
				t.Fatalf("%s: %d containers: %v", values, len(containers), err)
			}
			rights, _, _ := unstructured.NestedMap(containers[0].(map[string]any), "securityContext")
			if rights["readOnlyRootFilesystem"] != true || rights["allowPrivilegeEscalation"] != false {
				t.Errorf("%s: the container's rights are %v", values, rights)
			}
			if drop, _, _ := unstructured.NestedStringSlice(rights, "capabilities", "drop"); len(drop) != 1 || drop[0] != "ALL" {
				t.Errorf("%s: the container drops %v", values, drop)
			}
			if add, _, _ := unstructured.NestedStringSlice(rights, "capabilities", "add"); len(add) != 1 || add[0] != "NET_BIND_SERVICE" {
				t.Errorf("%s: the container adds %v", values, add)
			}
		}
	}
}
