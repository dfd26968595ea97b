package main

import (
	"bytes"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/servertest"
)

// prismaTables is the documented NextAuth.js schema as Prisma creates it in SQLite, with
// two people. The address of one is not in normal form, and the other is signed in.
const prismaTables = `
CREATE TABLE "User" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT, "email" TEXT, "emailVerified" DATETIME, "image" TEXT);
CREATE TABLE "Account" ("id" TEXT NOT NULL PRIMARY KEY, "userId" TEXT NOT NULL REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE, "type" TEXT NOT NULL,
	"provider" TEXT NOT NULL, "providerAccountId" TEXT NOT NULL, "refresh_token" TEXT, "access_token" TEXT, "expires_at" INTEGER, "token_type" TEXT,
	"scope" TEXT, "id_token" TEXT, "session_state" TEXT);
CREATE TABLE "Session" ("id" TEXT NOT NULL PRIMARY KEY, "sessionToken" TEXT NOT NULL,
	"userId" TEXT NOT NULL REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE, "expires" DATETIME NOT NULL);
CREATE TABLE "VerificationToken" ("identifier" TEXT NOT NULL, "token" TEXT NOT NULL, "expires" DATETIME NOT NULL);
CREATE UNIQUE INDEX "Account_provider_providerAccountId_key" ON "Account"("provider", "providerAccountId");
CREATE UNIQUE INDEX "Session_sessionToken_key" ON "Session"("sessionToken");
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");
CREATE UNIQUE INDEX "VerificationToken_token_key" ON "VerificationToken"("token");
INSERT INTO "User" ("id", "name", "email") VALUES ('cl1', 'Ann', 'ann@example.com'), ('cl2', 'Bob', 'Bob@Example.com');
INSERT INTO "Session" VALUES ('s1', '0123456789abcdef-of-ann', 'cl1', '2090-01-01 00:00:00.000');
`

// drizzleTables has the names of @auth/drizzle-adapter.
var drizzleTables = strings.NewReplacer(`"User"`, `"user"`, `"Account"`, `"account"`, `"Session"`, `"session"`, `"VerificationToken"`, `"verificationToken"`).Replace(prismaTables)

// An appDatabase is a database of an application.
type appDatabase struct {
	env []string // names it to authsvc
	db  *sql.DB
	all string // query for the names of all tables
}

// appDatabases returns functions that create a database with a schema.
func appDatabases() map[string]func(t *testing.T, dir, schema string) appDatabase {
	open := func(t *testing.T, driver, url, schema string) *sql.DB {
		db, err := sql.Open(driver, url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if _, err := db.ExecContext(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
		return db
	}
	return map[string]func(*testing.T, string, string) appDatabase{
		"sqlite": func(t *testing.T, dir, schema string) appDatabase {
			file := filepath.Join(dir, "app.db")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return appDatabase{[]string{"AUTHSVC_STORAGE_URL=sqlite:app.db"}, open(t, "sqlite", file+"?_pragma=busy_timeout(60000)", schema), `SELECT name FROM sqlite_schema ORDER BY 1`}
		},
		"postgres": func(t *testing.T, _, schema string) appDatabase {
			url := servertest.Postgres(t)
			return appDatabase{[]string{"AUTHSVC_STORAGE_URL=" + url}, open(t, "pgx", url, strings.ReplaceAll(schema, "DATETIME", "TIMESTAMP(3)")),
				`SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace ORDER BY 1`}
		},
	}
}

// values returns the first column of a query.
func (a appDatabase) values(t *testing.T, query string) string {
	t.Helper()
	rows, err := a.db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}

// call runs a command with the configuration of a process, and returns the exit code and
// the whole output.
func (l *process) call(args ...string) (code int, out string) {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), os.Args[0])
	cmd.Args = append([]string{"authsvc", "--config", configFile(l.addr)}, args...)
	cmd.Dir, cmd.Env = l.dir, l.cmd.Env
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), b.String()
}

