//go:build !unix

package webdriver

import "os/exec"

func lead(*exec.Cmd) {}

// end kills only the program itself.
func end(cmd *exec.Cmd, _ bool) { cmd.Process.Kill() }
