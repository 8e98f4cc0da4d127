//go:build !linux

package fronts_test

import "testing"

const apartVariable = "FRONTS_APART"

// apart skips the test: only Linux has namespaces.
func apart(t *testing.T, _ ...program) bool {
	t.Helper()
	t.Skip("the servers need port 53 of several addresses, in a network namespace of Linux")
	return false
}

func furnish() error { return nil }
