//go:build !unix

package webdriver

import "os/exec"

func lead(*exec.Cmd) {}

// end ends the program alone.
func end(cmd *exec.Cmd, _ bool) { cmd.Process.Kill() }
