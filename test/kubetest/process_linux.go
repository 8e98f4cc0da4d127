package kubetest

import "syscall"

// dieWithParent makes the kernel kill the program when the test process ends,
// even by SIGKILL or a panic.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
