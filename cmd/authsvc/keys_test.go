package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc"
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
	list := func() (keys []authsvc.SigningKey) {
		t.Helper()
		for line := range strings.Lines(command(exitOK, "keys", "--json")) {
			var k authsvc.SigningKey
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
	if len(first) != 1 || first[0].State != authsvc.KeySigning {
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
	if after := list(); len(after) != 1 || after[0].ID == first[0].ID || after[0].State != authsvc.KeySigning {
		t.Errorf("%+v", after)
	}
	if out := command(exitOK, "audit"); strings.Count(out, "keys.rotated") != 2 || strings.Count(out, "keys.retired") != 1 {
		t.Error(out)
	}
}
