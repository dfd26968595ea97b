// Package process runs the built binary and the servers that it talks to.
package process

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/skewed"
)

// A Process is a running service of the built binary.
type Process struct {
	URL  string // http://127.0.0.1:port, without a path
	Addr string // host:port
	Dir  string // its working directory, with authsvc.yaml
	Logs *arena.LogBuffer

	// Skew sets how far the process's clock is off, in whole seconds.
	Skew time.Duration

	// Through is a command that runs the binary, such as "prlimit", "--nofile=64".
	Through []string

	// Args holds the arguments. They are "serve" unless a test changes them before
	// Start.
	Args []string

	t testing.TB

	env  []string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // result of Wait, set when done is closed
}

// A binary is the program, built once per test process.
type binary struct {
	build func(dir string) (path string, err error)
	once  sync.Once
	dir   string
	path  string
	err   error
}

var built, builtSkewed = binary{build: build}, binary{build: skewed.Build}

func (b *binary) at(t testing.TB) string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "authsvc-binary-"); b.err == nil {
			b.path, b.err = b.build(b.dir)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

func build(dir string) (string, error) {
	path := filepath.Join(dir, "authsvc")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", path, "authsvc/cmd/authsvc").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// Binary returns the path of the command authsvc, built once per test process.
// TestMain must call RemoveBinary at the end.
func Binary(t testing.TB) string {
	t.Helper()
	return built.at(t)
}

// RemoveBinary removes the built program, if there is one.
func RemoveBinary() {
	for _, b := range []*binary{&built, &builtSkewed} {
		if b.dir != "" {
			os.RemoveAll(b.dir)
		}
	}
}

// Serve starts `authsvc serve` on a free port with variables "NAME=value" and returns
// when the service is ready. In config, {origin} stands for the origin, and listen is
// added. The process ends with t.
func Serve(t testing.TB, config string, env ...string) *Process {
	t.Helper()
	p := Prepare(t, config, env...)
	p.Start()
	p.Ready(time.Minute)
	return p
}

// Prepare works like Serve, but does not start the process.
func Prepare(t testing.TB, config string, env ...string) *Process {
	t.Helper()
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, Addr: fmt.Sprintf("127.0.0.1:%d", port), Dir: t.TempDir(), Logs: &arena.LogBuffer{}, Args: []string{"serve"}, env: env}
	p.URL = "http://" + p.Addr
	p.Configure(config)
	t.Cleanup(func() {
		if p.Running() {
			p.Signal(syscall.SIGTERM)
			p.Wait(time.Minute)
		}
		if t.Failed() {
			t.Logf("the service said\n%.4000s", p.Logs)
		}
	})
	return p
}

// Configure writes authsvc.yaml.
func (p *Process) Configure(config string) {
	p.t.Helper()
	text := strings.ReplaceAll(config, "{origin}", p.URL) + "\nlisten: " + p.Addr + "\n"
	if err := os.WriteFile(filepath.Join(p.Dir, "authsvc.yaml"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Start runs the binary. It may be called again after the process has ended.
func (p *Process) Start() {
	p.t.Helper()
	program, env := Binary, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Dir}
	if p.Skew != 0 {
		program, env = builtSkewed.at, append(env, skewed.Env(p.Skew))
	}
	line := slices.Concat(p.Through, []string{program(p.t)}, p.Args)
	p.cmd = exec.Command(line[0], line[1:]...)
	p.cmd.Dir, p.cmd.Env = p.Dir, append(env, p.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.Logs, p.Logs
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	done := make(chan struct{})
	p.done = done
	go func() {
		p.err = p.cmd.Wait()
		close(done)
	}()
}

// Ready waits until /readyz reports that the service is ready.
func (p *Process) Ready(patience time.Duration) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		res, err := http.Get(p.URL + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-p.done:
			p.t.Fatalf("the service ended: %v\n%s", p.err, p.Logs)
		default:
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the service is not ready after %v: %v\n%s", patience, err, p.Logs)
		}
	}
}

// Running reports whether the process is still running.
func (p *Process) Running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID returns the id of the running process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// Kill ends the process immediately with SIGKILL and waits for its end.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait(time.Minute)
}

// Wait waits for the process to end and returns its exit code, -1 if a signal ended
// it.
func (p *Process) Wait(patience time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.cmd.Process.Kill()
		p.t.Fatalf("the service did not end within %v", patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Command runs the binary in the process's directory, as in `authsvc check`. It
// returns the exit code and the output, stdout and stderr together.
func (p *Process) Command(args ...string) (string, int) {
	p.t.Helper()
	cmd := exec.Command(Binary(p.t), args...)
	cmd.Dir, cmd.Env = p.Dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Dir}, p.env...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// Setenv sets a variable "NAME=value" for later starts and replaces an earlier value.
func (p *Process) Setenv(variable string) { p.env = append(slices.Clip(p.env), variable) }

// Env returns the variables of the process.
func (p *Process) Env() []string { return p.env }
