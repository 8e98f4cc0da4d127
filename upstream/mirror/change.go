package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// A Verb is what a Change does to a record.
type Verb string

// The verbs.
const (
	// Create makes New where nothing is. It must fail (Conflict) rather than
	// touch what stands there with other content, as far as the cloud allows.
	Create Verb = "create"
	// Update turns Old into New: name, type and set identifier are the same. It
	// is made in place where the cloud allows, so that no moment is without an
	// answer. Where it can't be (an alias becomes addresses), it is one step.
	Update Verb = "update"
	// Replace deletes Old and creates New, of another type that can't stand
	// beside it (a CNAME becomes addresses): at once, or where the cloud has no
	// transactions, one right after the other.
	Replace Verb = "replace"
	// Delete takes Old away, exactly as it was read.
	Delete Verb = "delete"
)

// A Change is one step from what a zone has to what it should have. Old is set
// but for Create, New but for Delete. Old was read from the provider and has its
// Handle. A Change is frozen.
type Change struct {
	Verb     Verb
	Old, New *Record
	// Ownership says that the record is a TXT that tells who owns another record.
	Ownership bool
	// Why says in a few words what differs, or who asks.
	Why string
}

// Record returns New, or where there is none, Old.
func (c *Change) Record() *Record {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// String returns the change in words, as plans, logs and events print it.
func (c *Change) String() string {
	r := c.Record()
	text := fmt.Sprintf("%s %s %s", c.Verb, r.Type, r.Name)
	if r.SetIdentifier != "" {
		text += " [" + r.SetIdentifier + "]"
	}
	switch c.Verb {
	case Create:
		text += " " + c.New.content()
	case Delete:
		text += " " + c.Old.content()
	case Replace:
		text += fmt.Sprintf(" %s -> %s %s", c.Old.Type.String()+" "+c.Old.content(), c.New.Type, c.New.content())
	default:
		text += " " + c.Old.content() + " -> " + c.New.content()
	}
	return text
}

// content is a record's data in words: targets, TTL and options.
func (r *Record) content() string {
	targets := slices.Sorted(slices.Values(r.Targets))
	text := strings.Join(targets, ",")
	if r.TTL.Set {
		text += fmt.Sprintf(" ttl=%d", r.TTL.Seconds)
	}
	for _, option := range r.Options {
		text += " " + option.Key + "=" + option.Value
	}
	return text
}

// A Group is all that changes for one name, its ownership records among it, in
// the order in which a cloud without transactions must make the changes. It is
// never split over two batches.
type Group struct {
	// Name is the name of the records that the group is about. Ownership records
	// have names of their own.
	Name    zones.Name
	Changes []Change
}

// A Result says what became of one group.
type Result struct {
	// Err is nil where the whole group was applied.
	Err error
	// Now are the records as the cloud has them after the group was applied, with
	// their Handles: one for each change that has a New, in order. Nil stands for
	// the New of the changes as they are, where no Handle is needed to change them
	// again. Without meaning where Err is not nil.
	Now []Record
}

// Fail returns the results of a batch of which every group failed for one
// reason.
func Fail(batch []Group, err error) []Result {
	return slices.Repeat([]Result{{Err: err}}, len(batch))
}
