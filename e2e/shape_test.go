package e2e

import (
	"database/sql"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/npm"
	"authsvc/internal/test/process"
)

// An application has no Go code: it is the React application, `serve` behind
// /api/auth, and a Prisma database with a role column.
type application struct {
	*process.Process
	op     *idp.Server
	db     *sql.DB
	origin string
	mux    *http.ServeMux // the application's own server
}

// shaped configures typical session callbacks of such applications: user.id as in
// create-t3-app, a role from User, and groups and realm roles from Keycloak.
const shaped = `
storage: {url: "sqlite:dev.db", user_columns: [role]}
session:
  strategy: STRATEGY
  claims: {groups: groups, realm_roles: realm_access.roles}
  expose: {id: id, role: User.role, groups: claims.groups, realmRoles: realm_roles}
compat: MODE
`

func newApplication(t *testing.T, strategy, mode string) *application {
	t.Helper()
	needNode(t)
	script, err := bundle(authsvc.Compat(mode))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	_, port, err := net.SplitHostPort(front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n := process.NewNeighbours(t)
	n.OP.SetFault(idp.Fault{IDToken: func(claims map[string]any) {
		maps.Copy(claims, map[string]any{"groups": []string{"/staff", "/ops"}, "realm_access": map[string]any{"roles": []string{"offline_access"}}})
	}})
	a := &application{op: n.OP, origin: "http://localhost:" + port, mux: mux}
	more := strings.NewReplacer("STRATEGY", strategy, "MODE", mode).Replace(shaped)
	a.Process = process.Prepare(t, strings.ReplaceAll(n.YAML(more), "{origin}", a.origin))
	a.database(t)
	a.Start()
	a.Ready(chromium.Patience)
	behind, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/api/auth/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind)
		r.Out.Host = r.In.Host
	}})
	mux.HandleFunc("GET /app.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Write(script)
	})
	mux.HandleFunc("GET /app", func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, `<title>App</title><div id="root"></div><script src="/app.js"></script>`)
	})
	return a
}

// database creates Prisma's tables with one more column.
func (a *application) database(t *testing.T) {
	t.Helper()
	tables, err := os.ReadFile("testdata/stores/prisma-current.sqlite.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.Dir, "dev.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a.db, err = sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.db.Close() })
	a.exec(t, string(tables)+`ALTER TABLE "User" ADD COLUMN "role" TEXT NOT NULL DEFAULT 'USER';`)
}

func (a *application) exec(t *testing.T, statements string) {
	t.Helper()
	if _, err := a.db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// TestSessionShape runs the unmodified next-auth/react of next-auth@4 and @5 against
// `serve`, whose configuration replaces the session callbacks. It reads the same
// token with getToken of each.
func TestSessionShape(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for _, mode := range []string{"none", "next-auth-v4", "authjs-v5"} {
			if mode == "authjs-v5" && strategy != "jwt" {
				continue // there is no token to read
			}
			t.Run(strategy+"/"+mode, func(t *testing.T) {
				t.Parallel()
				a := newApplication(t, strategy, mode)
				b := newTab(t)
				b.Open(a.origin + "/app")
				is(b, "unauthenticated", "", "")
				b.Click("#in")
				b.At(a.op.Issuer())
				b.Click(`button[name=person][value="ada"]`)
				b.At(a.origin + "/app")
				is(b, "authenticated", "Ada Lovelace", "ada@example.com")
				user := a.user(t, b, `auth.getSession()`, "USER")
				a.exec(t, `UPDATE "User" SET role = 'ADMIN';`)
				if strategy == "jwt" {
					a.user(t, b, `auth.getSession()`, "USER")
				}
				a.user(t, b, `auth.update({})`, "ADMIN")
				a.user(t, b, `auth.getSession()`, "ADMIN")
				if lib := map[string]string{"next-auth-v4": "v4", "authjs-v5": "v5"}[mode]; strategy == "jwt" && lib != "" {
					a.token(t, b, lib, user["id"])
				}
				b.Quiet()
			})
		}
	}
}

