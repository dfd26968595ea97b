package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/cmd/authsvc/internal/rules"
)

// decided returns settings with an expression for each rule and a hook for each
// question. The hooks give these answers; empty ones are not configured.
func decided(t *testing.T, signIn, claims, redirect string, answers map[string]string) *config.Settings {
	t.Helper()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, answers[strings.TrimPrefix(r.URL.Path, "/")]) //nolint:errcheck // a test
	}))
	t.Cleanup(app.Close)
	s := &config.Settings{Rules: config.Rules{SignIn: config.Expression{Text: signIn}, Claims: config.Expression{Text: claims}, Redirect: config.Expression{Text: redirect}}}
	hook := func(kind string) config.Hook {
		return config.Hook{On: kind, URL: app.URL + "/" + kind, Secrets: []string{"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"}}
	}
	for _, kind := range []string{"sign_in", "claims", "create_user"} {
		if answers[kind] != "" {
			s.Hooks = append(s.Hooks, hook(kind))
		}
	}
	members := &authsvc.Credentials{ID: "members"}
	s.Credentials = []config.Credentials{{Provider: members, Hook: hook("credentials")}}
	s.Engine.Providers = []authsvc.Provider{members}
	if err := configureDecisions(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// reasonOf returns the reason that the audit log gives for an error.
func reasonOf(err error) string {
	var r *authsvc.Refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &r) && r.Failed:
		return "failed: " + r.Reason
	case r != nil:
		return r.Reason
	}
	return err.Error()
}

// TestSignInDecisions: the rule decides before the hook; the first refusal counts, and
// a failure refuses.
func TestSignInDecisions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rule, hook, want string }{
		{"", "", ""},
		{"true", "", ""},
		{"true", `{"allow":true}`, ""},
		{"", `{"allow":true}`, ""},
		{"", `{"allow":false,"redirect":"/terms"}`, "/terms"},
		{"false", `{"allow":true}`, "by the rule of sign-in"},
		{"false", `{"allow":false,"redirect":"/terms"}`, "by the rule of sign-in"},
		{"profile.x", `{"allow":true}`, "failed: a rule failed"},
		{"true", `{"allow":false}`, "by a hook"},
		{"true", `{}`, "failed: a hook failed"},
	} {
		c := decided(t, tt.rule, "", "", map[string]string{"sign_in": tt.hook}).Engine.Callbacks
		if (c.SignIn == nil) != (tt.rule == "" && tt.hook == "") || c.Claims != nil || c.CreateUser != nil || c.AllowRedirect != nil {
			t.Errorf("%+v: callbacks that nothing is configured for", tt)
		}
		if c.SignIn == nil {
			continue
		}
		to, err := c.SignIn(t.Context(), authsvc.SignInAttempt{Profile: authsvc.Profile{}})
		if got := to + reasonOf(err); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	c := decided(t, "", "", "", map[string]string{"sign_in": `{"allow":true}`}).Engine.Callbacks
	if _, err := c.SignIn(t.Context(), authsvc.SignInAttempt{Profile: authsvc.Profile{"x": strings.Repeat("x", rules.MaxProfile)}}); !errors.Is(err, rules.ErrProfileTooLarge) {
		t.Errorf("a huge profile: %v", err)
	}
}

// TestClaimsDecisions: claims of the rule override claims of the profile, and claims of
// the hook override both.
func TestClaimsDecisions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rule, hook, want string }{
		{`{"a": "rule", "b": "rule"}`, `{"claims":{"b":"hook","n":1}}`, "map[a:rule b:hook kept:profile n:1]"},
		{`{"kept": null}`, "", "map[kept:<nil>]"},
		{"", `{"claims":{"kept":"hook"}}`, "map[kept:hook]"},
		{`{"a.b": 1}`, "", "failed: a rule failed"},
		{`{"__x": 1}`, "", "failed: a rule failed"},
		{`profile.x`, "", "failed: a rule failed"},
		{"", `{"claims":{"a.b":1}}`, "failed: a hook failed"},
		{"", `{"claims":7}`, "failed: a hook failed"},
	} {
		kept := authsvc.Claims{"kept": "profile"}
		got, err := decided(t, "", tt.rule, "", map[string]string{"claims": tt.hook}).Engine.Callbacks.Claims(t.Context(), authsvc.SignInAttempt{}, kept)
		if text := strings.TrimPrefix(fmt.Sprint(map[string]any(got))+reasonOf(err), "map[]"); text != tt.want {
			t.Errorf("%+v: %s", tt, text)
		}
		if !reflect.DeepEqual(kept, authsvc.Claims{"kept": "profile"}) {
			t.Errorf("%+v changes what it is given: %v", tt, kept)
		}
	}
}

