package route53

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

const (
	// defaultTTL is that of records which don't say one, and of ownership records.
	defaultTTL              = 300
	maxTTL                  = 1<<31 - 1
	kindPublic, kindPrivate = "public", "private"
)

// New checks the options and returns a cloud of them. It reads the shared
// configuration and the file of alias zones, and sends nothing: credentials that
// are absent or wrong are an error of class Denied of the first call. The error
// names the flag and the mend, and no secret.
//
// The provider is safe for concurrent use. Zones have the hosted zone's bare ID
// ("Z0123456789ABC") and "public" or "private" as their kind; where there are
// several profiles, the profile stands before the ID.
func New(ctx context.Context, options Options) (mirror.Cloud, error) {
	return open(ctx, options)
}

func open(ctx context.Context, options Options, load ...func(*config.LoadOptions) error) (mirror.Cloud, error) {
	if err := options.Check(); err != nil {
		return mirror.Cloud{}, err
	}
	more := ""
	if options.AliasZones != "" {
		text, err := os.ReadFile(options.AliasZones)
		if err != nil {
			return mirror.Cloud{}, fmt.Errorf("--aws-alias-zones-file can't be read: %w", err)
		}
		more = string(text)
	}
	aliases, err := newAliasZones(options.AliasZones, more)
	if err != nil {
		return mirror.Cloud{}, fmt.Errorf("--aws-alias-zones-file: %w", err)
	}
	list, err := accounts(ctx, &options, load...)
	if err != nil {
		return mirror.Cloud{}, err
	}
	n := &normalizer{aliases: aliases, preferCNAME: options.PreferCNAME, evaluate: options.EvaluateTargetHealth}
	return mirror.Cloud{
		Name:      "aws",
		Provider:  &provider{options: options, accounts: list, normal: n},
		Limits:    limits(&options),
		Family:    "aws",
		Normalize: n.normalize,
		Place:     place,
	}, nil
}

// limits are those of Route 53, and what the options bound further. The number of
// record sets in a zone is a quota that can be raised: Route 53 itself says when it
// is reached.
func limits(options *Options) mirror.Limits {
	return mirror.Limits{
		Types: []zones.Type{
			zones.TypeA, zones.TypeAAAA, zones.TypeCNAME, zones.TypeTXT, zones.TypeMX, zones.TypeNS, zones.TypeSRV, zones.TypePTR,
			zones.TypeNAPTR, zones.TypeDS, zones.TypeSVCB, zones.TypeHTTPS,
		},
		Routing:         true,
		Atomic:          true,
		CreateExclusive: true,
		BatchChanges:    cmp.Or(options.BatchChanges, maxBatchValues),
		BatchValues:     cmp.Or(options.BatchValues, maxBatchValues),
		BatchChars:      cmp.Or(options.BatchChars, maxBatchChars),
		Pause:           cmp.Or(options.BatchInterval, time.Second),
		MaxTTL:          maxTTL,
		OwnershipTTL:    zones.TTL{Seconds: defaultTTL, Set: true},
	}
}

// A provider lists and writes hosted zones. It implements mirror.Provider.
type provider struct {
	options  Options
	accounts []*account
	normal   *normalizer
}
