package main

import (
	"context"
	"time"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/upstream/route53"
)

// awsSettings are the flags of Route 53. Credentials are not among them: they come
// by the SDK's chain.
type awsSettings struct {
	profiles               []string
	assumeRole, externalID string
	zoneType               string
	zoneTags               []string
	matchParent            bool
	preferCNAME, evaluate  bool
	aliasZones             string
	batchSize              int
	batchBytes             int
	batchValues            int
	batchPause             time.Duration
	retries                int
	zonesEvery             time.Duration
}

func (s *awsSettings) add(f flags) {
	f.list(&s.profiles, "aws-profile", "`name` of a profile of AWS' shared configuration, an account each; repeatable (default: the SDK's chain)")
	f.text(&s.assumeRole, "aws-assume-role", "", "`ARN` of a role to assume")
	f.text(&s.externalID, "aws-assume-role-external-id", "", "`text` that the role's trust policy asks for")
	f.text(&s.zoneType, "aws-zone-type", "", "write to hosted zones of this `type` only: public or private (default: both)")
	f.list(&s.zoneTags, "aws-zone-tags", "write to hosted zones with this `tag` only, key=value, or key for any value; repeatable")
	f.yes(&s.matchParent, "aws-zone-match-parent", false, "write to hosted zones above a served zone, too")
	f.yes(&s.preferCNAME, "aws-prefer-cname", false, "make an alias of a CNAME only where its object asks for one")
	f.yes(&s.evaluate, "aws-evaluate-target-health", true, "let aliases heed their target's health")
	f.text(&s.aliasZones, "aws-alias-zones-file", "", "`file` of further targets of aliases with their hosted zones")
	f.number(&s.batchSize, "aws-batch-change-size", 0, "`number` of changes in one request at most (default: 1000, which is the most)")
	f.number(&s.batchBytes, "aws-batch-change-size-bytes", 0, "`number` of characters in one request at most (default: 32000, which is the most)")
	f.number(&s.batchValues, "aws-batch-change-size-values", 0, "`number` of values in one request at most (default: 1000, which is the most)")
	f.duration(&s.batchPause, "aws-batch-change-interval", time.Second, "time between two requests that write to one hosted zone")
	f.number(&s.retries, "aws-api-retries", 3, "`number` of tries of a request where Route 53 asks to wait")
	f.duration(&s.zonesEvery, "aws-zones-cache-duration", 0, "how long the list of hosted zones is remembered (default: 10 minutes)")
}

func (s *awsSettings) open(ctx context.Context, o cloudOptions) (mirror.Cloud, error) {
	return route53.New(ctx, route53.Options{
		Profiles: s.profiles, AssumeRole: s.assumeRole, ExternalID: s.externalID,
		ZoneType: s.zoneType, ZoneTags: s.zoneTags, ZoneIDs: o.zoneIDs, Covers: o.covers, MatchParent: s.matchParent, Domains: o.domains,
		PreferCNAME: s.preferCNAME, EvaluateTargetHealth: s.evaluate, AliasZones: s.aliasZones,
		BatchChanges: s.batchSize, BatchChars: s.batchBytes, BatchValues: s.batchValues, BatchInterval: s.batchPause, Retries: s.retries,
		Budgets: func(credentials string) *route53.Budget {
			budget, _ := o.retain("aws "+credentials, func() any { return route53.NewBudget(0, 0) }).(*route53.Budget)
			return budget
		},
	})
}

// rememberZones implements zoneRememberer.
func (s *awsSettings) rememberZones() time.Duration { return s.zonesEvery }
