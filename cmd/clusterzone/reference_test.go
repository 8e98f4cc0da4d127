package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagReference: docs/reference-flags.md is what the commands' flags give.
// Run with -update after a change of flags.
func TestFlagReference(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(`# Flags and configuration

Made from the program by its tests (` + "`make golden`" + `); don't edit it by hand.

Each setting is a flag, an environment variable, and a key of the YAML file that ` + "`--config`" + ` names, without the dashes in front. A flag wins over the
environment, the environment over the file. A setting that may be repeated is a list in the file, and one value a line in the environment. Switches take ` + "`true` or `false`" + `; on the
command line, a switch has an opposite with ` + "`no-`" + ` in front. Durations are written like ` + "`90s` or `5m`" + `. The flags of external-dns that aren't listed here stand in
[a page of their own](migrating-from-external-dns.md).
`)
	commands := newRoot(stdio{}).Commands()
	for _, title := range []string{groupOrigin, groupZones, groupSources, groupServe, groupAnswers, groupClients, groupOps, groupOutput, groupGeneral} {
		fmt.Fprintf(&text, "\n## %s\n\n| Setting | What it does |\n|---|---|\n", title)
		for _, f := range flagsUnder(commands, title) {
			text.WriteString(f.row())
		}
	}
	golden(t, "../../docs/reference-flags.md", text.String())
}

// A knownFlag is a flag with the commands that have it.
type knownFlag struct {
	*pflag.Flag
	commands []string
}

// flagsUnder returns the flags of a group in the order in which the commands
// define them.
func flagsUnder(commands []*cobra.Command, title string) []*knownFlag {
	var found []*knownFlag
	for _, cmd := range commands {
		cmd.Flags().SortFlags = false
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if groups := f.Annotations[group]; f.Hidden || len(groups) != 1 || groups[0] != title {
				return
			}
			at := slices.IndexFunc(found, func(other *knownFlag) bool { return other.Name == f.Name && other.Usage == f.Usage })
			if at < 0 {
				at = len(found)
				found = append(found, &knownFlag{Flag: f})
			}
			found[at].commands = append(found[at].commands, cmd.Name())
		})
	}
	return found
}

func (f *knownFlag) row() string {
	value, usage := pflag.UnquoteUsage(f.Flag)
	name := "--" + f.Name
	if value != "" {
		name += " " + value
	}
	name = "`" + name + "`"
	if f.Shorthand != "" {
		name += ", `-" + f.Shorthand + "`"
	}
	notes := []string{"`" + envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + "`"}
	if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
		notes = append(notes, "default `"+f.DefValue+"`")
	}
	notes = append(notes, strings.Join(f.commands, ", "))
	return fmt.Sprintf("| %s | %s. <br>%s |\n", name, cells.Replace(usage), strings.Join(notes, "; "))
}

// cells is for text in a table's cell.
var cells = strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`)

var described = regexp.MustCompile(`fqName: "([^"]*)", help: "((?:[^"\\]|\\.)*)", (?:unit: "[^"]*", )?constLabels: \{[^}]*\}, variableLabels: \{([^}]*)\}`)

// TestMetricsReference: docs/reference-metrics.md has all that a server with
// everything turned on may serve at /metrics, but for what Go's client library
// tells of the process.
func TestMetricsReference(t *testing.T) {
	t.Parallel()
	tls := newPair(t, 1, time.Now().Add(time.Hour)).write(t, t.TempDir())
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(`key "transfer" { algorithm hmac-sha256; secret "MDEyMzQ1Njc4OWFiY2RlZg=="; };`), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := startable(t, "--zone=corp.test", "--source=ingress", "--dnstap=unix:"+t.TempDir()+"/tap.sock", "--resolver=192.0.2.53",
		"--tsig-key-file="+keys, "--allow-transfer=key:transfer", "--provider=inmemory", "--txt-owner-id=one",
		"--listen-tls=127.0.0.1:0", "--tls-cert-file="+tls.cert, "--tls-key-file="+tls.key)
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		d.registry.Describe(descs)
	}()
	rows := map[string]string{}
	for desc := range descs {
		match := described.FindStringSubmatch(desc.String())
		if match == nil {
			t.Fatalf("%s is described in a form that this test doesn't know", desc)
		}
		if !strings.HasPrefix(match[1], "clusterzone_") {
			continue
		}
		labels := strings.Join(strings.FieldsFunc(match[3], func(r rune) bool { return r == ',' || r == ' ' }), ", ")
		rows[match[1]] = fmt.Sprintf("| `%s` | %s | %s |\n", match[1], labels, cells.Replace(strings.ReplaceAll(match[2], `\"`, `"`)))
	}
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	text := "# Metrics\n\nMade from the program by its tests (`make golden`); don't edit it by hand.\n\n" +
		"`/metrics` at `--metrics-address` has these, and those of Go's client library about the process (`go_`, `process_`). Names that end in `_total` count from the start of the process; a histogram\n" +
		"has the usual `_bucket`, `_sum` and `_count`. Those about TLS, dnstap, outside targets, transfers, keys and mirrors are there where these are in use. No host name out of an object stands in a label.\n\n" +
		"| Metric | Labels | What it says |\n|---|---|---|\n"
	for _, name := range names {
		text += rows[name]
	}
	golden(t, "../../docs/reference-metrics.md", text)

	// The page of README must not name what went.
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`(clusterzone_[a-z_]+)`").FindAllStringSubmatch(string(readme), -1) {
		if rows[name[1]] == "" {
			t.Errorf("README names the metric %s, which the program doesn't have", name[1])
		}
	}
}

// golden compares a page with what it should be, or writes it with -update.
func golden(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the program gives; make golden writes it anew. It would be\n%s", path, want)
	}
}
