// Package resolver keeps the addresses of names outside of our zones, to which
// CNAMEs of ours lead: host names of load balancers, external names. A stub
// resolver behind a forwarder chases no CNAME, so that the reply must hold the
// addresses already.
//
// Lookups go to recursive resolvers and happen beside the queries, never for
// one: a target is looked up when a zone begins to need it, and again before its
// TTL is over. What is known is published as one immutable zones.Targets. A
// target that can't be looked up any longer keeps its last good addresses for a
// while, then it is a failure; it never becomes a name without addresses.
//
// The package decides nothing about answers; zones does.
package resolver
