package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc/internal/tools/target"
)

var (
	commitTime = time.Unix(1_767_322_845, 0)
	sample     = []file{{"authsvc", []byte("\x7fELF"), true}, {"LICENSE", []byte("Apache"), false}, {"docs/a.md", nil, false}}
)

// TestTarball reads an archive again. Its bytes depend on names, contents and one time.
func TestTarball(t *testing.T) {
	t.Parallel()
	raw, err := tarball("authsvc-v0.1.0-linux-amd64", sample, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if !packed.ModTime.IsZero() || packed.Name != "" || packed.Comment != "" || packed.Extra != nil {
		t.Errorf("gzip has %+v", packed.Header)
	}
	var names []string
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		mode := int64(0o644)
		if strings.HasSuffix(h.Name, "/authsvc") {
			mode = 0o755
		}
		if h.Typeflag != tar.TypeReg || h.Mode != mode || h.Uid != 0 || h.Gid != 0 || h.Uname != "root" || h.Gname != "root" || !h.ModTime.Equal(commitTime) || h.PAXRecords != nil || !h.AccessTime.IsZero() {
			t.Errorf("%+v", h)
		}
	}
	if want := []string{"authsvc-v0.1.0-linux-amd64/LICENSE", "authsvc-v0.1.0-linux-amd64/authsvc", "authsvc-v0.1.0-linux-amd64/docs/a.md"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
	again(t, raw, tarball)
	flat, err := tarball("package", sample[:2], commitTime)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := untarred("package", flat); err != nil || len(files) != 2 || !cmp.Equal(files[1], sample[0], cmp.AllowUnexported(file{})) {
		t.Errorf("%v, %v", files, err)
	}
	if _, err := untarred("other", flat); err == nil {
		t.Error("a file outside of the folder is accepted")
	}
}

// TestZipped does the same for .zip.
func TestZipped(t *testing.T) {
	t.Parallel()
	raw, err := zipped("authsvc-v0.1.0-windows-amd64", sample, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(f.Name, "/authsvc") {
			mode = 0o755
		}
		if f.Mode() != mode || !f.Modified.Equal(commitTime) || f.Comment != "" {
			t.Errorf("%+v", f.FileHeader)
		}
	}
	if want := []string{"authsvc-v0.1.0-windows-amd64/LICENSE", "authsvc-v0.1.0-windows-amd64/authsvc", "authsvc-v0.1.0-windows-amd64/docs/a.md"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
	again(t, raw, zipped)
}

// again writes the sample in another order and another time zone, which must give the
// same bytes, and with another time, which must not. Names that lead out of the folder
// are refused.
func again(t *testing.T, raw []byte, archive func(string, []file, time.Time) ([]byte, error)) {
	t.Helper()
	folder := "authsvc-v0.1.0-linux-amd64"
	if bytes.Contains(raw, []byte("windows")) {
		folder = "authsvc-v0.1.0-windows-amd64"
	}
	turned := slices.Clone(sample)
	slices.Reverse(turned)
	other, err := archive(folder, turned, commitTime.Add(300*time.Millisecond).In(time.FixedZone("x", 3600)))
	if err != nil || !bytes.Equal(raw, other) {
		t.Errorf("other bytes for the same files: %v", err)
	}
	if later, err := archive(folder, sample, commitTime.Add(2*time.Second)); err != nil || bytes.Equal(raw, later) {
		t.Errorf("twin: the time is not in the archive: %v", err)
	}
	for _, name := range []string{"", "/etc/passwd", "../a", "a/../../b", "..", "a//b", "./a"} {
		if _, err := archive(folder, []file{{name: name}}, commitTime); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	if _, err := archive(folder, []file{{name: "a"}, {name: "a"}}, commitTime); err == nil {
		t.Error("a name is accepted twice")
	}
}

// TestTargets compares the list of targets with the documentation and with the go
// command.
func TestTargets(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "release.md"))
	if err != nil {
		t.Fatal(err)
	}
	known, err := exec.CommandContext(t.Context(), "go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, goal := range target.All {
		if !strings.Contains(string(page), "-"+goal.Name()) {
			t.Errorf("docs/release.md does not name %s", goal.Name())
		}
		if !slices.Contains(strings.Fields(string(known)), goal.String()) {
			t.Errorf("the go command does not know %s", goal)
		}
	}
	if len(target.All) != 7 {
		t.Errorf("%d targets", len(target.All))
	}
	for list, want := range map[string]string{
		"all":                                    target.Names(target.All),
		"linux/arm, windows/arm64":               "linux/arm,windows/arm64",
		"linux/amd64,linux/amd64":                "linux/amd64",
		"plan9/amd64":                            "",
		"linux":                                  "",
		"":                                       "",
		"linux/amd64,":                           "",
		"linux/amd64,windows/arm64,darwin/arm64": "linux/amd64,windows/arm64,darwin/arm64",
	} {
		got, err := target.Parse(list)
		if target.Names(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %v, %v", list, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "darwin/amd64") {
			t.Errorf("%q: %v does not list the targets", list, err)
		}
	}
}

// TestJudge: a binary must be made from the commit, for the target, without cgo and
// paths, and with the version of the others.
func TestJudge(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	good := map[string]string{"GOOS": "linux", "GOARCH": "arm", "GOARM": "7", "CGO_ENABLED": "0", "-trimpath": "true", "vcs.revision": commit, "vcs.modified": "false"}
	for name, c := range map[string]struct {
		key, value, version, tag string
		want                     string
	}{
		"good":             {version: "v0.1.0", tag: "v0.1.0"},
		"good, no tag":     {version: "v0.0.0-20260102030405-0123456789ab"},
		"another system":   {"GOOS", "windows", "v0.1.0", "", `GOOS="windows", not "linux"`},
		"another ARM":      {"GOARM", "5", "v0.1.0", "", `GOARM="5", not "7"`},
		"cgo":              {"CGO_ENABLED", "1", "v0.1.0", "", `CGO_ENABLED="1"`},
		"with paths":       {"-trimpath", "", "v0.1.0", "", "-trimpath"},
		"another commit":   {"vcs.revision", "fedcba", "v0.1.0", "", "vcs.revision"},
		"changed":          {"vcs.modified", "true", "v0.1.0+dirty", "", "vcs.modified"},
		"without git":      {"vcs.revision", "", "(devel)", "", "no version"},
		"another tag":      {version: "v0.2.0", tag: "v0.1.0", want: "version v0.2.0, not v0.1.0"},
		"a tag like a day": {version: "v0.0.0-20260102030405-0123456789ab", tag: "monday", want: "the name of a tag must be a version"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}}
		for key, value := range good {
			if key == c.key {
				value = c.value
			}
			info.Settings = append(info.Settings, debug.BuildSetting{Key: key, Value: value})
		}
		src := &source{commit: commit}
		err := judge(info, target.Target{OS: "linux", Arch: "arm"}, src, c.tag)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && src.version != c.version {
			t.Errorf("%s: %+v", name, src)
		}
		info.Main.Version = "v9.9.9"
		if err := judge(info, target.Target{OS: "linux", Arch: "arm"}, &source{commit: commit, version: "v0.1.0"}, ""); err == nil || !strings.Contains(err.Error(), "another one v0.1.0") {
			t.Errorf("%s: two versions: %v", name, err)
		}
	}
}

