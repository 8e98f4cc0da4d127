// Package nodes tests clusterzone as a DaemonSet runs it: one server on each of
// three nodes, which watch a real kube-apiserver.
//
// A node is a network namespace of Linux with an address on a bridge and the
// node-local address that its programs ask. The API server stands on the other side
// of the bridge. A node is cut off by taking its cable down, and the API server by
// taking down the bridge: nobody is told that a connection has ended.
package nodes
