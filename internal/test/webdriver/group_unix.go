//go:build unix

package webdriver

import (
	"os/exec"
	"syscall"
)

// lead makes a program the first of a process group.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// end asks a program and all that it has started to end, or makes them.
func end(cmd *exec.Cmd, atOnce bool) {
	signal := syscall.SIGTERM
	if atOnce {
		signal = syscall.SIGKILL
	}
	syscall.Kill(-cmd.Process.Pid, signal)
}
