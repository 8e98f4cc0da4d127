package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/test/daemon"
	"github.com/clusterzone/clusterzone/test/kubetest"
)

// For many choices of sources, the role grants what these need and no more.
func TestRoleGrantsWhatSourcesNeed(t *testing.T) {
	t.Parallel()
	var all []string
	for _, info := range sources.KnownKinds() {
		if info.Source != "" {
			all = append(all, info.Source)
		}
	}
	type choice struct {
		sources, classes, types []string
		events, status          bool
	}
	choices := []choice{
		{sources: all}, {sources: all, classes: []string{"nginx"}, events: true, status: true},
		{sources: []string{"ingress", "service"}, types: []string{"LoadBalancer"}, events: true},
		{sources: []string{"service"}, types: []string{"LoadBalancer", "NodePort"}},
		{sources: []string{"service", "pod"}, types: []string{"ExternalName"}},
		{sources: []string{"gateway-httproute", "gateway-udproute"}, status: true},
		{sources: []string{"ingress"}, classes: []string{"a", "b"}},
	}
	for _, source := range all {
		choices = append(choices, choice{sources: []string{source}})
	}
	for _, c := range choices {
		config := map[string]any{"events": c.events, "crd-status": c.status}
		if c.classes != nil {
			config["ingress-class"] = c.classes
		}
		if c.types != nil {
			config["service-type-filter"] = c.types
		}
		values, err := yaml.Marshal(map[string]any{"zones": []string{"corp.test"}, "sources": c.sources, "config": config})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(file, values, 0o600); err != nil {
			t.Fatal(err)
		}
		options := sources.DefaultOptions()
		options.Sources, options.IngressClasses, options.ServiceTypeFilter = c.sources, c.classes, c.types
		translator, err := sources.New(options)
		if err != nil {
			t.Fatal(err)
		}
		var need []string
		for _, kind := range sources.Kinds(translator.Needs()) {
			info, _ := sources.Info(kind)
			need = append(need, fmt.Sprintf("%s/%s [list watch]", info.Group, info.Resource))
		}
		if c.events {
			need = append(need, "/events [create patch]")
		}
		if c.status && slices.Contains(c.sources, sources.SourceCRD) {
			need = append(need, "externaldns.k8s.io/dnsendpoints/status [patch]")
		}
		slices.Sort(need)
		granted := grants(clusterRole(t, template(t, file)).Rules)
		if !slices.Equal(need, granted) {
			t.Errorf("%s\nthe role grants\n  %s\nand the program needs\n  %s", values, strings.Join(granted, "\n  "), strings.Join(need, "\n  "))
		}
	}
}

// Leases are granted with a mirror only, and in one namespace only.
func TestLeasesNeedAMirror(t *testing.T) {
	t.Parallel()
	for _, values := range modes(t) {
		has := strings.Contains(template(t, values), "resources: [leases]")
		if want := strings.Contains(values, "mirrors"); has != want {
			t.Errorf("%s: leases granted %t, want %t", values, has, want)
		}
	}
	for _, rule := range clusterRole(t, template(t, "testdata/mirrors.values.yaml")).Rules {
		if slices.Contains(rule.Resources, "leases") {
			t.Error("leases of every namespace are granted")
		}
	}
}

// grants lists rules resource by resource, sorted.
func grants(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				all = append(all, fmt.Sprintf("%s/%s %v", group, resource, rule.Verbs))
			}
		}
	}
	slices.Sort(all)
	return all
}

func clusterRole(t *testing.T, manifests string) *rbacv1.ClusterRole {
	t.Helper()
	for _, object := range objects(t, manifests) {
		if object.GetKind() != "ClusterRole" {
			continue
		}
		role := new(rbacv1.ClusterRole)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			t.Fatal(err)
		}
		return role
	}
	t.Fatal("no ClusterRole is rendered")
	return nil
}

const account = "system:serviceaccount:dns:clusterzone"

// The program serves with the token of the chart's own ServiceAccount and the config
// file of the ConfigMap, and with every right but one it misses something: no right
// is there in vain.
func TestProgramServesWithTheChartsRights(t *testing.T) {
	c := cluster(t)
	client, err := kubernetes.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	manifests := template(t, "testdata/rights.values.yaml")
	flags := install(t, c, client, manifests)
	c.Apply(t, []byte(asked))
	role := clusterRole(t, manifests)
	await(t, client, role.Rules[0], true)

	wrote := serveOnce(t, c, client, flags)
	if len(wrote) != 2 {
		t.Fatalf("with all rights, the program wrote %v; want an event and a status", wrote)
	}
	if stdout, stderr := check(t, flags); strings.Contains(stdout, "forbidden") || strings.Contains(stderr, "forbidden") {
		t.Fatalf("with all rights, something is forbidden:\n%s%s", stdout, stderr)
	}

	for i, rule := range role.Rules {
		for _, resource := range rule.Resources {
			reduced := role.DeepCopy()
			reduced.Rules[i].Resources = slices.DeleteFunc(reduced.Rules[i].Resources, func(one string) bool { return one == resource })
			if len(reduced.Rules[i].Resources) == 0 {
				reduced.Rules = slices.Delete(reduced.Rules, i, i+1)
			}
			put(t, client, reduced)
			lost := rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: []string{resource}, Verbs: rule.Verbs}
			await(t, client, lost, false)
			if rule.Verbs[0] != "list" {
				if wrote := serveOnce(t, c, client, flags); slices.Contains(wrote, resource) || len(wrote) != 1 {
					t.Errorf("without %v on %s the program wrote %v", rule.Verbs, resource, wrote)
				}
				continue
			}
			stdout, stderr := check(t, flags)
			if !strings.Contains(stdout+stderr, resource+"."+rule.APIGroups[0]) && !strings.Contains(stdout+stderr, resource+" is forbidden") {
				t.Errorf("without %s the program misses nothing:\n%s%s", resource, stdout, stderr)
			}
		}
	}
}

