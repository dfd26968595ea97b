package verify

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var hookChecks = checks{
	"01": {title: "a question is forged, or discloses too much", run: hook01},
	"02": {title: "an invalid answer signs a person in", run: hook02},
	"03": {title: "a slow hook delays the service", run: hook03},
	"04": {title: "a hook that is down, and its circuit breaker", run: hook04},
	"05": {title: "a hook lies about claims, people and addresses", run: hook05},
	"06": {title: "credentials checked by a hook", run: hook06},
	"07": {title: "a huge profile for a hook", run: hook07},
}

const hookSignIn = "hooks: [{on: sign_in, url: APP/hooks, secret: KEY, timeout: 1s}]"

func hook01(t *T) {
	w := hookServe(t, "hooks: [{on: sign_in, url: APP, secret: KEY}, {on: claims, url: APP/claims, secret: KEY}, {on: create_user, url: APP, secret: KEY}]", "")
	w.app.says(func(rw http.ResponseWriter, r *http.Request) {
		hookSays(map[bool]string{true: `{"claims":{}}`, false: `{"allow":true}`}[r.URL.Path == "/claims"])(rw, r)
	})
	if _, ok := w.enters(t, "ada"); !ok {
		t.Fatalf("twin: not in\n%s", w.Logs)
	}
	var kinds []string
	for _, q := range w.app.questions() {
		kinds = append(kinds, q.Type)
		user, _ := q.Data["user"].(map[string]any)
		if !q.signed || user["email"] != "ada@example.com" || user["email_verified"] != true || q.Data["new_user"] != true {
			t.Errorf("signed: %v, %s", q.signed, q.body)
		}
		for _, secret := range []string{"access_token", "id_token", "refresh_token", "eyJ", arena.ClientSecret, "whsec_"} {
			if strings.Contains(q.body, secret) {
				t.Errorf("%s is in %s", secret, q.body)
			}
		}
	}
	if got := strings.Join(kinds, " "); got != "sign_in claims create_user" {
		t.Errorf("asked for %s", got)
	}
	if strings.Contains(w.Logs.String(), "whsec_") {
		t.Error("the secret is in the log")
	}
}

// hookAllows answers for an application that allows everyone.
func hookAllows(w http.ResponseWriter, r *http.Request) { hookSays(`{"allow":true}`)(w, r) }

func hook02(t *T) {
	w := hookServe(t, hookSignIn, "")
	twin := func(after string) {
		w.app.says(hookAllows)
		if _, ok := w.enters(t, "ada"); !ok {
			t.Errorf("twin, after %s: not in\n%s", after, w.Logs)
		}
	}
	twin("nothing")
	for name, answer := range map[string]http.HandlerFunc{
		"refusal": hookSays(`{"allow":false}`),
		"500":     func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); hookAllows(w, r) },
		"201":     func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(201); hookAllows(w, r) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/allowed", http.StatusTemporaryRedirect)
		},
		"another name": hookSays(`{"Allow":true}`),
		"twice":        hookSays(`{"allow":false,"allow":true}`),
		"text":         hookSays(`{"allow":"true"}`),
		"more":         hookSays(`{"allow":true,"admin":true}`),
		"no JSON":      hookSays(`allow`),
		"nothing":      hookSays(``),
		"null":         hookSays(`null`),
		"huge":         hookSays(`{"allow":true` + strings.Repeat(" ", 70<<10) + `}`),
		"cut short":    func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "99"); hookAllows(w, r) },
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8b")
		}, //nolint:errcheck // a test
		"redirects to another site":            hookSays(`{"allow":false,"redirect":"https://evil.test"}`),
		"redirects to another site, signed in": hookSays(`{"allow":true,"redirect":"https://evil.test"}`),
		"no connection": func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.Close()
			}
		},
	} {
		w.app.says(answer)
		if _, ok := w.enters(t, "grace"); ok || len(w.app.questions()) != 1 {
			t.Errorf("%s: in: %v, asked %d times", name, ok, len(w.app.questions()))
		}
		twin(name) // and the breaker stays closed
	}
	w.reason(t, "sign_in.refused", "by a hook")
	w.reason(t, "sign_in.failed", "a hook failed")
	w.app.says(hookSays(`{"allow":false,"redirect":"/terms"}`))
	b := browser.New(w.URL, nil)
	callback, err := b.Begin(w.n.OP, "grace")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := b.Get(callback); err != nil || a.Location() != w.URL+"/terms" {
		t.Errorf("twin: led to %v, %v", a, err)
	}
	if email, _ := b.Email(); email != "" {
		t.Errorf("led elsewhere and in as %s", email)
	}
}

