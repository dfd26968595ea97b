// Package skewed builds programs with a shifted clock: in the whole program, or in
// some goroutines, as if they ran on another machine. Linux cannot give a process its
// own wall clock: time namespaces do not cover it, and Go does not call libc for it.
package skewed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// variable names the environment variable that holds the shift.
const variable = "SKEW"

// Env returns the variable, "NAME=value", that shifts the clock of a process by whole
// seconds.
func Env(by time.Duration) string { return variable + "=" + by.String() }

// These constants patch time.Now.
const (
	now     = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n"
	patched = "\tsec, nsec, mono := runtimeNow()\n\tsec += skewHere()\n\tif mono == 0 {\n"
	offset  = `package time

import (
	"syscall"
	"unsafe"
)

var skew = inSeconds(func() string { v, _ := syscall.Getenv("` + variable + `"); return v }())

func inSeconds(v string) int64 {
	d, _ := ParseDuration(v)
	return int64(d / Second)
}

//go:linkname labels runtime/pprof.runtime_getProfLabel
func labels() unsafe.Pointer

// skewHere is that of a goroutine's label, inherited from the goroutine that started it.
func skewHere() int64 {
	set := (*struct{ list []struct{ key, value string } })(labels())
	if set == nil {
		return skew
	}
	for _, l := range set.list {
		if l.key == "` + label + `" {
			return inSeconds(l.value)
		}
	}
	return skew
}
`
)

// Build builds the command in a directory and returns its path. [Env] shifts the wall
// clock of its processes. Timers and durations stay right.
func Build(dir string) (string, error) {
	binary := filepath.Join(dir, "authsvc")
	return binary, run(dir, "build", "-o", binary, "authsvc/cmd/authsvc")
}

// BuildTest builds the tests of a package. [Set] and [At] shift the clocks in them.
func BuildTest(dir, pkg string) (string, error) {
	binary := filepath.Join(dir, "tests")
	return binary, run(dir, "test", "-c", "-vet=off", "-o", binary, pkg)
}

// run runs a build in a patched Go tree.
func run(dir, command string, args ...string) error {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	root := filepath.Join(dir, "go") // go cannot overlay files below GOMODCACHE, which holds toolchains
	if err := os.Symlink(strings.TrimSpace(string(out)), root); err != nil {
		return err
	}
	name := filepath.Join(root, "src", "time", "time.go")
	source, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if bytes.Count(source, []byte(now)) != 1 {
		return fmt.Errorf("time.Now of this Go is written in another way")
	}
	replace := map[string]string{}
	for place, text := range map[string]string{
		name: strings.Replace(string(source), now, patched, 1),
		filepath.Join(root, "src", "time", "skew.go"): offset,
	} {
		replace[place] = filepath.Join(dir, filepath.Base(place))
		if err := os.WriteFile(replace[place], []byte(text), 0o600); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return err
	}
	build := exec.Command(filepath.Join(root, "bin", "go"), append([]string{command, "-overlay", list}, args...)...)
	build.Env = append(os.Environ(), "GOROOT="+root, "GOTOOLCHAIN=local")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", command, err, out)
	}
	return nil
}