// says runs a command, and checks its exit code and its output.
func (l *process) says(code int, want []string, args ...string) {
	l.t.Helper()
	got, out := l.call(args...)
	for _, part := range want {
		if !strings.Contains(out, part) {
			l.t.Errorf("authsvc %s does not say %q:\n%s", strings.Join(args, " "), part, out)
		}
	}
	if got != code {
		l.t.Errorf("authsvc %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
}

// sessionOf returns the body of GET session with the cookie of NextAuth.js.
func (l *process) sessionOf(token string) string {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "http://"+l.addr+"/api/auth/session", nil)
	if err != nil {
		l.t.Fatal(err)
	}
	req.AddCookie(&http.Cookie{Name: "next-auth.session-token", Value: token})
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(body)
}

// TestGuideOfMoving runs the commands of docs/moving-from-nextauth.md, with its
// configuration and in its order, on the database of an application.
func TestGuideOfMoving(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/moving-from-nextauth.md")
	if err != nil {
		t.Fatal(err)
	}
	config := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(guide)
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(guide, -1) {
		commands = append(commands, strings.Split(strings.TrimSpace(string(block[1])), "\n")...)
	}
	people := []string{"table: User: 2 people", "table: Account: 0 accounts", "table: Session: 1 session\n", "table: VerificationToken: 0 links"}
	steps := []struct {
		command string
		code    int
		want    []string
	}{
		{"authsvc migrate-from next-auth PATH --url https://app.example.com", 0, []string{"4.24.11", "compat: next-auth-v4", "id: github", "authsvc check -c authsvc.yaml"}},
		{"authsvc check", 0, append(people, "nothing has run with it yet", "/api/auth/callback/github")},
		{"authsvc migrate up --dry-run", 0, []string{"User: 2 people\n", "would apply 1, initial"}},
		{"authsvc migrate up", 0, []string{"schema version 8 of 8", "User: 2 people\n"}},
		{"authsvc check", 1, append(people, "1 address is not in the normal form that lookups use, of users cl2; run `authsvc migrate normalize --dry-run`")},
		{"authsvc migrate normalize --dry-run", 0, []string{"would rewrite 1 address"}},
		{"authsvc migrate normalize", 0, []string{"rewrote 1 address"}},
		{"authsvc serve", 0, nil},
	}
	if config == nil || len(commands) != len(steps) {
		t.Fatalf("the guide has a configuration %t and the commands %q", config != nil, commands)
	}
	for kind, create := range appDatabases() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, addr := t.TempDir(), freeAddress(t)
			app := create(t, dir, prismaTables)
			env := append(app.env, "AUTHSVC_SECRET="+testSecret, "NEXTAUTH_SECRET=the old secret of the application, long enough", "AUTHSVC_SESSION_STRATEGY=database")
			yaml := strings.NewReplacer("https://app.example.com", "http://"+addr, "…", "app").Replace(string(config[1]))
			l := newProcess(t, dir, addr, yaml, env...)
			before := app.values(t, app.all)
			for _, args := range []string{"check --deep", "check --offline", "migrate status", "migrate up --dry-run --sql"} {
				l.says(0, []string{"User: 2 people"}, strings.Fields(args)...)
			}
			l.says(1, []string{"nothing has run with storage", "run `authsvc migrate up` first"}, "users")
			careful := newProcess(t, dir, addr, yaml, append(env, "AUTHSVC_STORAGE_MIGRATE=false")...)
			careful.says(0, []string{"nothing has run with it yet; `authsvc migrate up` sets it up"}, "check")
			for i, step := range steps {
				if commands[i] != step.command {
					t.Fatalf("the guide says %s, this test %s", commands[i], step.command)
				}
				switch step.command {
				case "authsvc serve":
					l.start()
				case "authsvc migrate-from next-auth PATH --url https://app.example.com":
					writeApp(t, filepath.Join(dir, "PATH"))
					l.says(step.code, step.want, append(strings.Fields(step.command)[1:], "-o", "-")...) // the configuration is there already
				case "authsvc migrate up":
					if after := app.values(t, app.all); after != before {
						t.Errorf("before migrate up, there were\n%s\nand now are\n%s", before, after)
					}
					fallthrough
				default:
					l.says(step.code, step.want, strings.Fields(step.command)[1:]...)
				}
			}
			if body := l.sessionOf("0123456789abcdef-of-ann"); !strings.Contains(body, `"ann@example.com"`) {
				t.Errorf("the session of the application: %s", body)
			}
			if body := l.sessionOf("0123456789abcdef-unknown"); body != "{}" {
				t.Errorf("another session: %s", body)
			}
			l.says(0, people, "check")
			l.terminate()
			l.says(0, nil, "migrate", "down", "--yes")
			l.says(0, []string{"schema version 7 of 8; serve brings it up to date, after which check reads the records, too", "User: 2 people"}, "check", "--deep")
			careful.says(1, []string{"schema version 7 of 8; run `authsvc migrate up`"}, "check")
		})
	}
}

