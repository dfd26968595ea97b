//go:build !linux

package servertest

import (
	"errors"
	"syscall"
	"testing"
)

// On other systems, a server would outlive a killed test, and its processes cannot be
// listed.

type process struct{ exited chan struct{} }

func supported(t testing.TB) {
	t.Helper()
	t.Skip("servers of a test's own need Linux")
}

var errNotHere = errors.ErrUnsupported

func run(program, string) (*process, error)   { return nil, errNotHere }
func (p *process) freeze() error              { return errNotHere }
func (p *process) thaw() error                { return errNotHere }
func (p *process) kill() error                { return errNotHere }
func (p *process) stop(syscall.Signal) error  { return errNotHere }
func releaseSharedMemory(string)              {}
func chown(string, *account) error            { return errNotHere }
func runAs(*account, string, ...string) error { return errNotHere }

func findAccount(string) (*account, error) { return nil, errNotHere }

type account struct{}

func (p *process) pids() []int { return nil }
func alive(int) bool           { return false }
