package repo_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// ours says which packages of ours each package may depend on, itself and what
// lies below it left out. The arrows point one way: cmd to server and sources,
// and these to zones.
var ours = map[string][]string{
	"zones":           {},
	"server":          {"zones"},
	"sources":         {"zones", "filewatch"},
	"upstream":        {"zones"},
	"zonefile":        {"zones", "filewatch"},
	"filewatch":       {},
	"dnstap":          {"zones"},
	"adminpage":       {"zones"},
	"assembly":        {"sources", "zonefile", "filewatch", "zones"},
	"cmd/clusterzone": {"assembly", "server", "sources", "upstream", "zonefile", "filewatch", "dnstap", "adminpage", "zones"},
	"test/bench":      {},
	"test/kubetest":   {},
	"test/e2e":        {"test/kubetest", "server", "sources", "zonefile", "filewatch", "zones"},
	"test/script":     {"server", "sources", "filewatch", "zones"},
	"test/daemon":     {},
	"test/peers":      {},
	"test/fronts":     {},
	"test/nodes":      {},
	"test/deploy":     {}, // its tests read the options of sources
	"test/repo":       {}, // its tests read the options of sources
}

// badDeps are what a package must not depend on, not even through others, and
// why. A name that ends in a slash stands for all that lies below it.
var badDeps = map[string]map[string]string{
	"zones": {
		"k8s.io/":                "the core knows no Kubernetes: its tests need none, and other kinds of sources can come",
		"sigs.k8s.io/":           "the core knows no Kubernetes",
		"github.com/prometheus/": "counts are returned as values; who serves metrics reads them",
		"github.com/spf13/":      "options are handed in as values",
		"log/slog":               "a decision is returned, not logged: what is skipped stands in Skipped",
		"net/http":               "the core opens no socket",
		"go.yaml.in/":            "zones are made from claims, not from files of a format",
	},
	"server": {
		"k8s.io/":           "the wire knows no Kubernetes: it answers from snapshots, whoever made them",
		"sigs.k8s.io/":      "the wire knows no Kubernetes",
		"github.com/spf13/": "options are handed in as values",
	},
	"zonefile": {
		"k8s.io/":                "master files know no Kubernetes",
		"sigs.k8s.io/":           "master files know no Kubernetes",
		"github.com/prometheus/": "counts are returned as values; who serves metrics reads them",
		"github.com/spf13/":      "options are handed in as values",
	},
	"dnstap": {
		"k8s.io/":                "what was seen on the wire knows no Kubernetes",
		"sigs.k8s.io/":           "what was seen on the wire knows no Kubernetes",
		"github.com/prometheus/": "counts are returned as values; who serves metrics reads them",
		"github.com/spf13/":      "options are handed in as values",
	},
	"assembly": {
		"github.com/spf13/cobra": "options are handed in as values: CoreDNS has no flags of ours",
	},
	"adminpage": {
		"k8s.io/":                "the page shows values, whatever they were read from",
		"sigs.k8s.io/":           "the page shows values, whatever they were read from",
		"github.com/prometheus/": "counts are returned as values; who serves metrics reads them",
		"github.com/spf13/":      "options are handed in as values",
	},
	"sources": {
		"github.com/prometheus/client_golang/": "counts are returned as values; who serves metrics reads them",
		"github.com/spf13/cobra":               "options are handed in as values",
	},
	"upstream": {
		"k8s.io/":                "what lies beyond this server is asked for names, whoever needs them",
		"sigs.k8s.io/":           "what lies beyond this server is asked for names, whoever needs them",
		"github.com/prometheus/": "counts are returned as values; who serves metrics reads them",
		"github.com/spf13/":      "options are handed in as values",
	},
	"cmd/clusterzone": {
		"github.com/coredns/": "the program is no CoreDNS and links none of it",
		"k8s.io/kubernetes/":  "Kubernetes itself is for the end-to-end suite; the program needs its client alone",
		"go.etcd.io/":         "the API server is the only store that the program reads",
		module + "/test/":     "what tests need stays out of the program",
	},
}

// badImports are what a package's own files must not import, though what they
// depend on may.
var badImports = map[string]map[string]string{
	"zones": {
		"net":     "the core opens no socket; addresses are net/netip values",
		"os":      "the core reads no file and no environment; readers and writers are handed in",
		"log":     "a decision is returned, not logged",
		"context": "a decision is neither cancelled nor waited for",
	},
}

