package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process is a running server: the process that was started and all its
// descendants.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// supported skips the test on systems where processes cannot be frozen.
func supported(testing.TB) {}

// run starts a program in dir. The program dies with the test, even if the test is
// killed.
func run(p program, dir string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Credential: p.user.credential()}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	running := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(running.exited)
	}()
	return running, nil
}

// freeze stops the parent first, so that it starts no more children.
func (p *process) freeze() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for _, child := range p.children() {
		if err := syscall.Kill(child, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

func (p *process) thaw() error {
	for _, child := range p.children() {
		if err := syscall.Kill(child, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return p.signal(syscall.SIGCONT)
}

// kill returns when no process is left. PostgreSQL does not start while an old
// process lives.
func (p *process) kill() error {
	err := p.freeze()
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	if err != nil {
		return err
	}
	children := p.children()
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	for _, child := range children {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	<-p.exited
	return awaitEnd(children)
}

// stop sends a signal, and kills processes that do not end in time.
func (p *process) stop(with syscall.Signal) error {
	if err := p.signal(with); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopTimeout):
		return errors.Join(errors.New("the server did not stop in time"), p.kill())
	}
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// children returns all descendants. The process group is not enough: each PostgreSQL
// process has its own session.
func (p *process) children() []int {
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		if pid, parent, _, err := readStat(file); err == nil {
			parents[parent] = append(parents[parent], pid)
		}
	}
	found := parents[p.cmd.Process.Pid]
	for i := 0; i < len(found); i++ {
		found = append(found, parents[found[i]]...)
	}
	return found
}

// pids returns the process and all its descendants.
func (p *process) pids() []int { return append(p.children(), p.cmd.Process.Pid) }

// readStat returns the id, the parent's id and the state of a process.
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func readStat(file string) (pid, parent int, state string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, "", err
	}
	// The name between them may contain spaces and parentheses.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return 0, 0, "", fmt.Errorf("%s: not as expected", file)
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text[:open])))
	if err != nil {
		return 0, 0, "", err
	}
	_, err = fmt.Sscan(string(text[end+1:]), &state, &parent)
	return pid, parent, state, err
}

// awaitEnd returns when all processes are gone, or are zombies.
func awaitEnd(pids []int) error {
	deadline := time.Now().Add(stopTimeout)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				return fmt.Errorf("process %d survived SIGKILL", pid)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

func alive(pid int) bool {
	_, _, state, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && state != "Z" && state != "X"
}
