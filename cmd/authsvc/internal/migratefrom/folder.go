package migratefrom

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Limits of an application's folder.
const (
	maxFiles  = 20_000   // files and folders that are listed
	maxFile   = 1 << 20  // size of a file that is read, in bytes
	maxTotal  = 64 << 20 // size of all files that are read, in bytes
	maxFolder = 20       // nesting of folders
)

// skipped lists folders with code that is not the application's own.
var skipped = []string{"node_modules", "dist", "build", "out", "coverage", "vendor", "generated", "__tests__", "__mocks__", "test", "tests", "e2e"}

// A folder is an application's folder. It follows no symbolic link out of it, and
// executes nothing.
type folder struct {
	root  *os.Root
	names []string // of the files of interest, with slashes
	read  int      // bytes
	// unread lists files that were not read, and why.
	unread []string
	texts  map[string]string
}

// openFolder lists the files of a folder, which may have at most a number of files and
// folders.
func openFolder(name string, most int) (*folder, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	f := &folder{root: root, texts: map[string]string{}}
	n := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if n++; n > most {
			return fmt.Errorf("it has more than %d files; name the folder of the application itself", most)
		}
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			f.skip(name, err)
			return nil
		case d.IsDir() && name != "." && (slices.Contains(skipped, d.Name()) || strings.HasPrefix(d.Name(), ".") || strings.Count(name, "/") >= maxFolder):
			return fs.SkipDir
		case !d.IsDir() && wanted(d.Name()):
			f.names = append(f.names, name)
		}
		return nil
	})
	slices.Sort(f.names)
	if err == nil && len(f.names) == 0 {
		err = errors.New("it has no package.json and no source file of JavaScript or TypeScript")
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// wanted reports whether a file may say something about the move.
func wanted(name string) bool {
	if slices.Contains([]string{"package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "tsconfig.json", "jsconfig.json"}, name) || isEnv(name) {
		return true
	}
	return isSource(name) || path.Ext(name) == ".prisma"
}

// sourceExts lists the extensions of sources, in the order in which an import tries
// them.
var sourceExts = []string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}

func isSource(name string) bool {
	return slices.Contains(sourceExts, path.Ext(name)) && !strings.HasSuffix(name, ".d.ts") &&
		!strings.Contains(name, ".test.") && !strings.Contains(name, ".spec.") && !strings.Contains(name, ".stories.")
}

// isEnv reports whether a file holds environment variables.
func isEnv(name string) bool {
	base := path.Base(name)
	return base == ".env" || strings.HasPrefix(base, ".env.")
}

func (f *folder) skip(name string, err error) {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	f.unread = append(f.unread, fmt.Sprintf("%s was not read: %v", name, err))
}

// has reports whether the folder has a file.
func (f *folder) has(name string) bool {
	_, found := slices.BinarySearch(f.names, name)
	return found
}

// text returns the contents of a file, or "" if it is not there or too large.
func (f *folder) text(name string) string {
	if text, known := f.texts[name]; known {
		return text
	}
	text, err := f.load(name)
	if err != nil {
		f.skip(name, err)
	}
	f.texts[name] = text
	return text
}

func (f *folder) load(name string) (string, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // a named pipe would block; a link is not the application's own file
		return "", errors.New("it is not a regular file")
	}
	file, err := f.root.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	limit := maxFile
	if isLock(name) {
		limit = 16 * maxFile
	}
	raw, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	switch f.read += len(raw); {
	case err != nil:
		return "", err
	case len(raw) > limit:
		return "", fmt.Errorf("it is larger than %d MiB", limit>>20)
	case f.read > maxTotal:
		return "", fmt.Errorf("all files together are larger than %d MiB", maxTotal>>20)
	}
	return strings.TrimPrefix(string(raw), "\ufeff"), nil
}

func isLock(name string) bool {
	return slices.Contains([]string{"package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"}, path.Base(name))
}

// named returns the files with one of these base names, the nearest to the folder
// first.
func (f *folder) named(bases ...string) (found []string) {
	for _, name := range f.names {
		if slices.Contains(bases, path.Base(name)) {
			found = append(found, name)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	return found
}
