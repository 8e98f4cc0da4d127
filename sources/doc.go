// Package sources turns Kubernetes objects into claims.
//
// A Translator is pure: one object, with the objects beside it, gives one
// zones.Object, that is all it claims and all it asked for in vain. The rules
// are those of external-dns; where they differ on purpose, the code says so.
// A Feed is the only writer of a zones.Table: it takes what an origin reports
// (package cluster for an API server, package manifest for files), keeps the
// reverse indexes (Service to EndpointSlices and so on), translates the objects
// that an event concerns, and publishes a new snapshot.
package sources
