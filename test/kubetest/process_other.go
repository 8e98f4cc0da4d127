//go:build !linux

package kubetest

import "syscall"

// dieWithParent does nothing where the kernel has no parent-death signal: a
// test process that is killed leaves the programs running.
func dieWithParent() *syscall.SysProcAttr { return nil }
