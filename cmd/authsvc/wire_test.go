package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/exchange"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/wire"
)

// TestWire plays testdata/wire against the built binary, on every store. The engine's
// own tests play the same files against the embedded handler.
func TestWire(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../engine/testdata/wire/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("transcripts: %v, %v", files, err)
	}
	binary := filepath.Join(t.TempDir(), "authsvc")
	var build sync.Once
	t.Run("on", func(t *testing.T) { // ends when all of them have ended
		for _, on := range allWireStores() {
			t.Run(on.name, func(t *testing.T) {
				t.Parallel()
				for _, file := range files {
					t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
						t.Parallel()
						env := on.env(t)
						build.Do(func() {
							if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
								t.Errorf("build: %v\n%s", err, out)
							}
						})
						playTranscript(t, binary, file, env)
					})
				}
			})
		}
	})
}

// A wireStore is a store to serve from. Its variables override the configuration of a
// transcript.
type wireStore struct {
	name string
	env  func(t *testing.T) []string
}

func allWireStores() []wireStore {
	url := func(url string) []string { return []string{"AUTHSVC_STORAGE_URL=" + url} }
	list := []wireStore{
		{"memory", func(*testing.T) []string { return nil }},
		{"sqlite", func(*testing.T) []string { return url("sqlite:authsvc.db") }},
		{"postgres", func(t *testing.T) []string { return url(servertest.Postgres(t)) }},
		{"mysql", func(t *testing.T) []string { return url(servertest.MySQL(t)) }},
		{"redis", func(t *testing.T) []string {
			server, prefix := servertest.Redis(t)
			return append(url(server), "AUTHSVC_STORAGE_PREFIX="+prefix)
		}},
		{"sqlite and redis", func(t *testing.T) []string {
			server, prefix := servertest.Redis(t)
			return append(url("sqlite:authsvc.db"), "AUTHSVC_SESSION_STORE="+server, "AUTHSVC_STORAGE_PREFIX="+prefix)
		}},
	}
	for _, m := range servertest.MongoDBs() {
		list = append(list, wireStore{m.Name, func(t *testing.T) []string { return url(m.New(t)) }})
	}
	return list
}

// playTranscript runs one transcript in its own process.
func playTranscript(t *testing.T, binary, file string, env []string) {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, f := range ar.Files {
		parts[f.Name] = string(f.Data)
	}
	people := idp.DefaultPeople()
	for i := range people { // the image is on another machine without https, so it is omitted; images of this machine are accepted here
		people[i].Picture = "http://pictures.example/" + people[i].Sub + ".png"
	}
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "wire-client-secret"}}, People: people})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	box, err := mailbox.Listen(mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	addr := freeAddress(t)
	origin := "http://" + addr
	trusted := "http://127.0.0.1:1" // the same site, because ports do not count
	dir := startTranscriptServer(t, binary, addr, strings.NewReplacer("{origin}", origin, "{issuer}", op.Issuer(), "{smtp}", "smtp://"+box.Addr(), "{trusted}", trusted).Replace(parts["authsvc.yaml"]), env)
	client := &http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableCompression: true},
	}
	wire.Run(t, wire.World{
		Origin: origin,
		Vars:   map[string]string{"origin": origin, "base": origin + "/api/auth", "host": addr, "issuer": op.Issuer(), "trusted": trusted},
		Send:   exchange.New(t, compat.FindString(parts["authsvc.yaml"])).Transport(client.Do),
		Do: func(args []string) (string, error) {
			switch args[0] {
			case "approve":
				a, err := op.Approve(args[1], strings.Trim(args[2], "-"))
				return a.URL(), err
			case "mail":
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				m, err := box.Wait(ctx, func(m mailbox.Message) bool { return strings.Contains(m.Link(), "token=") })
				return m.Link(), err
			case "undo":
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				undoes := func(link string) bool { return strings.Contains(link, "/account/undo?token=") }
				m, err := box.Wait(ctx, func(m mailbox.Message) bool { return slices.ContainsFunc(m.Links, undoes) })
				if err != nil {
					return "", err
				}
				return m.Links[slices.IndexFunc(m.Links, undoes)], nil
			case "code":
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				m, err := box.Wait(ctx, func(m mailbox.Message) bool { return m.Code != "" })
				return m.Code, err
			case "token":
				create := exec.CommandContext(t.Context(), binary, "tokens", "create", args[1], "--name", "wire", "--host", args[2], "--audience", args[3])
				create.Dir, create.Env = dir, append(env, "PATH="+os.Getenv("PATH"))
				out, err := create.Output()
				return strings.TrimSpace(string(out)), err
			case "logout":
				return op.LogoutToken("app", args[1])
			case "form":
				u, err := url.Parse(args[1])
				return u.RawQuery, err
			}
			return "", fmt.Errorf("unknown command %q", args)
		},
	}, parts["transcript"])
}

// compat matches the mode in a configuration.
var compat = regexp.MustCompile(`next-auth-v4|authjs-v5`)

// startTranscriptServer serves the configuration until the test ends, and then checks
// that the server ends cleanly. It returns the working directory.
func startTranscriptServer(t *testing.T, binary, addr, config string, env []string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "authsvc.yaml"), []byte(config+"\nlisten: "+addr+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve")
	cmd.Dir, cmd.Env = dir, append(env, "PATH="+os.Getenv("PATH"))
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Errorf("the service ended with %v\n%s", err, out)
		}
		if t.Failed() {
			t.Logf("the service said\n%s", out)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get("http://" + addr + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return dir
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service is not ready: %v", err)
		}
	}
}
