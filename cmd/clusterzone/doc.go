// Command clusterzone is an authoritative DNS server for a Kubernetes cluster's
// own names. This package turns flags, environment and the config file into the
// options of the other packages and wires them together; it decides nothing
// about names or answers itself.
package main
