package daemon

import "syscall"

// DieWithTest makes the kernel kill the program when the test process ends,
// even by SIGKILL or a panic.
func DieWithTest() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
