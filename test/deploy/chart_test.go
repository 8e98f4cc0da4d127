package deploy_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// modes are the files of values that the chart is rendered with.
func modes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has no values: %v", err)
	}
	return files
}

func TestChartHasNoFaults(t *testing.T) {
	t.Parallel()
	for _, values := range modes(t) {
		out, errs, ok := helm(t, "lint", chart, values)
		if !ok || strings.Contains(out, "[WARNING]") || strings.Contains(out, "[ERROR]") {
			t.Errorf("%s: %s%s", values, out, errs)
		}
	}
}

func TestChartRenders(t *testing.T) {
	t.Parallel()
	for _, values := range modes(t) {
		golden(t, strings.TrimSuffix(values, ".values.yaml")+".golden.yaml", template(t, values))
	}
}

// What is rendered for kustomize is what the chart gives, and kustomize reads it.
func TestKustomizeHasTheChartsManifests(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"daemonset", "deployment"} {
		folder := filepath.Join(root, "deploy", "kustomize", mode)
		text := "# Written by make deploy from values.yaml and the chart: change these.\n" + template(t, filepath.Join(folder, "values.yaml"))
		golden(t, filepath.Join(folder, "clusterzone.yaml"), text)
		out, errs, ok := helm(t, "kustomize", folder)
		if !ok {
			t.Errorf("kustomize build %s: %s", folder, errs)
			continue
		}
		// The namespace is added, nothing else.
		if built, rendered := len(objects(t, out)), len(objects(t, text)); built != rendered+1 {
			t.Errorf("kustomize build %s gives %d objects, and the chart %d and no Namespace", folder, built, rendered)
		}
	}
}

// The overlay of docs/install-helm.md changes what it says; and the notes on the page are
// those of a release.
func TestPageHasWhatIsRendered(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "install-helm.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, overlay, found := strings.Cut(string(page), "```yaml\napiVersion: kustomize.config.k8s.io/v1beta1\n")
	overlay, _, closed := strings.Cut(overlay, "```\n")
	if !found || !closed {
		t.Fatal("the page has no overlay")
	}
	// kustomize takes relative paths only.
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(root, "deploy", "kustomize"))); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(copied, "overlay")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	overlay = "apiVersion: kustomize.config.k8s.io/v1beta1\n" + strings.ReplaceAll(overlay, "github.com/clusterzone/clusterzone/deploy/kustomize/", "../")
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, ok := helm(t, "kustomize", folder)
	if !ok {
		t.Fatal(errs)
	}
	for _, want := range []string{"zone: [corp.test]", "clusterIP: 10.96.0.53", "kind: DaemonSet"} {
		if !strings.Contains(out, want) {
			t.Errorf("the overlay gives no %q:\n%s", want, out)
		}
	}
	notes, errs, ok := helm(t, "notes", chart, "testdata/daemonset.values.yaml")
	if !ok || !strings.Contains(string(page), "```\n"+strings.TrimSpace(notes)+"\n```\n") {
		t.Errorf("the page doesn't have the notes:\n%s%s", notes, errs)
	}
}

// Values that make no sense are refused with one clear sentence: testdata/refusals.txtar
// has values and what is said of them.
func TestChartRefusesValues(t *testing.T) {
	t.Parallel()
	const file = "testdata/refusals.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".error") {
			continue
		}
		path := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, ok := helm(t, "template", chart, path)
		if ok {
			t.Errorf("%s is rendered:\n%s", f.Name, out)
			continue
		}
		errs = strings.TrimRight(errs, "\n") + "\n"
		if i+1 == len(archive.Files) || archive.Files[i+1].Name != f.Name+".error" {
			t.Fatalf("%s: after %s there must be %s.error", file, f.Name, f.Name)
		}
		if *update {
			archive.Files[i+1].Data = []byte(errs)
		} else if want := string(archive.Files[i+1].Data); errs != want {
			t.Errorf("%s: the error is\n%swant\n%s", f.Name, errs, want)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The notes name a source whose kind the cluster lacks, and no other.
func TestNotesNameSourcesWithoutKind(t *testing.T) {
	t.Parallel()
	const route = "gateway.networking.k8s.io/v1/HTTPRoute"
	const values = "testdata/rights.values.yaml"
	out, errs, ok := helm(t, "notes", chart, values, route)
	if !ok {
		t.Fatal(errs)
	}
	for _, source := range []string{"source crd needs the kind DNSEndpoint of externaldns.k8s.io", "source skipper-routegroup needs"} {
		if !strings.Contains(out, source) {
			t.Errorf("the notes don't say %q:\n%s", source, out)
		}
	}
	if strings.Contains(out, "HTTPRoute") {
		t.Errorf("the notes name a kind that the cluster has:\n%s", out)
	}
	out, _, _ = helm(t, "notes", chart, "testdata/daemonset.values.yaml")
	if strings.Contains(out, "needs the kind") || !strings.Contains(out, "forward . 10.96.0.53") {
		t.Errorf("the notes of a plain release:\n%s", out)
	}
}

// The program takes the config file of every mode.
func TestProgramTakesTheConfig(t *testing.T) {
	t.Parallel()
	for _, values := range modes(t) {
		config := configFile(t, template(t, values))
		stdout, stderr, status := daemon.Run(t, program(t), "check", "--config="+config, "--manifests="+filepath.Join(root, "deploy", "example"))
		// 1 is for findings in the objects, 2 for a config that can't be honoured.
		if status == 2 {
			t.Errorf("%s: %s%s", values, stdout, stderr)
		}
	}
}

// configFile writes the config file of rendered manifests where a test can read it.
func configFile(t *testing.T, manifests string) string {
	t.Helper()
	for _, object := range objects(t, manifests) {
		text, found, err := unstructured.NestedString(object.Object, "data", "config.yaml")
		if err != nil || !found || object.GetKind() != "ConfigMap" {
			continue
		}
		// Secrets that are mounted in a Pod only.
		var settings map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &settings); err != nil {
			t.Fatal(err)
		}
		for _, mounted := range []string{"cookie-secret-file", "tls-cert-file", "tls-key-file"} {
			delete(settings, mounted)
		}
		out, err := yaml.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Fatal("no ConfigMap has a config.yaml")
	return ""
}

// objects reads the objects of YAML documents.
func objects(t *testing.T, manifests string) []*unstructured.Unstructured {
	t.Helper()
	all, err := parse(manifests)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parse(manifests string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	documents := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(manifests))))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		if string(text) == "null" {
			continue
		}
		object := new(unstructured.Unstructured)
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		all = append(all, object)
	}
}
