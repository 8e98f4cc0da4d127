package zones

import (
	"iter"
	"slices"
	"time"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// Options say which zones a Table builds and how it settles contests.
type Options struct {
	// Origins are the zones. Without any, the Table settles the claims of every
	// name and its snapshots answer nothing.
	Origins []Origin
	// Sources is the order in which sources win a contest between objects of
	// one age; sources that it leaves out come last, by name.
	Sources []string
	// Policy settles claims of several objects on one name.
	Policy Policy
	// DefaultTTL is the TTL in seconds of records whose claims set none.
	DefaultTTL uint32
	// Flatten serves the addresses of a CNAME's target in place of every CNAME,
	// not only at apexes, at name servers' names and where a claim's option alias
	// is "true".
	Flatten bool
	// Passes are the names that another resolver is asked for; Explain tells of
	// them.
	Passes *Passes
}

// A Policy says who gets a name that several objects claim (DESIGN rule 5).
type Policy uint8

const (
	// PolicyNamespace unites the claims of one namespace; across namespaces the
	// oldest object wins the name whole.
	PolicyNamespace Policy = iota
	// PolicyFirst gives the name whole to the oldest object alone.
	PolicyFirst
	// PolicyMerge unites all claims.
	PolicyMerge
)

// A Table holds what every object asks for, settles contests name by name, and
// compiles the zones. The content of its zones is a function of the objects
// put, never of the order in which they came.
//
// Putting an object costs that object's names, each times the logarithm of the
// zone's size. A Table has one writer: it is not safe for concurrent use.
type Table struct {
	options Options
	rank    map[string]int // of sources
	zones   map[Name]*building
	origins []Name
	objects map[Owner]*object
	names   map[Name]*entry
	dirty   map[Name]struct{}
	// dirtyStatic are the names whose static or own records changed, pending the
	// zones with something to publish or a serial to step.
	dirtyStatic map[staticKey]struct{}
	pending     map[*building]struct{}
	tidying     map[*building]struct{} // zones with a compaction under way
	index       map[Name]int           // places of the zones in pages; frozen
	pages       pages                  // of the last snapshot
	servers     map[Name]int           // name servers, by how many zones have them of their Origin
	outside     map[Name]int           // how many names lead to an outside target
	needed      map[Name]bool          // which of the targets noted since were needed at the last commit
	adopted     []Change               // by zone files since the last commit
	reasons     *iradix.Txn[reason]
	counts      counts

	ready    bool
	begun    bool // was ever ready
	waiting  string
	snapshot *Snapshot // the last one committed
	stale    bool      // the next commit must make a new snapshot
	news     []Skipped // skips that came since the last commit
}

// An object is an Object with what the Table derives from it.
type object struct {
	Object
	rank int
}

// An entry is what objects ask for at one name.
type entry struct {
	claims  []contribution
	skipped []Skipped // by the sources
	lost    []Skipped // when contests were settled
	held    bool      // records that were kept are held
}

// A contribution is one object's claim on a name.
type contribution struct {
	object *object
	claim  *Claim
}

// NewTable returns a Table whose zones hold nothing but their apex records,
// and which is not ready: SetReady and Commit publish it. The origins must be
// distinct.
func NewTable(options Options) *Table {
	t := &Table{
		options: options,
		rank:    map[string]int{},
		zones:   map[Name]*building{},
		objects: map[Owner]*object{},
		names:   map[Name]*entry{},
		dirty:   map[Name]struct{}{},
		servers: map[Name]int{},
		pending: map[*building]struct{}{},
		tidying: map[*building]struct{}{},
		reasons: iradix.New[reason]().Txn(),
		counts:  newCounts(),
		outside: map[Name]int{},
		needed:  map[Name]bool{},
		stale:   true,
		waiting: "the first synchronisation",

		dirtyStatic: map[staticKey]struct{}{},
	}
	for i, source := range options.Sources {
		t.rank[source] = i
	}
	t.buildOrigins()
	return t
}

// Put replaces all that the object's owner asked for. An object without claims
// and skips is the same as Delete. The Table keeps o's slices: the caller must
// not change them afterwards.
func (t *Table) Put(o Object) {
	old := t.objects[o.Owner]
	if len(o.Claims) == 0 && len(o.Skipped) == 0 {
		t.Delete(o.Owner)
		return
	}
	next := &object{Object: o, rank: t.sourceRank(o.Owner.Source)}
	for i := range next.Skipped {
		next.Skipped[i].Owner = o.Owner
	}
	var before []Skipped
	if old != nil {
		before = old.Skipped
	}
	t.noteSkips(before, next.Skipped)
	if old != nil {
		t.detach(old)
	}
	t.objects[o.Owner] = next
	for i := range next.Claims {
		claim := &next.Claims[i]
		e := t.touch(claim.Name)
		e.claims = append(e.claims, contribution{next, claim})
		t.counts.claims[o.Owner.Source]++
	}
	for i := range next.Skipped {
		skip := &next.Skipped[i]
		t.counts.skip(skip, +1)
		if skip.Name != "" {
			e := t.touch(skip.Name)
			e.skipped = append(e.skipped, *skip)
		}
	}
}

// Delete removes all that the owner asked for. Deleting an owner that asked for
// nothing is no error.
func (t *Table) Delete(owner Owner) {
	old := t.objects[owner]
	if old == nil {
		return
	}
	delete(t.objects, owner)
	t.detach(old)
}

// detach takes an object's claims and skips out of the names' entries.
func (t *Table) detach(old *object) {
	for i := range old.Claims {
		e := t.touch(old.Claims[i].Name)
		e.claims = deleteFunc(e.claims, func(c contribution) bool { return c.object == old })
		t.counts.claims[old.Owner.Source]--
	}
	for i := range old.Skipped {
		skip := &old.Skipped[i]
		t.counts.skip(skip, -1)
		if skip.Name != "" {
			e := t.touch(skip.Name)
			e.skipped = deleteFunc(e.skipped, func(s Skipped) bool { return s.Owner == old.Owner })
		}
	}
}

// deleteFunc returns list without the elements for which drop holds. Unlike
// slices.DeleteFunc it leaves list itself alone.
func deleteFunc[T any](list []T, drop func(T) bool) []T {
	kept := make([]T, 0, len(list))
	for _, item := range list {
		if !drop(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// noteSkips remembers the skips that were not there before.
func (t *Table) noteSkips(before, after []Skipped) {
	for _, skip := range after {
		if !slices.Contains(before, skip) {
			t.news = append(t.news, skip)
		}
	}
}

// touch returns the entry of a name, which the next commit settles anew.
func (t *Table) touch(name Name) *entry {
	t.dirty[name] = struct{}{}
	e := t.names[name]
	if e == nil {
		e = &entry{}
		t.names[name] = e
	}
	return e
}

// unset is the rank of sources that Options.Sources leaves out.
const unset = 1 << 30

func (t *Table) sourceRank(source string) int {
	if rank, ok := t.rank[source]; ok {
		return rank
	}
	return unset
}

// SetReady says whether answers may be given from the next commit on, and if
// not, what is waited for ("EndpointSlices from the API server").
func (t *Table) SetReady(ready bool, waiting string) {
	if t.ready != ready || t.waiting != waiting {
		t.ready, t.waiting, t.stale = ready, waiting, true
	}
	t.begun = t.begun || ready
}

// Owners yields the owners of a source that ask for anything, in no order. The
// Table must not change meanwhile.
func (t *Table) Owners(source string) iter.Seq[Owner] {
	return func(yield func(Owner) bool) {
		for owner := range t.objects {
			if owner.Source == source && !yield(owner) {
				return
			}
		}
	}
}

// SkippedOf returns all that the owner asked for and does not get, as of the
// last commit: what its source skipped, and what it lost in contests. The slice
// is the caller's.
func (t *Table) SkippedOf(owner Owner) []Skipped {
	o := t.objects[owner]
	if o == nil {
		return nil
	}
	all := slices.Clone(o.Skipped)
	seen := map[Name]bool{}
	for _, claim := range o.Claims {
		if seen[claim.Name] {
			continue
		}
		seen[claim.Name] = true
		for _, skip := range t.names[claim.Name].lost {
			if skip.Owner == owner {
				all = append(all, skip)
			}
		}
	}
	sortSkipped(all)
	return all
}

// A Commit is what one Table.Commit did.
type Commit struct {
	// Snapshot is the new snapshot, or the last one where nothing changed.
	Snapshot *Snapshot
	// Changes are the record sets that came, went or changed, SOAs left out, in
	// the order of zone, name and type. Those that a zone file brings to a zone that
	// was never published before are left out, too.
	Changes []Change
	// Names are those at which objects changed what they ask for, in no order:
	// a mirror looks at them again. They hold names whose records are as before.
	Names []Name
	// Stepped are the zones whose serial is a new one, in no order.
	Stepped []Name
	// Skipped are those that came since the last commit.
	Skipped []Skipped
	// Wanted are the names outside of the zones that CNAMEs lead to since this
	// commit, Unwanted those to which none does any more. They come in no order.
	Wanted, Unwanted []Name
	// Again is when to commit once more so that a zone's serial may step after
	// further changes within one second, or a large zone be served from memory that was
	// put in order beside it; zero when there is no need.
	Again time.Time
}

// A Change is one record set's step: Old is nil where the set came, New where
// it went.
type Change struct {
	Zone     Name
	Old, New *RRSet
}

// Commit settles every name that was touched since the last commit and returns
// the snapshot to be published. now gives the serials: a zone whose records
// changed gets max(serial+1, now), at most once a second (DESIGN, serials).
func (t *Table) Commit(now time.Time) Commit {
	result := Commit{Changes: t.adopted}
	t.adopted = nil
	t.settleTouched(&result)
	for key := range t.dirtyStatic {
		result.Names = append(result.Names, key.name)
		t.settleStatic(key, &result)
	}
	result.outsideChanges(t)
	t.forgetTouched() // not before: settleStatic leaves out what has been settled
	if len(t.dirtyStatic) > 0 {
		t.stale = true
		t.dirtyStatic = map[staticKey]struct{}{}
	}
	sortChanges(result.Changes)
	for b := range t.tidying {
		if len(b.compacting) > 0 {
			b.changed = true
			t.pending[b] = struct{}{}
		}
	}
	changed := map[int]*Zone{}
	for b := range t.pending {
		if again := b.step(now); again.IsZero() {
			delete(t.pending, b)
		} else {
			result.Again = again
		}
		if b.changed {
			if b.serial != b.zone.serial {
				result.Stepped = append(result.Stepped, b.zone.origin.Name)
			}
			changed[b.at] = b.publish()
			t.stale = true
			if delete(t.tidying, b); b.compacting != nil {
				t.tidying[b] = struct{}{}
			}
		}
	}
	if again := now.Add(tidyPause); len(t.tidying) > 0 && (result.Again.IsZero() || again.Before(result.Again)) {
		result.Again = again
	}
	if t.stale {
		t.pages = t.pages.with(changed)
		t.snapshot = t.publish(now)
		t.stale = false
	}
	result.Snapshot = t.snapshot
	result.Skipped, t.news = t.news, nil
	sortSkipped(result.Skipped)
	return result
}

// inOrder returns the names of a set: many of them in canonical order, so that
// each part of a tree is built once, and few in any.
func inOrder(set map[Name]struct{}) []Name {
	names := make([]Name, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	if len(names) <= pendingNodes {
		return names
	}
	var keys keyBuffer
	keyed := make([]step, len(names))
	for i, name := range names {
		keyed[i] = step{name: name, key: keys.sortable(name)}
	}
	for i, s := range sortSteps(keyed) {
		names[i] = s.name
	}
	return names
}

// settleTouched settles the names at which objects changed what they ask for.
func (t *Table) settleTouched(result *Commit) {
	for _, name := range inOrder(t.dirty) {
		result.Names = append(result.Names, name)
		t.settleName(name, true, result)
	}
}

// forgetTouched notes that they are settled.
func (t *Table) forgetTouched() {
	if len(t.dirty) > 0 {
		t.dirty = map[Name]struct{}{}
		t.stale = true
	}
}

// Settle settles what was put so far and publishes nothing, so that the first
// ready Commit of many objects finds most of its work done while the last of them
// were still on their way. What a zone begins with is no change: neither Changes
// nor Names of a later Commit list what Settle did. Of a Table that is or was ready
// it leaves everything to Commit.
func (t *Table) Settle() {
	if !t.begun {
		t.settleTouched(&Commit{})
		t.forgetTouched()
	}
}

func (t *Table) publish(now time.Time) *Snapshot {
	return &Snapshot{
		Ready:     t.ready,
		Waiting:   t.waiting,
		Committed: now,
		index:     t.index,
		pages:     t.pages,
		origins:   t.origins,
		reasons:   t.reasons.CommitOnly(),
	}
}