// TestExamine: a release is made from a commit, with the tag if one is demanded.
func TestExamine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "GIT_COMMITTER_DATE=1767322845 +0100")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "a commit")
	if _, err := examine(t.Context(), options{tree: dir, version: "v0.1.0"}); err == nil || !strings.Contains(err.Error(), "git tag v0.1.0") {
		t.Errorf("without the tag: %v", err)
	}
	git("tag", "v0.1.0")
	git("tag", "other")
	git("config", "log.showSignature", "true") // settings of the machine must not matter
	git("config", "status.showUntrackedFiles", "no")
	src, err := examine(t.Context(), options{tree: dir, version: "v0.1.0"})
	if err != nil || !src.at.Equal(commitTime) || len(src.commit) != 40 || src.version != "" {
		t.Errorf("%+v, %v", src, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := examine(t.Context(), options{tree: dir}); err == nil || !strings.Contains(err.Error(), "new.go") || !strings.Contains(err.Error(), "commit or remove") {
		t.Errorf("with a new file: %v", err)
	}
	if _, err := examine(t.Context(), options{tree: t.TempDir()}); err == nil {
		t.Error("a folder without a repository is accepted")
	}
}

// TestSame: the comparison of two builds finds every difference.
func TestSame(t *testing.T) {
	t.Parallel()
	folder := func(files ...file) string {
		dir := t.TempDir()
		if err := write(dir, files); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	a, b := file{name: "a.zip", data: []byte("one")}, file{name: "b.zip", data: []byte("two")}
	if n, err := same(folder(a, b), folder(b, a)); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	changed := file{name: "a.zip", data: []byte("onE")}
	for name, c := range map[string]struct {
		one, two []file
		want     []string
	}{
		"a byte":      {[]file{a, b}, []file{changed, b}, []string{"a.zip differs"}},
		"one less":    {[]file{a, b}, []file{b}, []string{"a.zip differs"}},
		"one more":    {[]file{b}, []file{a, b}, []string{"a.zip is in the second"}},
		"two of them": {[]file{a}, []file{b}, []string{"a.zip differs", "b.zip is in the second"}},
		"none":        {nil, nil, []string{"no files"}},
	} {
		_, err := same(folder(c.one...), folder(c.two...))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

// TestFlags: wrong arguments are refused before anything is built, and a folder that
// has files is not touched.
func TestFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-targets linux":   "is not a target",
		"-twice -key k":    "leave out -key",
		"linux/amd64":      "unexpected argument",
		"-tree nowhere":    "cannot run git",
		"-version v0.1.0 ": "",
	} {
		if want == "" {
			continue
		}
		if err := run(t.Context(), io.Discard, strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	if err := static([]byte("MZ")); err == nil {
		t.Error("a file that is not ELF is static")
	}
}

// TestClient packs the npm package twice. Tests of clients/js check which files are in
// it, and e2e installs it.
func TestClient(t *testing.T) {
	t.Parallel()
	if os.Getenv("AUTHSVC_E2E") != "1" {
		t.Skip("needs npm; to run it, set AUTHSVC_E2E=1")
	}
	root := filepath.Join("..", "..", "..")
	var first file
	for i, version := range []string{"v0.1.0", "v0.1.0", "v0.0.0-20260102030405-0123456789ab"} {
		packed, err := packClient(t.Context(), root, t.TempDir(), &source{version: version, at: commitTime})
		if err != nil {
			t.Fatal(err)
		}
		files, err := untarred("package", packed.data)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(files, func(f file) bool { return f.name == "package.json" })
		if at < 0 || !strings.Contains(string(files[at].data), `"version": "`+version[1:]+`"`) || strings.Contains(string(files[at].data), `"private"`) {
			t.Errorf("%s: package.json is %s", version, files[max(at, 0)].data)
		}
		switch i {
		case 0:
			first = packed
			if !strings.HasSuffix(packed.name, "-client-0.1.0.tgz") {
				t.Error(packed.name)
			}
		case 1:
			if packed.name != first.name || !bytes.Equal(packed.data, first.data) {
				t.Error("other bytes for the same version")
			}
		default:
			if packed.name == first.name || bytes.Equal(packed.data, first.data) {
				t.Errorf("twin: the version is not in %s", packed.name)
			}
		}
	}
}

// page returns the commands of docs/release.md by their first word, and the whole page.
func page(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "release.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestPage follows docs/release.md as a person does who downloads a release: with
// checksums, with a signature by a new key, and to the installed program.
func TestPage(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"ssh-keygen", "sha256sum", "tar", "install"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("AUTHSVC_E2E") != "1" {
			t.Skipf("needs %s", tool)
		}
	}
	dir, bin := t.TempDir(), t.TempDir()
	shell := func(line string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(line, "/usr/local/bin", bin))
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	program := file{name: "authsvc", data: []byte("#!/bin/sh\necho \"authsvc v0.1.0 $1\"\n"), program: true}
	data, err := tarball("authsvc-v0.1.0-linux-amd64", []file{program}, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	archive := file{name: "authsvc-v0.1.0-linux-amd64.tar.gz", data: data}
	sums, err := checksums([]file{archive, {name: "authsvc-v0.1.0-windows-amd64.zip", data: []byte("not downloaded")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := write(dir, []file{archive, {name: sumsFile, data: sums}}); err != nil {
		t.Fatal(err)
	}
	keys := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(keys, "key")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := sign(t.Context(), filepath.Join(keys, "key"), filepath.Join(dir, sumsFile)); err != nil {
		t.Fatal(err)
	}
	if err := sign(t.Context(), filepath.Join(keys, "none"), filepath.Join(dir, sumsFile)); err == nil {
		t.Error("a key that is not there signs")
	}
	public, err := os.ReadFile(filepath.Join(keys, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "allowed_signers"), append([]byte("release@example.org "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, verify, install := block(t, "sha256sum "), block(t, "ssh-keygen "), block(t, "tar ")
	for command, want := range map[string]string{sum: "linux-amd64.tar.gz: OK", verify: `Good "authsvc-release" signature for release@example.org`} {
		if out, err := shell(command); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s%v: %s", command, err, out)
		}
	}
	if out, err := shell(install); err != nil || out != "authsvc v0.1.0 version\n" {
		t.Errorf("%s%v: %s", install, err, out)
	}
	for name, damage := range map[string]func() error{
		"another archive": func() error { return write(dir, []file{{name: archive.name, data: []byte("other")}}) },
		"other checksums": func() error { return write(dir, []file{{name: sumsFile, data: append(sums, '\n')}}) },
	} {
		command := sum
		if name == "other checksums" {
			command = verify
		}
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		out, err := shell(command)
		if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// block returns the block of the page that begins with a command.
func block(t *testing.T, command string) string {
	t.Helper()
	_, rest, found := strings.Cut(page(t), "```sh\n"+command)
	text, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatalf("docs/release.md has no block that begins with %s", command)
	}
	return command + text
}
