package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/test/servertest"
)

// getStatus returns status and body of a GET; 0 means that nobody answers.
func getStatus(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, ""
	}
	return res.StatusCode, string(body)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s after 30 s", what)
		}
	}
}

// A syncBuffer is the output of a process, which can be read meanwhile.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *syncBuffer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *syncBuffer) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestServeWaitsForStore: until the store can be reached, the service is alive and
// not ready. Then it answers; when the store goes it is not ready, and when the
// store is back it is ready again.
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
			out := &syncBuffer{}
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
			eventually(t, "logged", func() bool { return strings.Contains(out.String(), "the store cannot be reached; trying again") })
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
