package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
