package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Cores to which the processes of a round are pinned. This program runs on the load's
// core: it makes load itself, and answers for mail servers and providers.
const (
	serverCore = 0
	loadCore   = 1
)

// pinned is set in the environment once this program runs on loadCore.
const pinned = "AUTHSVC_BENCH_PINNED"

// pinSelf restarts this program on loadCore: a running program cannot move all of its
// threads.
func pinSelf() error {
	if os.Getenv(pinned) != "" {
		return nil
	}
	if runtime.NumCPU() < 2 {
		return errors.New("this machine has one core: the server and the load need one each")
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return errors.New("taskset is missing, which pins processes to cores: apt-get install util-linux")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := append([]string{taskset, "-c", strconv.Itoa(loadCore), self}, os.Args[1:]...)
	env := append(os.Environ(), pinned+"="+strconv.Itoa(runtime.NumCPU()))
	return fmt.Errorf("taskset: %w", syscall.Exec(taskset, argv, env)) // #nosec G204 -- this program itself
}

// onAllCores returns the command that runs argv on all cores.
func onAllCores(argv ...string) []string {
	n, err := strconv.Atoi(os.Getenv(pinned))
	if err != nil {
		return argv
	}
	return append([]string{"taskset", "-c", "0-" + strconv.Itoa(n-1)}, argv...)
}

// pinBackends pins the processes of a local PostgreSQL that serve a database to
// serverCore, and lists them: on a small machine, the database runs next to the
// service. The processes end with their connections.
func pinBackends(database string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(line), "postgres: ") || !strings.Contains(string(line), " "+database+" ") {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err == nil && pin(pid) == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// pin moves a process with all its threads to serverCore.
func pin(pid int) error {
	return exec.Command("taskset", "-acp", strconv.Itoa(serverCore), strconv.Itoa(pid)).Run() // #nosec G204 -- numbers
}

// A machine describes the machine that took the measurements.
type machine struct {
	Processor string
	Cores     int
	Memory    float64 // GiB
	System    string
	Go        string
	Revision  string
	Day       string
	Rounds    int
	Length    time.Duration // of a round
}

func thisMachine(ctx context.Context, root string) machine {
	said := func(name string, args ...string) string {
		cmd := exec.CommandContext(ctx, name, args...) // #nosec G204 -- fixed
		cmd.Dir = root
		out, _ := cmd.Output() // "" means unknown
		return strings.TrimSpace(string(out))
	}
	kib, _ := strconv.ParseFloat(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 64)
	cores, _ := strconv.Atoi(os.Getenv(pinned))
	return machine{
		Processor: field("/proc/cpuinfo", "model name"), Cores: cores, Memory: kib / (1 << 20), System: said("uname", "-sr"),
		Go: said("go", "env", "GOVERSION"), Revision: said("git", "rev-parse", "--short", "HEAD"), Day: time.Now().UTC().Format(time.DateOnly),
	}
}

// field returns the value of the first line "name : value" of a file.
func field(file, name string) string {
	text, err := os.ReadFile(file) // #nosec G304 -- of /proc
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if before, after, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(before) == name {
			return strings.TrimSpace(after)
		}
	}
	return ""
}
