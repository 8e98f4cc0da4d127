//go:build !linux

package e2e_test

import "syscall"

// dieWithTest does nothing where the kernel has no parent-death signal.
func dieWithTest() *syscall.SysProcAttr { return nil }
