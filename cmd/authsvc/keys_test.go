package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc/engine"
)

// TestKeysRetire: retiring the signing key activates a successor at once, and requires
// confirmation.
func TestKeysRetire(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "authsvc.yaml")
	text := "url: https://app.example.com\nsecret: " + testSecret + "\nstorage: {url: \"sqlite:" + filepath.Join(dir, "a.db") + "\"}\naudit: {store: true}\n" +
		"tokens: {audiences: [{id: api}]}\nproviders: [{id: github, client_id: a, client_secret: b}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(context.Background(), append([]string{"-c", file}, args...), nil, strings.NewReader(""), &out, &errs); code != want {
			t.Fatalf("%v: %d\n%s%s", args, code, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	list := func() (keys []engine.SigningKey) {
		t.Helper()
		for line := range strings.Lines(command(exitOK, "keys", "--json")) {
			var k engine.SigningKey
			if err := json.Unmarshal([]byte(line), &k); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, k)
		}
		return keys
	}
	command(exitOK, "migrate", "up")
	command(exitOK, "keys", "rotate", "--now", "--yes")
	first := list()
	if len(first) != 1 || first[0].State != engine.KeySigning {
		t.Fatalf("%+v", first)
	}
	if out := command(exitOK, "keys", "retire", first[0].ID, "--dry-run"); !strings.Contains(out, "would remove the key "+first[0].ID) || !strings.Contains(out, "its successor starts to sign at once") {
		t.Error(out)
	}
	if out := command(exitUsage, "keys", "retire", first[0].ID); !strings.Contains(out, "--yes") {
		t.Error(out)
	}
	if again := list(); len(again) != 1 || again[0].ID != first[0].ID {
		t.Fatalf("it did not ask: %+v", again)
	}
	if out := command(exitOK, "keys", "retire", first[0].ID, "--yes"); strings.Contains(out, first[0].ID) || !strings.Contains(out, "signing") {
		t.Error(out)
	}
	if after := list(); len(after) != 1 || after[0].ID == first[0].ID || after[0].State != engine.KeySigning {
		t.Errorf("%+v", after)
	}
	if out := command(exitOK, "audit"); strings.Count(out, "keys.rotated") != 2 || strings.Count(out, "keys.retired") != 1 {
		t.Error(out)
	}
}

// TestSealedKeysChecked: check is wrong if no secret opens the signing keys, because serve
// does not start then, and a command says that a variable replaces the secret of the file.
// With both secrets in the variable, the records are sealed again. Nothing prints a secret.
func TestSealedKeysChecked(t *testing.T) {
	t.Parallel()
	const added = "new-new-new-9sK2mV7xQ4tB8wE1yU5iO3pA6dF0gH"
	dir := t.TempDir()
	text := func(secret string) string {
		return "url: https://app.example.com\nsecret: " + secret + "\nstorage: {url: \"sqlite:" + filepath.Join(dir, "a.db") + "\"}\n" +
			"tokens: {audiences: [{id: api}]}\nproviders: [{id: github, client_id: a, client_secret: b}]\n"
	}
	old, both, leaked := filepath.Join(dir, "old.yaml"), filepath.Join(dir, "both.yaml"), "AUTHSVC_SECRET="+testSecret
	writeFile(t, old, []byte(text(testSecret)))
	writeFile(t, both, []byte(text("["+added+", "+testSecret+"]")))
	const lost, opened = "wrong  signing keys: secret does not open the signing keys in the store", "ok     records: all sealed records"
	for i, step := range []struct {
		args, variable string
		want           int
		says, hides    string
	}{
		{"migrate up -c " + old, "", exitOK, "", "warning"},
		{"keys rotate --now --yes -c " + old, "", exitOK, "", "warning"},
		{"check --offline --deep -c " + old, "", exitOK, opened + " are sealed by the first secret", "signing keys:"},
		{"migrate reseal -c " + both, leaked, exitOK, "warning: AUTHSVC_SECRET replaces secret in " + both + ":2", "resealed"},
		{"check --offline -c " + both, leaked, exitOK, "note   AUTHSVC_SECRET replaces secret in " + both + ":2", "wrong"},
		{"check --offline -c " + old, "AUTHSVC_SECRET=" + added, exitFailed, lost, opened},
		{"check --offline --deep -c " + old, "AUTHSVC_SECRET=" + added, exitFailed, lost, opened + " are"},
		{"serve -c " + old, "AUTHSVC_SECRET=" + added, exitUsage, "has no entry that opens the signing keys", ""},
		{"migrate reseal -c " + old, "AUTHSVC_SECRET=" + added + "\n" + testSecret, exitOK, "resealed the signing keys", ""},
		{"check --offline --deep -c " + old, "AUTHSVC_SECRET=" + added, exitOK, opened + " are sealed by the first secret", "wrong"},
	} {
		code, out := runCommand(t, []string{step.variable}, strings.Fields(step.args)...)
		if code != step.want || !strings.Contains(out, step.says) || step.hides != "" && strings.Contains(out, step.hides) || strings.Contains(out, testSecret) || strings.Contains(out, added) {
			t.Fatalf("step %d, %s: %d, want %d and %q\n%s", i, step.args, code, step.want, step.says, out)
		}
	}
}
