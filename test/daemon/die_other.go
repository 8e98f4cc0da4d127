//go:build !linux

package daemon

import "syscall"

// DieWithTest does nothing where the kernel has no parent-death signal.
func DieWithTest() *syscall.SysProcAttr { return nil }
