package alibaba

import (
	"fmt"
	"strings"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// The preferences of MX that the products take.
const (
	publicMaxMX  = 50
	privateMaxMX = 99
)

// normalizer returns Cloud.Normalize: neither product has options or routing
// policies, TTLs have a lowest value, and texts and names one spelling.
func normalizer(options Options) func(mirror.Zone, mirror.Record) ([]mirror.Record, error) {
	highest := publicMaxMX
	if options.ZoneType == Private {
		highest = privateMaxMX
	}
	return func(zone mirror.Zone, want mirror.Record) ([]mirror.Record, error) {
		want.Options = nil
		want.Handle = nil
		targets := make([]string, 0, len(want.Targets))
		for _, target := range want.Targets {
			normal, err := normalTarget(want.Type, target, highest)
			if err != nil {
				return nil, err
			}
			targets = append(targets, normal)
		}
		want.Targets = targets
		if strings.Contains(strings.TrimPrefix(want.Name.String(), "*."), "*") {
			return nil, fmt.Errorf("%s has an asterisk that isn't its first label, which Alibaba Cloud can't hold: set --txt-wildcard-replacement", want.Name)
		}
		if want.TTL.Set && want.TTL.Seconds > 0 {
			want.TTL.Seconds = min(max(want.TTL.Seconds, lowestTTL(options, zone)), maxTTL)
		}
		return []mirror.Record{want}, nil
	}
}

// lowestTTL is that of the zone's edition. It is a part of what is compared, so
// that a TTL which can't be had is asked for once and not in each cycle.
func lowestTTL(options Options, zone mirror.Zone) uint32 {
	if options.MinTTL > 0 {
		return options.MinTTL
	}
	if of, ok := zone.Handle.(domain); ok {
		return of.minTTL
	}
	if options.ZoneType == Private {
		return privateMinTTL
	}
	return unknownMinTTL
}

func normalTarget(kind zones.Type, target string, highestMX int) (string, error) {
	switch kind {
	case zones.TypeTXT:
		return quoteText(target), nil
	case zones.TypeMX:
		preference, host, err := splitMX(target)
		if err != nil {
			return "", err
		}
		if preference < 1 || preference > highestMX {
			return "", fmt.Errorf("an MX in Alibaba Cloud has a preference from 1 to %d, not %d", highestMX, preference)
		}
		return fmt.Sprintf("%d %s", preference, host), nil
	case zones.TypeCNAME, zones.TypeNS, zones.TypePTR, zones.TypeSRV:
		return plainHost(target), nil
	}
	return target, nil
}
