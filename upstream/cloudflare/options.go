package cloudflare

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// Options are what a mirror into Cloudflare is told. The zero value of a field is
// its default; Credentials are needed.
type Options struct {
	Credentials Credentials
	// Endpoint is the API's address; "" is Cloudflare's own.
	Endpoint string
	// ZoneIDs are the zones to look at, for tokens that may not list all
	// (--zone-id-filter). Empty lists the account's.
	ZoneIDs []string
	// Proxied has records go through Cloudflare's proxy unless an annotation says
	// otherwise (--cloudflare-proxied).
	Proxied bool
	// Comment is written to records whose annotations have none
	// (--cloudflare-record-comment).
	Comment string
	// PageSize is how many records a listing asks for at once, up to 5000, which is
	// the default (--cloudflare-dns-records-per-page).
	PageSize int
	// BatchChanges bounds one batch, in values that are created, changed or deleted:
	// 200 by default, up to 3500 (--batch-change-size). Zones of the plan Free take
	// 200 at most, whatever it says.
	BatchChanges int
	// BatchInterval is the least time between two batches to one zone: a second by
	// default (--batch-change-interval).
	BatchInterval time.Duration
	// Budget is shared by all mirrors with the same credentials; nil makes one of its
	// own. Replies change its rate.
	Budget *mirror.Bucket

	// CustomHostnames, CustomHostnamesMinTLS, CustomHostnamesAuthority,
	// RegionalServices and RegionKey are of external-dns' features that this mirror
	// doesn't have. Check refuses those that would ask for one.
	CustomHostnames          bool   // --cloudflare-custom-hostnames
	CustomHostnamesMinTLS    string // --cloudflare-custom-hostnames-min-tls-version
	CustomHostnamesAuthority string // --cloudflare-custom-hostnames-certificate-authority
	RegionalServices         bool   // --cloudflare-regional-services
	RegionKey                string // --cloudflare-region-key
}

const (
	defaultEndpoint = "https://api.cloudflare.com/client/v4"
	// maxPage is the most that a listing may ask for by Cloudflare's documentation.
	maxPage = 5000
	// maxBatch is the most that one batch holds on paid plans, and defaultBatch on
	// the plan Free ("Batch record changes").
	maxBatch, defaultBatch = 3500, 200
	maxTTL                 = 86400
	// automatic is the TTL that leaves the choice to Cloudflare.
	automatic = 1
	// The budget: Cloudflare gives a user 1200 calls in five minutes, over all that
	// they do; this is half of it.
	rate  = 2 // calls a second
	burst = 20
)

// Check returns in one sentence what is wrong with the options, naming the flag.
func (o *Options) Check() error {
	switch {
	case o.CustomHostnames:
		return errors.New("--cloudflare-custom-hostnames asks for custom hostnames, which this mirror doesn't manage: take the flag away; those that there are stay as they are")
	case o.CustomHostnamesMinTLS != "" && o.CustomHostnamesMinTLS != "1.0":
		return errors.New("--cloudflare-custom-hostnames-min-tls-version is about custom hostnames, which this mirror doesn't manage: take the flag away")
	case o.CustomHostnamesAuthority != "" && o.CustomHostnamesAuthority != "none":
		return errors.New("--cloudflare-custom-hostnames-certificate-authority is about custom hostnames, which this mirror doesn't manage: take the flag away")
	case o.RegionalServices:
		return errors.New("--cloudflare-regional-services asks for regional hostnames, which this mirror doesn't manage: take the flag away; those that there are stay as they are")
	case o.RegionKey != "":
		return errors.New("--cloudflare-region-key is about regional hostnames, which this mirror doesn't manage: take the flag away; those that there are stay as they are")
	case o.PageSize < 0 || o.PageSize > maxPage:
		return fmt.Errorf("--cloudflare-dns-records-per-page is %d: say 1 to %d", o.PageSize, maxPage)
	case o.BatchChanges < 0 || o.BatchChanges > maxBatch:
		return fmt.Errorf("--batch-change-size is %d: Cloudflare takes 1 to %d", o.BatchChanges, maxBatch)
	case o.BatchInterval < 0:
		return fmt.Errorf("--batch-change-interval is %s: say a time above zero", o.BatchInterval)
	}
	if err := checkComment(o.Comment); err != nil {
		return fmt.Errorf("--cloudflare-record-comment %w", err)
	}
	if n := utf8.RuneCountInString(o.Comment); n > paidComment {
		return fmt.Errorf("--cloudflare-record-comment has %d characters: Cloudflare takes %d, and %d in zones of the plan Free", n, paidComment, freeComment)
	}
	for _, id := range o.ZoneIDs {
		if id == "" || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != "" {
			return fmt.Errorf("--zone-id-filter has %q, which is no zone ID: copy the 32 digits from the zone's overview page", id)
		}
	}
	if o.Endpoint != "" {
		at, err := url.Parse(o.Endpoint)
		if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || at.User != nil || at.RawQuery != "" {
			return errors.New("the endpoint of Cloudflare's API must be a plain http or https address, such as " + defaultEndpoint)
		}
	}
	return o.Credentials.check()
}

// limits are those of Cloudflare, and what the options bound further. What depends
// on the plan of a zone is looked at by Normalize and Apply: minimal TTL, comments,
// tags, the size of a batch.
func limits(o *Options) mirror.Limits {
	return mirror.Limits{
		Types: []zones.Type{
			zones.TypeA, zones.TypeAAAA, zones.TypeCNAME, zones.TypeTXT, zones.TypeMX, zones.TypeNS, zones.TypeSRV, zones.TypePTR, zones.TypeNAPTR,
		},
		Atomic:       true,
		BatchChanges: cmp.Or(o.BatchChanges, defaultBatch),
		// Each value is an object to Cloudflare, and counts as a change.
		BatchValues:  cmp.Or(o.BatchChanges, defaultBatch),
		Pause:        cmp.Or(o.BatchInterval, time.Second),
		ReadNames:    20,
		MaxTTL:       maxTTL,
		OwnershipTTL: zones.TTL{Seconds: automatic, Set: true},
		NoAsterisk:   true,
	}
}
