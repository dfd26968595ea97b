package engine

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/logbuffer"
)

// innerService returns a service for https://app.test with the internal hosts
// auth.internal:3000 and [::1].
func innerService(t *testing.T, logs *logbuffer.Buffer) *Service {
	t.Helper()
	s, err := New(authsvc.Config{
		URL: "https://app.test", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, HSTS: time.Hour,
		Session: authsvc.SessionOptions{UpdateAge: -1}, TrustedOrigins: []string{"https://www.app.test"},
		Tokens:        authsvc.TokenOptions{Audiences: []authsvc.Audience{{ID: "api"}}},
		InternalHosts: []string{"auth.internal:3000", "[::1]"}, Logger: slog.New(slog.NewTextHandler(logs, nil)),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
			return authsvc.User{ID: "1", Email: "ada@app.test"}, nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) }) //nolint:errcheck // nothing is in progress
	return s
}

// TestInternalHostRoutes calls each route and method at the internal hosts and at the
// host of the URL. It has its own list of the routes that internal hosts answer.
func TestInternalHostRoutes(t *testing.T) {
	t.Parallel()
	logs := &logbuffer.Buffer{}
	s := innerService(t, logs)
	inside := map[string]int{"GET session": 200, "GET jwks": 200, "POST token": 415} // without a body
	fill := strings.NewReplacer(":provider", "credentials", ":code", "AccessDenied")
	paths := []string{"nosuch", "session/", "SESSION", "sessio%6e", s.site.pages.StylePath}
	for path := range s.site.routes {
		paths = append(paths, fill.Replace(path))
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "POST", "HEAD", "OPTIONS", "PUT"} {
			at := strings.TrimSuffix("/api/auth/"+path, "/")
			if path == "session/" {
				at = "/api/auth/session/"
			}
			r := httptest.NewRequest(method, at, nil)
			r.Header = http.Header{"X-Auth-Return-Redirect": {"1"}, "Origin": {"https://www.app.test"}, "Accept": {"text/html"}}
			ask := func(host string) *http.Response {
				r.Host = host
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				return w.Result()
			}
			if res := ask("app.test"); res.StatusCode == http.StatusMisdirectedRequest {
				t.Errorf("%s %s: 421 at the host of the URL", method, path)
			}
			status, allowed := inside[method+" "+path]
			if !allowed {
				status = http.StatusMisdirectedRequest
			}
			for _, host := range []string{"auth.internal:3000", "AUTH.Internal:3000", "[::1]", "[::1]:80"} {
				res := ask(host)
				if res.StatusCode != status {
					t.Errorf("%s %s at %s: %d", method, path, host, res.StatusCode)
				}
				for _, name := range []string{"Location", "Set-Cookie", "Strict-Transport-Security", "Access-Control-Allow-Origin", "Allow"} {
					if v := res.Header[name]; v != nil {
						t.Errorf("%s %s at %s: %s %q", method, path, host, name, v)
					}
				}
				if kind := res.Header.Get("Content-Type"); !allowed && kind != "text/plain; charset=utf-8" {
					t.Errorf("%s %s at %s: %s", method, path, host, kind)
				}
			}
		}
	}
	if got := logs.String(); strings.Count(got, "internal host") != 1 {
		t.Errorf("log is %q", got)
	}
}

