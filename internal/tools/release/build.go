package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"authsvc/internal/tools/target"
)

// A source is the commit that a release is built from.
type source struct {
	commit  string
	at      time.Time
	version string // as Go derives it from the tags; the first binary tells
}

// build writes the files of a release and returns SHA256SUMS.
func build(ctx context.Context, o options) ([]byte, error) {
	src, err := examine(ctx, o)
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(o.out); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: remove it first", o.out)
	}
	work, err := os.MkdirTemp("", "authsvc-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	around, err := accompanying(o.tree)
	if err != nil {
		return nil, err
	}
	var all []file
	for _, t := range o.targets {
		begun := time.Now()
		files, err := forTarget(ctx, o, work, t, src, around)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		all = append(all, files...)
		fmt.Fprintf(o.log, "%-40s %4d s\n", files[0].name, int(time.Since(begun).Seconds()))
	}
	client, err := packClient(ctx, o.tree, work, src)
	if err != nil {
		return nil, err
	}
	all = append(all, client)
	sums, err := checksums(all)
	if err != nil {
		return nil, err
	}
	if err := write(o.out, append(all, file{name: sumsFile, data: sums})); err != nil {
		return nil, err
	}
	if o.key != "" {
		if err := sign(ctx, o.key, filepath.Join(o.out, sumsFile)); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(o.log, "authsvc %s: %d files and %s in %s\n", src.version, len(all), sumsFile, o.out)
	return sums, nil
}

// examine reads the commit of the tree, which must have no changes.
func examine(ctx context.Context, o options) (*source, error) {
	changed, err := git(ctx, o.tree, "status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return nil, err
	}
	if changed != "" {
		return nil, fmt.Errorf("the tree has changes, which no commit could reproduce: commit or remove them first\n%s", changed)
	}
	said, err := git(ctx, o.tree, "log", "-1", "--no-show-signature", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	commit, seconds, _ := strings.Cut(said, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git log: %w", err)
	}
	src := &source{commit: commit, at: time.Unix(unix, 0)}
	if o.version == "" {
		return src, nil
	}
	tags, err := git(ctx, o.tree, "tag", "--points-at", "HEAD")
	if err != nil {
		return nil, err
	}
	for tag := range strings.FieldsSeq(tags) {
		if tag == o.version {
			return src, nil
		}
	}
	return nil, fmt.Errorf("commit %.12s does not have the tag %s: check out the tag, or make it first: git tag %s", commit, o.version, o.version)
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := output(exec.CommandContext(ctx, "git", args...), dir)
	return strings.TrimSpace(string(out)), err
}

// output runs a command in dir. An error has the end of what the command wrote.
func output(cmd *exec.Cmd, dir string) ([]byte, error) {
	var said bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot run %s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out, said.Bytes())
	}
	return out, nil
}

// accompanying returns the files that every archive has beside the program.
func accompanying(tree string) ([]file, error) {
	var files []file
	for _, from := range []string{"LICENSE", "THIRD_PARTY_LICENSES.md", "internal/tools/release/archive/README.md", "internal/tools/release/archive/authsvc.yaml"} {
		data, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(from)))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: filepath.Base(from), data: data})
	}
	return files, nil
}

// forTarget returns the archive and the SBOM of a target.
func forTarget(ctx context.Context, o options, work string, t target.Target, src *source, around []file) ([]file, error) {
	program := file{name: "authsvc", program: true}
	if t.OS == "windows" {
		program.name += ".exe"
	}
	binary := filepath.Join(work, t.Name(), program.name)
	if err := compile(ctx, o, t, binary); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	if err := judge(info, t, src, o.version); err != nil {
		return nil, err
	}
	if program.data, err = os.ReadFile(binary); err != nil {
		return nil, err
	}
	if t.OS == "linux" {
		if err := static(program.data); err != nil {
			return nil, err
		}
	}
	parts := filepath.Join(work, t.Name(), "parts.json")
	if _, err := output(exec.CommandContext(ctx, "make", "--no-print-directory", "parts", "BINARY="+binary, "SBOM="+parts), o.tree); err != nil {
		return nil, err
	}
	sbom, err := os.ReadFile(parts)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("authsvc-%s-%s", src.version, t.Name())
	archive := file{name: name + ".tar.gz"}
	files := append([]file{program}, around...)
	if t.OS == "windows" {
		archive.name = name + ".zip"
		archive.data, err = zipped(name, files, src.at)
	} else {
		archive.data, err = tarball(name, files, src.at)
	}
	if err == nil && t == host() && t.OS != "windows" {
		err = says(ctx, name, archive.data, work, src)
	}
	return []file{archive, {name: name + ".cdx.json", data: sbom}}, err
}

