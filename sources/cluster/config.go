package cluster

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A Connection says how the API server is found and how much is asked of it.
// The zero value is right inside a cluster and for whoever uses kubectl.
type Connection struct {
	Kubeconfig string  // --kubeconfig: path of a kubeconfig file
	Context    string  // --context: which of its contexts
	Server     string  // --server: URL of the API server, instead of the file's
	QPS        float32 // --kube-api-qps: requests a second; 0 means 20
	Burst      int     // --kube-api-burst: requests at once; 0 means 40
	UserAgent  string  // "" means client-go's
}

// Config finds the API server: by the kubeconfig named, else by the KUBECONFIG
// variable, else from within a cluster, else by ~/.kube/config. Its error is
// one sentence with the mend. It asks the API server nothing.
//
// The time limit of requests is not part of it, since there it would cut
// watches too: see Options.RequestTimeout.
func Config(c Connection) (*rest.Config, error) {
	config, err := find(c)
	if err != nil {
		return nil, err
	}
	if c.Server != "" {
		config.Host = c.Server
	}
	config.QPS, config.Burst = 20, 40
	if c.QPS != 0 {
		config.QPS = c.QPS
	}
	if c.Burst != 0 {
		config.Burst = c.Burst
	}
	if c.UserAgent != "" {
		config.UserAgent = c.UserAgent
	}
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	config.WarningHandler = rest.NoWarnings{} // about versions that others should move from
	return config, nil
}

func find(c Connection) (*rest.Config, error) {
	if c.Kubeconfig == "" && c.Context == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		config, err := rest.InClusterConfig()
		if err == nil {
			return config, nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, fmt.Errorf("the pod's service account can't be used (%w); mount its token, or give --kubeconfig", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	where := "the kubeconfig"
	if c.Kubeconfig != "" {
		rules.ExplicitPath = c.Kubeconfig
		where = "--kubeconfig=" + c.Kubeconfig
		if _, err := os.Stat(c.Kubeconfig); err != nil {
			return nil, fmt.Errorf("%s can't be read (%w); name an existing file", where, err)
		}
	}
	if raw, err := rules.Load(); err == nil && c.Context != "" && raw.Contexts[c.Context] == nil {
		return nil, fmt.Errorf("--context=%s is not in %s; `kubectl config get-contexts` lists those that are", c.Context, where)
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: c.Context,
		ClusterInfo:    clientcmdapi.Cluster{Server: c.Server},
	}).ClientConfig()
	switch {
	case err == nil:
		return config, nil
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no API server is known here; give --kubeconfig or --server, set KUBECONFIG, or read objects from files with --manifests")
	}
	return nil, fmt.Errorf("%s can't be used (%w); mend the file or name another", where, err)
}
