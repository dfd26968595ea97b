package idp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc/internal/dev/idp"
)

func open(t *testing.T, path string) *idp.File {
	t.Helper()
	file, err := idp.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestStateSurvivesRestart: people and keys survive a restart, and an earlier token is
// still valid.
func TestStateSurvivesRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".authsvc", "idp.json")
	before := listen(t, idp.Options{Store: open(t, path), Alg: "ES256"})
	added, err := before.AddPerson(idp.Person{Name: "Zoë", Email: "zoe@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := before.RotateKey(); err != nil {
		t.Fatal(err)
	}
	_, keys := get(t, before.Issuer()+"/jwks")

	after := listen(t, idp.Options{Store: open(t, path), People: []idp.Person{{Sub: "x", Name: "ignored"}}})
	want := append(idp.DefaultPeople(), added)
	if diff := cmp.Diff(want, after.People()); diff != "" {
		t.Errorf("people (-want +got):\n%s", diff)
	}
	if _, got := get(t, after.Issuer()+"/jwks"); got != keys {
		t.Errorf("keys differ:\n%s\n%s", keys, got)
	}
	// A key of another kind is added; the stored ones remain.
	mixed := listen(t, idp.Options{Store: open(t, path), Alg: "RS256"})
	if _, got := get(t, mixed.Issuer()+"/jwks"); strings.Count(got, `"kid"`) != 3 {
		t.Errorf("after the change to RS256: %s", got)
	}
	// A given key hides the stored ones but does not delete them.
	listen(t, idp.Options{Store: open(t, path), Key: rsaKey()})
	again := listen(t, idp.Options{Store: open(t, path)})
	if _, got := get(t, again.Issuer()+"/jwks"); strings.Count(got, `"kid"`) != 3 {
		t.Errorf("after a key from outside: %s", got)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "idp.json")
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	file := open(t, path)
	private := func(when string) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", when, info.Mode())
		}
	}
	private("opened")
	want := idp.State{People: idp.DefaultPeople(), Keys: [][]byte{{1, 2, 3}}}
	for range 2 {
		if err := file.Save(want); err != nil {
			t.Fatal(err)
		}
	}
	private("saved")
	got, err := open(t, path).Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("files left behind: %v", entries)
	}
}

func TestFileRefusals(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"not JSON": `{"keys":["c2VjcmV0`, "wrong type": `{"keys":"secret"}`, "too large": strings.Repeat(" ", 4<<20+1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "idp.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := idp.OpenFile(path)
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "c2Vj") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// fickle is a store whose Save fails on demand.
type fickle struct{ broken bool }

func (s *fickle) Load() (idp.State, error) { return idp.State{}, nil }

func (s *fickle) Save(idp.State) error {
	if s.broken {
		return errors.New("disk full at /secret/path")
	}
	return nil
}

// TestSaveFails: a change that cannot be saved does not take effect.
func TestSaveFails(t *testing.T) {
	t.Parallel()
	store := new(fickle)
	server := listen(t, idp.Options{Store: store, Alg: "ES256"})
	_, keys := get(t, server.Issuer()+"/jwks")
	choose := server.Issuer() + "/authorize/choose?" + request().Encode()
	form := map[string][]string{"add": {"1"}, "name": {"Zoë"}}

	store.broken = true
	if err := server.RotateKey(); err == nil {
		t.Error("RotateKey succeeds without saving")
	}
	if _, got := get(t, server.Issuer()+"/jwks"); got != keys {
		t.Error("an unsaved key is published")
	}
	res, body := postForm(t, choose, form)
	if res.StatusCode != 500 || strings.Contains(body, "secret") || len(server.People()) != 4 {
		t.Errorf("unsaved person: %d, %d people\n%s", res.StatusCode, len(server.People()), body)
	}
	store.broken = false
	if res, _ := postForm(t, choose, form); res.StatusCode != 303 || len(server.People()) != 5 {
		t.Errorf("saved person: %d, %d people", res.StatusCode, len(server.People()))
	}
}

func TestNewRefusals(t *testing.T) {
	t.Parallel()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const issuer = "https://op.example.com"
	key := ecKey()
	tests := map[string]struct {
		opts idp.Options
		want string // part of the error; empty: accepted
	}{
		"accepted":          {idp.Options{Issuer: issuer, Key: key}, ""},
		"accepted, path":    {idp.Options{Issuer: issuer + "/a/b", Key: key}, ""},
		"accepted, http":    {idp.Options{Issuer: "http://localhost:3001", Key: key}, ""},
		"accepted, IPv6":    {idp.Options{Issuer: "http://[::1]:3001", Key: key}, ""},
		"accepted, no one":  {idp.Options{Issuer: issuer, Key: key, People: []idp.Person{}}, ""},
		"no issuer":         {idp.Options{Key: key}, "issuer"},
		"http":              {idp.Options{Issuer: "http://op.example.com", Key: key}, "loopback"},
		"slash":             {idp.Options{Issuer: issuer + "/", Key: key}, "trailing slash"},
		"dots":              {idp.Options{Issuer: issuer + "/a/../b", Key: key}, "clean path"},
		"pattern":           {idp.Options{Issuer: issuer + "/{x}", Key: key}, "characters"},
		"query":             {idp.Options{Issuer: issuer + "?a=b", Key: key}, "query"},
		"fragment":          {idp.Options{Issuer: issuer + "#a", Key: key}, "fragment"},
		"default port":      {idp.Options{Issuer: issuer + ":443", Key: key}, "default port"},
		"alg":               {idp.Options{Issuer: issuer, Alg: "HS256"}, "HS256"},
		"alg unlike key":    {idp.Options{Issuer: issuer, Key: key, Alg: "RS256"}, "RS256"},
		"curve":             {idp.Options{Issuer: issuer, Key: p384}, "P-256"},
		"client without id": {idp.Options{Issuer: issuer, Key: key, Clients: []idp.Client{{}}}, "id is missing"},
		"client twice":      {idp.Options{Issuer: issuer, Key: key, Clients: []idp.Client{{ID: "a"}, {ID: "a"}}}, "twice"},
		"redirect uri":      {idp.Options{Issuer: issuer, Key: key, Clients: []idp.Client{{ID: "a", RedirectURIs: []string{"/cb"}}}}, "redirect URI"},
		"sub twice":         {idp.Options{Issuer: issuer, Key: key, People: []idp.Person{{Sub: "a", Name: "A"}, {Sub: "a", Name: "B"}}}, `person 1 of People: another person has the id "a"`},
		"sub with space":    {idp.Options{Issuer: issuer, Key: key, People: []idp.Person{{Sub: "a b", Name: "A"}}}, "ASCII"},
		"picture":           {idp.Options{Issuer: issuer, Key: key, People: []idp.Person{{Sub: "a", Name: "A", Picture: "javascript:x"}}}, "picture"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := idp.New(tt.opts)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	_, err = idp.New(idp.Options{Alg: "x", Clients: []idp.Client{{}}})
	for _, want := range []string{"issuer", "id is missing", `"x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("mistakes are not reported together: %v", err)
		}
	}
}
