package verify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// hookKey is the key that the application of these checks shares with the service.
var hookKey = bytes.Repeat([]byte("k"), 32)

// hookWorld is the binary with rules or hooks, and the application that it calls.
type hookWorld struct {
	*process.Process
	n    *process.Neighbours
	app  *hookApp
	seen map[string]int // how often the log contained a text
}

// hookApp answers questions and records them.
type hookApp struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	asked  []hookQuestion
}

// hookQuestion is a recorded question; signed means that its signature is valid.
type hookQuestion struct {
	Type   string
	Data   map[string]any
	body   string
	signed bool
}

func newHookApp(t testing.TB) *hookApp {
	a := &hookApp{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		q := hookQuestion{body: string(body)}
		if err == nil {
			err = json.Unmarshal(body, &q)
		}
		mac := hmac.New(sha256.New, hookKey)
		fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		q.signed = err == nil && hmac.Equal([]byte(want), []byte(r.Header.Get("webhook-signature")))
		a.mu.Lock()
		a.asked = append(a.asked, q)
		answer := a.answer
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// says makes the application answer with answer from now on, and clears the recorded
// questions.
func (a *hookApp) says(answer http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer, a.asked = answer, nil
}

// questions returns the questions since says.
func (a *hookApp) questions() []hookQuestion {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func hookSays(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) } //nolint:errcheck // a test
}

// hookServe starts the binary in the check's mode. In config, APP stands for the
// application's address and KEY for its secret. provider adds a provider; it may be
// empty.
func hookServe(t *T, config, provider string) *hookWorld {
	t.Helper()
	w := &hookWorld{n: process.NewNeighbours(t), app: newHookApp(t), seen: map[string]int{}}
	yaml := w.n.YAML(config)
	if provider != "" {
		yaml = strings.Replace(yaml, "outbound:", "  - "+provider+"\noutbound:", 1)
	}
	if t.Mode != "" && t.Mode != modeNone {
		yaml += "\ncompat: " + t.Mode + "\n"
	}
	yaml = strings.NewReplacer("APP", w.app.URL, "KEY", "whsec_"+base64.StdEncoding.EncodeToString(hookKey)).Replace(yaml)
	w.Process = process.Serve(t, yaml, "AUTHSVC_STORAGE_URL=memory:", "AUTHSVC_OP_USERINFO_CLAIMS=true")
	return w
}

// enters tries to sign in at the provider. It returns the browser and whether it is
// signed in.
func (w *hookWorld) enters(t *T, sub string) (*browser.Browser, bool) {
	t.Helper()
	b := browser.New(w.URL, nil)
	signInErr := b.SignIn(w.n.OP, sub)
	email, err := b.Email()
	if err != nil {
		t.Fatal(err)
	}
	if (signInErr == nil) != (email != "") {
		t.Errorf("%s: %v, but signed in as %q", sub, signInErr, email)
	}
	return b, email != ""
}

// reason waits for an audit line with an event and a reason.
func (w *hookWorld) reason(t *T, event, reason string) {
	t.Helper()
	w.logged(t, "event="+event+" ", fmt.Sprintf("reason=%q", reason))
}

// logged waits for a line that contains all of want.
func (w *hookWorld) logged(t *T, want ...string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		for line := range strings.Lines(w.Logs.String()) {
			if !slices.ContainsFunc(want, func(s string) bool { return !strings.Contains(line, s) }) {
				return
			}
		}
		if time.Now().After(end) {
			t.Errorf("no line of the log with %q", want)
			return
		}
	}
}

// told sets claims that the provider sends about everyone, in addition to its own.
func (w *hookWorld) told(claims map[string]any) {
	add := func(c map[string]any) { maps.Copy(c, claims) }
	w.n.OP.SetFault(idp.Fault{IDToken: add, UserInfo: add})
}

// toldMuch does the same for claims too large for an ID token.
func (w *hookWorld) toldMuch(claims map[string]any) {
	w.n.OP.SetFault(idp.Fault{UserInfo: func(c map[string]any) { maps.Copy(c, claims) }})
}