// onlyIn names the packages that may import what lies below a path.
var onlyIn = map[string]struct {
	packages []string
	why      string
}{
	"k8s.io/": {
		[]string{"sources", "sources/cluster", "sources/manifest", "cmd/clusterzone", "test/kubetest", "test/e2e", "test/script"},
		"Kubernetes types end where claims begin",
	},
	"github.com/miekg/dns": {
		[]string{"zones", "zonefile", "upstream/exchange", "upstream/forward", "upstream/resolver", "test/script"},
		"version 1 of the library ends some day: it reads record data and master files and speaks to resolvers, nothing else needs it",
	},
	"github.com/spf13/": {
		[]string{"cmd/clusterzone"},
		"flags are the program's; packages take options",
	},
	"github.com/dnstap/": {
		[]string{"dnstap"},
		"the library is old and rarely changed: one package knows it",
	},
	"github.com/alibabacloud-go/": {
		[]string{"upstream/alibaba"},
		"a cloud's SDK is known to its provider alone",
	},
	"github.com/aliyun/": {
		[]string{"upstream/alibaba"},
		"a cloud's SDK is known to its provider alone",
	},
	"github.com/fsnotify/": {
		[]string{"filewatch"},
		"one package knows how files change, whoever reads them",
	},
	"github.com/aws/": {
		[]string{"upstream/route53"},
		"a cloud's SDK ends where records begin",
	},
	"github.com/cloudflare/": {
		[]string{"upstream/cloudflare"},
		"a cloud's SDK ends where records begin",
	},
	"github.com/hashicorp/go-immutable-radix/": {
		[]string{"zones"},
		"the tree can be replaced as long as nobody else knows it",
	},
}

func TestDependenciesPointOneWay(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		allowed, known := ours[top(p)]
		if !known {
			t.Errorf("%s is a new part of the program: say in this file which packages of ours it may depend on", p.short())
			continue
		}
		for _, dep := range p.Deps {
			short, is := strings.CutPrefix(dep, module+"/")
			if !is || within(short, top(p)) {
				continue
			}
			if !slices.ContainsFunc(allowed, func(a string) bool { return within(short, a) }) {
				t.Errorf("%s depends on %s; it may depend on %v", p.short(), short, allowed)
			}
		}
	}
}

func TestBadDependencies(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range packages(t) {
		seen[top(p)] = true
		for bad, why := range badDeps[top(p)] {
			if i := slices.IndexFunc(p.Deps, func(dep string) bool { return matches(dep, bad) }); i >= 0 {
				t.Errorf("%s depends on %s: %s (go mod why, or go list -deps, shows the way)", p.short(), p.Deps[i], why)
			}
		}
		for bad, why := range badImports[top(p)] {
			if slices.Contains(p.Imports, bad) {
				t.Errorf("%s imports %s: %s", p.short(), bad, why)
			}
		}
	}
	for _, rules := range []map[string]map[string]string{badDeps, badImports} {
		for name := range maps.Keys(rules) {
			if !seen[name] {
				t.Errorf("a rule is about %s, which is no package", name)
			}
		}
	}
}

func TestImportsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	for bad, rule := range onlyIn {
		used := map[string]bool{}
		for _, p := range packages(t) {
			for _, imported := range p.Imports {
				if !matches(imported, bad) {
					continue
				}
				used[p.short()] = true
				if !slices.Contains(rule.packages, p.short()) {
					t.Errorf("%s imports %s, which belongs in %v: %s", p.short(), imported, rule.packages, rule.why)
				}
			}
		}
		if len(used) == 0 {
			t.Errorf("nothing imports %s any longer: take the rule away", bad)
		}
	}
}

// top is the part of the program that a package belongs to: the longest key of
// ours that it lies in.
func top(p pkg) string {
	best := ""
	for name := range ours {
		if within(p.short(), name) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

func within(short, folder string) bool {
	return short == folder || strings.HasPrefix(short, folder+"/")
}

func matches(path, rule string) bool {
	if strings.HasSuffix(rule, "/") {
		return strings.HasPrefix(path, rule)
	}
	return path == rule
}
