package sources

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/clusterzone/clusterzone/zones"
)

func (tr *Translator) nodeNames(obj *corev1.Node) zones.Object { return zones.Object{} }
