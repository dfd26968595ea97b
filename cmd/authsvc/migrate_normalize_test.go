package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter/sqlite"
)

// emailStore returns a SQLite store, and a function that runs a command with a
// configuration of that store.
func emailStore(t *testing.T) (store *sqlite.Store, call func(args ...string) (code int, out string)) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "authsvc.db")
	config := filepath.Join(dir, "authsvc.yaml")
	yaml := "url: https://app.example.com\nsecret: " + testSecret + "\nstorage: {url: \"sqlite:" + file + "\"}\n" +
		"providers: [{id: github, client_id: a, client_secret: b}]\n"
	if err := os.WriteFile(config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	call = func(args ...string) (code int, out string) {
		var b bytes.Buffer
		code = run(t.Context(), append(args, "--config", config), nil, strings.NewReader(""), &b, &b)
		return code, b.String()
	}
	if code, out := call("migrate", "up"); code != 0 {
		t.Fatal(out)
	}
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store, call
}

// TestMigrateNormalize: check finds users whose address is not in the form in which it
// is looked up. migrate normalize rewrites these addresses and names the ones that it
// cannot rewrite.
func TestMigrateNormalize(t *testing.T) {
	t.Parallel()
	store, call := emailStore(t)
	put := func(id, address string) {
		if _, err := store.CreateUser(t.Context(), authsvc.User{ID: id, Email: address}, nil); err != nil {
			t.Fatal(err)
		}
	}
	put("b-right", "right@app.test")
	put("c-none", "")
	if code, out := call("check", "--offline"); code != 0 || strings.Contains(out, "address") {
		t.Errorf("twin: check of a store without such users: %d\n%s", code, out)
	}
	for i := range 600 { // more than a page
		put(fmt.Sprintf("m-%03d", i), fmt.Sprintf("Person%d@App.Test", i))
	}
	put("n-collides", "RIGHT@app.test")
	put("o-kelvin", "\u212aelvin@app.test")
	put("p-useless", "nobody")
	put("q-twin", "Twin@app.test")
	put("r-twin", "TWIN@app.test")
	code, out := call("check", "--offline")
	if code == 0 || !strings.Contains(out, "605 addresses are not in the normal form") || !strings.Contains(out, "m-000, m-001, m-002, m-003, m-004, …;") || !strings.Contains(out, "authsvc migrate normalize") {
		t.Errorf("check: %d\n%s", code, out)
	}
	if code, out = call("migrate", "normalize", "--dry-run"); code == 0 || !strings.Contains(out, "would rewrite 601 addresses, left 4") {
		t.Errorf("dry run: %d\n%s", code, out)
	}
	if deep, out := call("check", "--offline", "--deep"); deep == 0 || strings.Count(out, "note   address: ") != 605 ||
		!strings.Contains(out, "note   address: user n-collides and user b-right have the same address\n") || !strings.Contains(out, "note   address: user r-twin and user q-twin have the same address\n") ||
		!strings.Contains(out, "note   address: user p-useless has one that cannot be used") || strings.Contains(out, "@app") {
		t.Errorf("check --deep: %d\n%.3000s", deep, out)
	}
	if u, err := store.GetUser(t.Context(), "m-000"); err != nil || u.Email != "Person0@App.Test" {
		t.Errorf("the dry run wrote: %+v, %v", u, err)
	}
	code, out = call("migrate", "normalize")
	for _, want := range []string{"left   user n-collides: user b-right has the same address", "left   user o-kelvin: ", "left   user p-useless: ",
		"left   user r-twin: user q-twin has the same address", "rewrote 601 addresses, left 4"} {
		if code == 0 || !strings.Contains(out, want) {
			t.Errorf("want %q: %d\n%s", want, code, out)
		}
	}
	if strings.Contains(out, "@") {
		t.Errorf("it prints addresses:\n%s", out)
	}
	for id, want := range map[string]string{"m-599": "person599@app.test", "q-twin": "twin@app.test", "r-twin": "TWIN@app.test", "n-collides": "RIGHT@app.test",
		"o-kelvin": "\u212aelvin@app.test", "b-right": "right@app.test"} {
		if u, err := store.GetUser(t.Context(), id); err != nil || u.Email != want {
			t.Errorf("%s has %q, want %q: %v", id, u.Email, want, err)
		}
	}
	if _, out = call("migrate", "emails"); !strings.Contains(out, "rewrote 0 addresses, left 4") {
		t.Errorf("again:\n%s", out)
	}
}
