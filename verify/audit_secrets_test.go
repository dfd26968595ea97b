package verify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// An auditCanaries holds values that must appear in no output, by kind.
type auditCanaries struct {
	mu   sync.Mutex
	seen map[string]string
}

func (k *auditCanaries) add(what, v string) {
	if len(v) < 8 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[v] = what
	k.seen[url.QueryEscape(v)] = what + ", escaped"
}

// jar adds a browser's cookies.
func (k *auditCanaries) jar(b *arena.Browser) {
	for name, v := range b.Cookies {
		if !strings.Contains(name, "callback-url") && !strings.Contains(name, ".last") {
			k.add("cookie "+name, v)
		}
	}
}

// address adds the secrets in an address.
func (k *auditCanaries) address(t *T, raw string) string {
	for _, name := range []string{"code", "state", "nonce", "token", "code_challenge", "oauth_token", "oauth_verifier"} {
		k.add(name, arena.MustURL(t, raw).Query().Get(name))
	}
	return raw
}

// hear makes the provider add the requests to its token endpoint and the answers.
func (k *auditCanaries) hear(w *arena.World) {
	w.OP.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointToken: func(_ http.ResponseWriter, r *http.Request) bool {
		r.ParseForm()
		for _, name := range []string{"code", "code_verifier", "client_secret", "refresh_token"} {
			k.add(name, r.Form.Get(name))
		}
		k.add("authorization", strings.TrimPrefix(r.Header.Get("Authorization"), "Basic "))
		return false
	}}, TokenAnswer: func(answer map[string]any) {
		answer["refresh_token"] = "refresh-token-9f3kd82h"
		for _, name := range []string{"access_token", "id_token", "refresh_token"} {
			if v, ok := answer[name].(string); ok {
				k.add(name, v)
			}
		}
	}})
}

// absent checks that an output contains no canary.
func (k *auditCanaries) absent(t *T, where, output string) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for v, what := range k.seen {
		if strings.Contains(output, v) {
			i := strings.Index(output, v)
			t.Errorf("%s has the %s: …%.300q", where, what, output[max(0, i-100):])
		}
	}
}

func audit02(t *T) {
	t.Strategies(func(t *T, strategy string) {
		k, kept := &auditCanaries{seen: map[string]string{}}, &auditKept{}
		k.add("secret", arena.Secret)
		k.add("client secret", arena.ClientSecret)
		const password, wrong = "password-canary-71kd", "wrong-canary-83jf"
		k.add("password", password)
		k.add("wrong password", wrong)
		w := t.Enter(func(c *authsvc.Config) {
			c.Session.Strategy = authsvc.Strategy(strategy)
			c.Providers[2].(*authsvc.Credentials).Authorize = func(ctx context.Context, f map[string]string) (authsvc.User, error) {
				if f["password"] != password {
					return authsvc.User{}, errors.New("no such password")
				}
				return authsvc.User{ID: "ada-id", Name: "Ada"}, nil
			}
			kept.listen(c)
		})
		if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "Ada"}, nil); err != nil {
			t.Fatal(err)
		}
		auditTour(t, w, k, password, wrong)
		text, err := json.Marshal(kept.take())
		if err != nil {
			t.Fatal(err)
		}
		logs := w.Logs.String()
		k.absent(t, "the log", logs)
		k.absent(t, "the events", string(text))
		if len(k.seen) < 60 || strings.Count(logs, "msg=audit") < 15 {
			t.Errorf("twin: %d canaries, %d events in the log\n%s", len(k.seen), strings.Count(logs, "msg=audit"), logs)
		}
		t.Figure("%s: %d canaries, %d bytes of log and events", strategy, len(k.seen), len(logs)+len(text))
	})
	if t.Mode == modeNone && theScale() >= ci {
		t.Run("serve", auditServe)
	}
}

