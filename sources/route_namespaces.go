package sources

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// allowsNamespace says why a choice of namespaces that stands in an object of
// namespace home doesn't take namespace, in words that follow the choice's path.
func allowsNamespace(from *gatewayv1.FromNamespaces, standard gatewayv1.FromNamespaces, chosen *metav1.LabelSelector,
	home, namespace string, beside neighbours) refusal {
	refuse := func(why string) refusal { return refusal{zones.ReasonListener, why} }
	choice := gatewayv1.FromNamespaces(valueOr(from, standard))
	switch choice {
	case gatewayv1.NamespacesFromAll:
		return refusal{}
	case gatewayv1.NamespacesFromSame:
		if namespace == home {
			return refusal{}
		}
		return refuse("is Same")
	case gatewayv1.NamespacesFromNone:
		return refuse("is None")
	case gatewayv1.NamespacesFromSelector:
	default:
		return refuse("is " + quote(string(choice)) + ", which is none of All, Same, Selector and None")
	}
	wanted, err := metav1.LabelSelectorAsSelector(chosen)
	if err != nil {
		return refuse("is Selector, and the selector can't be read: " + clip(err.Error()))
	}
	ns := beside.namespace(namespace)
	if ns == nil {
		if err := beside.unreadable(KindNamespace); err != nil {
			return refusal{zones.ReasonUnreadable, fmt.Sprintf("is Selector, and Namespaces can't be read: %v", err)}
		}
		return refuse("is Selector, and the labels of the Namespace are unknown")
	}
	if !wanted.Matches(namespaceLabels(ns)) {
		return refuse("is Selector, which the labels of the Namespace don't match")
	}
	return refusal{}
}

// namespaceLabels returns a Namespace's labels with the one that the API server
// gives to every Namespace; a manifest need not have it.
func namespaceLabels(ns *corev1.Namespace) labels.Set {
	set := make(labels.Set, len(ns.Labels)+1)
	maps.Copy(set, ns.Labels)
	set[corev1.LabelMetadataName] = ns.Name
	return set
}
