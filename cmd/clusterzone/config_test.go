package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPrecedence: a flag wins over the environment, the environment over the
// config file, the file over the default.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "ttl: 10\nnegative-ttl: 10\nmin-ttl: 10\nzone: [file.test]\nsource: [ingress, service]\nexclude-unschedulable: false\nlisten: ['127.0.0.1:1']\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"CLUSTERZONE_TTL":          "20s",
		"CLUSTERZONE_NEGATIVE_TTL": "20s",
		"CLUSTERZONE_ZONE":         "one.test\ntwo.test\n",
		"CLUSTERZONE_CONFIG":       file,
	}
	cmd := newRecords()
	settings := cmd.Flags()
	if err := cmd.ParseFlags([]string{"--ttl=30", "--no-combine-fqdn-annotation"}); err != nil {
		t.Fatal(err)
	}
	if err := resolve(cmd, func(name string) (string, bool) { v, ok := env[name]; return v, ok }); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"ttl":                   (30 * time.Second).String(),
		"negative-ttl":          (20 * time.Second).String(),
		"min-ttl":               (10 * time.Second).String(),
		"exclude-unschedulable": "false",
		"conflict-policy":       "namespace",
	} {
		if got := settings.Lookup(flag).Value.String(); got != want {
			t.Errorf("--%s is %s, want %s", flag, got, want)
		}
	}
	if zones, err := settings.GetStringArray("zone"); err != nil || !slices.Equal(zones, []string{"one.test", "two.test"}) {
		t.Errorf("--zone is %q, %v", zones, err)
	}
	if list, err := settings.GetStringArray("source"); err != nil || !slices.Equal(list, []string{"ingress", "service"}) {
		t.Errorf("--source is %q, %v", list, err)
	}
}

// TestBadEnvironment: the sentence names the variable, its value and the mend.
func TestBadEnvironment(t *testing.T) {
	t.Parallel()
	for variable, value := range map[string]string{
		"CLUSTERZONE_TTL":                     "soon",
		"CLUSTERZONE_KUBE_API_QPS":            "many",
		"CLUSTERZONE_COMBINE_FQDN_ANNOTATION": "perhaps",
	} {
		err := resolve(newRecords(), func(name string) (string, bool) { return value, name == variable })
		if err == nil {
			t.Errorf("%s=%s is taken", variable, value)
			continue
		}
		for _, want := range []string{variable, value, "write "} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s=%s: %q does not say %q", variable, value, err, want)
			}
		}
	}
}

// TestSwitchAndOpposite: --no-NAME turns a switch off, as with external-dns; the
// last one counts.
func TestSwitchAndOpposite(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                 "true",
		"--no-exclude-unschedulable":       "false",
		"--no-exclude-unschedulable=false": "true",
		"--no-exclude-unschedulable --exclude-unschedulable": "true",
		"--exclude-unschedulable=false":                      "false",
	} {
		cmd := newServe()
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if got := cmd.Flags().Lookup("exclude-unschedulable").Value.String(); got != want {
			t.Errorf("%q gives %s, want %s", args, got, want)
		}
	}
}
