// Package alibabatest imitates the two DNS products of Alibaba Cloud on a loopback
// port, for tests: their calls, parameters, limits, encodings, error codes and
// paging, and the lack of transactions. It can be told to fail in the ways in
// which they do. Signatures must be there and are not checked.
package alibabatest