// TestInternalHostUnconfigured checks that an internal host refuses a route that is not
// configured like any other route that it does not answer.
func TestInternalHostUnconfigured(t *testing.T) {
	t.Parallel()
	s, err := New(authsvc.Config{URL: "https://app.test", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, InternalHosts: []string{"auth.internal"},
		Logger: slog.New(slog.DiscardHandler), Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
			return authsvc.User{}, authsvc.ErrAccessDenied
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) }) //nolint:errcheck // nothing is in progress
	for path, want := range map[string]int{"jwks": http.StatusMisdirectedRequest, "session": http.StatusOK} {
		r := httptest.NewRequest("GET", "/api/auth/"+path, nil)
		r.Host = "auth.internal"
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestInternalHostSession checks that a server can read the session at an internal host,
// with the cookies and cookie names of the public address. A host that only resembles an
// internal host is not one.
func TestInternalHostSession(t *testing.T) {
	t.Parallel()
	s := innerService(t, &logbuffer.Buffer{})
	cookies := map[string]string{}
	send := func(method, host, path, body string) *http.Response {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Host = host
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, v := range cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: v})
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		for _, c := range w.Result().Cookies() {
			cookies[c.Name] = c.Value
		}
		return w.Result()
	}
	text := func(res *http.Response) string {
		b := make([]byte, 4096)
		n, _ := res.Body.Read(b)
		return string(b[:n])
	}
	_, token, _ := strings.Cut(strings.TrimSuffix(text(send("GET", "app.test", "/api/auth/csrf", "")), `"}`), `:"`)
	if res := send("POST", "app.test", "/api/auth/callback/credentials", "csrfToken="+token); res.StatusCode != http.StatusFound || len(cookies) < 2 {
		t.Fatalf("sign-in: %d, %d cookies", res.StatusCode, len(cookies))
	}
	res := send("GET", "auth.internal:3000", "/api/auth/session", "")
	if body := text(res); !strings.Contains(body, "ada@app.test") || strings.Contains(fmt.Sprint(body, res.Header), "auth.internal") {
		t.Errorf("%d %s %v", res.StatusCode, body, res.Header)
	}
	if set := res.Cookies(); len(set) != 1 || !strings.HasPrefix(set[0].Name, "__Host-") || !set[0].Secure {
		t.Errorf("cookies %v", set)
	}
	for host, inner := range map[string]bool{"auth.internal:3000": true, "Auth.Internal:3000": true, "[::1]:80": true,
		"auth.internal": false, "auth.internal:80": false, "auth.internal:3000.": false, "x.auth.internal:3000": false, "auth.internal:3000/": false, "": false, "app.test": false} {
		if got := s.InternalHost(host); got != inner {
			t.Errorf("%q is internal: %v", host, got)
		}
	}
}

// TestInternalHostMistakes checks that entries that are not hosts, or are the host of
// the URL, are refused.
func TestInternalHostMistakes(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"https://App.test", "http://localhost"} {
		for raw, ok := range map[string]bool{
			"auth.internal": true, "auth.internal:3000": true, "10.0.0.7:3000": true, "[fd00::1]:3000": true, "auth_1": true,
			"": false, ":3000": false, "http://auth.internal": false, "auth.internal/": false, "auth.internal/api": false, "auth.internal:": false,
			"auth.internal:0": false, "auth.internal:65536": false, "auth.internal:x": false, "*.internal": false, "a@auth.internal": false, "auth.internal?": false,
			"auth.internal#": false, " auth.internal": false, "auth internal": false, "fd00::1": false, "äuth": false, "auth\r\nx": false,
			"app.test": url != "https://App.test", "APP.test:443": url != "https://App.test", "app.test:80": url != "https://App.test", "app.test:3000": true,
			"localhost": url != "http://localhost", "localhost:80": url != "http://localhost", "localhost:3000": true,
		} {
			list := authsvc.ConfigErrors(Check(authsvc.Config{URL: url, Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, InternalHosts: []string{"one.internal", raw, "one.internal:80"},
				Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
					return authsvc.User{}, authsvc.ErrAccessDenied
				}}}}))
			var fields []string
			for _, e := range list {
				fields = append(fields, e.Field)
			}
			want := []string{"InternalHosts[1]", "InternalHosts[2]"}
			if ok {
				want = want[1:]
			}
			if !slices.Equal(fields, want) {
				t.Errorf("%s beside %s: mistakes %q, want %q", raw, url, fields, want)
			}
		}
	}
}
