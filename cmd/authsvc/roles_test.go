package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/browser"
)

// blocksOf returns the code blocks of a page in a language, by the first heading above
// each.
func blocksOf(t *testing.T, page, language string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for section := range strings.SplitSeq(string(raw), "\n## ") {
		heading, text, _ := strings.Cut(section, "\n")
		if m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(text); m != nil {
			blocks[heading] = m[1]
		}
	}
	return blocks
}

// TestRoles runs the YAML of each row of the table in docs/manual/roles.md, with both
// strategies, and reads the role in each of the ways that the page lists.
func TestRoles(t *testing.T) {
	t.Parallel()
	yaml, statements := blocksOf(t, "manual/roles.md", "yaml"), blocksOf(t, "manual/roles.md", "sql")
	for heading, role := range map[string]any{
		"A column of the users table": "admin",
		"A claim of the provider":     []any{"admin", "ops"},
		"A rule":                      "admin",
		"Your own code":               "admin",
	} {
		for _, strategy := range []string{"database", "jwt"} {
			t.Run(heading+"/"+strategy, func(t *testing.T) {
				t.Parallel()
				w := startRoles(t, strategy, yaml[heading], statements[heading], yaml["Read the role"])
				for sub, admin := range map[string]bool{"ada": true, "grace": heading == "A claim of the provider" || heading == "A rule"} {
					if heading == "A column of the users table" || heading == "Your own code" {
						w.signIn(t, sub) // stores the person
						w.grant(t)
					}
					b := w.signIn(t, sub)
					want := role
					if !admin {
						want = map[string]any{"Your own code": "guest"}[heading]
					}
					if got := w.user(t, b)["role"]; !reflect.DeepEqual(got, want) {
						t.Errorf("%s: session.user.role is %v, want %v", sub, got, want)
					}
					if statements[heading] == "" {
						w.readClaim(t, b, want, admin)
					}
				}
			})
		}
	}
}

// A rolesWorld is the service with a configuration of the page.
type rolesWorld struct {
	origin string
	op     *idp.Server
	grant  func(t *testing.T) // gives Ada the role in a column
}

func startRoles(t *testing.T, strategy, yaml, statements, reading string) *rolesWorld {
	t.Helper()
	w := &rolesWorld{op: startProvider(t), grant: func(*testing.T) {}}
	w.op.SetFault(idp.Fault{IDToken: func(claims map[string]any) {
		maps.Copy(claims, map[string]any{"realm_access": map[string]any{"roles": []string{"admin", "ops"}}})
	}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.origin = "http://" + listener.Addr().String()
	app := httptest.NewServer(http.HandlerFunc(rolesApp))
	t.Cleanup(app.Close)
	if statements == "" {
		yaml += `storage: {url: "memory:"}` + "\n" + reading
	}
	dir := t.TempDir()
	yaml = strings.NewReplacer("http://127.0.0.1:8000", app.URL, "http://127.0.0.1:8080", app.URL, "https://app.example.com", w.origin,
		"sqlite:authsvc.db", "sqlite:"+filepath.ToSlash(filepath.Join(dir, "authsvc.db"))).Replace(yaml)
	file := filepath.Join(dir, "authsvc.yaml")
	if err := os.WriteFile(file, []byte(testConfig(w.origin, w.op, yaml)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{ctx: t.Context(), configPath: file, stdout: io.Discard, stderr: t.Output(), env: map[string]string{
		"AUTHSVC_SESSION_STRATEGY": strategy, "HOOK_SECRET": "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))}}
	settings, err := p.load(nil)
	if err != nil {
		t.Fatal(err)
	}
	columns := settings.Storage.Naming.UserColumns
	settings.Storage.Naming.UserColumns = nil
	st, err := openStore(t.Context(), settings, true)
	settings.Storage.Naming.UserColumns = columns
	if statements != "" {
		if err != nil {
			t.Fatal(err)
		}
		st.close()
		add, update, _ := strings.Cut(statements, "\n")
		if _, err = openStore(t.Context(), settings, true); !strings.Contains(fmt.Sprint(err), strings.TrimSuffix(add, ";")) {
			t.Fatalf("with a table that lacks the column: %v, without %s", err, add)
		}
		db := filepath.Join(dir, "authsvc.db")
		executeOn(t, db, add)
		w.grant = func(t *testing.T) { executeOn(t, db, update) }
		st, err = openStore(t.Context(), settings, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.close() })
	settings.Engine.Adapter, settings.Engine.Logger = st.Adapter, slog.New(slog.NewTextHandler(t.Output(), nil))
	service, err := engine.New(settings.Engine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close(context.Background()) })
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: newOriginHandler(service, settings.Engine.Logger)}}
	server.Start()
	t.Cleanup(server.Close)
	return w
}

func executeOn(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// rolesApp is the application: it answers the hook, and tells the header of the gate.
func rolesApp(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/hooks" {
		io.WriteString(w, "groups="+r.Header.Get("X-Auth-Groups"))
		return
	}
	var question struct {
		Data struct{ User struct{ Email string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	role := map[bool]string{true: "admin", false: "guest"}[question.Data.User.Email == "ada@example.com"]
	fmt.Fprintf(w, `{"claims":{"role":%q}}`, role)
}

// signIn signs a person in. On a busy machine, the hook or the provider may answer too
// late, so it tries again.
func (w *rolesWorld) signIn(t *testing.T, sub string) *browser.Browser {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		b := browser.New(w.origin, nil)
		err := b.SignIn(w.op, sub)
		if err == nil {
			return b
		}
		if !strings.Contains(err.Error(), "reason=unavailable") || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// user returns the member user of GET session.
func (w *rolesWorld) user(t *testing.T, b *browser.Browser) map[string]any {
	t.Helper()
	a, err := b.Get("/api/auth/session")
	if err != nil {
		t.Fatal(err)
	}
	var session struct{ User map[string]any }
	if err := json.Unmarshal([]byte(a.Text), &session); err != nil {
		t.Fatalf("%s: %v", a.Text, err)
	}
	return session.User
}

// readClaim checks a role that is a claim: in the gate's rule, in its header, and in a
// token.
func (w *rolesWorld) readClaim(t *testing.T, b *browser.Browser, role any, admin bool) {
	t.Helper()
	a, err := b.Get("/admin/x")
	if err != nil {
		t.Fatal(err)
	}
	groups := ""
	if _, list := role.([]any); list {
		groups = "admin,ops"
	}
	if got, want := a.Text, "groups="+groups; (a.StatusCode == http.StatusOK && got == want) != admin || !admin && a.StatusCode != http.StatusForbidden {
		t.Errorf("the gate answers %d %.100s, want %s: %v", a.StatusCode, got, want, admin)
	}
	if a, err = b.Post("/api/auth/token", "audience", "reports"); err != nil {
		t.Fatal(err)
	}
	var token struct {
		Text string `json:"access_token"`
	}
	var claims map[string]any
	if err := json.Unmarshal([]byte(a.Text), &token); err != nil || strings.Count(token.Text, ".") != 2 {
		t.Fatalf("POST token: %d %s %v", a.StatusCode, a.Text, err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token.Text, ".")[1])
	if err != nil || json.Unmarshal(raw, &claims) != nil || !reflect.DeepEqual(claims["role"], role) {
		t.Errorf("the token has %s, want the role %v: %v", raw, role, err)
	}
}
