package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// noVariables is an empty environment.
func noVariables(string) (string, bool) { return "", false }

// TestEveryFlagOfExternalDNSIsKnown: the list holds what external-dns'
// reference lists, switches as switches, and nothing else.
func TestEveryFlagOfExternalDNSIsKnown(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/external-dns-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]externalFlag{}
	for _, group := range externalGroups() {
		for _, flag := range group.flags {
			if _, twice := listed[flag.name]; twice {
				t.Errorf("--%s is listed twice", flag.name)
			}
			listed[flag.name] = flag
		}
	}
	cmd := newServe()
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, isSwitch := strings.CutPrefix(line, "--[no-]")
		name = strings.TrimPrefix(name, "--")
		flag, known := listed[name]
		delete(listed, name)
		f := cmd.Flags().Lookup(name)
		switch {
		case !known || f == nil:
			t.Errorf("--%s is not known", name)
			continue
		case flag.why == "" || strings.HasSuffix(flag.why, "."):
			t.Errorf("--%s: %q is no reason", name, flag.why)
		case isSwitch != (f.Value.Type() == "bool"):
			t.Errorf("--%s is a switch: %t; here it is a %s", name, isSwitch, f.Value.Type())
		case isSwitch && cmd.Flags().Lookup("no-"+name) == nil:
			t.Errorf("--no-%s is not known", name)
		}
		if honours := flag.fate == honoured && name != "kube-api-request-timeout"; honours == f.Hidden {
			t.Errorf("--%s: honoured is %t, and hidden is %t", name, honours, f.Hidden)
		}
	}
	for name := range listed {
		t.Errorf("--%s is listed, and no flag of external-dns", name)
	}
}

// parsed returns serve's settings for a command line.
func parsed(t *testing.T, args ...string) (*cobra.Command, *objectSettings, *serveSettings) {
	t.Helper()
	var objects objectSettings
	var serving serveSettings
	cmd := &cobra.Command{Use: "serve"}
	serving.add(cmd)
	objects.add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return cmd, &objects, &serving
}

