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
	log    string        // file with its output
	done   chan struct{} // closed when it has ended
	start  started
	behind *server      // a server that it depends on; stops with it
	beside []int        // processes whose time counts as its own
	pins   func() []int // lists and pins further processes, a database's; nil: there are none
}

// A started holds the time of a server from exec to the first answer.
type started struct{ Clock, CPU time.Duration }

// startServer runs a program and waits until GET ready returns 200.
func startServer(ctx context.Context, dir, addr, ready string, argv ...string) (_ *server, err error) {
	log, err := os.Create(filepath.Join(dir, "server-"+strconv.FormatInt(time.Now().UnixNano(), 36)+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	argv = append([]string{"taskset", "-c", strconv.Itoa(serverCore)}, argv...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- of this program's own making
	cmd.Stdout, cmd.Stderr = log, log
	// Variables that configure another service would configure this one.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(line, "AUTHSVC_") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	s := &server{cmd: cmd, addr: addr, log: log.Name(), done: make(chan struct{})}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // the exit status does not matter
		close(s.done)
	}()
	for !answers(addr, ready) {
		if s.ended() || time.Since(begin) > 20*time.Second {
			s.stop()
			text, _ := os.ReadFile(s.log)
			return nil, fmt.Errorf("%s does not answer at %s:\n%s", filepath.Base(argv[3]), addr, text)
		}
		time.Sleep(200 * time.Microsecond)
	}
	s.start.Clock = time.Since(begin)
	s.start.CPU, _ = s.computed()
	return s, nil
}

func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// answers reports whether one request on a new connection succeeds.
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

// stop ends the server as an operator would, and kills it after 10 s.
func (s *server) stop() {
	if !s.ended() {
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	}
	timer := time.AfterFunc(10*time.Second, func() { syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	<-s.done
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

// computed returns the processor time of the server and the processes beside and
// behind it, and the number of processes.
func (s *server) computed() (total time.Duration, processes int) {
	pids := append([]int{s.cmd.Process.Pid}, s.beside...)
	if s.pins != nil {
		pids = append(pids, s.pins()...)
	}
	if s.behind != nil {
		pids = append(pids, s.behind.cmd.Process.Pid)
	}
	for _, pid := range pids {
		total += processorTime(pid)
	}
	return total, len(pids)
}

// processorTime returns the processor time of all threads of a process.
func processorTime(pid int) (total time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		text, err := os.ReadFile(file) // #nosec G304 -- of /proc
		if err != nil {
			continue // the thread has ended
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(ran, 10, 64)
		total += time.Duration(ns)
	}
	return total
}

// ticksPerSecond is USER_HZ, the unit in which Linux reports processor time.
const ticksPerSecond = 100

// coreTicks returns how long programs ran on a core, and how long the hypervisor took
// it away.
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

// memory returns the server's memory in MiB: resident, and the part that is not
// backed by a file, which the system cannot reclaim.
func (s *server) memory() (resident, anonymous float64) {
	of := func(name string) float64 {
		text := field(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid), name)
		kib, _ := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
		return kib / 1024
	}
	return of("VmRSS"), of("RssAnon")
}
