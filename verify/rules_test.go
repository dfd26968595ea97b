package verify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"authsvc/internal/test/browser"
)

var rulesChecks = checks{
	"01": {title: "a sign-in rule is bypassed", run: rules01},
	"02": {title: "a rule fails or costs too much", run: rules02},
	"03": {title: "claims from a rule use reserved names or too much space", run: rules03},
	"04": {title: "a redirect rule leads to another site", run: rules04},
	"05": {title: "a token bypasses the conditions or the rule of its audience", run: rules05},
	"06": {title: "an invalid rule does not start, and replaces nothing", once: true, run: rules06},
}

func rules01(t *T) {
	w := hookServe(t, "rules: {sign_in: 'user.email_verified && domain(user.email) == \"example.com\" && account.provider in [\"op\", \"email\"]'}", "")
	for sub, in := range map[string]bool{"ada": true, "grace": true, "alan": false} { // alan's address is not verified there
		if _, ok := w.enters(t, sub); ok != in {
			t.Errorf("%s is in: %v", sub, ok)
		}
	}
	w.reason(t, "sign_in.refused", "by the rule of sign-in")
	w.told(map[string]any{"email": "ada@example.com.evil.test", "email_verified": true})
	if _, ok := w.enters(t, "eve"); ok {
		t.Error("a domain that only begins with it")
	}
	b := browser.New(w.URL, nil)
	if _, err := b.Post("/api/auth/signin/email", "email", "eve@evil.test"); err != nil {
		t.Fatal(err)
	}
	link, err := b.AskForLink(t.Context(), w.n.Box, "new@example.com")
	if err == nil {
		err = b.Open(link)
	}
	if email, _ := b.Email(); email != "new@example.com" || err != nil {
		t.Errorf("twin: a link: %q, %v", email, err)
	}
	w.reason(t, "email.refused", "by the rule of sign-in")
}

func rules02(t *T) {
	w := hookServe(t, "rules: {sign_in: 'profile.level > 1 && profile.groups.all(a, profile.groups.all(b, a != \"evil\" || b == \"x\"))'}", "")
	groups := make([]any, 500)
	for i := range groups {
		groups[i] = fmt.Sprint(i)
	}
	groups[0] = "evil"
	for name, profile := range map[string]map[string]any{
		"what is missing":   {},
		"of another type":   {"level": "high", "groups": []any{"x"}},
		"too much":          {"level": 2, "groups": append([]any{}, groups[1:]...)},
		"more than is read": {"level": 2, "groups": []any{"x"}, "bio": strings.Repeat("x", 70<<10)},
	} {
		w.toldMuch(profile)
		began := time.Now()
		if _, ok := w.enters(t, "ada"); ok || time.Since(began) > within(20*time.Second) {
			t.Errorf("%s: in: %v, after %v", name, ok, time.Since(began))
		}
	}
	w.reason(t, "sign_in.failed", "a rule failed")
	for _, cause := range []string{"no such key", "no such overload", "cost limit exceeded", "larger than 64 KiB"} {
		w.logged(t, "cause=", cause)
	}
	w.told(map[string]any{"level": 2, "groups": []any{"x", "y"}})
	if _, ok := w.enters(t, "ada"); !ok {
		t.Errorf("twin: not in\n%s", w.Logs)
	}
}