// user checks the result of a next-auth/react function and returns its user.
func (a *application) user(t *testing.T, b *chromium.Tab, call, role string) map[string]any {
	t.Helper()
	user := chromium.Eval[struct{ User map[string]any }](b, call).User
	id, _ := user["id"].(string)
	var stored string
	if err := a.db.QueryRowContext(t.Context(), `SELECT id FROM "User" WHERE email = 'ada@example.com'`).Scan(&stored); err != nil || id != stored {
		t.Errorf("user.id is %q, in the store %q, %v", id, stored, err)
	}
	want := map[string]any{"id": id, "name": "Ada Lovelace", "email": "ada@example.com", "image": user["image"], "role": role,
		"groups": []any{"/staff", "/ops"}, "realmRoles": []any{"offline_access"}}
	if diff := cmp.Diff(want, user); diff != "" {
		t.Errorf("%s (-want +got)\n%s", call, diff)
	}
	return user
}

// token reads the session cookie as the application's own server does.
func (a *application) token(t *testing.T, b *chromium.Tab, lib string, id any) {
	t.Helper()
	claims := ask[map[string]any](t, call{Lib: lib, Op: "getToken", Cookies: b.Cookies(a.origin + "/app"), Secret: arena.Secret})[0]
	if claims["sub"] != id || claims["name"] != "Ada Lovelace" || claims["email"] != "ada@example.com" {
		t.Errorf("getToken: %v", claims)
	}
	want := map[string]any{"claims": map[string]any{"groups": []any{"/staff", "/ops"}, "realm_roles": []any{"offline_access"}},
		"columns": map[string]any{"role": "ADMIN"}}
	if diff := cmp.Diff(want, claims["authsvc_session"]); diff != "" {
		t.Errorf("in the token (-want +got)\n%s", diff)
	}
	for _, name := range []string{"id", "role", "groups"} {
		if claims[name] != nil {
			t.Errorf("a claim of the application's could be called %s", name)
		}
	}
}

// usesNextAuth must compile with next-auth.d.ts, and must not compile without it.
const usesNextAuth = `import { getSession } from "next-auth/react"
const session = await getSession()
export const id: string | undefined = session?.user.id
export const role: string | null | undefined = session?.user.role
export const groups: string[] | undefined = session?.user.groups
export const name: string | null | undefined = session?.user.name
// @ts-expect-error it is not exposed
session?.user.realm_roles
// @ts-expect-error the column has text
export const level: number | undefined = session?.user.role
`

// usesToken is an application whose own tokens have a role and groups. The session
// callback of the guide follows.
const usesToken = `import type { NextAuthOptions } from "next-auth"
declare module "next-auth/jwt" {
  interface JWT { role: string | null; groups: string[] }
}
export const options: NextAuthOptions = { providers: [], callbacks: {
`

// usesClient does the same with the plain type.
const usesClient = `import type { Session } from "./session.js"
const session = (await (await fetch("/api/auth/session")).json()) as Session
export const id: string = session.user.id
export const role: string | null = session.user.role
export const groups: string[] = session.user.groups
export const expires: string = session.expires
// @ts-expect-error its type is unknown
export const roles: string[] = session.user.realmRoles
// @ts-expect-error it is not exposed
session.user.realm_roles
`

// TestTypes checks that an application may rely on the output of `authsvc types`.
func TestTypes(t *testing.T) {
	t.Parallel()
	a := newApplication(t, "jwt", "next-auth-v4")
	guide, err := os.ReadFile(filepath.Join("..", "docs", "moving-from-nextauth.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, callback, found := strings.Cut(string(guide), "```js\nsession({")
	callback, _, closed := strings.Cut(callback, "```")
	if !found || !closed {
		t.Fatal("the guide has no session callback")
	}
	project := filepath.Join("..", "clients", "js")
	if err := npm.Install(project); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs(filepath.Join(project, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"next.ts": usesNextAuth, "client.ts": usesClient, "options.ts": usesToken + "session({" + callback + "}}\n", "package.json": `{"type": "module"}`,
		"tsconfig.json": `{"compilerOptions": {"target": "es2022", "module": "nodenext", "lib": ["es2022", "dom"], "strict": true, "noEmit": true, "skipLibCheck": true, "types": []}}`}
	for name, args := range map[string][]string{"next-auth.d.ts": {"types", "--type", "groups=string[]"}, "session.ts": {"types", "client", "--type", "groups=string[]"}} {
		out, code := a.Command(args...)
		if code != 0 {
			t.Fatalf("authsvc types: %s", out)
		}
		files[name] = out
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := tsc(t, dir); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(dir, "next-auth.d.ts")); err != nil {
		t.Fatal(err)
	}
	if out, err := tsc(t, dir); err == nil || !strings.Contains(out, "'id' does not exist") {
		t.Errorf("without the types: %v\n%s", err, out)
	}
}
