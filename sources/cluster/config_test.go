package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- {name: one, cluster: {server: "https://one.test:6443"}}
- {name: two, cluster: {server: "https://two.test:6443"}}
users: [{name: u, user: {token: t}}]
contexts:
- {name: first, context: {cluster: one, user: u}}
- {name: second, context: {cluster: two, user: u}}
current-context: first
`

func TestConfig(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "config")
	broken := filepath.Join(folder, "broken")
	for name, content := range map[string]string{path: kubeconfig, broken: "a: [\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	none := filepath.Join(folder, "none")
	for _, test := range []struct {
		name string
		env  string // KUBECONFIG
		c    Connection
		host string
		says []string // of the error
	}{
		{name: "flag", env: none, c: Connection{Kubeconfig: path}, host: "https://one.test:6443"},
		{name: "context", env: none, c: Connection{Kubeconfig: path, Context: "second"}, host: "https://two.test:6443"},
		{name: "variable", env: path, host: "https://one.test:6443"},
		{name: "server", env: path, c: Connection{Server: "https://other.test"}, host: "https://other.test"},
		{name: "server alone", env: none, c: Connection{Server: "https://other.test"}, host: "https://other.test"},
		{name: "no file", env: path, c: Connection{Kubeconfig: none}, says: []string{"--kubeconfig=" + none, "name an existing file"}},
		{name: "no context", env: path, c: Connection{Context: "third"}, says: []string{"--context=third", "get-contexts"}},
		{name: "broken", env: path, c: Connection{Kubeconfig: broken}, says: []string{"--kubeconfig=" + broken, "mend"}},
		{name: "nothing", env: none, says: []string{"--kubeconfig", "--manifests"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.env)
			config, err := Config(test.c)
			if len(test.says) > 0 {
				for _, want := range test.says {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("the error %q does not say %q", err, want)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != test.host {
				t.Errorf("the host is %s, want %s", config.Host, test.host)
			}
			if config.ContentType != runtime.ContentTypeProtobuf || config.QPS != 20 || config.Burst != 40 || config.Timeout != 0 {
				t.Errorf("got %+v", config)
			}
		})
	}
	t.Setenv("KUBECONFIG", path)
	config, err := Config(Connection{QPS: 3, Burst: 4, UserAgent: "clusterzone/1"})
	if err != nil || config.QPS != 3 || config.Burst != 4 || config.UserAgent != "clusterzone/1" {
		t.Errorf("got %+v, %v", config, err)
	}
}
