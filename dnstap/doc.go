// Package dnstap writes what was asked and answered to a reader of dnstap
// messages (dnstap.info) behind a socket: one message for each query and one for
// each reply, in Frame Streams.
//
// It never slows a query: Send copies into a queue of fixed size, or drops and
// counts. The reader may come, go and be slow; it is tried again and again.
package dnstap
