package sources

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/clusterzone/clusterzone/zones"
)

// A domainFilter chooses names. Lists and expressions combine: a name must pass
// both, and an exclusion alone only takes away. The zero value takes all.
type domainFilter struct {
	include, exclude           []domainRule
	includeRegex, excludeRegex *regexp.Regexp
	includeText                string // the list, for messages
}

// A domainRule matches zone and all below, or with below only what lies below.
type domainRule struct {
	zone  zones.Name
	below bool
	text  string
}

func (r domainRule) matches(n zones.Name) bool { return n.In(r.zone) && !(r.below && n == r.zone) }

func parseDomainFilter(o *Options) (f domainFilter, err error) {
	if f.include, err = parseDomains("--domain-filter", o.DomainFilters); err != nil {
		return f, err
	}
	if f.exclude, err = parseDomains("--exclude-domains", o.ExcludeDomains); err != nil {
		return f, err
	}
	if f.includeRegex, err = parseRegex("--regex-domain-filter", o.RegexDomainFilter); err != nil {
		return f, err
	}
	f.excludeRegex, err = parseRegex("--regex-domain-exclusion", o.RegexDomainExclusion)
	f.includeText = strings.Join(splitCommas(o.DomainFilters), ",")
	return f, err
}

func parseDomains(flag string, values []string) ([]domainRule, error) {
	var rules []domainRule
	for _, value := range splitCommas(values) {
		host, below := strings.CutPrefix(value, ".")
		zone, err := zones.ParseHost(host)
		if err != nil {
			return nil, fmt.Errorf("%s=%s is no domain: %w; write one like example.com, or .example.com for the names below it only", flag, value, err)
		}
		if zone.IsWildcard() {
			return nil, fmt.Errorf("%s=%s is a wildcard, and would match names with an asterisk only; write .%s for all names below %[3]s",
				flag, value, zone.Parent())
		}
		rules = append(rules, domainRule{zone: zone, below: below, text: value})
	}
	return rules, nil
}

func parseRegex(flag, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s=%s can't be read as an expression (RE2): %w", flag, text, err)
	}
	return re, nil
}

// judge says why n is not served, or "".
func (f *domainFilter) judge(n zones.Name) string {
	matches := func(r domainRule) bool { return r.matches(n) }
	if len(f.include) > 0 && !slices.ContainsFunc(f.include, matches) {
		return "the name lies in none of --domain-filter=" + f.includeText
	}
	if at := slices.IndexFunc(f.exclude, matches); at >= 0 {
		return "the name lies in --exclude-domains=" + f.exclude[at].text
	}
	if f.excludeRegex != nil && matchesEither(f.excludeRegex, n) {
		return "the name matches --regex-domain-exclusion=" + f.excludeRegex.String()
	}
	if f.includeRegex != nil && !matchesEither(f.includeRegex, n) {
		return "the name doesn't match --regex-domain-filter=" + f.includeRegex.String()
	}
	return ""
}

// matchesEither tries an expression on a name's A-labels and on its Unicode
// form: people write either.
func matchesEither(re *regexp.Regexp, n zones.Name) bool {
	text := n.String()
	if re.MatchString(text) {
		return true
	}
	if !strings.Contains(text, "xn--") {
		return false
	}
	unicodeText, err := idna.ToUnicode(text)
	return err == nil && re.MatchString(unicodeText)
}
