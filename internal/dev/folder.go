package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"authsvc/internal/seal"
)

// MakeDir creates the folder of dev if it is missing, with a .gitignore, because the
// folder contains secrets.
func MakeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil // leaves an existing folder as it is
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot create the dev folder: %w", err)
	}
	return nil
}

// KeepURLs writes the URL of the service and the issuer of the identity provider to a
// file in the folder of dev. The records in the store are bound to both, so commands
// that use the store read them.
func KeepURLs(dir, name, url, issuer string) error {
	if err := os.WriteFile(filepath.Join(dir, name+urlsExt), []byte(url+"\n"+issuer+"\n"), 0o600); err != nil {
		return fmt.Errorf("URLs of dev: %w", err)
	}
	return nil
}

// ReadURLs reads the file of KeepURLs. If there is none, the error is [fs.ErrNotExist].
func ReadURLs(dir, name string) (url, issuer string, err error) {
	path := filepath.Join(dir, name+urlsExt)
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	lines := strings.Fields(string(raw))
	if len(lines) != 2 {
		return "", "", fmt.Errorf("%s is damaged; start dev again", path)
	}
	return lines[0], lines[1], nil
}

// Keep returns the secret in a file of the folder of dev. It creates the secret if the
// file is missing.
func Keep(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	raw, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(raw))) >= 43 {
		return strings.TrimSpace(string(raw)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s of dev: %w", name, err)
	}
	if err == nil {
		return "", fmt.Errorf("%s is damaged; remove it; everyone must then sign in again", path)
	}
	secret := seal.Token()
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("%s of dev: %w", name, err)
	}
	return secret, nil
}

// databasePath returns the name of the database file.
func (w *world) databasePath() string { return filepath.Join(w.Dir, StoreName+".db") }

// removed returns what to do if the database was removed with the folder of dev, or "".
// Another part may have created the folder again.
func (w *world) removed() string {
	if w.file == nil { // there is no database yet
		return ""
	}
	now, err := os.Stat(w.databasePath())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, w.file) {
		return "; the folder " + w.Dir + " was removed; restart dev"
	}
	return ""
}
