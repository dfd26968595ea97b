package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// clientDir is the folder of the JavaScript client.
const clientDir = "clients/js"

// packClient returns the npm package of the client. npm chooses the files. The archive
// is written by tarball, because compressed bytes of npm depend on the version of
// Node.js. The package has the version of the release.
func packClient(ctx context.Context, tree, work string, src *source) (file, error) {
	dir, err := checkedOut(ctx, tree, clientDir, filepath.Join(work, "client"))
	if err != nil {
		return file{}, err
	}
	version := strings.TrimPrefix(src.version, "v")
	if err := setVersion(filepath.Join(dir, "package.json"), version); err != nil {
		return file{}, err
	}
	said, err := output(exec.CommandContext(ctx, "npm", "pack", "--json", "--ignore-scripts", "--pack-destination", work), dir)
	if err != nil {
		return file{}, err
	}
	var packed []struct{ Filename, Version string }
	if err := json.Unmarshal(said, &packed); err != nil || len(packed) != 1 || packed[0].Version != version {
		return file{}, errors.Join(fmt.Errorf("npm pack must answer with one package of version %s: %s", version, said), err)
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(packed[0].Filename) // npm 9 names a scoped package with a slash
	raw, err := os.ReadFile(filepath.Join(work, name))
	if err != nil {
		return file{}, err
	}
	files, err := untarred("package", raw)
	if err != nil {
		return file{}, fmt.Errorf("%s: %w", name, err)
	}
	for i := range files {
		files[i].program = false
	}
	data, err := tarball("package", files, src.at)
	return file{name: name, data: data}, err
}

var (
	versionLine = regexp.MustCompile(`(?m)^  "version": "[^"]*",$`)
	privateLine = regexp.MustCompile(`(?m)^  "private": true,\n`)
)

// setVersion writes the version into package.json, and removes the line that keeps npm
// from publishing the package from a clone.
func setVersion(name, version string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if len(versionLine.FindAll(raw, -1)) != 1 || len(privateLine.FindAll(raw, -1)) != 1 {
		return fmt.Errorf("%s/package.json must have one line \"version\" and one line \"private\": true", clientDir)
	}
	raw = versionLine.ReplaceAllLiteral(raw, []byte(`  "version": "`+version+`",`))
	return os.WriteFile(name, privateLine.ReplaceAllLiteral(raw, nil), 0o644) // #nosec G306 -- a published file
}

// checkedOut copies the files that git tracks in a folder of the tree to a new folder.
func checkedOut(ctx context.Context, tree, folder, to string) (string, error) {
	list, err := git(ctx, tree, "ls-files", "-z", "--", folder)
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(strings.Trim(list, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		into := filepath.Join(to, filepath.FromSlash(path.Dir(strings.TrimPrefix(name, folder+"/"))))
		if err := write(into, []file{{name: path.Base(name), data: data}}); err != nil {
			return "", err
		}
	}
	return to, nil
}
