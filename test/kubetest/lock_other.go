//go:build !unix

package kubetest

import "context"

// lock does nothing where there is no flock: of two processes that build at the
// same time one fails, and succeeds when run again.
func lock(context.Context, string, func()) (unlock func(), err error) {
	return func() {}, nil
}
