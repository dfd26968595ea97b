package provider_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"authsvc"
	"authsvc/provider"
)

// TestTable: every provider has a file, a line in the table and a recorded
// answer.
func TestTable(t *testing.T) {
	t.Parallel()
	var table []string
	for _, e := range provider.All() {
		table = append(table, e.ID)
		o := e.New(authsvc.Client{ID: "client", Secret: "secret"}, nil)
		if o.ID != e.ID || o.Name != e.Name || o.Client.ID != "client" || o.Client.Secret != "secret" {
			t.Errorf("%s: the constructor and the table disagree", e.ID)
		}
	}
	if !slices.IsSorted(table) {
		t.Errorf("table is not ordered: %v", table)
	}
	for _, pattern := range []string{"*.go", "testdata/*.txtar"} {
		if diff := cmp.Diff(table, names(t, pattern)); diff != "" {
			t.Errorf("table and %s (-table +files):\n%s", pattern, diff)
		}
	}
	if _, ok := provider.Lookup("github"); !ok {
		t.Error("github is not found")
	}
	if _, ok := provider.Lookup("nobody"); ok {
		t.Error("nobody is found")
	}
}

// names are the providers that have a file.
func names(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, f := range files {
		id := strings.TrimSuffix(filepath.Base(f), filepath.Ext(f))
		if id != "provider" && !strings.HasSuffix(id, "_test") {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestAnswers signs in through the engine, with a server that answers as the
// provider did.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		for name, files := range cases(t, e.ID) {
			t.Run(e.ID+"/"+name, func(t *testing.T) {
				t.Parallel()
				var want, got outcome
				if err := json.Unmarshal(files["want.json"], &want); err != nil {
					t.Fatalf("want.json: %v", err)
				}
				s := newService(t, files)
				got = s.signIn(t, e, s.issuer(e))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("user (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestForeignIssuer: an answer that names another issuer is refused (RFC 9207
// §2.4); TestAnswers is the positive twin.
func TestForeignIssuer(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			for _, files := range cases(t, e.ID) {
				s := newService(t, files)
				if got := s.signIn(t, e, "https://evil.example"); got != (outcome{}) {
					t.Errorf("signed in as %+v", got)
				}
				return
			}
		})
	}
}

// outcome is what the engine stored.
type outcome struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Image    string `json:"image"`
	Verified bool   `json:"verified"`
}

// cases are the folders of a recorded answer.
func cases(t *testing.T, id string) map[string]map[string][]byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", id+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string][]byte{}
	for _, f := range txtar.Parse(raw).Files {
		name, file, _ := strings.Cut(f.Name, "/")
		if all[name] == nil {
			all[name] = map[string][]byte{}
		}
		all[name][file] = f.Data
	}
	return all
}
