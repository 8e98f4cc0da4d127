//go:build !linux

package nodes_test

import "testing"

func TestNodes(t *testing.T) {
	t.Skip("nodes are network namespaces, which Linux alone has")
}
