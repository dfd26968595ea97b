package verify

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// Variables of the child process of tokens-04.
const (
	tokensChildStore  = "AUTHSVC_VERIFY_TOKENS_STORE"
	tokensChildIssuer = "AUTHSVC_VERIFY_TOKENS_ISSUER"
	tokensChildUser   = "AUTHSVC_VERIFY_TOKENS_USER"
)

// TestTokensChild is a separate process: an application that refreshes a token until
// its parent kills it. By itself, it does nothing.
func TestTokensChild(t *testing.T) {
	file := os.Getenv(tokensChildStore)
	if file == "" {
		return
	}
	s, err := engine.New(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: tokensStore(t, file),
		Providers: []authsvc.Provider{&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: os.Getenv(tokensChildIssuer),
			Client: authsvc.Client{ID: "app", Secret: arena.ClientSecret}}}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.AccessToken(t.Context(), os.Getenv(tokensChildUser), "op", nil)
	t.Fatalf("not killed: %q, %v", token, err)
}

func tokensStore(t testing.TB, file string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), file, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// tokens04 kills the refreshing process after the provider has rotated the refresh
// token. The new token is lost. The next refresh is refused once, and a sign-in
// repairs it.
func tokens04(t *T) {
	file := filepath.Join(t.TempDir(), "auth.db")
	store := tokensStore(t, file)
	w := t.Enter(func(c *authsvc.Config) { c.Adapter = store })
	child := exec.Command(os.Args[0], "-test.run=^TestTokensChild$", "-test.timeout=60s")
	var rotated, asked atomic.Int64
	w.OP.SetFault(tokensFault(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.PostForm.Get("refresh_token") != fmt.Sprint("rt-", rotated.Load()) {
			rw.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(rw, `{"error":"invalid_grant"}`)
			return
		}
		n := rotated.Add(1)
		if asked.Load() == 1 {
			child.Process.Kill()
			<-r.Context().Done() // its connection is gone
			return
		}
		tokensGood(rw, n, "")
	}))
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	id := w.Person(t, b)
	child.Env = append(os.Environ(), tokensChildStore+"="+file, tokensChildIssuer+"="+w.OP.Issuer(), tokensChildUser+"="+id)
	out, err := child.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != -1 || asked.Load() != 1 {
		t.Fatalf("%v, asked %d times\n%s", err, asked.Load(), out)
	}
	begin := time.Now()
	_, err = w.AccessToken(t.Context(), id, "op", nil)
	for errors.Is(err, authsvc.ErrBusy) && time.Since(begin) < time.Minute {
		_, err = w.AccessToken(t.Context(), id, "op", nil)
	}
	if !errors.Is(err, authsvc.ErrTokenRefused) {
		t.Errorf("after the crash: %v", err)
	}
	t.Figure("ErrTokenRefused after %d s, when the lease of the killed process had expired", int(time.Since(begin).Seconds()))
	for range 10 {
		if _, err := w.AccessToken(t.Context(), id, "op", nil); !errors.Is(err, authsvc.ErrTokenRefused) {
			t.Errorf("again: %v", err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the provider was asked %d times", n)
	}
	rotated.Store(0) // another grant
	b.SignIn(w.OP, "ada")
	time.Sleep(1100 * time.Millisecond) // the access token expires
	if token, err := w.AccessToken(t.Context(), id, "op", nil); token == "" || err != nil {
		t.Errorf("twin, signed in again: %q, %v", token, err)
	}
}
