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

// maxStateFile is the maximum size of a state file, in bytes.
const maxStateFile = 4 << 20

// File is a [Store] in one JSON file. The file contains private keys, so only its owner
// may read it. Only one process may use it at a time: there is no lock.
type File struct{ path string }

// OpenFile returns the store at path. It creates a missing directory; the first Save
// creates the file. An existing file must contain valid state, and loses the
// permissions of group and others.
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

// Load reads the state. If the file is missing, it returns the zero State.
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
	// The cause is omitted, because an error of package json may quote key material.
	if json.Unmarshal(raw, &state) != nil {
		return State{}, fmt.Errorf("state file %s: cannot parse the state; delete the file to start again", f.path)
	}
	return state, nil
}

// Save writes the state to a new file and renames it over the old one. A crash
// therefore leaves one of them complete.
func (f *File) Save(state State) error {
	raw, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return errors.New("state file: cannot encode the state")
	}
	dir := filepath.Dir(f.path)
	tmp, err := os.CreateTemp(dir, filepath.Base(f.path)+".*.tmp") // mode 0600
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails after the rename
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

// syncDir makes a rename durable. Windows cannot do that, and does not need it.
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