func rules03(t *T) {
	w := hookServe(t, "session: {strategy: jwt, expose: [claims.tier]}\nrules: {claims: 'has(profile.claims) ? profile.claims : {\"tier\": \"basic\"}'}", "")
	shown := func(b *browser.Browser) (user map[string]any) {
		var s struct{ User map[string]any }
		a, err := b.Get("/api/auth/session")
		if err == nil {
			err = json.Unmarshal([]byte(a.Text), &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.User
	}
	for name, claims := range map[string]any{
		"an odd name":        map[string]any{"__proto__": 1},
		"a name with a path": map[string]any{"a.b": 1},
		"no name":            map[string]any{"": 1},
		"no map":             []any{"x"},
		"5 KiB":              map[string]any{"tier": strings.Repeat("x", 5<<10)},
	} {
		w.told(map[string]any{"claims": claims})
		if _, ok := w.enters(t, "ada"); ok {
			t.Errorf("%s: in", name)
		}
	}
	w.told(map[string]any{"claims": map[string]any{"sub": "forged", "name": "forged", "email": "forged", "exp": 9e9, "tier": "gold"}})
	b, ok := w.enters(t, "ada")
	if user := shown(b); !ok || user["tier"] != "gold" || user["email"] != "ada@example.com" || user["name"] == "forged" {
		t.Errorf("claims with the engine's own names: %v", user)
	}
	w.told(nil)
	if b, ok := w.enters(t, "ada"); !ok || shown(b)["tier"] != "basic" {
		t.Errorf("twin: %v", shown(b))
	}
}

func rules04(t *T) {
	w := hookServe(t, "rules: {redirect: 'to.host.endsWith(\".preview.test\") && to.port == \"443\"'}", "")
	lead := func(to string) string {
		b := browser.New(w.URL, nil)
		a, err := b.Post("/api/auth/signin/op", "callbackUrl", to)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := w.n.OP.Approve(a.Location(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		if a, err = b.Get(answer.URL()); err != nil {
			t.Fatal(err)
		}
		return a.Location()
	}
	for _, to := range []string{"http://a.preview.test", "https://preview.test", "https://evil.test", "https://evil.test/.preview.test", "https://evil.test#.preview.test",
		"https://evil.test?.preview.test", "https://a.preview.test:8443", "https://a.preview.test@evil.test", `https://evil.test\.preview.test`, "//a.preview.test", "https:a.preview.test",
		"https://evil.test%2f.preview.test", "https://a.preview.test.evil.test", "javascript://a.preview.test/%0aalert(1)"} {
		if got := lead(to); got != w.URL {
			t.Errorf("%s leads to %s", to, got)
		}
	}
	for to, want := range map[string]string{"https://a.preview.test/x?y#z": "https://a.preview.test/x?y#z", "HTTPS://A.PREVIEW.TEST:443/": "https://a.preview.test/"} {
		if got := lead(to); got != want {
			t.Errorf("twin: %s leads to %s", to, got)
		}
	}
}

func rules05(t *T) {
	w := hookServe(t, `session: {claims: {groups: groups}}
tokens:
  audiences:
    - {id: ops, allow: [{groups: [ops], domains: [example.com]}]}
    - {id: fresh, when: 'now - session.auth_time < duration("1h") && user.email_verified && request.method == "POST"'}
    - {id: never, when: 'session.claims.missing == "x"'}
    - {id: all}`, "")
	gets := func(b *browser.Browser, audience string) (status int, name string) {
		a, err := b.Post("/api/auth/token", "audience", audience)
		if err != nil {
			t.Fatal(err)
		}
		var p struct{ Type string }
		if err := json.Unmarshal([]byte(a.Text), &p); err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, p.Type
	}
	w.told(map[string]any{"groups": []any{"ops"}})
	for sub, want := range map[string]map[string]bool{
		"ada":  {"ops": true, "fresh": true, "never": false, "all": true},
		"alan": {"ops": false, "fresh": false, "never": false, "all": true},
	} {
		b, ok := w.enters(t, sub)
		if !ok {
			t.Fatalf("%s is not in", sub)
		}
		for audience, allowed := range want {
			status, name := gets(b, audience)
			if allowed && status != http.StatusOK || !allowed && (status != http.StatusForbidden || name != "urn:authsvc:problem:forbidden") {
				t.Errorf("%s for %s: %d %s", sub, audience, status, name)
			}
		}
	}
	w.told(map[string]any{"groups": []any{"dev"}})
	if b, _ := w.enters(t, "ada"); b != nil {
		if status, _ := gets(b, "ops"); status != http.StatusForbidden {
			t.Errorf("of another group: %d", status)
		}
	}
	for _, reason := range []string{"by the conditions of the audience", "by the rule of the audience", "the rule of the audience failed"} {
		w.reason(t, "token.denied", reason)
	}
}

func rules06(t *T) {
	w := hookServe(t, "rules: {sign_in: 'domain(user.email) == \"example.com\"'}", "")
	good := w.n.YAML("rules: {sign_in: 'user.email == \"nobody@example.com\"'}")
	for _, wrong := range []string{"user.emial == \"x\"", "user.email", "network(\"x\").contains(client.ip)", "true ||"} {
		w.Configure(strings.Replace(good, `user.email == "nobody@example.com"`, wrong, 1))
		w.Signal(syscall.SIGHUP)
		hookLogged(t, w, "the previous configuration stays in force")
		if _, ok := w.enters(t, "ada"); !ok {
			t.Errorf("%s: the earlier rule does not stay in effect", wrong)
		}
		if out, code := w.Command("serve"); code != 2 || !strings.Contains(out, "rules.sign_in is wrong") || !strings.Contains(out, "^") {
			t.Errorf("%s: the start ends with %d: %s", wrong, code, out)
		}
	}
	w.Configure(good)
	w.Signal(syscall.SIGHUP)
	hookLogged(t, w, "configuration reloaded")
	if _, ok := w.enters(t, "ada"); ok {
		t.Error("twin: the new rule is not in effect")
	}
}

// hookLogged waits until a new log line contains a text.
func hookLogged(t *T, w *hookWorld, text string) {
	t.Helper()
	for end := time.Now().Add(patience); strings.Count(w.Logs.String(), text) <= w.seen[text]; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log lacks %q\n%s", text, w.Logs)
		}
	}
	w.seen[text] = strings.Count(w.Logs.String(), text)
}
