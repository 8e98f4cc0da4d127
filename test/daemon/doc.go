// Package daemon builds and runs programs for tests: clusterzone as its users
// start it, and the name servers that it is compared with.
//
// A program gets nothing of the user's environment, what it says is kept, and it
// ends with the test: by itself or, where it doesn't, by its process id. Where the
// kernel can (Linux), it also dies with a test process that is killed.
package daemon
