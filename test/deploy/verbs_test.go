package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/clusterzone/clusterzone/test/daemon"
	"github.com/clusterzone/clusterzone/test/kubetest"
)

// install applies what gives a release its rights, and returns the flags by which the
// program runs with them.
func install(t *testing.T, c *kubetest.Cluster, client kubernetes.Interface, manifests string) []string {
	t.Helper()
	kinds := []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap"}
	for _, object := range objects(t, manifests) {
		if !slices.Contains(kinds, object.GetKind()) {
			continue
		}
		data, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(t, data)
	}
	return []string{"--config=" + configFile(t, manifests), "--kubeconfig=" + token(t, c, client)}
}

// Of every kind that is read, watch is needed: without it the program says of each kind
// what it can't do. That list is needed can't be shown here: this API server streams
// lists as watches (WatchList), and older ones don't.
func TestWatchIsNeededForEachKind(t *testing.T) {
	c := cluster(t)
	client, err := kubernetes.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	manifests := template(t, "testdata/rights.values.yaml")
	flags := install(t, c, client, manifests)
	role := clusterRole(t, manifests)
	reduced := role.DeepCopy()
	for i, rule := range reduced.Rules {
		reduced.Rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(one string) bool { return one == "watch" })
	}
	put(t, client, reduced)
	await(t, client, rbacv1.PolicyRule{APIGroups: role.Rules[0].APIGroups, Resources: role.Rules[0].Resources, Verbs: []string{"watch"}}, false)
	s := daemon.Serve(t, program(t), append(flags, "--state-file="+filepath.Join(t.TempDir(), "state"))...)
	for _, rule := range role.Rules {
		if !slices.Contains(rule.Verbs, "watch") {
			continue
		}
		for _, resource := range rule.Resources {
			want := fmt.Sprintf("cannot watch resource %q in API group %q", resource, rule.APIGroups[0])
			daemon.Await(t, func() error {
				text, err := fetch("http://" + s.Metrics + "/readyz")
				if err == nil && !strings.Contains(text, want) {
					err = fmt.Errorf("/readyz does not say %s:\n%s", want, text)
				}
				return err
			})
		}
	}
}

// A mirror writes with the chart's rights to Leases, and doesn't without any one of
// their verbs.
func TestMirrorNeedsEachRightToLeases(t *testing.T) {
	c := cluster(t)
	client, err := kubernetes.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	manifests := template(t, "testdata/mirrors.values.yaml")
	flags := append(install(t, c, client, manifests), "--mirror-lease-namespace=dns")
	c.Apply(t, []byte(asked))
	role := leaseRole(t, manifests)
	rule := role.Rules[0]
	if len(role.Rules) != 1 || len(rule.Verbs) != 3 {
		t.Fatalf("the role is %v", role.Rules)
	}
	allow := func(verbs []string) {
		changed := role.DeepCopy()
		changed.Rules[0].Verbs = verbs
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		if _, err := client.RbacV1().Roles("dns").Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, verb := range rule.Verbs {
			awaitIn(t, client, "dns", rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: rule.Resources, Verbs: []string{verb}}, slices.Contains(verbs, verb))
		}
	}
	serve := func() *daemon.Server {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		// It has to be created anew.
		if err := client.CoordinationV1().Leases("dns").Delete(ctx, "clusterzone-inmemory-cluster-one", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return daemon.Serve(t, program(t), append(flags, "--state-file="+filepath.Join(t.TempDir(), "state"))...)
	}
	allow(rule.Verbs)
	s := serve()
	daemon.Await(t, func() error {
		text, err := fetch("http://" + s.Metrics + "/metrics")
		if err == nil && !strings.Contains(text, "\nclusterzone_mirror_writes{mirror=\"public\"} 1\n") {
			err = errors.New("with all rights the mirror does not write")
		}
		return err
	})
	s.Stop(t)
	for _, verb := range rule.Verbs {
		allow(slices.DeleteFunc(slices.Clone(rule.Verbs), func(one string) bool { return one == verb }))
		s := serve()
		daemon.Await(t, func() error {
			text, err := fetch("http://" + s.Metrics + "/metrics")
			if err == nil && !strings.Contains(text, "\nclusterzone_mirror_writes{mirror=\"public\"} 0\n") {
				err = fmt.Errorf("without %s the mirror writes", verb)
			}
			if err != nil {
				return err
			}
			text, err = fetch("http://" + s.Admin + "/api/v1/mirrors")
			if err == nil && !strings.Contains(text, "cannot "+verb+" resource") {
				err = fmt.Errorf("without %s, /api/v1/mirrors says\n%s", verb, text)
			}
			return err
		})
		s.Stop(t)
	}
}

func leaseRole(t *testing.T, manifests string) *rbacv1.Role {
	t.Helper()
	for _, object := range objects(t, manifests) {
		if object.GetKind() != "Role" {
			continue
		}
		role := new(rbacv1.Role)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			t.Fatal(err)
		}
		return role
	}
	t.Fatal("no Role is rendered")
	return nil
}

// fetch returns a page, whatever its status.
func fetch(url string) (string, error) {
	response, err := (&http.Client{Timeout: 20 * time.Second}).Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}
