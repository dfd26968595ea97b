package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilePermissions: a configuration that others can read causes a warning if it
// contains a secret, and only then. A directory instead of a secret is an error.
func TestFilePermissions(t *testing.T) {
	t.Parallel()
	const held = "url: http://localhost:3000\nsecret: " + testSecret + "\n"
	const named = "url: http://localhost:3000\nsecret: ${S}\nproviders: [{id: github, client_id: a, client_secret: \"${S}\"}]\n"
	for _, c := range []struct {
		file string
		mode os.FileMode
		want bool
	}{
		{held, 0o600, false}, {held, 0o640, true}, {held, 0o604, true}, {named, 0o644, false},
		{strings.Replace(named, `"${S}"`, `"x${S}"`, 1), 0o644, true},
		{strings.Replace(held, testSecret, "["+testSecret+"]", 1), 0o644, true},
		{strings.Replace(held, testSecret, "[\"${S}\", \"${S}${S}\"]", 1), 0o644, false},
		{named + "storage: {url: \"sqlite:x.db\"}\n", 0o644, false},
		{named + "storage: {url: \"postgres://app:${S}@db.example/app?sslmode=disable\"}\n", 0o644, false},
		{named + "storage: {url: \"postgres://app@db.example/app\"}\n", 0o644, false},
		{named + "storage: {url: \"postgres://app:hunter2@db.example/app\"}\n", 0o644, true},
		{named + "storage: {url: \"postgres://app:x${S}@db.example/app\"}\n", 0o644, true},
		{named + "storage: {url: \"postgres://app@db.example/app?password=hunter2\"}\n", 0o644, true},
	} {
		path := writeFile(t, c.file)
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		s, err := Load(Input{Path: path, Env: map[string]string{"S": testSecret}})
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(strings.Join(s.Warnings, "\n"), "holds a secret and can be read"); warned != c.want {
			t.Errorf("mode %v of\n%s: warnings %q, want one: %t", c.mode, c.file, s.Warnings, c.want)
		}
	}
	path := writeFile(t, "url: http://localhost:3000\nsecret: …\n")
	if err := os.Chmod(path, 0o644); err != nil { // #nosec G302 -- others may read it
		t.Fatal(err)
	}
	if s, err := Load(Input{Path: path}); err == nil || s == nil || len(s.Warnings) > 0 {
		t.Errorf("a placeholder: %v, %+v", err, s)
	}
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(testSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), link); err != nil {
		t.Skip(err)
	}
	env := map[string]string{"AUTHSVC_URL": "http://localhost:3000", "AUTHSVC_SECRET_FILE": link}
	if s, err := Load(Input{Env: env}); err != nil || s.Engine.Secrets[0] != testSecret {
		t.Errorf("a symbolic link, as orchestrators make them: %v", err)
	}
	env["AUTHSVC_SECRET_FILE"] = dir
	if _, err := Load(Input{Env: env}); err == nil || !strings.Contains(err.Error(), "it is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

// TestCredential: a secret in the directory of the service manager's credentials causes
// no warning, whatever its mode. A file elsewhere does.
func TestCredential(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(testSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(secret, 0o440); err != nil { // #nosec G302 -- as an access control list shows
		t.Fatal(err)
	}
	for credentials, want := range map[string]bool{
		dir: false, dir + "/": false, "": true, filepath.Dir(dir): true, filepath.Join(dir, "secret"): true, ".": true,
	} {
		s, err := Load(Input{Env: map[string]string{"AUTHSVC_URL": "http://localhost:3000", "AUTHSVC_SECRET_FILE": secret, "CREDENTIALS_DIRECTORY": credentials,
			"AUTHSVC_GITHUB_ID": "a", "AUTHSVC_GITHUB_SECRET": "b"}})
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(strings.Join(s.Warnings, "\n"), "can be read by group"); warned != want {
			t.Errorf("CREDENTIALS_DIRECTORY=%s: warnings %q, want one: %t", credentials, s.Warnings, want)
		}
	}
}