func hook03(t *T) {
	w := hookServe(t, "hooks: [{on: sign_in, url: APP, secret: KEY, timeout: 2s}]", "")
	release := make(chan struct{})
	defer close(release)
	w.app.says(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	began := time.Now()
	if _, ok := w.enters(t, "ada"); ok || len(w.app.questions()) > 1 {
		t.Errorf("in: %v, asked %d times", ok, len(w.app.questions()))
	}
	if took := time.Since(began); took > within(9*time.Second) {
		t.Errorf("it took %v", took)
	}
	w.app.says(func(rw http.ResponseWriter, r *http.Request) { // a byte now and then
		for range 100 {
			if _, err := io.WriteString(rw, " "); err != nil || http.NewResponseController(rw).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	if _, ok := w.enters(t, "ada"); ok || len(w.app.questions()) != 1 {
		t.Errorf("byte by byte: in: %v, asked %d times", ok, len(w.app.questions()))
	}
	w.app.says(hookAllows)
	if _, ok := w.enters(t, "ada"); !ok {
		t.Errorf("twin: not in\n%s", w.Logs)
	}
}

func hook04(t *T) {
	w := hookServe(t, hookSignIn, "")
	w.app.says(hookAllows)
	if _, ok := w.enters(t, "ada"); !ok {
		t.Fatalf("twin: not in\n%s", w.Logs)
	}
	w.app.Server.Close()
	for i := range 7 {
		if _, ok := w.enters(t, "ada"); ok {
			t.Errorf("%d: in", i)
		}
	}
	hookLogged(t, w, "the next one is tried in a few seconds") // the breaker is open
	w.reason(t, "sign_in.failed", "a hook failed")
}

func hook05(t *T) {
	w := hookServe(t, "session: {expose: [claims.tier]}\nhooks: [{on: claims, url: APP/claims, secret: KEY}, {on: create_user, url: APP/create, secret: KEY}]", "")
	answer := func(claims, create string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body := claims
			if r.URL.Path == "/create" {
				body = create
			}
			io.WriteString(w, body) //nolint:errcheck // a test
		}
	}
	const fine, allow = `{"claims":{"tier":"gold"}}`, `{"allow":true}`
	for name, h := range map[string]http.HandlerFunc{
		"an odd name":     answer(`{"claims":{"__proto__":1}}`, allow),
		"5 KiB":           answer(`{"claims":{"tier":"`+strings.Repeat("x", 5<<10)+`"}}`, allow),
		"a list":          answer(`{"claims":["x"]}`, allow),
		"a user refused":  answer(fine, `{"allow":false}`),
		"another id":      answer(fine, `{"allow":true,"user":{"id":"1"}}`),
		"another address": answer(fine, `{"allow":true,"user":{"email":"x@y.test","email_verified":true}}`),
		"an invalid name": answer(fine, `{"allow":true,"user":{"name":7}}`),
	} {
		w.app.says(h)
		if _, ok := w.enters(t, "grace"); ok {
			t.Errorf("%s: in", name)
		}
	}
	w.app.says(answer(`{"claims":{"tier":"gold","sub":"forged","email":"forged"}}`, `{"allow":true,"user":{"name":"Ada\u202e\r\nX: y","image":"javascript:alert(1)"}}`))
	b, ok := w.enters(t, "ada")
	if !ok {
		t.Fatalf("twin: not in\n%s", w.Logs)
	}
	a, err := b.Get("/api/auth/session")
	if err != nil || !strings.Contains(a.Text, `"tier":"gold"`) || !strings.Contains(a.Text, `"email":"ada@example.com"`) || strings.Contains(a.Text, "forged") ||
		strings.Contains(a.Text, "javascript") || strings.ContainsAny(a.Text, "\u202e\r\n") || strings.Contains(a.Text, `\n`) {
		t.Errorf("%v %q", err, a.Text)
	}
}

func hook06(t *T) {
	config := "session: {strategy: jwt, expose: [id]}\n"
	w := hookServe(t, config, "{id: credentials, type: credentials, fields: [{name: member, label: Member}, {name: pin, label: PIN, type: password}], hook: {url: APP, secret: KEY, timeout: 1s}}")
	const pin = "pin-canary-7Hq2"
	enter := func(member string) (email, location string) {
		b := browser.New(w.URL, nil)
		a, err := b.Post("/api/auth/callback/credentials", "member", member, "pin", pin)
		if err != nil {
			t.Fatal(err)
		}
		email, err = b.Email()
		if err != nil {
			t.Fatal(err)
		}
		return email, a.Location()
	}
	for name, body := range map[string]string{
		"refused":            `{"allow":false}`,
		"refused, a user":    `{"allow":false,"user":{"id":"1","email":"eve@example.com"}}`,
		"nobody":             `{"allow":true}`,
		"no id":              `{"allow":true,"user":{"email":"eve@example.com"}}`,
		"a blank id":         `{"allow":true,"user":{"id":" ","email":"eve@example.com"}}`,
		"a number":           `{"allow":true,"user":{"id":1,"email":"eve@example.com"}}`,
		"more than is asked": `{"allow":true,"user":{"id":"1","email":"eve@example.com","role":"admin"}}`,
		"no JSON":            `yes`,
	} {
		w.app.says(hookSays(body))
		if email, to := enter("eve"); email != "" || !strings.Contains(to, "CredentialsSignin") || len(w.app.questions()) != 1 {
			t.Errorf("%s: in as %q, %s, asked %d times", name, email, to, len(w.app.questions()))
		}
	}
	w.app.says(hookSays(`{"allow":true,"user":{"id":"7","name":"Ada","email":"ada@example.com"}}`))
	if email, to := enter("ada"); email != "ada@example.com" {
		t.Errorf("twin: %q, %s\n%s", email, to, w.Logs)
	}
	q := w.app.questions()[0]
	if fields := fmt.Sprint(q.Data["fields"]); !q.signed || q.Type != "credentials" || fields != "map[member:ada pin:"+pin+"]" {
		t.Errorf("asked %+v", q)
	}
	if strings.Contains(w.Logs.String(), pin) {
		t.Error("what was entered is in the log")
	}
	w.reason(t, "credentials.refused", "by Authorize")
	w.reason(t, "sign_in.failed", "a hook failed")
}

func hook07(t *T) {
	w := hookServe(t, hookSignIn, "")
	w.app.says(hookAllows)
	w.toldMuch(map[string]any{"bio": strings.Repeat("x", 64<<10)})
	if _, ok := w.enters(t, "ada"); ok || len(w.app.questions()) != 0 {
		t.Errorf("in: %v, asked %d times", ok, len(w.app.questions()))
	}
	w.reason(t, "sign_in.failed", "a hook failed")
	w.toldMuch(map[string]any{"bio": strings.Repeat("x", 60<<10)})
	if _, ok := w.enters(t, "ada"); !ok {
		t.Errorf("twin: not in\n%s", w.Logs)
	}
}
