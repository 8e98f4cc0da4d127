package route53

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// What Route 53 takes in one request (Developer Guide, "Quotas": requests to
// ChangeResourceRecordSets). An UPSERT counts twice for values and characters.
const (
	maxBatchValues = 1000
	maxBatchChars  = 32000
	maxRetries     = 20
)

// Options say which zones of which account are written, and how. A field stands
// for the flag of external-dns that its comment names, and does what external-dns
// does. The zero value is external-dns' default, but for EvaluateTargetHealth,
// which is true there.
type Options struct {
	// Profiles are profiles of the shared configuration, an account each
	// (--aws-profile); none for the SDK's default chain: environment, web identity
	// (IRSA), Pod Identity, the default profile, instance metadata.
	Profiles []string
	// AssumeRole is the ARN of a role to assume with each of these credentials
	// (--aws-assume-role), ExternalID what the role's trust policy asks for
	// (--aws-assume-role-external-id).
	AssumeRole, ExternalID string

	// ZoneType is "public", "private" or "" for both (--aws-zone-type).
	ZoneType string
	// ZoneTags are tags that a zone must have, all of them: "key=value", or "key"
	// for any value (--aws-zone-tags).
	ZoneTags []string
	// ZoneIDs are suffixes of IDs of hosted zones, one of which a zone must have
	// (--zone-id-filter); none for all.
	ZoneIDs []string
	// Covers tells whether a zone's name is among the domains to be written
	// (--domain-filter, --exclude-domains, --regex-domain-filter); nil for all.
	Covers func(zones.Name) bool
	// MatchParent lets zones pass too that one of Domains lies in
	// (--aws-zone-match-parent): a filter on a domain then finds the zone above it.
	MatchParent bool
	// Domains are the domains of --domain-filter, for MatchParent.
	Domains []zones.Name

	// PreferCNAME makes no alias of a CNAME unless its object asks for one
	// (--aws-prefer-cname).
	PreferCNAME bool
	// EvaluateTargetHealth is whether aliases heed their target's health where the
	// object doesn't say (--aws-evaluate-target-health).
	EvaluateTargetHealth bool
	// AliasZones is a file of further targets of aliases, in the form of
	// aliases.txt; "" for none.
	AliasZones string

	// BatchChanges, BatchChars and BatchValues bound one request
	// (--aws-batch-change-size, -bytes, -values); 0 stands for 1000, 32000 and 1000,
	// which is also the most.
	BatchChanges, BatchChars, BatchValues int
	// BatchInterval is the pause between two requests to one zone
	// (--aws-batch-change-interval); 0 stands for a second.
	BatchInterval time.Duration
	// Retries is how often a request is tried at most where Route 53 asks to wait
	// (--aws-api-retries); 0 stands for 3.
	Retries int

	// Endpoint is the URL of another server than AWS', for tests and for programs
	// that imitate AWS; "" for AWS, or what the SDK's own variables say.
	Endpoint string
	// Budgets returns the budget of one set of credentials, whose key holds no
	// secret (profile and role). Mirrors of one process pass the same function, so
	// that they don't spend twice what they have. Nil gives each credentials of
	// this provider a budget of their own.
	Budgets func(credentials string) *Budget
}

// Check returns what is wrong with the options, as one sentence that names the
// flag and the mend. It reads nothing.
func (o *Options) Check() error {
	for _, bound := range []struct {
		flag        string
		value, most int
		what        string
	}{
		{"aws-batch-change-size", o.BatchChanges, maxBatchValues, "changes"},
		{"aws-batch-change-size-values", o.BatchValues, maxBatchValues, "values"},
		{"aws-batch-change-size-bytes", o.BatchChars, maxBatchChars, "characters"},
		{"aws-api-retries", o.Retries, maxRetries, "tries"},
	} {
		switch {
		case bound.value < 0:
			return fmt.Errorf("--%s=%d can't be negative", bound.flag, bound.value)
		case bound.value > bound.most:
			return fmt.Errorf("--%s=%d is more than Route 53 or this program takes: choose %d %s at most", bound.flag, bound.value, bound.most, bound.what)
		}
	}
	switch {
	case o.ZoneType != "" && o.ZoneType != kindPublic && o.ZoneType != kindPrivate:
		return fmt.Errorf("--aws-zone-type=%s is none: choose public or private, or leave it out for both", o.ZoneType)
	case o.BatchInterval < 0:
		return fmt.Errorf("--aws-batch-change-interval=%s can't be negative", o.BatchInterval)
	case o.AssumeRole != "" && !strings.HasPrefix(o.AssumeRole, "arn:"):
		return fmt.Errorf("--aws-assume-role=%s is no ARN of a role: write arn:aws:iam::ACCOUNT:role/NAME", o.AssumeRole)
	case o.ExternalID != "" && o.AssumeRole == "":
		return errors.New("--aws-assume-role-external-id needs --aws-assume-role: it is a condition on assuming a role")
	case slices.Contains(o.Profiles, ""):
		return errors.New("--aws-profile is empty: name a profile of the shared configuration, or leave it out")
	case slices.Contains(o.ZoneIDs, ""):
		return errors.New("--zone-id-filter is empty: name the ID of a hosted zone, or leave it out")
	}
	for _, tag := range o.ZoneTags {
		if key, _, _ := strings.Cut(tag, "="); key == "" {
			return fmt.Errorf("--aws-zone-tags=%s has no key: write key=value, or key for any value", tag)
		}
	}
	return nil
}
