package servertest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/test/freeport"
)

const (
	startTimeout = time.Minute // includes recovery after a kill on a busy machine
	stopTimeout  = time.Minute
	pingInterval = 20 * time.Millisecond
)

// A Server is a database server for one test, which may kill, freeze and restart it.
// It keeps acknowledged writes in its own directory, which is removed when the test
// ends. Its methods fail the test themselves, so call them only from the test's
// goroutine.
type Server struct {
	// URL names an empty database on the server. It stays the same after every Start.
	URL string

	t       testing.TB
	dir     string
	program program
	ping    func(ctx context.Context, server string) error
	running *process // nil between Kill or Stop and Start
}

// A program describes how to run a server.
type program struct {
	path string
	args []string
	user *account       // nil: the user who runs the test
	stop syscall.Signal // signal for an orderly end
}

// own creates a server in dir and starts it.
func own(t testing.TB, dir, url string, p program, ping func(context.Context, string) error) *Server {
	t.Helper()
	s := &Server{URL: url, t: t, dir: dir, program: p, ping: ping}
	t.Cleanup(s.discard)
	s.Start()
	return s
}

// Start runs the server on its existing data and port, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	if s.running != nil {
		s.t.Fatal("the server is running already")
	}
	running, err := run(s.program, s.dir)
	if err != nil {
		s.t.Fatalf("start %s: %v", filepath.Base(s.program.path), err)
	}
	s.running = running
	s.await()
}

// await returns when the server answers.
func (s *Server) await() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for s.ping(ctx, s.URL) != nil {
		select {
		case <-s.running.exited:
			s.t.Fatalf("%s ended at its start:\n%s", filepath.Base(s.program.path), s.logged())
		case <-ctx.Done():
			s.t.Fatalf("%s does not answer:\n%s", filepath.Base(s.program.path), s.logged())
		case <-tick.C:
		}
	}
}

// Kill ends all processes of the server immediately. It resembles a power loss,
// except that the operating system still writes its buffers.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.live().kill(); err != nil {
		s.t.Fatal(err)
	}
	s.running = nil
}

// Freeze suspends all processes of the server: connections stay open, and nothing
// answers.
func (s *Server) Freeze() {
	s.t.Helper()
	if err := s.live().freeze(); err != nil {
		s.t.Fatal(err)
	}
}

// Thaw resumes a frozen server.
func (s *Server) Thaw() {
	s.t.Helper()
	if err := s.live().thaw(); err != nil {
		s.t.Fatal(err)
	}
}

// Stop shuts the server down and closes its connections.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.live().stop(s.program.stop); err != nil {
		s.t.Fatal(err)
	}
	s.running = nil
}

func (s *Server) live() *process {
	s.t.Helper()
	if s.running == nil {
		s.t.Fatal("the server is not running")
	}
	return s.running
}

// discard ends all processes and removes the directory.
func (s *Server) discard() {
	if s.t.Failed() {
		s.t.Logf("the last lines of %s:\n%s", filepath.Base(s.program.path), s.logged())
	}
	if s.running != nil {
		if err := s.running.kill(); err != nil {
			s.t.Error(err)
		}
	}
	releaseSharedMemory(s.dir)
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Error(err)
	}
}

// logged returns the last lines of the server's output.
func (s *Server) logged() string {
	const enough = 4 << 10
	text, err := os.ReadFile(filepath.Join(s.dir, logName))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-enough):])
}

// logName names the file in a server's directory that receives its output.
const logName = "log"

// freePort returns a free port.
func freePort(t testing.TB) string {
	t.Helper()
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}
