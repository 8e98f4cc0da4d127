package mirror

import (
	"context"

	"github.com/clusterzone/clusterzone/zones"
)

// A Provider lists and writes the zones of one cloud account. Each Mirror calls
// its provider from one goroutine, one call at a time; several Mirrors may share
// one provider only if it is safe for concurrent use.
//
// Every method ends soon after ctx is done. Errors are of type *Error where
// their class is known; any other error counts as Failed when listing, and as
// Unknown when writing. No error holds a credential.
type Provider interface {
	// Zones returns all zones of the account that the provider was told to
	// look at, or an error: a part of them is never returned. The slice is the
	// caller's.
	Zones(ctx context.Context) ([]Zone, error)
	// Records returns all records of a zone, those of types that nobody manages
	// included (they show which names are taken), in any order; or an error. It
	// counts what it got against the total that the cloud states, and pages that
	// don't add up are an error of class Failed: a part is never returned. The
	// records are in the provider's normal form (Cloud.Normalize); slices and
	// records are the caller's.
	Records(ctx context.Context, zone Zone) ([]Record, error)
	// Apply writes one batch within Limits and returns one result for each
	// group, in the order of batch. It must not change batch.
	//
	// Where Limits.Atomic is set, all groups are applied or none is. Elsewhere
	// each group's changes are made in their order, and the first that fails ends
	// its group: the groups after it are still tried unless the error concerns
	// them too (Throttled, Denied, Failed).
	//
	// Writing again what is already so does no harm: deleting what is gone, and
	// creating what stands there with the same content, is success or a Conflict.
	// Apply doesn't retry a write whose reply was lost: it returns Unknown, and the
	// zone is listed anew.
	Apply(ctx context.Context, zone Zone, batch []Group) []Result
}

// A NameReader is a Provider that can read a few names without listing the
// zone. It makes a single change cheap: names are read again just before a
// record is first created there, or deleted.
type NameReader interface {
	// RecordsAt returns all records at the given names (Limits.ReadNames at
	// most), or an error, as Records does.
	RecordsAt(ctx context.Context, zone Zone, names []zones.Name) ([]Record, error)
}

// A Cloud is a provider with all that must be known of it. Provider packages
// make it; it is frozen when it is handed to a Mirror.
type Cloud struct {
	// Name is the provider's name as --provider spells it: "aws".
	Name     string
	Provider Provider
	Limits   Limits
	// Family is the first part of the options that the provider reads
	// ("aws" of "aws/weight"): those of other families don't reach it, those
	// without a family do. "" lets all pass.
	Family string
	// Normalize returns what is wanted in the form in which Records would give
	// it back once it is written, so that the two can be compared: options the
	// provider adds or leaves out, TTLs that it doesn't keep, the spelling of
	// targets. One wish may become several records (a CNAME to a load balancer
	// becomes the aliases A and AAAA), or none in this zone. An error says in one
	// sentence why the wish can't be fulfilled, and what its author can do.
	// Ownership records pass through it too, with the options and the set identifier
	// of the record that they are about (but for alias) and with
	// Limits.OwnershipTTL: exactly one record comes back. It is pure; Handle is not
	// set. Nil changes nothing.
	Normalize func(zone Zone, want Record) ([]Record, error)
	// Place returns the zones that a record belongs in, of those that its name
	// lies in, the longest name first (at least one; those of one name in the
	// order of their IDs). Nil takes the first alone. It is pure.
	Place func(want *Record, candidates []Zone) []Zone
}

// A Zone is one zone of a cloud.
type Zone struct {
	// ID is what the provider knows the zone by: unique in the account, and safe
	// to print.
	ID   string
	Name zones.Name
	// Kind is a word for people that tells zones of one name apart ("private"),
	// or "".
	Kind string
	// Handle is the provider's own and is handed back as it is.
	Handle any
}

// String returns the name and, in brackets, kind and ID.
func (z Zone) String() string {
	if z.Kind == "" {
		return z.Name.String() + " (" + z.ID + ")"
	}
	return z.Name.String() + " (" + z.Kind + ", " + z.ID + ")"
}

// A Record is one record set: what a cloud has, or should have, at one name, of
// one type, under one set identifier. Records are frozen once they are handed on.
type Record struct {
	Name zones.Name
	Type zones.Type
	// Targets are the data in the form of zones.Claim.Targets, without
	// duplicates, in any order: addresses, names without final dot, TXT as
	// quoted character-strings. Where the provider keeps a TXT without quotes,
	// Records adds them.
	Targets []string
	// TTL is unset where the provider has none for the record (an alias), or
	// where any will do.
	TTL zones.TTL
	// SetIdentifier tells record sets of one name and type apart under a routing
	// policy; "" without one.
	SetIdentifier string
	// Options are provider-specific properties under the names that external-dns
	// gives them ("aws/weight", "alias"), sorted by key.
	Options []zones.Option
	// Resource is the object that asks for the record, as external-dns' label of
	// the same name has it ("ingress/shop/web"); "" for records out of a cloud.
	Resource string
	// Locked says in words why the provider mustn't or can't change the record (a
	// protection, a resolution line of its own); "" otherwise.
	Locked string
	// Handle is what the provider needs to change exactly what it has read (IDs,
	// the raw set), set in records that it returned. Nobody else reads it.
	Handle any
}

// Option returns the value of an option, and whether it is there.
func (r *Record) Option(key string) (string, bool) {
	for _, option := range r.Options {
		if option.Key == key {
			return option.Value, true
		}
	}
	return "", false
}

// OptionAlias is the option of records that point at a name as a CNAME does and
// have addresses' types, and of CNAMEs that shall become such.
const OptionAlias = "alias"

// alias reports whether the record is an alias of an address type.
func (r *Record) alias() bool {
	value, ok := r.Option(OptionAlias)
	return ok && value != "false" && r.Type != zones.TypeCNAME
}
