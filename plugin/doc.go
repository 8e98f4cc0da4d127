// Package plugin is the CoreDNS plugin clusterzone: the zones of a cluster's own
// names, from its objects, inside CoreDNS.
//
// Answers are those of the server: the query's octets go through server.Respond,
// and what comes back goes to the plugins in front as a message. What a message
// may be long, which client may ask, and how it is encrypted is CoreDNS'
// business.
//
// CoreDNS reloads by building everything anew beside the old. The new handler
// answers from the old one's last snapshot until its own objects were read
// (handover.go), and the old one's watches end with the old instance.
package plugin