// host returns the target of this machine.
func host() target.Target { return target.Target{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// compile builds the program with the flags of make build.
func compile(ctx context.Context, o options, t target.Target, binary string) error {
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "build", "BINARY="+binary)
	cmd.Env = append(cmd.Environ(), t.Env()...)
	if o.cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+o.cache)
	}
	_, err := output(cmd, o.tree)
	return err
}

// judge checks what is stamped into a binary: the commit, and a version that is the same
// in every binary. It reports all mistakes.
func judge(info *debug.BuildInfo, t target.Target, src *source, version string) error {
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if src.version == "" {
		src.version = info.Main.Version
	}
	want := map[string]string{"GOOS": t.OS, "GOARCH": t.Arch, "CGO_ENABLED": "0", "-trimpath": "true", "vcs.revision": src.commit, "vcs.modified": "false"}
	if t.Arch == "arm" {
		want["GOARM"] = "7"
	}
	var mistakes []error
	for _, key := range []string{"GOOS", "GOARCH", "GOARM", "CGO_ENABLED", "-trimpath", "vcs.revision", "vcs.modified"} {
		if value := set[key]; want[key] != "" && value != want[key] {
			mistakes = append(mistakes, fmt.Errorf("the binary says %s=%q, not %q: build from a clone made by git, with make build", key, value, want[key]))
		}
	}
	switch {
	case info.Main.Version == "" || info.Main.Version == "(devel)":
		mistakes = append(mistakes, errors.New("the binary has no version: build from a clone that has its tags"))
	case info.Main.Version != src.version:
		mistakes = append(mistakes, fmt.Errorf("the binary says version %s, but another one %s", info.Main.Version, src.version))
	case version != "" && info.Main.Version != version:
		mistakes = append(mistakes, fmt.Errorf("the binary says version %s, not %s: the name of a tag must be a version such as v0.1.0, and no higher tag may be at the same commit", info.Main.Version, version))
	}
	return errors.Join(mistakes...)
}

// static returns an error if the program needs a loader or shared libraries.
func static(program []byte) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("the binary needs a loader: it must be static")
		}
	}
	return nil
}

// says runs the program in an archive for this machine. It must name its version and
// its commit.
func says(ctx context.Context, folder string, archive []byte, work string, src *source) error {
	files, err := untarred(folder, archive)
	if err != nil {
		return err
	}
	dir := filepath.Join(work, "unpacked")
	if err := write(dir, files); err != nil {
		return err
	}
	said, err := output(exec.CommandContext(ctx, filepath.Join(dir, "authsvc"), "version"), dir)
	if err != nil {
		return err
	}
	if first, _, _ := strings.Cut(string(said), "\n"); first != "authsvc "+src.version || !strings.Contains(string(said), src.commit) {
		return fmt.Errorf("authsvc version prints %q, without version %s or commit %s", said, src.version, src.commit)
	}
	return nil
}

// write writes files into a folder, which it makes.
func write(dir string, files []file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- files for everyone
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, os.FileMode(f.mode())); err != nil { // #nosec G115 -- 0644 or 0755
			return err
		}
	}
	return nil
}

// sumsFile lists the checksums, in the format of sha256sum.
const sumsFile = "SHA256SUMS"

func checksums(files []file) ([]byte, error) {
	files, err := arranged(files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return out.Bytes(), nil
}