// writeApp writes the folder of an application with NextAuth.js 4.
func writeApp(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"package.json": `{"dependencies": {"next-auth": "4.24.11", "@next-auth/prisma-adapter": "^1.0.7"}}`,
		"auth.js": `import GitHub from "next-auth/providers/github";
export const authOptions = { providers: [GitHub({ clientId: process.env.GITHUB_ID, clientSecret: process.env.GITHUB_SECRET })] };
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMissedTables: if the configuration misses the tables of the application, no
// command creates others, and the printed setting uses them.
func TestMissedTables(t *testing.T) {
	t.Parallel()
	op := startProvider(t)
	for kind, create := range appDatabases() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, addr := t.TempDir(), freeAddress(t)
			schema := drizzleTables
			names := "tables: {Account: account, Session: session, User: user, VerificationToken: verificationToken}"
			if kind == "sqlite" { // which ignores case
				schema = strings.NewReplacer(`"user"`, `"app_user"`, `"account"`, `"app_account"`, `"session"`, `"app_session"`, `"verificationToken"`, `"app_token"`).Replace(schema)
				names = "tables: {Account: app_account, Session: app_session, User: app_user, VerificationToken: app_token}"
			}
			app := create(t, dir, schema)
			before := app.values(t, app.all)
			config := testConfig("http://"+addr, op, "compat: next-auth-v4", "session: {strategy: database}")
			l := newProcess(t, dir, addr, config, app.env...)
			refused := []string{"storage.tables does not lead to the tables of the application: the database has no User, Account, Session, VerificationToken, but ", " (rows: 2)", "write under storage: `" + names + "`"}
			if kind == "sqlite" { // app_token does not look like VerificationToken
				refused[2] = "write under storage: `tables: {Account: app_account, Session: app_session, User: app_user}`"
			}
			l.says(1, append(refused, "wrong  storage: "), "check", "--offline")
			l.says(0, []string{"User: does not exist and will be created"}, "migrate", "status")
			l.says(2, refused, "migrate", "up", "--dry-run")
			l.says(2, refused, "migrate", "up", "--dry-run", "--sql")
			l.says(2, refused, "migrate", "up")
			l.says(2, refused, "serve")
			if after := app.values(t, app.all); after != before {
				t.Fatalf("created %s; before: %s", after, before)
			}
			l.writeConfig(config + "storage: {" + names + "}")
			l.start()
			if body := l.sessionOf("0123456789abcdef-of-ann"); !strings.Contains(body, `"ann@example.com"`) {
				t.Errorf("the session of the application: %s", body)
			}
			l.terminate()
		})
	}
}

// TestNewTables: in a compat mode, an empty database is fine, and the log names the
// created tables. Beside the tables of an application, new ones are created on demand.
func TestNewTables(t *testing.T) {
	t.Parallel()
	op := startProvider(t)
	dir, addr := t.TempDir(), freeAddress(t)
	config := testConfig("http://"+addr, op, "compat: authjs-v5")
	l := newProcess(t, dir, addr, config, "AUTHSVC_STORAGE_URL=sqlite:empty.db")
	l.start()
	l.waitForLog("created the tables User, Account, Session, VerificationToken, which did not exist", 1)
	l.terminate()

	app := appDatabases()["postgres"](t, dir, drizzleTables)
	l = newProcess(t, dir, addr, config, app.env...)
	l.says(0, []string{"User: 0 people"}, "migrate", "up", "--new-tables")
	l.says(0, []string{"table: User: 0 people"}, "check", "--offline")
	if n := app.values(t, `SELECT COUNT(*) FROM "user"`); n != "2" {
		t.Errorf("the application has %s users", n)
	}
}

// TestSaysWhyTheStoreFails: if a statement fails, the log line of the request says what
// the database said, without values of the row.
func TestSaysWhyTheStoreFails(t *testing.T) {
	t.Parallel()
	op := startProvider(t)
	for kind, want := range map[string]string{"sqlite": "CHECK constraint failed: ours", "postgres": "SQLSTATE 23514, table User, constraint ours"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, addr := t.TempDir(), freeAddress(t)
			app := appDatabases()[kind](t, dir, strings.Replace(prismaTables, `"email" TEXT,`, `"email" TEXT CONSTRAINT ours CHECK ("email" <> 'ada@example.com'),`, 1))
			l := newProcess(t, dir, addr, testConfig("http://"+addr, op, "compat: next-auth-v4"), app.env...)
			l.start()
			if err := browser.New("http://"+addr, nil).SignIn(op, "ada"); err == nil {
				t.Error("signed in")
			}
			l.waitForLog(want, 1)
			if err := browser.New("http://"+addr, nil).SignIn(op, "grace"); err != nil {
				t.Errorf("twin: %v", err)
			}
			if said := l.out.String(); strings.Contains(said, "ada@example.com") {
				t.Errorf("the log has a value of the row:\n%s", said)
			}
			l.terminate()
		})
	}
}

// TestJudgedColumns: a column that fails for some people is a note of check and a warning
// of serve. A column that can never work ends both.
func TestJudgedColumns(t *testing.T) {
	t.Parallel()
	op := startProvider(t)
	for name, c := range map[string]struct{ old, changed, some, never string }{
		"name NOT NULL":         {`"name" TEXT`, `"name" TEXT NOT NULL`, "table User: column name (TEXT) is NOT NULL; sign-ins that bring no value for it will fail: ALTER TABLE", ""},
		"emailVerified BOOLEAN": {`"emailVerified" DATETIME`, `"emailVerified" BOOLEAN`, "", "storage.url names a database whose tables cannot be used: table User: column emailVerified (BOOLEAN) cannot hold times: ALTER TABLE"},
		"neither":               {`"name" TEXT`, `"name" VARCHAR(255)`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, addr := t.TempDir(), freeAddress(t)
			app := appDatabases()["sqlite"](t, dir, strings.Replace(strings.ReplaceAll(prismaTables, "Bob@Example.com", "bob@example.com"), c.old, c.changed, 1))
			l := newProcess(t, dir, addr, testConfig("http://"+addr, op, "compat: next-auth-v4"), app.env...)
			before := app.values(t, app.all)
			if c.never != "" {
				l.says(1, []string{"wrong  storage: ", c.never}, "check")
				l.says(2, []string{c.never}, "migrate", "up", "--dry-run")
				l.says(2, []string{c.never}, "serve")
				if after := app.values(t, app.all); after != before {
					t.Errorf("created %s; before: %s", after, before)
				}
				return
			}
			code, out := l.call("check")
			if noted := strings.Contains(out, "note   table User"); code != 0 || noted != (c.some != "") || !strings.Contains(out, c.some) {
				t.Errorf("check: %d, want %q\n%s", code, c.some, out)
			}
			l.start()
			l.terminate()
			if said := l.out.String(); strings.Contains(said, `level=WARN msg="table User`) != (c.some != "") {
				t.Errorf("the log should have %q:\n%s", c.some, said)
			}
		})
	}
}
