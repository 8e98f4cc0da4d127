// Command build builds the kube-apiserver and etcd that package kubetest runs,
// unless they are in the cache already, and prints their paths. Run it from
// anywhere in the main module, before tests whose time limit is shorter than a
// build.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/clusterzone/clusterzone/test/kubetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	apiserver, etcd, err := kubetest.Binaries(ctx, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
	fmt.Println(apiserver)
	fmt.Println(etcd)
}
