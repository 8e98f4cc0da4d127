package sources

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A DNSEndpoint is the custom resource of external-dns (externaldns.k8s.io,
// v1alpha1): records written into the cluster as they stand. The fields are
// those of its published CustomResourceDefinition.
type DNSEndpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DNSEndpointSpec   `json:"spec,omitempty"`
	Status DNSEndpointStatus `json:"status,omitempty"`
}

// A DNSEndpointSpec lists the records wanted.
type DNSEndpointSpec struct {
	Endpoints []*DNSEndpointRecord `json:"endpoints,omitempty"`
}

// A DNSEndpointRecord is one record set as its author wrote it.
type DNSEndpointRecord struct {
	DNSName          string                `json:"dnsName,omitempty"`
	Targets          []string              `json:"targets,omitempty"`
	RecordType       string                `json:"recordType,omitempty"`
	SetIdentifier    string                `json:"setIdentifier,omitempty"`
	RecordTTL        int64                 `json:"recordTTL,omitempty"`
	Labels           map[string]string     `json:"labels,omitempty"`
	ProviderSpecific []DNSEndpointProperty `json:"providerSpecific,omitempty"`
}

// A DNSEndpointProperty is one provider-specific property.
type DNSEndpointProperty struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// A DNSEndpointStatus is what a controller writes back.
type DNSEndpointStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (e *DNSEndpoint) DeepCopyObject() runtime.Object {
	if e == nil {
		return nil
	}
	next := &DNSEndpoint{TypeMeta: e.TypeMeta, Status: e.Status}
	e.ObjectMeta.DeepCopyInto(&next.ObjectMeta)
	next.Spec.Endpoints = slices.Clone(e.Spec.Endpoints)
	for i, record := range next.Spec.Endpoints {
		if record != nil {
			next.Spec.Endpoints[i] = record.deepCopy()
		}
	}
	return next
}

func (r *DNSEndpointRecord) deepCopy() *DNSEndpointRecord {
	next := *r
	next.Targets = slices.Clone(r.Targets)
	next.ProviderSpecific = slices.Clone(r.ProviderSpecific)
	next.Labels = maps.Clone(r.Labels)
	return &next
}
