package main

import (
	"context"

	"github.com/clusterzone/clusterzone/upstream/alibaba"
	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// alibabaSettings are the flags of Alibaba Cloud. Credentials stand in the file, or
// come by Alibaba's chain.
type alibabaSettings struct{ zoneType, configFile string }

func (s *alibabaSettings) add(f flags) {
	f.text(&s.zoneType, "alibaba-cloud-zone-type", "", "write to zones of this `type`: public (the default) or private (PrivateZone)")
	f.text(&s.configFile, "alibaba-cloud-config-file", "", "`file` with regionId, vpcId, accessKeyId and accessKeySecret, in YAML or JSON (default: Alibaba's chain of credentials)")
}

func (s *alibabaSettings) open(_ context.Context, o cloudOptions) (mirror.Cloud, error) {
	return alibaba.New(alibaba.Options{ZoneType: alibaba.ZoneType(s.zoneType), ConfigFile: s.configFile, Domains: o.relevant})
}
