// Command helm does what `helm lint`, `helm template` and `kustomize build` do, with
// these programs' own libraries and no cluster, for the tests of the chart: their
// commands would bring some hundred modules more.
//
//	helm lint CHART [VALUES.yaml]
//	helm template CHART [VALUES.yaml] [API-VERSION...]
//	helm notes CHART [VALUES.yaml] [API-VERSION...]
//	helm kustomize FOLDER
//
// The release is "clusterzone" in the namespace "dns". API-VERSION, as in
// gateway.networking.k8s.io/v1/HTTPRoute, is one that the cluster has beside those
// that each has.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	release   = "clusterzone"
	namespace = "dns"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New("say what to do with which folder: lint, template, notes or kustomize")
	}
	action, folder, rest := args[0], args[1], args[2:]
	if action == "kustomize" {
		return kustomize(folder, out)
	}
	values := chartutil.Values{}
	if len(rest) > 0 {
		var err error
		if values, err = chartutil.ReadValuesFile(rest[0]); err != nil {
			return fmt.Errorf("%s: %w", rest[0], err)
		}
		rest = rest[1:]
	}
	switch action {
	case "lint":
		return lintChart(folder, values, out)
	case "template", "notes":
		return render(folder, values, rest, action == "notes", out)
	}
	return fmt.Errorf("there is no action %s", action)
}

func lintChart(folder string, values map[string]any, out io.Writer) error {
	linter := lint.AllWithKubeVersion(folder, values, namespace, nil)
	for _, message := range linter.Messages {
		fmt.Fprintln(out, message.Error())
	}
	if linter.HighestSeverity > support.InfoSev {
		return errors.New("the chart has faults")
	}
	return nil
}

// render prints all manifests in the order in which helm applies them, each after
// a line with its template, or the notes alone.
func render(folder string, values map[string]any, apis []string, notes bool, out io.Writer) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, apis...)
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return err
	}
	for name, text := range files {
		if path.Base(name) == "NOTES.txt" {
			if notes {
				fmt.Fprint(out, text)
			}
			delete(files, name)
		}
	}
	if notes {
		return nil
	}
	_, manifests, err := releaseutil.SortManifests(files, capabilities.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		fmt.Fprintf(out, "---\n# Source: %s\n%s\n", manifest.Name, strings.TrimSpace(manifest.Content))
	}
	return nil
}

func kustomize(folder string, out io.Writer) error {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return err
	}
	text, err := built.AsYaml()
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
