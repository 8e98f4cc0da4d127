package plugin

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"golang.org/x/tools/txtar"

	_ "github.com/coredns/coredns/plugin/ready"
)

// validate reads a Corefile as CoreDNS does at its start, and starts nothing.
func validate(text string) error {
	return caddy.ValidateAndExecuteDirectives(caddy.CaddyfileInput{
		Contents: []byte(text), Filepath: "Corefile", ServerTypeName: "dns",
	}, nil, true)
}

// TestBadCorefiles: each Corefile of testdata/bad.txtar is refused with the
// sentence behind its last line.
func TestBadCorefiles(t *testing.T) {
	const file = "testdata/bad.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range archive.Files {
		text, want, _ := strings.Cut(string(one.Data), "> ")
		got := "nothing is wrong"
		if err := validate(text); err != nil {
			got = err.Error()
		}
		if !*update && got != strings.TrimSpace(want) {
			t.Errorf("%s:\n got: %s\nwant: %s", one.Name, got, want)
		}
		if !strings.HasPrefix(got, "plugin/clusterzone: Corefile:") {
			t.Errorf("%s: %q names no file and line", one.Name, got)
		}
		archive.Files[i].Data = []byte(text + "> " + got + "\n")
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// corefiles are the blocks of a page that are Corefiles.
func corefiles(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, match := range regexp.MustCompile("(?ms)^(?:~~~ corefile|```corefile)\n(.*?)^(?:~~~|```)").FindAllStringSubmatch(string(text), -1) {
		all = append(all, match[1])
	}
	return all
}

// TestExamples: CoreDNS takes each Corefile of the pages, where it has the other
// plugins that they name.
func TestExamples(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(deadCluster), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	for _, page := range []string{"README.md", "../docs/coredns-plugin.md"} {
		all := corefiles(t, page)
		if len(all) == 0 {
			t.Errorf("%s has no Corefile", page)
		}
		for _, text := range all {
			// Those of other plugins are not linked here.
			text = regexp.MustCompile(`(?m)^ +(errors|cache|forward|hosts|reload|prometheus|log|health|loop|loadbalance)\b.*\n`).ReplaceAllString(text, "")
			if err := validate(text); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, text)
			}
		}
	}
}

// deadCluster is a kubeconfig whose API server nobody runs: port 1 of the
// loopback refuses.
const deadCluster = `
apiVersion: v1
kind: Config
clusters: [{name: dead, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: dead, context: {cluster: dead, user: none}}]
users: [{name: none, user: {}}]
current-context: dead
`

// TestOptionsAreDocumented: README tells of each option, and of none that isn't.
func TestOptionsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\* `([a-z0-9-]+)(?: [^`]*)?`").FindAllStringSubmatch(string(text), -1) {
		told[match[1]] = true
		if _, ok := options[match[1]]; !ok {
			t.Errorf("README tells of %s, which is no option", match[1])
		}
	}
	for _, name := range optionNames() {
		if !told[name] {
			t.Errorf("README doesn't tell of %s", name)
		}
	}
}

// TestOrder: the plugin stands where answers of others pass it.
func TestOrder(t *testing.T) {
	t.Parallel()
	order := Directives([]string{"cache", "transfer", "hosts", "route53", "kubernetes", "forward"})
	if got := strings.Join(order, " "); got != "cache transfer hosts clusterzone route53 kubernetes forward" {
		t.Errorf("the order is %s", got)
	}
	if again := Directives(order); len(again) != len(order) {
		t.Errorf("the plugin stands there twice: %v", again)
	}
	if got := Directives([]string{"cache"}); got[len(got)-1] != Name {
		t.Errorf("without any neighbour the order is %v", got)
	}
	count := 0
	for _, name := range dnsserver.Directives {
		if name == Name {
			count++
		}
	}
	if count != 1 {
		t.Errorf("CoreDNS has the plugin %d times", count)
	}
}