// TestArgumentsOfDeployments: the arguments on the page start serve as they
// are. The kubeconfig alone is added, since a test is no Pod.
func TestArgumentsOfDeployments(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(migrationPage)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```args\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks of arguments on the page", len(blocks))
	}
	for _, block := range blocks {
		args := strings.Split(strings.TrimSpace(block[1]), "\n")
		if d, logged := startable(t, args...); len(d.pipeline.origins) == 0 || strings.Contains(logged, "ERROR") {
			t.Errorf("%q: zones %v, logged %s", args, d.pipeline.origins, logged)
		}
	}
}

// kubeconfig is one of a cluster that nobody reaches.
const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`

// startable makes a daemon of arguments, and returns what it logged.
func startable(t *testing.T, args ...string) (*daemon, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, objects, serving := parsed(t, append(slices.Clone(args), "--kubeconfig="+file)...)
	if err := resolve(cmd, noVariables); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	if err := objects.prepare(log, noVariables); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	serving.mirrors.getenv = func(name string) string { return map[string]string{"CF_API_TOKEN": "secret"}[name] }
	d, err := newDaemon(log, objects, serving)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return d, out.String()
}

// TestWhatHasNoEffectIsSaid: one line for what is so anyway, one warning for a
// switch that can't be turned off, and no value that may be a secret.
func TestWhatHasNoEffectIsSaid(t *testing.T) {
	t.Parallel()
	_, logged := startable(t, "--zone=corp.test", "--provider", "inmemory", "--policy=sync", "--txt-owner-id=one", "--txt-encrypt-enabled", "--txt-encrypt-aes-key=hush5678901234567890123456789012",
		"--interval=1m", "--events", "--no-listen-endpoint-events", "--no-once", "--gateway-listener-sets")
	for _, want := range []string{
		`level=INFO msg="flags of external-dns that ask for what is so anyway" flags="--no-once --gateway-listener-sets"`,
		`level=WARN msg="a flag of external-dns that has no effect" flag=--no-listen-endpoint-events why="EndpointSlices are always watched"`,
	} {
		if strings.Count(logged, want) != 1 {
			t.Errorf("%q is missing in\n%s", want, logged)
		}
	}
	if strings.Contains(logged, "hush") || strings.Count(logged, "\n") != 2 {
		t.Errorf("logged\n%s", logged)
	}
	if _, logged := startable(t, "--zone=corp.test", "--source=ingress", "--min-ttl=1m"); logged != "" {
		t.Errorf("logged without need: %s", logged)
	}
}

// TestFlagsHonouredInOtherForm: the newer name of a flag, the provider whose
// options are kept, and the older prefix of annotations.
func TestFlagsHonouredInOtherForm(t *testing.T) {
	t.Parallel()
	_, objects, serving := parsed(t, "--request-timeout=5s", "--kube-api-request-timeout=0", "--provider=cloudflare",
		"--annotation-prefix=dns.corp.test/", "--enable-legacy-annotation-prefix")
	log := slog.New(slog.DiscardHandler)
	if err := errors.Join(objects.prepare(log, noVariables), serving.mirrors.prepare(log, slog.LevelWarn, objects)); err != nil {
		t.Fatal(err)
	}
	if objects.origin.timeout != 0 || objects.source.Provider != "cloudflare" {
		t.Errorf("timeout %s, provider %q", objects.origin.timeout, objects.source.Provider)
	}
	if want := []string{"dns.corp.test/", "external-dns.alpha.kubernetes.io/"}; !slices.Equal(objects.source.AnnotationPrefixes, want) {
		t.Errorf("prefixes %q, want %q", objects.source.AnnotationPrefixes, want)
	}
	ctx, cancel := limited(t.Context(), objects.origin.timeout)
	defer cancel()
	if _, ends := ctx.Deadline(); ends || ctx.Err() != nil {
		t.Error("a timeout of 0 is none")
	}
}

// TestEnvironmentOfExternalDNS: it is not read, and said to be set; what
// Kubernetes sets for a Service called external-dns is none of it.
func TestEnvironmentOfExternalDNS(t *testing.T) {
	t.Parallel()
	env := map[string]string{"EXTERNAL_DNS_TXT_OWNER_ID": "x", "EXTERNAL_DNS_DOMAIN_FILTER": "corp.test", "EXTERNAL_DNS_PORT": "tcp://192.0.2.1:7979", "EXTERNAL_DNS_SERVICE_HOST": "192.0.2.1"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	want := "EXTERNAL_DNS_DOMAIN_FILTER (write CLUSTERZONE_DOMAIN_FILTER), EXTERNAL_DNS_TXT_OWNER_ID (write CLUSTERZONE_TXT_OWNER_ID)"
	if got := externalEnvironment(lookup); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var out bytes.Buffer
	_, objects, _ := parsed(t)
	if err := objects.prepare(slog.New(slog.NewTextHandler(&out, nil)), lookup); err != nil {
		t.Fatal(err)
	}
	if logged := out.String(); strings.Count(logged, "\n") != 1 || !strings.Contains(logged, want) {
		t.Errorf("logged %q", logged)
	}
	// What is written instead is read, for hidden flags too.
	cmd, objects, _ := parsed(t)
	ours := map[string]string{"CLUSTERZONE_TXT_CACHE_INTERVAL": "1m", "CLUSTERZONE_GLOO_NAMESPACE": "one\ntwo\n", "CLUSTERZONE_TRAEFIK_ENABLE_LEGACY": "true"}
	if err := resolve(cmd, func(name string) (string, bool) { v, ok := ours[name]; return v, ok }); err != nil {
		t.Fatal(err)
	}
	var given []string
	for _, v := range objects.external.flags {
		given = append(given, v.given...)
	}
	if want := []string{"one", "two", "true", "1m"}; !slices.Equal(given, want) {
		t.Errorf("given %q, want %q", given, want)
	}
}

const migrationPage = "../../docs/migrating-from-external-dns.md"

// TestMigrationPage: the page's tables say what the list says. Run with -update
// after a change of the list.
func TestMigrationPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(migrationPage)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<!-- from here on written by: go test ./cmd/clusterzone -update -->\n"
	prose, _, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("the page lacks the line %q", mark)
	}
	var out strings.Builder
	out.WriteString(prose + mark)
	writeTables(&out)
	switch {
	case out.String() == string(text):
	case *update:
		if err := os.WriteFile(migrationPage, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the page differs from the list; it would end in\n%s", out.String()[len(prose):])
	}
}

func writeTables(w io.StringWriter) {
	put := func(parts ...string) { _, _ = w.WriteString(strings.Join(parts, "") + "\n") }
	set := newServe().Flags()
	fates := map[fate]string{honoured: "honoured", settled: "so anyway", refused: "refused"}
	for _, group := range externalGroups() {
		put("\n### ", group.title, "\n\n| Flag | Fate | What that means |\n|---|---|---|")
		for _, flag := range group.flags {
			name := flag.name
			if set.Lookup(name).Value.Type() == "bool" {
				name = "[no-]" + name
			}
			why := flag.why
			if flag.words != nil {
				why += "; values: " + strings.Join(flag.words, ", ")
			}
			put("| `", name, "` | ", fates[flag.fate], " | ", why, " |")
		}
	}
	put("\n### Sources that are refused\n\n| Source | Why, and what to do instead |\n|---|---|")
	names := otherSources()
	var sorted []string
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		put("| `", name, "` | ", strings.ReplaceAll(names[name], "--manifests", "`--manifests`"), " |")
	}
	put("\n### Providers that are refused\n\n", strings.Join(otherProviders(), ", "), ".")
}
