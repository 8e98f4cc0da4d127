package manifest

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// FuzzParse holds that no file, however broken, ends in a panic, and that what
// is wrong with it is said with its name.
func FuzzParse(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data, filepath.Ext(file.Name) == ".json")
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, isJSON bool) {
		name := "x.yaml"
		if isJSON {
			name = "x.json"
		}
		parsed := parseFile(name, content)
		if finding, ok := parsed.problem.(Finding); parsed.problem != nil && (!ok || finding.File != name || finding.Message == "") {
			t.Errorf("the problem is %#v", parsed.problem)
		}
		for _, doc := range parsed.objects {
			if doc.object == nil || doc.key.name == "" {
				t.Errorf("an object without name: %+v", doc)
			}
		}
	})
}
