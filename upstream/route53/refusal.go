package route53

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// Codes of a request that was refused for what stands in it.
var refusalCodes = []string{"InvalidChangeBatch", "InvalidInput", "NoSuchHealthCheck", "ValidationError", "ValidationException"}

// conflicts are the words by which Route 53 says that a record set isn't as the
// request has it: another hand was there.
var conflicts = []string{"already exists", "was not found", "do not match the current values"}

// refused gives each group of a request its share of an error.
func (a *account) refused(batch []mirror.Group, steps []step, err error) []mirror.Result {
	if !slices.Contains(refusalCodes, codeOf(err)) || statusOf(err) >= http.StatusInternalServerError {
		return mirror.Fail(batch, a.writingError("the changes can't be made", err))
	}
	faults := map[int]error{}
	for _, message := range messages(err) {
		fault := &mirror.Error{Class: classOf(message), Err: fmt.Errorf("Route 53 refuses it: %s", a.clean(message))}
		groups := culprits(message, steps)
		if len(batch) == 1 {
			groups = []int{0}
		}
		for _, i := range groups {
			// What no listing mends counts more than what one does.
			if known := faults[i]; known == nil || fault.Class == mirror.BadChange && mirror.ClassOf(known, mirror.Unknown) != mirror.BadChange {
				faults[i] = fault
			}
		}
	}
	if len(faults) > 0 {
		return blame(len(batch), faults)
	}
	return mirror.Fail(batch, &mirror.Error{Class: mirror.Undone, Err: a.sentence("Route 53 refuses a request", err)})
}

// messages are the sentences of an error, one a fault. The SDK has them apart for
// InvalidChangeBatch; older and other servers put all into one text, in brackets.
func messages(err error) []string {
	if e := (*types.InvalidChangeBatch)(nil); errors.As(err, &e) && len(e.Messages) > 0 {
		return e.Messages
	}
	text := ""
	if e := smithy.APIError(nil); errors.As(err, &e) {
		text = e.ErrorMessage()
	}
	inner, ok := strings.CutPrefix(text, "[")
	if !ok {
		return []string{text}
	}
	inner = strings.TrimSuffix(inner, "]")
	var list []string
	from := 0
	for _, at := range beginning.FindAllStringIndex(inner, -1) {
		list = append(list, inner[from:at[0]])
		from = at[0] + len(", ")
	}
	return append(list, inner[from:])
}

var (
	// beginning is where another message of a list begins: a comma stands within
	// them too.
	beginning = regexp.MustCompile(`, (?:Tried to |RRSet |Invalid |The |A )`)
	// member is how a request that has no sense names a change, counted from 1.
	member = regexp.MustCompile(`changes\.(\d+)\.member`)
)

// classOf tells a conflict, which a listing resolves, from a record that Route 53
// never takes.
func classOf(message string) mirror.Class {
	if aliasTarget.MatchString(message) {
		return mirror.BadChange // what isn't found is the target
	}
	for _, words := range conflicts {
		if strings.Contains(message, words) {
			return mirror.Conflict
		}
	}
	return mirror.BadChange
}

// The forms in which messages name a record set, or the target of an alias.
var (
	quotedSet   = regexp.MustCompile(`name='([^']+)', type='([A-Z0-9]+)'`)
	dnsName     = regexp.MustCompile(`(?:RRSet of type ([A-Z0-9]+) )?with DNS name ([^\s,]+)`)
	aliasTarget = regexp.MustCompile(`alias that targets ([^\s,]+)`)
)

// culprits are the groups that a message is about; none where it doesn't say.
func culprits(message string, steps []step) []int {
	if found := member.FindStringSubmatch(message); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil && n >= 1 && n <= len(steps) {
			return []int{steps[n-1].group}
		}
	}
	if found := quotedSet.FindStringSubmatch(message); found != nil {
		return groupsOf(steps, func(set *types.ResourceRecordSet) bool { return isSet(set, found[1], found[2]) })
	}
	if found := aliasTarget.FindStringSubmatch(message); found != nil {
		return groupsOf(steps, func(set *types.ResourceRecordSet) bool {
			return set.AliasTarget != nil && plainName(aws.ToString(set.AliasTarget.DNSName)) == plainName(found[1])
		})
	}
	if found := dnsName.FindStringSubmatch(message); found != nil {
		return groupsOf(steps, func(set *types.ResourceRecordSet) bool { return isSet(set, found[2], found[1]) })
	}
	return groupsOf(steps, func(set *types.ResourceRecordSet) bool {
		return set.HealthCheckId != nil && strings.Contains(message, *set.HealthCheckId) ||
			slices.ContainsFunc(set.ResourceRecords, func(r types.ResourceRecord) bool {
				return strings.Contains(message, "'"+aws.ToString(r.Value)+"'")
			})
	})
}

// groupsOf are the groups with a record set that a message is about.
func groupsOf(steps []step, about func(*types.ResourceRecordSet) bool) []int {
	var groups []int
	for i := range steps {
		if about(steps[i].change.ResourceRecordSet) {
			groups = append(groups, steps[i].group)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// isSet reports whether a record set has the name and, where one is given, the type.
func isSet(set *types.ResourceRecordSet, name, kind string) bool {
	return plainName(aws.ToString(set.Name)) == plainName(name) && (kind == "" || kind == string(set.Type))
}

// plainName is one spelling of a name out of requests and messages.
func plainName(text string) string {
	if name, err := parseName(text); err == nil {
		return name.String()
	}
	return strings.TrimSuffix(strings.ToLower(text), ".")
}
