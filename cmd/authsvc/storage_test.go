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

// TestCheckFolder: a new store cannot be created in a folder that this user may not
// write to.
func TestCheckFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := checkFolder(dir); err != nil {
		t.Errorf("a writable folder: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if os.Geteuid() == 0 {
		dir = "/proc" // where root may not write either
	} else if err := os.Chmod(dir, 0o500); err != nil { // #nosec G302 -- a folder
		t.Fatal(err)
	}
	if err := checkFolder(dir); err == nil {
		t.Errorf("%s: a file can be created", dir)
	}
}
