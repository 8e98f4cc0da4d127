// Package peers holds the tests with other makers' name servers and tools: named,
// nsd, knotd and unbound as Debian packages them, each with its own configuration,
// folder and address, beside clusterzone as its users start it.
//
// Beside these stand the tests that need the program and its sockets alone: the
// probes of EDNS and odd packets, and the soak (make soak).
//
// make test-peers runs all. Those with peers ask for it by an environment variable
// (CLUSTERZONE_PEERS=1), since most machines lack the peers; where it is set, a
// missing peer is a failure and no test is skipped. harness_test.go says how to start
// a server:
//
//	p := start(t, nsd, config{Rest: "zone:\n  name: corp.test\n  zonefile: " + file})
//	reply := p.ask(t, "corp.test.", dns.TypeSOA)
//
// Every server listens on a port of 127.0.0.1 that was free, so that tests run side
// by side. A server is up when it has answered; it ends with its test, and a
// failed test prints its log.
package peers
