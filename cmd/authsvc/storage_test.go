package main

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/logbuffer"
	"authsvc/internal/test/servertest"
)

// TestCompatWithRedis: in compat modes, a separate Redis for sessions causes a warning,
// because all users must sign in again.
func TestCompatWithRedis(t *testing.T) {
	t.Parallel()
	server, prefix := servertest.Redis(t)
	for name, c := range map[string]struct {
		compat   authsvc.Compat
		strategy string
		sessions string
		want     bool
	}{
		"v4":                     {authsvc.NextAuthV4, "", server, true},
		"v5":                     {authsvc.AuthJSV5, "database", server, true},
		"sessions in the tables": {authsvc.NextAuthV4, "database", "", false},
		"sessions in cookies":    {authsvc.NextAuthV4, "jwt", server, false},
		"no migration":           {authsvc.CompatNone, "database", server, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &config.Settings{Storage: config.Storage{URL: "memory:", Sessions: c.sessions, Prefix: prefix}}
			s.Engine.Compat, s.Engine.Session.Strategy = c.compat, authsvc.Strategy(c.strategy)
			st, err := openStore(t.Context(), s, true)
			if err != nil {
				t.Fatal(err)
			}
			defer st.close()
			if warned := strings.Contains(strings.Join(st.warnings, "\n"), "must sign in again"); warned != c.want {
				t.Errorf("warnings %q, want one: %t", st.warnings, c.want)
			}
		})
	}
}

// TestServeWaitsForStore: until the store can be reached, the service is alive but not
// ready. Then it answers. While the store is gone, it is not ready; when the store is
// back, it is ready again.
func TestServeWaitsForStore(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]func(testing.TB) *servertest.Server{
		"postgres": servertest.OwnPostgres,
		"mysql":    servertest.OwnMySQL,
		"redis":    func(t testing.TB) *servertest.Server { return servertest.OwnRedis(t) },
		"mongodb":  servertest.OwnFerretDB,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := own(t)
			server.Kill()
			addr := freeAddress(t)
			base, config := "http://"+addr, "url: http://"+addr+"\nlisten: "+addr+"\nsecret: "+strings.Repeat("0123456789abcdef", 3)+
				"\nproviders: [{id: github, client_id: a, client_secret: b}]\n"
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "authsvc.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Args = []string{"authsvc", "serve"} // TestMain makes it the program
			out := &logbuffer.Buffer{}
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "AUTHSVC_STORAGE_URL=" + server.URL}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}()
			status := func(path string) int { code, _ := getStatus(t, base+path); return code }
			eventually(t, "alive", func() bool { return status("/healthz") == http.StatusOK })
			if ready, page := status("/readyz"), status("/api/auth/signin"); ready != http.StatusServiceUnavailable || page != http.StatusServiceUnavailable {
				t.Errorf("without a store: ready %d, page %d", ready, page)
			}
			checkUnopened(t, base)
			eventually(t, "logged", func() bool { return strings.Contains(out.String(), "cannot reach the store; retrying") })
			server.Start()
			eventually(t, "ready", func() bool { return status("/readyz") == http.StatusOK })
			if page := status("/api/auth/signin"); page != http.StatusOK {
				t.Errorf("sign-in page: %d", page)
			}
			server.Kill()
			eventually(t, "unready", func() bool { return status("/readyz") == http.StatusServiceUnavailable })
			server.Start()
			eventually(t, "ready again", func() bool { return status("/readyz") == http.StatusOK })
		})
	}
}

