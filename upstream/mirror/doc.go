// Package mirror keeps a copy of the served records in zones of a cloud, under
// the ownership records that external-dns writes and reads, so that a zone can
// pass from one program to the other and back without a record being changed.
//
// A Cloud is what a provider package (route53, cloudflare, alibaba, memory)
// makes: three methods to list and to write, and the provider's limits as
// values. All decisions are made here, the same for every provider:
//
//	wishes  ->  Normalize  ->  NewPlan  ->  guards  ->  batches  ->  Provider.Apply
//	              listing  ---------^
//
// NewPlan is a pure function of one zone: what is asked for, what is there, and
// who owns it. The guards hold back what may be a mistake. A Mirror is the loop
// around them: one goroutine with its own zones, policy, owner, limits and
// backoff. It never ends the program and never delays an answer or another
// Mirror.
//
// Three rules are above all others: a record whose owner isn't this mirror is
// never changed; a listing that isn't whole is an error and never an empty zone;
// and nothing is deleted while anybody doubts that the wishes are complete.
//
// The package knows no SDK, no Kubernetes and no flags.
package mirror
