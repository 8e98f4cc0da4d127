// Package cloudflare is the provider of mirrors into zones of Cloudflare. New makes
// a mirror.Cloud of Options, whose fields are the --cloudflare-* flags of
// external-dns.
//
// Cloudflare keeps each value of a record set as an object with an ID, a TTL and
// attributes of its own. Records gathers the objects of one name and type into one
// record, and keeps their IDs in its Handle; a set whose objects differ in an
// attribute says so in an option that no wish has, so that it is made even. Apply
// turns the changes of a batch into one call of the batch API, a transaction: what
// stays is left alone, what changes is patched in place, and only what is left over
// is deleted or created.
//
// What Cloudflare has and DNS doesn't stands in options of records under the names
// that external-dns gives them: cloudflare/proxied, cloudflare/record-comment and
// cloudflare/tags. Normalize brings a wish into the form in which a listing gives it
// back.
//
// The SDK gives paths, queries and the order of a call. Bodies are read and written
// by a few types of our own: the SDK's are one Go type for each record type, and in
// some of its versions a listing of them lacks the data of MX and SRV records.
//
// All calls of one credential share a budget of two a second, which the Ratelimit
// header of the replies makes smaller.
package cloudflare
