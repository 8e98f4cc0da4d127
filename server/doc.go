// Package server is DNS on the wire: it reads queries from UDP, TCP, TLS
// and HTTPS connections, answers them from a zones.Snapshot and writes the replies.
//
// The parts, from the inside out:
//
//   - Respond is a pure function from a query and a snapshot to a reply and an
//     Outcome. It logs nothing, counts nothing and reads no clock. A Responder
//     is Respond with options and with memory that it uses again.
//   - Server binds sockets, runs Responders over them and writes logs and
//     metrics from the Outcomes.
//   - Cookies make and check DNS cookies; RateLimit bounds equal replies over
//     UDP, in the loop: Respond knows nothing of what came before.
//   - A gate takes each connection through its PROXY header and handshake to the
//     loop of TCP and TLS, or to net/http for HTTPS.
//   - Zone transfers (AXFR, IXFR) are decided on by Respond and streamed by the
//     connection, from an edition that never changes. TSIGKeys sign them; a
//     Notifier tells secondaries of new serials.
//   - Metrics are the counters; ParseListen reads what --listen says.
//
// Deciding is left to zones.Snapshot.Lookup. This package decides only what
// the message itself decides: what is malformed, what is not served, how much
// fits.
//
// The rules come from RFC 1035 (format), 2181 and 9471 (truncation), 6891
// (EDNS), 7873 and 9018 (cookies), 5001 and 4892 (who answers), 8914 (extended errors), 5936, 1995 and 1996 (transfers), 8945 (TSIG), 8906 (always reply),
// 9619 (one question), 7766, 7828 and 9210 (TCP), 7858 (TLS), 8484 (HTTPS), 7830 and 8467 (padding).
package server
