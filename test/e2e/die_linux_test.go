package e2e_test

import "syscall"

// dieWithTest makes the kernel kill the program when the test process ends,
// even by SIGKILL or a panic.
func dieWithTest() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
