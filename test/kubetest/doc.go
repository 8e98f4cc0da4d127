// Package kubetest runs a real kube-apiserver on a real etcd for tests, and
// nothing else of Kubernetes: no controller, no scheduler, no kubelet. What a
// test applies is all there is, statuses included.
//
// The two programs are built from their Go modules (test/kube/go.mod) on first
// use, which takes about five minutes on two cores, and kept in the user's
// cache folder. To build them ahead of the tests:
//
//	go run ./test/kubetest/cmd/build
//
// A cluster of its own for one test:
//
//	c := kubetest.Start(t, kubetest.Options{})
//	c.Apply(t, manifests)
//	client, err := kubernetes.NewForConfig(c.User(t, "reader", rules...))
//
// Starting takes some five seconds, so a package with several tests shares one
// cluster, which starts when the first test asks for it:
//
//	var shared kubetest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		c := shared.Cluster(t)
//		t.Cleanup(func() { c.Reset(t) })
//		...
//	}
//
// Both programs listen on loopback only (etcd on a Unix socket) and need no
// privileges. On Linux they die with the test process, however that ends. With
// go test -short, tests that ask for a cluster are skipped.
//
// A Cluster may be used from several goroutines. Reset, StopAPIServer and
// StartAPIServer touch what every test on the cluster sees: tests that call
// them don't run in parallel with others on the same cluster. Methods that take
// a testing.TB end the test on an error, so they are called on its goroutine.
package kubetest
