package cloudflare

import (
	"strings"
	"time"
)

// A plan is what a zone is subscribed to; "" where Cloudflare doesn't tell, which
// counts as the weakest but for what Cloudflare itself then refuses.
type plan string

const (
	planFree       plan = "free"
	planPro        plan = "pro"
	planBusiness   plan = "business"
	planEnterprise plan = "enterprise"

	// Lengths of comments in characters ("DNS record attributes").
	freeComment, paidComment = 100, 500
)

// planOf reads the two names that Cloudflare has for a plan ("business", and
// "Business Website").
func planOf(legacyID, name string) plan {
	for _, p := range []plan{planFree, planPro, planBusiness, planEnterprise} {
		if strings.EqualFold(legacyID, string(p)) {
			return p
		}
	}
	lower := strings.ToLower(name)
	for _, p := range []plan{planFree, planBusiness, planEnterprise, planPro} {
		if strings.HasPrefix(lower, string(p)) {
			return p
		}
	}
	return ""
}

func (p plan) paid() bool { return p == planPro || p == planBusiness || p == planEnterprise }

// batch is how many objects one batch may change.
func (p plan) batch() int {
	if p.paid() {
		return maxBatch
	}
	return defaultBatch
}

// comment is how many characters a comment may have.
func (p plan) comment() int {
	if p.paid() {
		return paidComment
	}
	return freeComment
}

// minTTL is the least TTL but for automatic.
func (p plan) minTTL() uint32 {
	if p == planEnterprise {
		return 30
	}
	return 60
}

// records is how many records a zone holds by its plan, or 0 where that is agreed
// with each customer. Free zones made since September 2024 hold fewer.
func (p plan) records(created time.Time) int {
	switch p {
	case planFree:
		if created.Before(time.Date(2024, time.September, 1, 0, 0, 0, 0, time.UTC)) {
			return 1000
		}
		return 200
	case planPro, planBusiness:
		return 3500
	}
	return 0
}
