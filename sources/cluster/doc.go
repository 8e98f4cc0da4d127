// Package cluster reads objects from a Kubernetes API server, and writes
// Kubernetes events there.
//
// Run watches the kinds it is told to and hands every object, stripped to what
// translations read, to a sources.Sink. It writes nothing. A Recorder posts a
// Warning event on objects whose author can mend what is wrong with them.
package cluster
