package main

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listenNotify returns the states that a process reports to a socket.
func listenNotify(t *testing.T, name string) <-chan string {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Skip(err) // not on every system
	}
	t.Cleanup(func() { conn.Close() })
	states := make(chan string, 10)
	go func() {
		defer close(states)
		for buf := make([]byte, 4096); ; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			states <- string(buf[:n])
		}
	}()
	return states
}

func awaitState(t *testing.T, states <-chan string, want string) {
	t.Helper()
	select {
	case got := <-states:
		if got != want {
			t.Errorf("the service reported %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Errorf("the service did not report %q", want)
	}
}

// TestNotify: serve tells the service manager that it is ready when it answers, and that
// it stops.
func TestNotify(t *testing.T) {
	t.Parallel()
	op, addr := startProvider(t), freeAddress(t)
	socket := filepath.Join(t.TempDir(), "notify")
	states := listenNotify(t, socket)
	l := newProcess(t, t.TempDir(), addr, testConfig("http://"+addr, op), "NOTIFY_SOCKET="+socket)
	l.start()
	awaitState(t, states, "READY=1")
	l.signal(syscall.SIGTERM)
	awaitState(t, states, "STOPPING=1")
	if code := l.waitForExit(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestNotifyWaitsForStore: a service whose store cannot be reached is not ready, and
// reports that it stops.
func TestNotifyWaitsForStore(t *testing.T) {
	t.Parallel()
	op, addr := startProvider(t), freeAddress(t)
	socket := filepath.Join(t.TempDir(), "notify")
	states := listenNotify(t, socket)
	l := newProcess(t, t.TempDir(), addr, testConfig("http://"+addr, op), "NOTIFY_SOCKET="+socket,
		"AUTHSVC_STORAGE_URL=postgres://nobody@"+freeAddress(t)+"/nothing?sslmode=disable")
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { l.err = l.cmd.Wait(); close(l.done) }()
	t.Cleanup(func() { l.cmd.Process.Kill(); <-l.done })
	l.waitForLog("storage", 1)
	l.signal(syscall.SIGTERM)
	awaitState(t, states, "STOPPING=1")
	l.waitForExit(patience)
}

// TestNotifyFails: without a manager nothing happens; if the socket cannot be used, the
// log says so, and the service continues.
func TestNotifyFails(t *testing.T) {
	t.Parallel()
	for socket, want := range map[string]string{
		"":                                    "",
		filepath.Join(t.TempDir(), "missing"): "cannot notify the service manager",
		"relative":                            "NOTIFY_SOCKET must be an absolute path",
		"vsock:2:1234":                        "NOTIFY_SOCKET must be an absolute path",
	} {
		var log bytes.Buffer
		p := &program{ctx: t.Context(), env: map[string]string{"NOTIFY_SOCKET": socket}}
		p.notify(slog.New(slog.NewTextHandler(&log, nil)), stateReady)
		if (want == "") != (log.Len() == 0) || !strings.Contains(log.String(), want) {
			t.Errorf("%q: the log says %q, want %q", socket, log.String(), want)
		}
	}
}

// TestNotifyAbstract: a name after @ is not a file.
func TestNotifyAbstract(t *testing.T) {
	t.Parallel()
	name := "@" + strings.ReplaceAll(t.TempDir(), "/", "-")
	states := listenNotify(t, name)
	p := &program{ctx: t.Context(), env: map[string]string{"NOTIFY_SOCKET": name}}
	p.notify(slog.New(slog.DiscardHandler), stateReady)
	awaitState(t, states, "READY=1")
}