// asked is an Ingress that is served, one whose author can mend it, and a DNSEndpoint.
const asked = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: web}
spec: {ingressClassName: nginx, defaultBackend: {service: {name: web, port: {number: 80}}}, rules: [{host: web.corp.test}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: typo, annotations: {external-dns.kubernetes.io/hostname: shop..corp.test}}
spec: {ingressClassName: nginx, defaultBackend: {service: {name: web, port: {number: 80}}}}
status: {loadBalancer: {ingress: [{ip: 192.0.2.3}]}}
---
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {namespace: shop, name: mail}
spec: {endpoints: [{dnsName: mail.corp.test, recordType: A, targets: [192.0.2.5]}]}
`

// check runs clusterzone check, which reads every kind once.
func check(t *testing.T, flags []string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, _ = daemon.Run(t, program(t), append([]string{"check"}, flags...)...)
	return stdout, stderr
}

// serveOnce lets the program serve until it answers, stops it, and returns what it
// has written by then: "events", "dnsendpoints/status". At its end, all that it has to
// say is said.
func serveOnce(t *testing.T, c *kubetest.Cluster, client kubernetes.Interface, flags []string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := client.CoreV1().Events("shop").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	custom, err := dynamic.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	endpoints := custom.Resource(schema.GroupVersionResource{Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"}).Namespace("shop")
	c.Delete(t, "DNSEndpoint", "shop", "mail")
	c.Apply(t, []byte(asked[strings.LastIndex(asked, "---\n"):]))

	s := daemon.Serve(t, program(t), append(flags, "--state-file="+filepath.Join(t.TempDir(), "state"))...)
	wrote := func() (all []string) {
		events, err := client.CoreV1().Events("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events.Items {
			if event.Reason == "DNSInvalidName" {
				all = append(all, "events")
				break
			}
		}
		endpoint, err := endpoints.Get(ctx, "mail", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, found, _ := unstructured.NestedInt64(endpoint.Object, "status", "observedGeneration"); found {
			all = append(all, "dnsendpoints/status")
		}
		return all
	}
	// One of the two may always be written: when it is, the other has been tried.
	var last []string
	daemon.Await(t, func() error {
		last = wrote()
		if len(last) == 0 {
			return errors.New("nothing is written yet")
		}
		if len(last) < 2 && !strings.Contains(s.Log(), "forbidden") {
			return fmt.Errorf("only %v is written yet, and nothing is forbidden", last)
		}
		return nil
	})
	s.Stop(t)
	return wrote()
}

// put replaces the role.
func put(t *testing.T, client kubernetes.Interface, role *rbacv1.ClusterRole) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	live, err := client.RbacV1().ClusterRoles().Get(ctx, role.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live.Rules = role.Rules
	if _, err := client.RbacV1().ClusterRoles().Update(ctx, live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// await returns when the authorizer, which reads roles from a cache, says of the
// rule's first right and of Ingresses what it shall.
func await(t *testing.T, client kubernetes.Interface, rule rbacv1.PolicyRule, want bool) {
	t.Helper()
	awaitIn(t, client, "shop", rule, want)
}

// awaitIn is await for another namespace.
func awaitIn(t *testing.T, client kubernetes.Interface, namespace string, rule rbacv1.PolicyRule, want bool) {
	t.Helper()
	resource, sub, _ := strings.Cut(rule.Resources[0], "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: account,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Group: rule.APIGroups[0], Resource: resource, Subresource: sub, Verb: rule.Verbs[0],
		},
	}}
	daemon.Await(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if answer.Status.Allowed != want {
			return fmt.Errorf("%s may %s %s: %t", account, rule.Verbs[0], rule.Resources[0], !want)
		}
		return nil
	})
}

// token writes a kubeconfig with a token of the ServiceAccount, as a Pod has it.
func token(t *testing.T, c *kubetest.Cluster, client kubernetes.Interface) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	hour := int64(3600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}
	given, err := client.CoreV1().ServiceAccounts("dns").CreateToken(ctx, "clusterzone", request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	admin := c.Admin()
	return c.Kubeconfig(t, &rest.Config{
		Host: admin.Host, BearerToken: given.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData},
	})
}