// TestOtherDecisions: who may be stored, where a redirect may lead, and who has the
// credentials.
func TestOtherDecisions(t *testing.T) {
	t.Parallel()
	for hook, want := range map[string]string{
		`{"allow":true}`: "Ada picture",
		`{"allow":true,"user":{"name":"Countess"}}`:    "Countess picture",
		`{"allow":true,"user":{"name":"","image":""}}`: " ",
		`{"allow":false,"user":{"name":"Countess"}}`:   "Ada picture by a hook",
		`{"allow":true,"user":{"id":"1"}}`:             "Ada picture failed: a hook failed",
	} {
		c := decided(t, "", "", "", map[string]string{"create_user": hook}).Engine.Callbacks
		u, err := c.CreateUser(t.Context(), authsvc.SignInAttempt{}, authsvc.User{Name: "Ada", Image: "picture"})
		got := u.Name + " " + u.Image
		if err != nil {
			got += " " + reasonOf(err)
		}
		if got != want {
			t.Errorf("%s: %s", hook, got)
		}
	}
	for rule, want := range map[string]bool{"true": true, "false": false, `to.host.substring(9) == ""`: false} {
		to := &url.URL{Scheme: "https", Host: "x.test"}
		if got := decided(t, "", "", rule, nil).Engine.Callbacks.AllowRedirect(t.Context(), to); got != want {
			t.Errorf("%s: %v", rule, got)
		}
	}
	for hook, want := range map[string]string{
		`{"allow":true,"user":{"id":"7","email":"Ada@Example.com","email_verified":true}}`: "7 ada@example.com true",
		`{"allow":true,"user":{"id":"7","email":"ada@example.com"}}`:                       "7 ada@example.com false",
		`{"allow":true,"user":{"id":"7","email_verified":true}}`:                           "7  false",
		`{"allow":false,"user":{"id":"7"}}`:                                                "  false " + authsvc.ErrAccessDenied.Error(),
		`{"allow":true}`:                                                                   "  false failed: a hook failed",
	} {
		authorize := decided(t, "", "", "", map[string]string{"credentials": hook}).Credentials[0].Provider.Authorize
		u, err := authorize(context.Background(), map[string]string{"pin": "1"})
		got := fmt.Sprintf("%s %s %v", u.ID, u.Email, !u.EmailVerified.IsZero())
		if err != nil {
			got += " " + reasonOf(err)
		}
		if got != want {
			t.Errorf("%s: %s", hook, got)
		}
	}
}

// TestHookMistakes: all mistakes are reported at once, each with its place.
func TestHookMistakes(t *testing.T) {
	t.Parallel()
	got := findMistakes(t, []string{"url: https://app.example.com", "secret: " + testSecret,
		"storage: {url: none}",
		"hooks:", "  - {url: https://app.example.com/hooks, secret: whsec_short, timeout: 10s}", "  - {on: claims, url: http://app.example.com/hooks}",
		"  - {on: claims, url: https://a.example, secret: whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz}", "  - {on: claims, url: https://a.example, secret: whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz}",
		"providers: [{id: members, type: credentials, hook: {url: https://a.example}}]"})
	checkFound(t, "hooks", []string{
		"F:5: hooks[0].on is missing; name the questions for it: sign_in, claims or create_user",
		"F:5: hooks[0].timeout is not between 100ms and 5s",
		"F:5: hooks[0].secret is not usable; use whsec_ and the base64 of 24 to 64 random bytes",
		"F:6: hooks[1].url cannot be called: only https is allowed, or http to a loopback host",
		"F:6: hooks[1].secret is missing; use whsec_",
		"F:8: hooks[3] exceeds the maximum of three",
		"F:9: providers[0].hook.secret is missing; use whsec_",
	}, got)
}

// TestGateWhen: expressions of the gate decide about requests. An expression that
// fails, panics or was never compiled refuses.
func TestGateWhen(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		`user.id == "1" && request == Request{}`: "",
		`user.id == "1"`:                         "true",
		`user.id == "2"`:                         "false",
		`request.method == "GET" && request.host == "app.example.com"`:   "true",
		`request.path == "/a%2Fb"`:                                       "true",
		`"ops" in session.claims.groups`:                                 "failed",
		`has(session.claims.groups) && "ops" in session.claims.groups`:   "false",
		`client.ip in network("192.0.2.0/24") && client.agent == "curl"`: "true",
		`session.auth_time < now`:                                        "true",
		`[1, 2, 3].all(a, [1, 2, 3].all(b, user.name.matches("a*b")))`:   "false",
	} {
		raw := fmt.Sprintf("url: https://app.example.com\nsecret: %s\nproviders: [{id: github, client_id: x, client_secret: y}]\ngate: {hosts: [{origin: https://app.example.com, upstream: \"unix:/a\", default: {when: %q}}]}\n", testSecret, expression)
		file := filepath.Join(t.TempDir(), "authsvc.yaml")
		if err := os.WriteFile(file, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := config.Load(config.Input{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		when := s.Engine.Gate.Hosts[0].Default.AnyOf[0].When
		r := authsvc.AccessRequest{Session: &authsvc.Session{UserID: "1", AuthTime: time.Unix(1, 0)}, Method: "GET", Host: "app.example.com", Path: "/a%2Fb",
			Client: authsvc.RequestClient{IP: netip.MustParseAddr("192.0.2.7"), Agent: "curl"}, Time: time.Unix(2, 0)}
		if ok, err := when(t.Context(), r); ok || err == nil {
			t.Errorf("%s, not compiled: %v, %v", expression, ok, err)
		}
		if err := configureDecisions(s); (err != nil) != (want == "") {
			t.Errorf("%s: %v", expression, err)
		}
		if want == "" {
			continue
		}
		ok, err := when(t.Context(), r)
		got := fmt.Sprint(ok)
		if err != nil {
			got = "failed"
		}
		if got != want {
			t.Errorf("%s: %v, %v, want %s", expression, ok, err, want)
		}
	}
}
