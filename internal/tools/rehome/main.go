// Command rehome gives the module the path of the repository that it is published in,
// so that programs can import it from there.
//
//	go run ./internal/tools/rehome git.example.org/team/authsvc
//	go run ./internal/tools/rehome -npm @team/auth-client git.example.org/team/authsvc
//
// It changes the module paths and imports of all modules, the name and the repository of
// the npm package, the source of images, docs/openapi.yaml, and how README.md says to
// get the module. The same command again changes nothing. Another path moves it again.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, ".", os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "rehome:", err)
		os.Exit(1)
	}
}

// run changes the files in the repository dir. It changes all of them or, if anything is
// wrong, none.
func run(ctx context.Context, out io.Writer, dir string, args []string) error {
	flags := flag.NewFlagSet("rehome", flag.ContinueOnError)
	flags.SetOutput(out)
	npm := flags.String("npm", "", "`name` of the npm package; default: @OWNER/NAME-client, from the path")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("name one path, such as: go run ./internal/tools/rehome git.example.org/team/authsvc")
	}
	to := home{path: flags.Arg(0), npm: *npm}
	if to.npm == "" {
		to.npm = packageName(to.path)
	}
	tracked, dirty := clean(ctx, dir)
	if err := errors.Join(checkPath(to.path), checkName(to.npm), dirty); err != nil {
		return err
	}
	from, err := current(dir)
	if err != nil {
		return err
	}
	changed, err := rewriteAll(dir, tracked, from, to)
	if err != nil {
		return err
	}
	if err := writeAll(changed); err != nil {
		return err
	}
	if len(changed) == 0 {
		fmt.Fprintf(out, "the module is %s already, and the npm package %s: nothing to change\n", to.path, to.npm)
		return nil
	}
	fmt.Fprintf(out, "%d files: the module is %s, the npm package %s\nnext: git diff --stat, make quick, git commit\n", len(changed), to.path, to.npm)
	return nil
}

// writeAll writes all files beside the old ones before it replaces any. If the disk is
// full or a folder is read-only, the old files stay.
func writeAll(files []changed) (err error) {
	const suffix = ".rehome"
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = os.Remove(f.name + suffix)
			}
			err = fmt.Errorf("%w: git checkout . restores all files", err)
		}
	}()
	for _, f := range files {
		if err := os.WriteFile(f.name+suffix, f.data, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(f.name+suffix, f.mode); err != nil { // whatever the umask
			return err
		}
	}
	for _, f := range files {
		if err := os.Rename(f.name+suffix, f.name); err != nil {
			return err
		}
	}
	return nil
}

// A home names the module and the npm package.
type home struct{ path, npm string }

// checkPath returns an error if the go command could not fetch a module of this path.
func checkPath(p string) error {
	bare := strings.TrimSuffix(strings.TrimSuffix(p, "/"), ".git")
	if _, rest, found := strings.Cut(bare, "://"); found {
		bare = rest
	}
	err := module.CheckPath(p)
	switch prefix, major, ok := module.SplitPathVersion(p); {
	case bare != p && module.CheckPath(bare) == nil:
		return fmt.Errorf("%q is not a module path: write %s", p, bare)
	case err != nil:
		return fmt.Errorf("%w: the path must be the address of the repository without https://, such as git.example.org/team/authsvc", err)
	case ok && major != "":
		return fmt.Errorf("%q ends in the version %s, and the tags begin with v0: write %s", p, major, prefix)
	case !strings.Contains(p, "/"):
		return fmt.Errorf("%q is only a host: add the path of the repository, such as %s/team/authsvc", p, p)
	}
	return nil
}

// npmName matches names that npm accepts for new packages.
var npmName = regexp.MustCompile(`^(@[a-z0-9-][a-z0-9._-]*/)?[a-z0-9-][a-z0-9._-]*$`)

func checkName(name string) error {
	if !npmName.MatchString(name) || len(name) > 214 {
		return fmt.Errorf("%q cannot be the name of an npm package: give one with -npm, such as @team/authsvc-client", name)
	}
	return nil
}

// packageName returns the default name of the npm package.
func packageName(modulePath string) string {
	words := strings.Split(strings.ToLower(modulePath), "/")
	name := words[len(words)-1] + "-client"
	if len(words) > 2 {
		name = "@" + words[len(words)-2] + "/" + name
	}
	return name
}

// clean returns the files that git tracks, or an error if the tree has changes.
func clean(ctx context.Context, dir string) ([]string, error) {
	git := func(args ...string) (string, error) {
		var said bytes.Buffer
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Stderr = dir, &said
		raw, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("cannot run git %s: %w: %s", args[0], err, said.Bytes())
		}
		return string(raw), nil
	}
	prefix, err := git("rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(prefix) != "" {
		return nil, fmt.Errorf("%s is not the root of the repository: run the command there", path.Clean(prefix))
	}
	changes, err := git("status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, fmt.Errorf("the tree has changes, which would be mixed with those of this command: commit or remove them first\n%s", strings.TrimRight(changes, "\n"))
	}
	list, err := git("ls-files", "-z")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.Trim(list, "\x00"), "\x00"), nil
}

// packageFile describes the npm package.
const packageFile = "clients/js/package.json"

// current reads the names that the repository has now.
func current(dir string) (home, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return home{}, err
	}
	path := modfile.ModulePath(raw)
	if path == "" {
		return home{}, errors.New("go.mod has no module line")
	}
	if raw, err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(packageFile))); err != nil {
		return home{}, err
	}
	var pkg struct{ Name string }
	if err := json.Unmarshal(raw, &pkg); err != nil || pkg.Name == "" {
		return home{}, errors.Join(fmt.Errorf("%s has no name", packageFile), err)
	}
	return home{path, pkg.Name}, nil
}
