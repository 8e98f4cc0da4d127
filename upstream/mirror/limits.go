package mirror

import (
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// Limits are what a provider can do and take, as values: nothing here asks for
// a provider's name. In numbers 0 means no limit.
type Limits struct {
	// Types are the record types that the provider can hold. Wishes of other
	// types are blocked, with a reason.
	Types []zones.Type
	// Routing says that records can have set identifiers.
	Routing bool
	// Atomic says that a batch is applied whole or not at all.
	Atomic bool
	// CreateExclusive says that Create fails where a record set of the name, type
	// and set identifier stands. Elsewhere it would add to it, so that a name is
	// read again before the first record is created there (NameReader), or the
	// zone is listed.
	CreateExclusive bool

	// BatchChanges, BatchValues and BatchChars bound one batch: the number of
	// changes, the targets of all records in it, and their characters. An Update
	// counts for both its records (twice the new one where that is more), a
	// Replace for both. A single group above a limit is never sent: it is blocked
	// with a reason.
	BatchChanges int
	BatchValues  int
	BatchChars   int
	// Pause is the least time between two batches to one zone.
	Pause time.Duration
	// ReadNames is how many names one RecordsAt may ask for; 0 where the provider
	// is no NameReader.
	ReadNames int

	// MinTTL and MaxTTL bound the TTLs of records, in seconds: a wish outside of
	// them is moved to the nearest, and that is what is compared.
	MinTTL, MaxTTL uint32
	// OwnershipTTL is the TTL of ownership records. It must be what external-dns
	// writes there, since it deletes by TTL too.
	OwnershipTTL zones.TTL
	// NoAsterisk says that no name may have an asterisk within a label, so that
	// the ownership of a wildcard needs a replacement for it.
	NoAsterisk bool
	// MaxRecords is how many records one zone may hold, each target counted: the status
	// warns before they are used up, since ownership records take their share.
	MaxRecords int
}
