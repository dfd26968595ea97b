package idp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// maxStateFile bounds what is read back, in bytes.
const maxStateFile = 4 << 20

// File is a [Store] in one JSON file. The file holds private keys, so only its
// owner may read it. It is for one process at a time: there is no lock.
type File struct{ path string }

// OpenFile returns the store at path. The directory is created when it is
// missing, the file on the first Save; a file that is there has to be readable
// state, and loses permissions of group and others.
func OpenFile(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("idp: state file: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("idp: state file: %w", err)
	}
	f := &File{path: path}
	if _, err := f.Load(); err != nil {
		return nil, fmt.Errorf("idp: %w", err)
	}
	return f, nil
}

// Load reads the state; a missing file is the zero State.
func (f *File) Load() (State, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("state file: %w", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxStateFile+1))
	if err != nil {
		return State{}, fmt.Errorf("state file: %w", err)
	}
	if len(raw) > maxStateFile {
		return State{}, fmt.Errorf("state file %s: larger than %d bytes", f.path, maxStateFile)
	}
	var state State
	// The cause is dropped: an error of package json may quote key material.
	if json.Unmarshal(raw, &state) != nil {
		return State{}, fmt.Errorf("state file %s: not valid state; delete it to start afresh", f.path)
	}
	return state, nil
}

// Save writes the state to a new file and renames it over the old one, so that
// a crash leaves one or the other, never half of each.
func (f *File) Save(state State) error {
	raw, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return errors.New("state file: state cannot be encoded")
	}
	dir := filepath.Dir(f.path)
	tmp, err := os.CreateTemp(dir, filepath.Base(f.path)+".*.tmp") // mode 0600
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails once it is renamed
	_, err = tmp.Write(append(raw, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	if err := os.Rename(tmp.Name(), f.path); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return syncDir(dir)
}

// syncDir makes a rename durable. Windows cannot do that and need not.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}
