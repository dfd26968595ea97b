package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A server is a program under test, pinned to serverCore.
type server struct {
	cmd    *exec.Cmd
	addr   string
	log    string // file with what it printed
	start  time.Duration
	behind *server      // what it asks, stopped with it
	beside []int        // processes whose time is its own too, such as a database's
	pins   func() []int // lists them, and pins them; nil: there are none, or no more
}

// startServer runs a program and waits until GET ready is answered with 200.
func startServer(ctx context.Context, dir, addr, ready string, argv ...string) (_ *server, err error) {
	log, err := os.Create(filepath.Join(dir, "server-"+strconv.FormatInt(time.Now().UnixNano(), 36)+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	argv = append([]string{"taskset", "-c", strconv.Itoa(serverCore)}, argv...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- of this program's own making
	cmd.Stdout, cmd.Stderr = log, log
	// What a service is configured by would be configuration of this one.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(line, "AUTHSVC_") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	s := &server{cmd: cmd, addr: addr, log: log.Name()}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for !answers(addr, ready) {
		if time.Since(begin) > 20*time.Second {
			s.stop()
			text, _ := os.ReadFile(s.log)
			return nil, fmt.Errorf("%s does not answer at %s:\n%s", filepath.Base(argv[3]), addr, text)
		}
		time.Sleep(200 * time.Microsecond)
	}
	s.start = time.Since(begin)
	return s, nil
}

// answers reports whether one request over a connection of its own succeeds.
func answers(addr, path string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, addr)
	line := make([]byte, len("HTTP/1.1 200"))
	_, err = io.ReadFull(conn, line)
	return err == nil && string(line) == "HTTP/1.1 200"
}

// stop ends the server as its operator would, and kills it after 10 s.
func (s *server) stop() {
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	timer := time.AfterFunc(10*time.Second, func() { syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	s.cmd.Wait()
	timer.Stop()
	if s.behind != nil {
		s.behind.stop()
	}
}

// get returns the body of one answer.
func (s *server) get(path, cookie string) (string, error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		return "", err
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return string(body), err
}

// ticksPerSecond is USER_HZ, in which Linux counts time for programs.
const ticksPerSecond = 100

// ticks is the processor time of the server, and of what is beside it.
func (s *server) ticks() (own, beside int64) {
	own = processTicks(s.cmd.Process.Pid)
	for _, pid := range s.beside {
		beside += processTicks(pid)
	}
	if s.behind != nil {
		beside += processTicks(s.behind.cmd.Process.Pid)
	}
	return own, beside
}

func processTicks(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return user + system
}

// computed is the processor time of the server, more exactly than ticks.
func (s *server) computed() (total time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	for _, file := range files {
		text, err := os.ReadFile(file) // #nosec G304 -- of /proc
		if err != nil {
			continue // a thread that ended
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(ran, 10, 64)
		total += time.Duration(ns)
	}
	return total
}

// coreTicks is how long programs ran on a core, and how long the machine beneath
// took it away.
func coreTicks(core int) (programs, stolen int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if f[0] != "cpu"+strconv.Itoa(core) || len(f) < 9 {
			continue
		}
		for _, i := range []int{1, 2, 3} { // user, nice, system
			n, _ := strconv.ParseInt(f[i], 10, 64)
			programs += n
		}
		stolen, _ = strconv.ParseInt(f[8], 10, 64)
	}
	return programs, stolen
}

// rss is the resident memory of the server in MiB.
func (s *server) rss() float64 {
	text := field(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid), "VmRSS")
	kib, _ := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	return kib / 1024
}
