// Package e2e holds the end-to-end suite: the program as it is built and
// started by its users, against a real kube-apiserver and etcd (package
// kubetest), asked over UDP and TCP.
//
// Most of what happens to single objects is told in testdata/stories, one txtar
// file a story; story_test.go says what they may say. What happens to the API
// server, to rights and to the process is told in Go, a file a subject.
//
// The program is built once, with the race detector when the tests run with it;
// then each process must end without a report of it. Tests share one API server
// and some of them stop it, so none runs in parallel with another; those that
// install definitions of Gateway API and others have one of their own. What the
// program does after an event is waited for, by asking until the answer is right
// or a generous limit has passed; nothing sleeps.
//
// The benchmarks fill an API server of their own with 10 000 Ingresses:
//
//	make bench-latency   from the API server's response to the first right answer
//	make bench-memory    resident memory, beside CoreDNS with a file zone
package e2e
