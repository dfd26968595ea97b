package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// randomRules returns rules of which any two are in order.
func randomRules(r *rand.Rand) []authsvc.GateRule {
	patterns := []string{"/admin/", "GET /admin/x", "/public/", "GET /public/{page}", "/Upper/", "/api/", "POST /api/", "POST /api/v1/{id}", "/{$}", "/exact", "/files/{rest...}", "/admin/deep/"}
	allows := []authsvc.Allow{{}, {Anyone: true}, {Nobody: true}, {AnyOf: []authsvc.Condition{{Users: []string{"ada-id"}}}}, {AnyOf: []authsvc.Condition{{Users: []string{"bob-id"}, Tokens: true}}},
		{AnyOf: []authsvc.Condition{{MaxAge: time.Nanosecond}}}, {AnyOf: []authsvc.Condition{{MaxAge: time.Hour}, {Users: []string{"bob-id"}}}}, {AnyOf: []authsvc.Condition{{Tokens: true}}},
		{AnyOf: []authsvc.Condition{{When: func(_ context.Context, a authsvc.AccessRequest) (bool, error) {
			if len(a.Path)%3 == 0 {
				return true, errors.New("a condition")
			}
			return a.Method == "GET", nil
		}, Tokens: true}}}}
	var rules []authsvc.GateRule
	for _, p := range patterns {
		if r.IntN(3) > 0 {
			rules = append(rules, authsvc.GateRule{Match: p, Allow: allows[r.IntN(len(allows))]})
		}
	}
	return rules
}

// randomTarget returns a target made of parts that servers read differently.
func randomTarget(r *rand.Rand) string {
	parts := []string{"/", "/", "/", "admin", "public", "Upper", "upper", "api", "v1", "exact", "files", "deep", "x", "X", "%2F", "%2e", "..", ".", ";a=b", "%61dmin", "%25", "%2561", "//", "?", "?/../admin/", "%5c", "%", "\\", "%00", "~", "ADMIN"}
	b := "/"
	for range r.IntN(8) {
		b += parts[r.IntN(len(parts))]
	}
	return b
}

// TestDryRunGate checks for 10 000 requests that the explanation matches what the gate
// does. The verdict is that from the strictest reading.
func TestDryRunGate(t *testing.T) {
	t.Parallel()
	const worlds, each = 40, 250
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range worlds {
		w := arena.EnterOffline(t, func(c *authsvc.Config) {
			c.PersonalTokens.Enabled = true
			c.Session.Strategy = authsvc.StrategyJWT
			c.Gate = authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: arena.Origin, Rules: randomRules(r), Default: authsvc.Allow{Nobody: r.IntN(4) == 0}}}}
		})
		people := map[string]http.Header{"guest": {}}
		for _, name := range []string{"ada", "bob"} {
			b := w.Browser()
			b.Login(name)
			var pairs []string
			for cookie, v := range b.Cookies {
				pairs = append(pairs, cookie+"="+v)
			}
			people[name] = http.Header{"Cookie": {strings.Join(pairs, "; ")}}
		}
		token, _, err := w.CreatePersonalToken(t.Context(), "bob-id", authsvc.PersonalTokenRequest{Name: "n", Hosts: []string{arena.Origin}})
		if err != nil {
			t.Fatal(err)
		}
		people["token"] = http.Header{"Authorization": {"Bearer " + token}}
		gate := w.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for range each {
			who := []string{"guest", "ada", "bob", "token"}[r.IntN(4)]
			method, target := []string{"GET", "POST", "HEAD", "DELETE"}[r.IntN(4)], randomTarget(r)
			request := httptest.NewRequest(method, arena.Origin, nil)
			request.RequestURI, request.Header = target, people[who].Clone()
			if r.IntN(10) == 0 {
				request.Header.Set("X-HTTP-Method-Override", "DELETE")
			}
			compareGate(t, w, gate, request, who, seen)
		}
	}
	for _, verdict := range []string{"allowed", "sign_in", "reauthenticate", "forbidden", "malformed"} {
		if seen[verdict] < 100 {
			t.Errorf("%s came %d times", verdict, seen[verdict])
		}
	}
}

// compareGate compares the gate's answer with its explanation.
func compareGate(t *testing.T, w *arena.World, gate http.Handler, r *http.Request, who string, seen map[string]int) {
	t.Helper()
	q := engine.GateQuestion{Method: r.Method, URL: arena.Origin + r.RequestURI, Header: r.Header, Token: who == "token"}
	switch who {
	case "token":
		q.Session = &authsvc.Session{UserID: "bob-id"}
	default:
		s, err := w.Session(r)
		if err != nil || (s == nil) != (who == "guest") {
			t.Fatal(s, err)
		}
		q.Session = s
	}
	e, err := w.Operator(t).DryRunGate(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	gate.ServeHTTP(rec, r)
	got := map[int]string{200: "allowed", 403: "forbidden", 400: "malformed", 401: "sign_in"}[rec.Code]
	if strings.Contains(rec.Body.String(), "reauthentication_required") {
		got = "reauthenticate"
	}
	seen[got]++
	if e.Verdict != got || e.Host != 0 {
		t.Errorf("%s, %s %s: explained as %s, and the gate says %d %s", who, r.Method, r.RequestURI, e.Verdict, rec.Code, rec.Body)
	}
	order := []string{"allowed", "reauthenticate", "sign_in", "forbidden", "malformed"}
	strictest := "allowed"
	for _, reading := range e.Readings {
		if slices.Index(order, reading.Verdict) > slices.Index(order, strictest) {
			strictest = reading.Verdict
		}
	}
	if e.Verdict != "malformed" && (strictest != e.Verdict || e.Decides < 0 || e.Readings[e.Decides].Verdict != strictest) {
		t.Errorf("%s, %s %s: %+v", who, r.Method, r.RequestURI, e)
	}
}

// TestDryRunGateHosts checks which host a URL belongs to, and which texts are not URLs.
func TestDryRunGateHosts(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forMachines)
	for url, want := range map[string]string{
		"https://app.test":                    "0 https://app.test forbidden -1 ",
		"https://APP.test:443/api/x?a=b":      "0 https://app.test allowed 2 /api/",
		"https://app.test?a=b":                "0 https://app.test forbidden -1 ",
		"https://app.test#a":                  "0 https://app.test malformed",
		"https://app.test/api/%2e%2e/closed/": "0 https://app.test forbidden 1 /closed/",
		"http://app.test/":                    "-1  not_served",
		"https://other.test/":                 "-1  not_served",
		"/dash":                               "is not absolute",
		"https://":                            "is not absolute",
	} {
		e, err := w.Operator(t).DryRunGate(t.Context(), engine.GateQuestion{URL: url, Session: &authsvc.Session{UserID: "ada-id"}, Token: true})
		got := fmt.Sprintf("%d %s %s", e.Host, e.Origin, e.Verdict)
		if e.Decides >= 0 {
			got += fmt.Sprintf(" %d %s", e.Readings[e.Decides].Rule, e.Readings[e.Decides].Match)
		}
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
