package repo_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/clusterzone/clusterzone/sources"
)

// resources are the kinds as a role names them.
var resources = map[sources.Kind]string{
	sources.KindIngress:       "networking.k8s.io/ingresses",
	sources.KindIngressClass:  "networking.k8s.io/ingressclasses",
	sources.KindService:       "/services",
	sources.KindEndpointSlice: "discovery.k8s.io/endpointslices",
	sources.KindPod:           "/pods",
	sources.KindNode:          "/nodes",
}

// README's role grants what the sources need under any flags, and no more.
func TestReadmeGrantsWhatSourcesNeed(t *testing.T) {
	t.Parallel()
	options := sources.DefaultOptions()
	options.IngressClasses = []string{"any"} // else IngressClasses aren't read
	translator, err := sources.New(options)
	if err != nil {
		t.Fatal(err)
	}
	var need []string
	for _, kind := range sources.Kinds(translator.Needs()) {
		if resources[kind] == "" {
			t.Errorf("the sources read %s: say in this file what a role calls it", kind)
		}
		need = append(need, resources[kind])
	}
	need = append(need, "/events") // with --kubernetes-events

	var granted []string
	for _, rule := range readmeRole(t).Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				granted = append(granted, group+"/"+resource)
				want := []string{"list", "watch"}
				if resource == "events" {
					want = []string{"create", "patch"}
				}
				if !slices.Equal(rule.Verbs, want) {
					t.Errorf("README grants %v on %s; the program needs %v", rule.Verbs, resource, want)
				}
			}
		}
	}
	slices.Sort(need)
	slices.Sort(granted)
	if !slices.Equal(need, granted) {
		t.Errorf("README's ClusterRole grants\n%s\nand the sources need\n%s", strings.Join(granted, "\n"), strings.Join(need, "\n"))
	}
}

func readmeRole(t *testing.T) rbacv1.ClusterRole {
	t.Helper()
	blocks, _ := fences(t, "README.md")
	for _, block := range blocks {
		text := strings.Join(block.text, "\n")
		if block.language != "yaml" || !strings.Contains(text, "kind: ClusterRole\n") {
			continue
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil {
			t.Fatalf("README.md:%d: %v", block.line, err)
		}
		return role
	}
	t.Fatal("README.md shows no ClusterRole")
	return rbacv1.ClusterRole{}
}
