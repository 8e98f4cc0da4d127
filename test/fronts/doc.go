// Package fronts tests clusterzone behind the resolvers that people ask: CoreDNS,
// NodeLocal DNSCache, Unbound and BIND, with the configuration that
// docs/forwarding.md gives for each, and with the stub resolvers of glibc and musl
// in front of these.
//
// Each test runs in network and mount namespaces of its own (Linux), where every
// server has port 53 of an address of its own, as on that page, and where
// /etc/resolv.conf is a Pod's.
package fronts
