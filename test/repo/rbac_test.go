package repo_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/clusterzone/clusterzone/sources"
)

// README's role grants what the sources need under any flags, and no more.
func TestReadmeGrantsWhatSourcesNeed(t *testing.T) {
	t.Parallel()
	options := sources.DefaultOptions()
	for _, info := range sources.KnownKinds() { // also the sources that need asking for
		if info.Source != "" {
			options.Sources = append(options.Sources, info.Source)
		}
	}
	options.IngressClasses = []string{"any"} // else IngressClasses aren't read
	translator, err := sources.New(options)
	if err != nil {
		t.Fatal(err)
	}
	var need []string
	for _, kind := range sources.Kinds(translator.Needs()) {
		info, ok := sources.Info(kind)
		if !ok {
			t.Fatalf("the sources read %s, of which nothing is known", kind)
		}
		need = append(need, info.Group+"/"+info.Resource)
	}
	need = append(need, "/events", "coordination.k8s.io/leases") // with --events and mirrors

	var granted []string
	for _, rule := range readmeRole(t).Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				granted = append(granted, group+"/"+resource)
				want := []string{"list", "watch"}
				switch resource {
				case "events":
					want = []string{"create", "patch"}
				case "leases":
					want = []string{"get", "create", "update"}
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
