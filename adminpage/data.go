package adminpage

import (
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// Data is what the page shows. Its methods are called by many requests at once;
// what they return is the caller's.
type Data interface {
	// Overview returns the state at this moment.
	Overview() Overview
	// Explain says why a question is answered as it is; zones.TypeNone asks for
	// all types.
	Explain(zones.Name, zones.Type) zones.Explanation
	// Records lists record sets of a zone in canonical order, from a name on (the
	// zero Name for the first): limit of them, or a little more, so that no name is
	// parted. next is where to go on, the zero Name at the end. known is false
	// where the zone isn't served.
	Records(zone, from zones.Name, limit int) (sets []zones.ListedSet, next zones.Name, known bool)
}

// An Overview is the state of a server at one moment.
type Overview struct {
	// Ready is false while queries get SERVFAIL; Waiting says then what for.
	Ready   bool
	Waiting string
	// Committed is when what is served was made, LastEvent when the last event of
	// an object was applied, Saved when the saved state was saved that is still
	// served in part; the zero time where there is none.
	Committed, LastEvent, Saved time.Time
	Zones                       []Zone // in canonical order
	Sources                     []Source
	Mirrors                     []Mirror        // empty where nothing is copied to a cloud
	Skipped                     []zones.Skipped // by object
	Changes                     []Change        // the newest first
}

// A Zone is one zone as it is served.
type Zone struct {
	Name    zones.Name
	Serial  uint32
	Names   int // that exist, empty non-terminals included
	Records map[zones.Type]int
	// Problem says why the zone's file can't be read now, so that the zone stays as
	// it was; empty where it can, or where it has none.
	Problem string
}

// A Source is how the reading of one source's kinds of objects is.
type Source struct {
	Name    string
	Synced  bool // all kinds were read whole
	Objects int
	Kinds   []Kind
}

// A Kind is how the reading of one kind of object is.
type Kind struct {
	Name    string
	Synced  bool
	Absent  bool // the cluster doesn't have the kind, which is no fault
	Objects int
	// Problem is why objects of the kind can't be read since Since.
	Problem   string
	Since     time.Time
	LastEvent time.Time
}
