package engine_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
)

const guestOrigin = "https://guests.test"

// A guest is a minimal browser: it keeps cookies and has a network address.
type guest struct {
	t       testing.TB
	h       http.Handler
	ip      string // host:port
	cookies map[string]string
}

// A reply is a response with its body and the time that it took.
type reply struct {
	*http.Response
	text string
	took time.Duration
}

// in reports whether the reply is to a successful sign-in.
func (r *reply) in() bool { return r.Header.Get("Location") == guestOrigin }

// guests runs a service with Credentials that accepts any name with the password
// "right". It returns the service and a function that makes a browser at an address.
func guests(t testing.TB, tune func(*authsvc.Config)) (*engine.Service, func(ip string) *guest) {
	t.Helper()
	c := authsvc.Config{
		URL: guestOrigin, Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(_ context.Context, f map[string]string) (authsvc.User, error) {
			if f["password"] == "right" {
				return authsvc.User{ID: "id of " + f["username"]}, nil
			}
			return authsvc.User{}, authsvc.ErrAccessDenied
		}}},
	}
	if tune != nil {
		tune(&c)
	}
	s, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, func(ip string) *guest { return &guest{t: t, h: s, ip: ip, cookies: map[string]string{}} }
}

func (g *guest) do(r *http.Request) *reply {
	g.t.Helper()
	r.RemoteAddr = g.ip
	for name, v := range g.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	rec, start := httptest.NewRecorder(), time.Now()
	g.h.ServeHTTP(rec, r)
	res := rec.Result()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 || c.Value == "" {
			delete(g.cookies, c.Name)
		} else {
			g.cookies[c.Name] = c.Value
		}
	}
	return &reply{res, string(raw), time.Since(start)}
}

func (g *guest) get(to string) *reply {
	g.t.Helper()
	if strings.HasPrefix(to, "/") {
		to = guestOrigin + to
	}
	return g.do(httptest.NewRequest(http.MethodGet, to, nil))
}

// post sends a form with the CSRF token and fields, which are names and values in turn.
func (g *guest) post(path string, fields ...string) *reply {
	g.t.Helper()
	var v struct{ CSRFToken string }
	if err := json.Unmarshal([]byte(g.get("/api/auth/csrf").text), &v); err != nil {
		g.t.Fatal(err)
	}
	form := url.Values{"csrfToken": {v.CSRFToken}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, guestOrigin+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return g.do(r)
}

func (g *guest) login(name, password string, more ...string) *reply {
	g.t.Helper()
	return g.post("/api/auth/callback/credentials", append([]string{"username", name, "password", password}, more...)...)
}
