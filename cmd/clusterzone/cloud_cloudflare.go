package main

import (
	"context"

	"github.com/clusterzone/clusterzone/upstream/cloudflare"
	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// Mirrors to Cloudflare make so many calls a second together, and so many at once:
// half of what Cloudflare gives a user for all that they do.
const (
	cloudflareRate  = 2
	cloudflareBurst = 20
)

// cloudflareSettings are the flags of Cloudflare. Credentials are not among them:
// they come from the environment.
type cloudflareSettings struct {
	proxied  bool
	comment  string
	pageSize int
}

func (s *cloudflareSettings) add(f flags) {
	f.yes(&s.proxied, "cloudflare-proxied", false, "have records go through Cloudflare's proxy unless their object says otherwise; the token is read from CF_API_TOKEN")
	f.text(&s.comment, "cloudflare-record-comment", "", "`text` for the comment of records whose object has none")
	f.number(&s.pageSize, "cloudflare-dns-records-per-page", 5000, "`number` of records that a listing asks for at once")
}

func (s *cloudflareSettings) open(_ context.Context, o cloudOptions) (mirror.Cloud, error) {
	credentials := cloudflare.FromEnvironment(o.getenv)
	budget, _ := o.retain("cloudflare", func() any { return mirror.NewBucket(cloudflareRate, cloudflareBurst) }).(*mirror.Bucket)
	return cloudflare.New(cloudflare.Options{
		Credentials: credentials, ZoneIDs: o.zoneIDs, Proxied: s.proxied, Comment: s.comment, PageSize: s.pageSize,
		BatchChanges: o.batchSize, BatchInterval: o.batchPause, Budget: budget,
	})
}
