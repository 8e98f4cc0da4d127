// Package alibaba is Alibaba Cloud as a provider of mirrors: the public zones of
// Alibaba Cloud DNS (alidns), or the private zones of PrivateZone (pvtz).
//
// Both keep each value of a record set as an object of its own, have no
// transactions, and state with each page of a listing how many objects there are.
// What differs between them stands in public.go and private.go:
//
//	Zones, Records    pages -> objects -> records     a count that is off is an error
//	Apply             records -> objects, in place by their IDs, one call after the other
//
// Only objects that are enabled, unlocked and on the default resolution line are
// written. Where another is in a record set, the set is Locked.
//
// The requests are signed and sent by Alibaba's generic client for all of its
// products: the typed client of alidns holds hundreds of other calls and takes ten
// times as long to compile, and that of pvtz knows neither contexts nor the
// tokens that make a call idempotent.
package alibaba
