package deploy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// Where an update has two Pods on a node, nothing keeps them apart: no port of the
// node is a Pod's own, and no probe asks an address that both have. Elsewhere the old
// Pod stops first. What counts is what the API server makes of the manifests: on the
// node's network, it makes a port of the node of every port that a Pod names.
func TestTwoPodsFitOnANode(t *testing.T) {
	c := cluster(t)
	c.Apply(t, []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: dns}\n"))
	client, err := kubernetes.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	for mode, surges := range map[string]bool{"daemonset": true, "hostnetwork": true, "hostport": false} {
		set := daemonSet(t, client, template(t, "testdata/"+mode+".values.yaml"))
		rolling := set.Spec.UpdateStrategy.RollingUpdate
		if got := rolling.MaxSurge.String() != "0"; got != surges {
			t.Errorf("%s: maxSurge is %s", mode, rolling.MaxSurge)
		}
		if !surges && rolling.MaxUnavailable.String() == "0" {
			t.Errorf("%s: no Pod may go and none may come", mode)
		}
		pod := set.Spec.Template.Spec
		container := pod.Containers[0]
		taken := 0
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				taken++
			}
		}
		if surges == (taken > 0) {
			t.Errorf("%s: the Pod takes %d ports of its node", mode, taken)
		}
		probes := fmt.Sprint(container.ReadinessProbe.Exec, container.LivenessProbe.Exec)
		shares := strings.Contains(fmt.Sprint(container.Args), "--reuse-port")
		if shares != pod.HostNetwork || pod.HostNetwork != (probes == "&ExecAction{Command:[/clusterzone probe],} &ExecAction{Command:[/clusterzone probe --live],}") {
			t.Errorf("%s: on the node's network %t, shares ports %t, probes %s", mode, pod.HostNetwork, shares, probes)
		}
	}
}

// daemonSet returns the DaemonSet among manifests with the API server's defaults.
func daemonSet(t *testing.T, client kubernetes.Interface, manifests string) *appsv1.DaemonSet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for _, object := range objects(t, manifests) {
		if object.GetKind() != "DaemonSet" {
			continue
		}
		set := new(appsv1.DaemonSet)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, set); err != nil {
			t.Fatal(err)
		}
		set, err := client.AppsV1().DaemonSets(set.Namespace).Create(ctx, set, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	t.Fatal("no DaemonSet is rendered")
	return nil
}
