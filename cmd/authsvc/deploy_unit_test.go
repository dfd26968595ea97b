package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readUnit returns the settings of deploy/authsvc.service. A setting that is given more
// than once has a line for each value.
func readUnit(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "authsvc.service"))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, v, found := strings.Cut(strings.TrimSpace(line), "=")
		if !found || strings.HasPrefix(name, "#") {
			continue
		}
		if settings[name] != "" {
			v = settings[name] + "\n" + v
		}
		settings[name] = v
	}
	return settings
}

// TestUnit: systemd accepts the unit, and finds little that a service could do beyond
// its work. The exposure of at most 1.5 of 10 includes the network, which authsvc needs.
func TestUnit(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze: apt install systemd")
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "authsvc.service"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "authsvc.service")
	installed := strings.ReplaceAll(string(raw), "/usr/local/bin/authsvc", self) // verify looks for the program
	if err := os.WriteFile(unit, []byte(installed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=15", "--no-pager", unit}} {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// TestUnitFitsProgram: the limits of the unit are those of the program.
func TestUnitFitsProgram(t *testing.T) {
	t.Parallel()
	unit := readUnit(t)
	stop, err := time.ParseDuration(unit["TimeoutStopSec"])
	if least := time.Minute + drainTime + closeTime; err != nil || stop <= least { // stop_delay is at most a minute
		t.Errorf("TimeoutStopSec=%s, %v: a stop may take %v", unit["TimeoutStopSec"], err, least)
	}
	files, err := strconv.ParseUint(unit["LimitNOFILE"], 10, 64)
	if n := connectionLimit(files); err != nil || n != maxConnections {
		t.Errorf("LimitNOFILE=%s, %v: only %d connections", unit["LimitNOFILE"], err, n)
	}
	if unit["RestartPreventExitStatus"] != strconv.Itoa(exitUsage) {
		t.Errorf("RestartPreventExitStatus=%s: a wrong configuration ends with %d", unit["RestartPreventExitStatus"], exitUsage)
	}
	args := strings.Fields(unit["ExecStart"])
	if path, err := commandPath(args[1:]); err != nil || path != "serve" || args[0] != "/usr/local/bin/authsvc" {
		t.Errorf("ExecStart=%s runs %s, %v", unit["ExecStart"], path, err)
	}
	for name, want := range map[string]string{"Type": "notify", "ExecReload": "/bin/kill -HUP $MAINPID", "StateDirectory": "authsvc", "TimeoutStartSec": "infinity"} {
		if unit[name] != want {
			t.Errorf("%s=%s, want %s", name, unit[name], want)
		}
	}
}

// TestUnitRestartsAfterCrash: with the variables of the unit, a crash does not end with
// the exit code after which systemd leaves the service ended. Without them, it does.
func TestUnitRestartsAfterCrash(t *testing.T) {
	t.Parallel()
	unit := readUnit(t)
	if unit["LimitCORE"] != "0" {
		t.Errorf("LimitCORE=%s: a dump of the memory has secrets", unit["LimitCORE"])
	}
	op := startProvider(t)
	for name, env := range map[string][]string{"alone": nil, "with the unit": strings.Split(unit["Environment"], "\n")} {
		env = slices.DeleteFunc(slices.Clone(env), func(line string) bool { return strings.HasPrefix(line, "AUTHSVC_") }) // files of an installation
		addr := freeAddress(t)
		l := newProcess(t, t.TempDir(), addr, testConfig("http://"+addr, op), env...)
		l.start()
		l.signal(syscall.SIGQUIT) // Go ends as after a panic
		code := l.waitForExit(patience)
		if prevented := strconv.Itoa(code) == unit["RestartPreventExitStatus"]; prevented != (env == nil) {
			t.Errorf("%s: a crash ends with %d, %v", name, code, l.cmd.ProcessState)
		}
	}
}
