package manifest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	routegroupv1 "github.com/szuecs/routegroup-client/apis/zalando.org/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"golang.org/x/tools/txtar"

	"github.com/clusterzone/clusterzone/sources"
)

// rewrite rewrites the want sections. Use it after a change that is meant to
// change them, and read the difference.
var rewrite = flag.Bool("update", false, "rewrite the want sections of testdata/*.txtar")

// TestLoad loads the files of each archive and compares what was found: errors,
// findings, ignored kinds, objects. A file named "paths" lists the paths to be
// loaded; without it, it is the whole folder. A file named "stdin" is that.
func TestLoad(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives (%v)", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := loadArchive(t, archive)
			for i := range archive.Files {
				if archive.Files[i].Name != "want" {
					continue
				}
				if *rewrite {
					archive.Files[i].Data = []byte(got)
					if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if want := string(archive.Files[i].Data); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				return
			}
			t.Error("the archive has no want section")
		})
	}
}

func loadArchive(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	folder := t.TempDir()
	paths := []string{folder}
	stdin := ""
	for _, f := range archive.Files {
		switch f.Name {
		case "want":
		case "stdin":
			stdin = string(f.Data)
		case "paths":
			paths = nil
			for line := range strings.Lines(string(f.Data)) {
				if line = strings.TrimSpace(line); line == stdinPath {
					paths = append(paths, line)
				} else {
					paths = append(paths, filepath.Join(folder, line))
				}
			}
		default:
			write(t, filepath.Join(folder, f.Name), string(f.Data))
		}
	}
	set, err := Load(paths, strings.NewReader(stdin))
	var out strings.Builder
	if err != nil {
		for line := range strings.Lines(err.Error() + "\n") {
			fmt.Fprint(&out, "error: ", line)
		}
	}
	for _, finding := range set.Findings() {
		fmt.Fprintln(&out, "finding:", finding)
	}
	for _, kind := range set.Ignored() {
		fmt.Fprintln(&out, "ignored:", kind)
	}
	keys := slices.SortedFunc(maps.Keys(set.objects), func(a, b key) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, k := range keys {
		fmt.Fprintf(&out, "object: %s %s/%s%s\n", k.kind, k.namespace, k.name, describe(set.objects[k]))
	}
	return strings.ReplaceAll(out.String(), folder+"/", "")
}

// describe shows what tells versions of an object apart.
func describe(obj any) string {
	var text []string
	switch obj := obj.(type) {
	case *networkingv1.Ingress:
		for _, rule := range obj.Spec.Rules {
			text = append(text, rule.Host)
		}
		for _, ingress := range obj.Status.LoadBalancer.Ingress {
			text = append(text, ingress.IP)
		}
		if !obj.CreationTimestamp.IsZero() {
			text = append(text, obj.CreationTimestamp.UTC().Format("2006-01-02"))
		}
		for _, name := range slices.Sorted(maps.Keys(obj.Annotations)) {
			text = append(text, name+"="+obj.Annotations[name])
		}
	case *corev1.Service:
		text = append(text, obj.Spec.ExternalName)
		for _, port := range obj.Spec.Ports {
			text = append(text, fmt.Sprint(port.Port))
		}
		for _, name := range slices.Sorted(maps.Keys(obj.Annotations)) {
			text = append(text, name+"="+obj.Annotations[name])
		}
	case *gatewayv1.Gateway:
		text = append(text, string(obj.Spec.GatewayClassName))
		for _, address := range obj.Status.Addresses {
			text = append(text, address.Value)
		}
	case *gatewayv1.HTTPRoute:
		text = append(text, obj.APIVersion, fmt.Sprint(obj.Spec.Hostnames))
	case *gatewayv1.TLSRoute:
		text = append(text, obj.APIVersion, fmt.Sprint(obj.Spec.Hostnames))
	case *gatewayv1.ListenerSet:
		text = append(text, string(obj.Spec.ParentRef.Name))
	case *routegroupv1.RouteGroup:
		text = append(text, obj.Spec.Hosts...)
	case *sources.DNSEndpoint:
		for _, record := range obj.Spec.Endpoints {
			text = append(text, record.DNSName, fmt.Sprint(record.Targets))
		}
	}
	if len(text) == 0 {
		return ""
	}
	return ": " + strings.Join(text, " ")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
