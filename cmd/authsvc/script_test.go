package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/sqlite"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/atonce"
	"authsvc/internal/test/freeport"
)

// TestMain makes this program and the helpers available to scripts as commands.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"authsvc": main,
		"get":     runGet,
		"until":   runUntil,
		"idp":     runProvider,
		"account": runAccount,
		"bear":    runBear,
		"outside": runOutside,
		"person":  runPerson,
	})
}

// tests wait for processes.
type tests struct{ *testing.M }

func (t tests) Run() int { return atonce.Run(t.M) }

// TestScripts runs testdata/script. PORT and IDP are free ports, SECRET is a valid
// secret.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// terminate sends SIGTERM, and hangup SIGHUP, to the background processes.
			"terminate": signalAll(syscall.SIGTERM),
			"hangup":    signalAll(syscall.SIGHUP),
		},
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"PORT", "IDP"} {
				port, err := freeport.Pick(1)
				if err != nil {
					return err
				}
				e.Setenv(name, strconv.Itoa(port))
			}
			if err := restrictModes(e.WorkDir); err != nil {
				return err
			}
			e.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector sleeps 1 s at each exit
			e.Setenv("SECRET", testSecret)
			return nil
		},
	})
}

// restrictModes prevents others from reading the files of a script, which contain
// secrets.
func restrictModes(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o600)
	})
}

func signalAll(s syscall.Signal) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		for _, c := range ts.BackgroundCmds() {
			ts.Check(c.Process.Signal(s))
		}
	}
}

// patience limits how long the tests wait for something certain on a busy machine.
const patience = time.Minute

// runGet prints the status, the Location and the body of an address. It waits for the
// server to listen. A second argument is the Host to name. After -until comes a word
// that the body must contain; runGet repeats the request until it does.
func runGet() {
	if len(os.Args) > 3 && os.Args[1] == "-until" {
		getUntil(os.Args[2], os.Args[3])
		return
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequest(http.MethodGet, os.Args[1], nil)
	if err != nil {
		exitWith(err)
	}
	if len(os.Args) > 2 {
		req.Host = os.Args[2]
	}
	resp, err := client.Do(req)
	for deadline := time.Now().Add(patience); errors.Is(err, syscall.ECONNREFUSED) && time.Now().Before(deadline); resp, err = client.Do(req) {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		exitWith(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		exitWith(err)
	}
	fmt.Printf("%d %s\n%s\n", resp.StatusCode, resp.Header.Get("Location"), body)
}

// getUntil repeats a GET until the body contains a word, at most for patience.
func getUntil(word, url string) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(url)
		if err != nil {
			exitWith(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil && strings.Contains(string(body), word) {
			fmt.Printf("%s\n", body)
			return
		}
	}
	exitWith(fmt.Errorf("%s never says %s", url, word))
}

// runUntil repeats a command until a line of its output begins with a text, and prints
// the output.
func runUntil() {
	var out []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		out, _ = exec.Command(os.Args[2], os.Args[3:]...).CombinedOutput() // #nosec G204 -- what a script says
		begins := func(line string) bool { return strings.HasPrefix(line, os.Args[1]) }
		if slices.ContainsFunc(strings.Split(string(out), "\n"), begins) {
			os.Stdout.Write(out)
			return
		}
	}
	exitWith(fmt.Errorf("%s never says %q:\n%s", os.Args[2], os.Args[1], out))
}

// runProvider runs an OpenID provider on the port IDP.
func runProvider() {
	p, err := idp.New(idp.Options{Issuer: "http://127.0.0.1:" + os.Getenv("IDP"), Alg: "ES256", Clients: []idp.Client{{ID: "app", Secret: "app-secret"}}})
	if err != nil {
		exitWith(err)
	}
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("IDP"), Handler: p, ReadHeaderTimeout: patience}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	context.AfterFunc(ctx, func() { server.Close() })
	exitWith(server.ListenAndServe())
}

// runAccount stores a user with an account and its access, refresh and ID token in a
// SQLite file. Without tokens, it prints the tokens of all users.
func runAccount() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, os.Args[1], sqlite.Options{})
	if err != nil {
		exitWith(err)
	}
	defer store.Close()
	if len(os.Args) > 2 {
		a := authsvc.Account{ID: os.Args[2], Type: "oidc", Provider: "acme", ProviderAccountID: os.Args[2],
			AccessToken: os.Args[3], RefreshToken: os.Args[4], IDToken: os.Args[5]}
		if _, err := store.SignUp(ctx, authsvc.User{ID: os.Args[2]}, &a, nil, "", nil); err != nil {
			exitWith(err)
		}
	}
	users, err := store.ListUsers(ctx, "", 100)
	if err != nil {
		exitWith(err)
	}
	for _, u := range users {
		list, err := store.ListAccounts(ctx, u.ID)
		if err != nil {
			exitWith(err)
		}
		for _, a := range list {
			fmt.Printf("%s access=%s refresh=%s id=%s\n", u.ID, a.AccessToken, a.RefreshToken, a.IDToken)
		}
	}
}

// runBear posts to an address with the token in a file, and prints the status and the
// body.
func runBear() {
	token, err := os.ReadFile(os.Args[2])
	if err != nil {
		exitWith(err)
	}
	req, err := http.NewRequest(http.MethodPost, os.Args[1], strings.NewReader("audience=https://api.example.com"))
	if err != nil {
		exitWith(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		exitWith(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		exitWith(err)
	}
	fmt.Printf("%d %s\n", resp.StatusCode, body)
}

// runPerson stores a person with an account and a session: FILE ID ADDRESS.
func runPerson() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, os.Args[1], sqlite.Options{})
	if err != nil {
		exitWith(err)
	}
	defer store.Close()
	id, began := os.Args[2], time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	a := authsvc.Account{ID: "account-" + id, Type: "oidc", Provider: "acme", ProviderAccountID: id + "-there", AccessToken: "secret"}
	r := adapter.SessionRecord{ID: "session-" + id, SessionToken: "sha256:" + id, Digest: id, Expires: time.Now().Add(time.Hour), Began: time.Now().Add(-time.Minute), Provider: "acme",
		SessionOrigin: adapter.SessionOrigin{AMR: "fed", Network: "203.0.113.0/24", Agent: "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"}}
	if _, err := store.SignUp(ctx, authsvc.User{ID: id, Email: os.Args[3], Name: "Name\x1b[31m of " + id, EmailVerified: began}, &a, &r, "", nil); err != nil {
		exitWith(err)
	}
}

func exitWith(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
