// Package zones is the core of clusterzone: it turns the claims of Kubernetes
// objects into DNS zones and answers questions from them.
//
// The flow, all of it without sockets, clocks, loggers or Kubernetes types:
//
//	Object (claims + skips) -> Table.Put -> Table.Commit -> Snapshot -> Store.Swap
//	                                                        Store.Load -> Snapshot.Lookup -> Answer
//
// The words:
//
//   - An Owner is the object that asks for names.
//   - A Claim is what one owner asks for: one name, one type, its targets.
//   - A Skipped is what an owner asked for and did not get, and why.
//   - A Table holds the claims of all owners and settles contests between them.
//   - A Zone is one compiled, immutable zone; a Snapshot is all zones at one
//     moment; an Answer is the decision for one question.
//   - An Edition is a zone as secondaries get it: the content that its serial
//     names. A Journal keeps the editions and the Steps between them.
//
// Concurrency: a Table has one writer and is not safe for concurrent use. A
// Snapshot, a Zone and an RRSet never change once published: any number of
// goroutines may read them without a lock. A Store is safe for concurrent use,
// and so is reading a Journal beside its one writer.
//
// Memory: names, record data and record sets that this package returns are
// shared and frozen. Callers must not modify the slices they are handed.
package zones
