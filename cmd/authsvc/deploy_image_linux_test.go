package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"authsvc/internal/test/logbuffer"
)

// An instruction is a line of a Dockerfile: a word and its arguments.
type instruction struct{ word, args string }

// A stage is a stage of a Dockerfile.
type stage struct {
	name, base string
	lines      []instruction
}

// readDockerfile returns the stages of deploy/Dockerfile.
func readDockerfile(t *testing.T) (stages []stage) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		word, args, _ := strings.Cut(line, " ")
		if word == "FROM" {
			base, name, _ := strings.Cut(args, " AS ")
			stages = append(stages, stage{name: name, base: base})
			continue
		}
		if len(stages) == 0 {
			t.Fatalf("%s before FROM", word)
		}
		last := &stages[len(stages)-1]
		last.lines = append(last.lines, instruction{word, args})
	}
	return stages
}

// TestImageGoVersion: the image is built by the toolchain that builds and tests
// everything else.
func TestImageGoVersion(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^toolchain go(\S+)$`).FindStringSubmatch(string(mod))
	if m == nil {
		t.Fatal("go.mod has no toolchain")
	}
	if base := readDockerfile(t)[0].base; !strings.HasPrefix(base, "docker.io/library/golang:"+m[1]+"-") {
		t.Errorf("deploy/Dockerfile begins with %s, and go.mod has toolchain go%s", base, m[1])
	}
}

// An image is a root file system that a test made, and how to run it.
type image struct {
	root, dir  string
	env        []string
	uid, gid   uint32
	entrypoint []string
	cmd        []string
	health     []string
}

// TestDeploy builds the program as deploy/Dockerfile does, and runs it in the file system
// of the image and as docs/deploy.md installs it.
func TestDeploy(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	stages := readDockerfile(t)
	if len(stages) != 2 || stages[1].base != "scratch" {
		t.Fatalf("%d stages, the last one from %s", len(stages), stages[len(stages)-1].base)
	}
	built := buildStage(t, stages[0])
	t.Run("image", func(t *testing.T) {
		t.Parallel()
		testImage(t, layOut(t, stages[1], built))
	})
	t.Run("systemd", func(t *testing.T) {
		t.Parallel()
		testInstall(t, built("/src"))
	})
}

// testImage runs the image without a container engine, as its user, until its health
// check succeeds and a person can sign in.
func testImage(t *testing.T, img *image) {
	t.Helper()
	if img.uid == 0 || img.gid == 0 {
		t.Errorf("the program runs as %d:%d", img.uid, img.gid)
	}
	for _, name := range []string{"/etc/ssl/certs/ca-certificates.crt", "/authsvc", "/data"} {
		if !exists(filepath.Join(img.root, name)) {
			t.Errorf("the image lacks %s", name)
		}
	}
	img.serve(t)
}

// buildStage copies the build context, runs the RUN lines, and returns a function that
// finds the files of the stage. Paths that the stage does not make are those of this
// machine.
func buildStage(t *testing.T, s stage) (find func(name string) string) {
	t.Helper()
	root, dir := t.TempDir(), ""
	find = func(name string) string {
		if inside := filepath.Join(root, name); exists(inside) {
			return inside
		}
		return name
	}
	for _, l := range s.lines {
		switch l.word {
		case "WORKDIR":
			dir = filepath.Join(root, l.args)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		case "COPY":
			if l.args != ". ." {
				t.Fatalf("the test does not know COPY %s", l.args)
			}
			copyContext(t, dir)
		case "RUN":
			command := regexp.MustCompile(`--mount=\S+ `).ReplaceAllString(l.args, "")
			command = regexp.MustCompile(`(\s)/`).ReplaceAllString(command, "${1}"+root+"/")
			run := exec.CommandContext(t.Context(), "sh", "-eu", "-c", command)
			run.Dir = dir
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("RUN %s: %v\n%s", command, err, out)
			}
		default:
			t.Fatalf("the test does not know %s", l.word)
		}
	}
	return find
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// copyContext copies the files that a clone has, except those that .dockerignore leaves
// out, of which there must be none.
func copyContext(t *testing.T, to string) {
	t.Helper()
	top := filepath.Join("..", "..")
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = top
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	ignored := ignoredBy(t, filepath.Join(top, ".dockerignore"))
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if ignored(name) {
			t.Errorf("the clone has %s, which .dockerignore leaves out: `authsvc version` would call the build modified", name)
			continue
		}
		raw, err := os.ReadFile(filepath.Join(top, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, but not committed
		}
		target := filepath.Join(to, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(target), 0o700)
		}
		if err == nil {
			err = os.WriteFile(target, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ignoredBy returns whether a .dockerignore leaves a file out. It knows the patterns of
// ours: a path, or a name at any depth after **/.
func ignoredBy(t *testing.T, file string) func(name string) bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			patterns = append(patterns, line)
		}
	}
	return func(name string) bool {
		parts := strings.Split(name, "/")
		for _, pattern := range patterns {
			base, anywhere := strings.CutPrefix(pattern, "**/")
			for i, part := range parts {
				if hit, _ := filepath.Match(base, part); hit && (anywhere || i == 0) {
					return true
				}
			}
		}
		return false
	}
}

// layOut makes the root file system of the last stage.
func layOut(t *testing.T, s stage, built func(string) string) *image {
	t.Helper()
	img := &image{root: t.TempDir()}
	if err := os.Chmod(img.root, 0o755); err != nil { // #nosec G302 -- the user of the image must enter it
		t.Fatal(err)
	}
	for _, l := range s.lines {
		switch l.word {
		case "COPY":
			m := regexp.MustCompile(`^--from=build (?:--chown=(\d+):(\d+) )?(/\S+) (/\S+)$`).FindStringSubmatch(l.args)
			if m == nil {
				t.Fatalf("the test does not know COPY %s", l.args)
			}
			copyTree(t, built(m[3]), filepath.Join(img.root, m[4]), m[1], m[2])
		case "ENV":
			img.env = append(img.env, strings.Fields(l.args)...)
		case "WORKDIR":
			img.dir = l.args
		case "USER":
			if _, err := fmt.Sscanf(l.args, "%d:%d", &img.uid, &img.gid); err != nil {
				t.Fatalf("USER %s: %v", l.args, err)
			}
		case "ENTRYPOINT":
			img.entrypoint = words(t, l.args)
		case "CMD":
			img.cmd = words(t, l.args)
		case "HEALTHCHECK":
			_, command, _ := strings.Cut(l.args, " CMD ")
			img.health = words(t, command)
		case "VOLUME", "EXPOSE":
		default:
			t.Fatalf("the test does not know %s", l.word)
		}
	}
	return img
}

// words reads the JSON form of a command.
func words(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return list
}

// copyTree copies a file or a folder and gives it an owner. Without one, root owns it.
func copyTree(t *testing.T, from, to, uid, gid string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			err = os.MkdirAll(target, 0o755) // #nosec G301 -- the user of the image must enter it
		} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil { // #nosec G301 -- as above
			err = copyFile(path, target)
		}
		if err != nil || uid == "" || os.Geteuid() != 0 {
			return err
		}
		u, _ := strconv.Atoi(uid)
		g, _ := strconv.Atoi(gid)
		return os.Chown(target, u, g)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// command returns a command in the image. Without root, the user of the image is this
// one, in a user namespace.
func (img *image) command(t *testing.T, line []string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Dir, cmd.Env = img.dir, append(slices.Clone(img.env), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: img.root, Credential: &syscall.Credential{Uid: img.uid, Gid: img.gid}}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(img.uid), HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(img.gid), HostID: os.Getegid(), Size: 1}}
		cmd.SysProcAttr.Credential.NoSetGroups = true
	}
	return cmd
}

// serve runs the image until its health check succeeds and a person can sign in.
func (img *image) serve(t *testing.T) {
	t.Helper()
	op, addr := startProvider(t), freeAddress(t)
	origin, file := "http://"+addr, filepath.Join(img.root, "etc", "authsvc.yaml")
	if err := os.WriteFile(file, []byte(testConfig(origin, op, "")), 0o644); err != nil { // #nosec G306 -- the user of the image reads it
		t.Fatal(err)
	}
	env := []string{"AUTHSVC_CONFIG=/etc/authsvc.yaml", "AUTHSVC_LISTEN=" + addr}
	if out, err := img.command(t, img.health, env...).CombinedOutput(); err == nil {
		t.Errorf("healthy before the start: %s", out)
	}
	log := &logbuffer.Buffer{}
	service := img.command(t, append(slices.Clone(img.entrypoint), img.cmd...), env...)
	service.Stdout, service.Stderr = log, log
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- service.Wait() }()
	t.Cleanup(func() { service.Process.Kill() })
	eventually(t, "healthy", func() bool {
		select {
		case err := <-done:
			t.Fatalf("the service ended: %v\n%s", err, log)
		default:
		}
		out, err := img.command(t, img.health, env...).CombinedOutput()
		return err == nil && string(out) == "ok\n"
	})
	eventually(t, "ready", func() bool {
		code, _ := getStatus(t, origin+"/readyz")
		return code == http.StatusOK
	})
	if err := newPerson(origin, op, nil).signIn(); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	if !exists(filepath.Join(img.root, img.dir, "authsvc.db")) {
		t.Error("the data is not in the volume")
	}
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the service ended with %v\n%s", err, log)
	}
}
