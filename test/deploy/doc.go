// Package deploy holds the tests of what is in deploy: the Helm chart, the
// manifests for kustomize, the alerts and the container image's program. Helm and
// kustomize are built from test/helm, promtool is Debian's (package prometheus), and
// rendered manifests meet a real kube-apiserver.
//
// They run with CLUSTERZONE_DEPLOY set, as make test-deploy does. With -update (make
// deploy) the rendered manifests are written anew.
package deploy
