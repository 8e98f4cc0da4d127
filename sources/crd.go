package sources

import (
	"github.com/clusterzone/clusterzone/zones"
)

func (tr *Translator) dnsEndpoint(obj *DNSEndpoint) zones.Object { return zones.Object{} }