// auditTour runs every flow, with success and with failure.
func auditTour(t *T, w *arena.World, k *auditCanaries, password, wrong string) {
	b := w.Browser()
	k.hear(w)
	back := k.address(t, b.Approve(w.OP, k.address(t, b.Begin("op")), "ada"))
	k.jar(b)
	b.Get(back)
	k.jar(b)
	k.add("csrf token", b.CSRF())
	b.Get(back) // a second time
	w.Browser().Get(back)
	b.Session()
	b.Post("/api/auth/session", "data", "x")
	link := k.address(t, emailAsk(t, w, b, "mail@app.test"))
	k.jar(b)
	w.Browser().Get(link)
	b.Get(link + "&x=%00")
	emailConfirm(t, b, link)
	emailConfirm(t, b, link)
	b.Get(k.address(t, b.Approve(w.OP, k.address(t, b.Begin("op", "link", "true")), "grace")))
	k.jar(b)
	b.Post("/api/auth/callback/credentials", "username", "ada", "password", wrong)
	b.Post("/api/auth/callback/credentials", "username", "ada", "password", password)
	k.jar(b)
	b.Post("/api/auth/signout", "csrfToken", "forged-csrf-token-3k9d")
	b.Post("/api/auth/signout")
	for name, fault := range map[string]idp.Fault{
		"token 500": {Status: map[idp.Endpoint]int{idp.EndpointToken: 500}}, "token 400": {Status: map[idp.Endpoint]int{idp.EndpointToken: 400}},
		"userinfo 500": {Status: map[idp.Endpoint]int{idp.EndpointUserInfo: 500}}, "no sub": accountClaim("sub", nil), "nonce": accountClaim("nonce", "x"), "audience": accountClaim("aud", "x"),
		"echo": {Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointToken: func(rw http.ResponseWriter, r *http.Request) bool {
			r.ParseForm()
			auth := r.Header.Get("Authorization")
			rw.WriteHeader(400)
			json.NewEncoder(rw).Encode(map[string]string{"error": r.Form.Get("code"), "error_description": auth + " " + r.Form.Encode() + arena.ClientSecret})
			k.add("authorization", strings.TrimPrefix(auth, "Basic "))
			return true
		}}},
	} {
		w.OP.SetFault(fault)
		c := w.Browser()
		to := k.address(t, c.Approve(w.OP, k.address(t, c.Begin("op")), "katherine"))
		k.jar(c)
		if c.Get(to); c.Email() != "" {
			t.Errorf("twin: %s signs in", name)
		}
	}
	w.OP.SetFault(idp.Fault{})
	for _, path := range []string{"/api/auth/callback/op?code=code-canary-83kd&state=state-canary-82kd&error_description=x", "/api/auth/callback/email?token=token-canary-91kdj38f7&email=a@app.test", "/api/auth/nothing?token=token-canary-nothing-1k", "/api/auth/session?access_token=access-canary-2kd9"} {
		k.add("code", "code-canary-83kd")
		k.address(t, arena.Origin+path)
		k.add("access token", "access-canary-2kd9")
		b.Get(path)
	}
	b.Cookies[w.SessionCookie()] = "session-canary-forged-93kd"
	k.jar(b)
	b.Session()
	b.Header.Set("Authorization", "Bearer bearer-canary-28fk")
	k.add("authorization", "bearer-canary-28fk")
	b.Get("/api/auth/session")
	w.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	c := w.Browser()
	c.Post("/api/auth/signin/email", "email", "mail@app.test")
	c.Post("/api/auth/callback/credentials", "username", "ada", "password", password)
	c.Get("/api/auth/session")
	w.Ledger.BreakAt(nil)
}

// auditServe runs the tour with the program at its highest log level.
func auditServe(t *T) {
	n := process.NewNeighbours(t)
	p := process.Serve(t, n.YAML("log: {level: debug}\n"), "AUTHSVC_STORAGE_URL=memory:")
	k := &auditCanaries{seen: map[string]string{}}
	k.add("secret", arena.Secret)
	k.add("client secret", arena.ClientSecret)
	v := browser.New(p.URL, nil)
	link, err := v.AskForLink(t.Context(), n.Box, "ada@app.test")
	if err != nil {
		t.Fatal(err)
	}
	k.address(t, link)
	a, err := v.Post("/api/auth/signin/op")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := n.OP.Approve(k.address(t, a.Location()), "ada")
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{k.address(t, answer.URL()), answer.URL(), link, link, "/api/auth/callback/op?code=code-canary-83kd&state=x"} {
		if _, err := v.Get(to); err != nil {
			t.Fatal(err)
		}
	}
	k.add("code", "code-canary-83kd")
	for _, c := range v.Client.Jar.Cookies(arena.MustURL(t, p.URL)) {
		if !strings.Contains(c.Name, "callback-url") && !strings.Contains(c.Name, "last") {
			k.add("cookie "+c.Name, c.Value)
		}
	}
	k.absent(t, "the program's output", p.Logs.String())
	if !strings.Contains(p.Logs.String(), "event=sign_in.succeeded") {
		t.Error("twin: nothing is logged")
	}
}
