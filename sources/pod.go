package sources

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/clusterzone/clusterzone/zones"
)

func (tr *Translator) podNames(obj *corev1.Pod, beside neighbours) zones.Object {
	return zones.Object{}
}