// TestPageWithoutStore is the part of TestServeWaitsForStore about people, which needs no
// database server.
func TestPageWithoutStore(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	base := "http://" + addr
	s, err := config.Load(config.Input{Env: map[string]string{"AUTHSVC_URL": base, "AUTHSVC_LISTEN": addr, "AUTHSVC_SECRET": strings.Repeat("0123456789abcdef", 3),
		"AUTHSVC_STORAGE_URL": "postgres://u:p@" + freeport.Refusing(t) + "/d", "AUTHSVC_GITHUB_ID": "a", "AUTHSVC_GITHUB_SECRET": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s.Engine.Logger = slog.New(slog.DiscardHandler)
	srv := newServer(s, nil, l)
	srv.startAccepting()
	t.Cleanup(func() { srv.http.Close() }) //nolint:errcheck // the test is over
	checkUnopened(t, base)
}

// checkUnopened checks what people and programs get until the store is open.
func checkUnopened(t *testing.T, base string) {
	t.Helper()
	get := func(path, host string, header ...string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a, string(body)
	}
	const plain = "starting: the store is not open yet\n"
	html := []string{"Accept", "text/html,application/xhtml+xml", "Accept-Language", "de"}
	for name, tt := range map[string]struct {
		path, host string
		header     []string
		want       string
	}{
		"a person":         {"/api/auth/signin?callbackUrl=%2Fx", "", html, "Die Anmeldung ist nicht verfügbar"},
		"another page":     {"/", "", append([]string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, html...), `href="` + base + `/"`},
		"a program":        {"/api/auth/session", "", nil, plain},
		"a script":         {"/api/auth/session", "", append([]string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, html...), plain},
		"another host":     {"/api/auth/signin", "other.test", html, plain},
		"a prefetch":       {"/api/auth/signin", "", append([]string{"Sec-Purpose", "prefetch"}, html...), plain},
		"no file of pages": {"/api/auth/style.css", "", nil, plain},
	} {
		a, body := get(tt.path, tt.host, tt.header...)
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "5" || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") || !strings.Contains(body, tt.want) ||
			tt.want == plain && body != plain || len(a.Header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: %d %v\n%s", name, a.StatusCode, a.Header, body)
		}
		if tt.want != plain && (a.Header.Get("Content-Security-Policy") == "" || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") || strings.Contains(body, "<small>")) {
			t.Errorf("%s: %v\n%s", name, a.Header, body)
		}
	}
	_, page := get("/api/auth/signin", "", html...)
	for _, pattern := range []string{`rel="stylesheet" href="([^"]+)"`, `type="image/svg\+xml" href="([^"]+)"`} {
		m := regexp.MustCompile(pattern).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("no %s in %s", pattern, page)
		}
		if a, body := get(m[1], ""); a.StatusCode != http.StatusOK || body == "" {
			t.Errorf("%s: %d", m[1], a.StatusCode)
		}
	}
}

// TestStoreRemedies: an error of a store has no advice besides that for its own cause.
func TestStoreRemedies(t *testing.T) {
	t.Parallel()
	silent := freeport.Refusing(t)
	folder := t.TempDir()
	damaged := filepath.Join(folder, "damaged.db")
	if err := os.WriteFile(damaged, []byte("this is not a database, but a text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		url, sessions string
		want          string // how the error ends
	}{
		"sqlite, no folder":      {url: "sqlite:" + folder + "/missing/auth.db", want: ": the folder " + folder + "/missing does not exist: create it, or name a file in another one"},
		"sqlite, a folder":       {url: "sqlite:" + folder, want: " is a folder: name a file in it"},
		"sqlite, not a database": {url: "sqlite:" + damaged, want: "left untouched; put a backup of the database in its place, or move it away to start with an empty one"},
		"postgres, unreachable":  {url: "postgres://u:hunter2@" + silent + "/d", want: ": check that the server runs, and host and port in the URL"},
		"mysql, unreachable":     {url: "mysql://u:hunter2@" + silent + "/d", want: "connection refused)"},
		"redis, unreachable":     {url: "redis://u:hunter2@" + silent, want: "connection refused)"},
		"sessions, unreachable":  {url: "memory:", sessions: "redis://u:hunter2@" + silent, want: "connection refused)"},
		"mongodb, unreachable":   {url: "mongodb://u:hunter2@" + silent + "/d", want: ": the server cannot be reached: check that it runs, and hosts, ports and replicaSet in the URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &config.Settings{Storage: config.Storage{URL: tt.url, Sessions: tt.sessions}}
			st, err := openStore(t.Context(), s, true)
			if err == nil {
				t.Fatal("opened", st.close())
			}
			if said := err.Error(); !strings.HasSuffix(said, tt.want) || strings.Contains(said, "hunter2") || strings.Count(said, "\n") > 0 {
				t.Errorf("%s\nwant …%s", said, tt.want)
			}
		})
	}
}
