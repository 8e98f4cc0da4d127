// Package route53 is the provider of mirrors into hosted zones of Amazon Route 53,
// over the AWS SDK. New makes a mirror.Cloud of Options, whose fields are the
// --aws-* flags of external-dns.
//
// What Route 53 has and DNS doesn't stands in options of records, under the names
// that external-dns gives them: aliases (records of an address type that point at
// a name), and the routing policies, which keep several record sets at one name
// apart by a set identifier. Normalize brings a wish into the form in which a
// listing gives it back; all the rest translates between that form and the SDK's.
//
// A batch is one ChangeResourceRecordSets request, which Route 53 applies whole or
// not at all. A request that is refused names the record sets at fault in prose:
// their groups are told apart from the others', so that one bad record costs one
// more request and not a search.
//
// Nothing is cached but the credentials. All requests of one set of credentials
// share a Budget, below the five a second that Route 53 gives to an account.
package route53
