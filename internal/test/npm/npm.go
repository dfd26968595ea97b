// Package npm installs the npm packages of client tests and bundles their scripts.
package npm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Install installs the npm packages of a directory if its lock file is newer than
// they are. Tests of several packages may share the directory: one installs, the
// others wait.
func Install(dir string) error {
	path := filepath.Join(dir, "package-lock.json")
	held, err := os.Open(path)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := lockFile(held); err != nil {
		return err
	}
	lock, err := os.Stat(path)
	if err != nil {
		return err
	}
	done, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err == nil && !done.ModTime().Before(lock.ModTime()) {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w\n%s", dir, err, out)
	}
	return nil
}

// Bundle makes one script from entry, a path in dir, with esbuild. The packages of
// dir must include esbuild.
func Bundle(dir, entry string, flags ...string) ([]byte, error) {
	cmd := exec.Command("node_modules/.bin/esbuild", append([]string{entry, "--bundle", "--format=iife", "--jsx=automatic",
		"--minify", "--log-level=warning", `--define:process.env.NODE_ENV="production"`, "--define:process.env={}"}, flags...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("esbuild: %s", failed.Stderr)
	}
	return out, err
}

// Tarball packs authsvc-client from its folder pkg, as for publication, into the folder
// into, and returns the path of the file.
func Tarball(pkg, into string) (string, error) {
	pack := exec.Command("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", into)
	pack.Dir = pkg
	name, err := pack.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack in %s: %w", pkg, err)
	}
	return filepath.Join(into, strings.TrimSpace(string(name))), nil
}

// Pack packs authsvc-client from its folder pkg and unpacks it into the packages of
// dir, as an install from a registry would.
func Pack(pkg, dir string) error {
	temp, err := os.MkdirTemp("", "authsvc-pack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	packed, err := Tarball(pkg, temp)
	if err != nil {
		return err
	}
	into := filepath.Join(dir, "node_modules", "authsvc-client")
	if err := errors.Join(os.RemoveAll(into), os.MkdirAll(into, 0o755)); err != nil {
		return err
	}
	tar := exec.Command("tar", "-xzf", packed, "--strip-components=1", "-C", into)
	if out, err := tar.CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w\n%s", err, out)
	}
	return nil
}

// Run runs a script in dir and returns its standard output.
func Run(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("node", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("node %s: %s", strings.Join(args, " "), failed.Stderr)
	}
	return out, err
}
