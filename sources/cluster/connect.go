package cluster

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Clients are what speaks to one API server. They are safe for concurrent use.
type Clients struct {
	Core kubernetes.Interface
	// Custom is for the kinds that come with a CustomResourceDefinition.
	Custom dynamic.Interface
}

// Connect makes clients of the API server that c finds. It asks the API server
// nothing. Its error is that of Config.
func Connect(c Connection) (Clients, error) {
	config, err := Config(c)
	if err != nil {
		return Clients{}, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Clients{}, err
	}
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return Clients{}, err
	}
	return Clients{Core: core, Custom: custom}, nil
}
