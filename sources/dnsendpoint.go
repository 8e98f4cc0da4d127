package sources

import (
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
	for _, record := range e.Spec.Endpoints {
		if record != nil {
			record = record.deepCopy()
		}
		next.Spec.Endpoints = append(next.Spec.Endpoints, record)
	}
	return next
}

func (r *DNSEndpointRecord) deepCopy() *DNSEndpointRecord {
	next := *r
	next.Targets = append([]string(nil), r.Targets...)
	next.ProviderSpecific = append([]DNSEndpointProperty(nil), r.ProviderSpecific...)
	if r.Labels != nil {
		next.Labels = make(map[string]string, len(r.Labels))
		for key, value := range r.Labels {
			next.Labels[key] = value
		}
	}
	return &next
}
