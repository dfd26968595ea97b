// Package target lists the machines that releases are built for.
package target

import (
	"fmt"
	"slices"
	"strings"
)

// A Target is an operating system and a processor, in the words of the go command.
type Target struct{ OS, Arch string }

// All lists the targets of a release. The processor of linux/arm is ARMv7.
var All = []Target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "arm"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// Parse reads targets such as linux/amd64, with commas between them. The word all
// stands for All.
func Parse(list string) ([]Target, error) {
	if list == "all" {
		return All, nil
	}
	var targets []Target
	for word := range strings.SplitSeq(list, ",") {
		os, arch, _ := strings.Cut(strings.TrimSpace(word), "/")
		t := Target{os, arch}
		if !slices.Contains(All, t) {
			return nil, fmt.Errorf("-targets: %q is not a target of releases: use all, or some of %s", word, Names(All))
		}
		if !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	return targets, nil
}

// Names returns the targets as Parse reads them.
func Names(targets []Target) string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.String()
	}
	return strings.Join(names, ",")
}

// String returns OS/ARCH.
func (t Target) String() string { return t.OS + "/" + t.Arch }

// Name returns the target as file names have it, such as linux-armv7.
func (t Target) Name() string {
	if t.Arch == "arm" {
		return t.OS + "-armv7"
	}
	return t.OS + "-" + t.Arch
}

// Env returns the environment variables that make the go command build for the target.
// They overrule each setting of the machine that changes code.
func (t Target) Env() []string {
	return []string{"GOOS=" + t.OS, "GOARCH=" + t.Arch, "GOAMD64=v1", "GOARM64=v8.0", "GOARM=7", "GOEXPERIMENT=", "CGO_ENABLED=0"}
}
