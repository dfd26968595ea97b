package authsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/idp"
)

// A journey is something that a person does in one go. run returns every
// answer on the way; done tells whether the person is where they wanted to be.
type journey struct {
	prepare func(w *arena, b *browser)
	run     func(w *arena, b *browser) []*answer
	done    func(w *arena, b *browser) bool
}

func signedInAs(address string) func(*arena, *browser) bool {
	return func(_ *arena, b *browser) bool { return b.email() == address }
}

// viaProvider stops at the first answer that does not lead on.
func viaProvider(sub string, fields ...string) func(w *arena, b *browser) []*answer {
	return func(w *arena, b *browser) []*answer {
		a := b.post("/api/auth/signin/op", fields...)
		if !strings.HasPrefix(a.location(), w.op.Issuer()) {
			return []*answer{a}
		}
		return []*answer{a, b.get(b.approve(w.op, a.location(), sub))}
	}
}

func viaMail(address string) func(w *arena, b *browser) []*answer {
	return func(w *arena, b *browser) []*answer {
		a := b.post("/api/auth/signin/email", "email", address)
		if !strings.Contains(a.location(), "verify-request") {
			return []*answer{a}
		}
		// A try that broke may have left a mail in the queue: its link asks first.
		for range 2 {
			if last := b.get(link(b.t, w.mail.next(b.t))); last.StatusCode != http.StatusOK || strings.Contains(last.body, "removed") {
				return []*answer{a, last}
			}
		}
		b.t.Error("no link signs in at once")
		return []*answer{a}
	}
}

var journeys = map[string]journey{
	"first OAuth sign-in": {run: viaProvider("ada"), done: signedInAs("ada@example.com")},
	"next OAuth sign-in": {
		prepare: func(w *arena, _ *browser) { w.browser().signIn(w.op, "ada") },
		run:     viaProvider("ada"), done: signedInAs("ada@example.com")},
	"link": {
		prepare: func(w *arena, b *browser) { b.signInByMail(w.world, "someone@app.test") },
		run:     viaProvider("ada", "link", "true"),
		done: func(w *arena, b *browser) bool {
			u, err := w.led.behind.GetUserByAccount(w.t.Context(), "op", "ada")
			return err == nil && u.Email == "someone@app.test" && b.email() == u.Email
		}},
	"first mail": {run: viaMail("new@app.test"), done: signedInAs("new@app.test")},
	"first proof": {
		prepare: func(w *arena, _ *browser) { w.browser().signIn(w.op, "alan") },
		run:     viaMail("alan@example.com"),
		done: func(w *arena, b *browser) bool {
			_, err := w.led.behind.GetUserByAccount(w.t.Context(), "op", "alan")
			return b.email() == "alan@example.com" && err != nil
		}},
	"credentials": {
		run: func(_ *arena, b *browser) []*answer { return []*answer{b.login("ada")} }, done: signedInAs("ada@app.test")},
	"switch user": {
		prepare: func(w *arena, b *browser) { b.signIn(w.op, "grace") },
		run:     viaProvider("ada"), done: signedInAs("ada@example.com")},
	"sign-out": {
		prepare: func(w *arena, b *browser) { b.signIn(w.op, "ada") },
		run:     func(_ *arena, b *browser) []*answer { return []*answer{b.post("/api/auth/signout")} },
		done:    signedInAs("")},
}

// TestAttackStoreFails breaks every call of the store at every step of every
// journey, before and after it takes effect.
func TestAttackStoreFails(t *testing.T) {
	t.Parallel()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: clientSecret, RedirectURIs: redirectURIs()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	for name, j := range journeys {
		for _, strategy := range []string{"database", "jwt"} {
			for how, kind := range map[string]failure{"before": failBefore, "after": failAfter} {
				t.Run(fmt.Sprintf("store-04 %s %s %s", name, strategy, how), func(t *testing.T) {
					t.Parallel()
					for n := 1; tryBroken(t, op, j, strategy, n, kind); n++ {
						if n > 40 {
							t.Fatal("the journey never ends")
						}
					}
				})
			}
		}
	}
}

// tryBroken runs a journey with its n-th call broken, then again with a whole
// store. It reports whether there was an n-th call.
func tryBroken(t *testing.T, op *idp.Server, j journey, strategy string, n int, kind failure) bool {
	t.Helper()
	w := enterOffline(t, func(c *authsvc.Config) {
		c.Session.Strategy = strategy
		c.Providers = append(c.Providers, &authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: clientSecret}})
	})
	w.op = op
	b := w.browser()
	if j.prepare != nil {
		j.prepare(w, b)
	}
	before := w.person(t, b)
	broken := ""
	w.led.breakAt(func(i int, method string) failure {
		if i == n {
			broken = method
			return kind
		}
		return works
	})
	answers := j.run(w, b)
	w.led.breakAt(nil)
	if broken == "" {
		t.Logf("%d calls", n-1)
		if !j.done(w, b) {
			t.Errorf("twin: the journey does not arrive\n%s", w.logs)
		}
		return false
	}
	last := answers[len(answers)-1]
	for _, a := range answers {
		if a.StatusCode >= 500 && a.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("call %d, %s: status %d %s", n, broken, a.StatusCode, a.body)
		}
	}
	if isRefusal(last) && w.person(t, b) != before && w.person(t, b) != "" {
		t.Errorf("call %d, %s: refused, but signed in", n, broken)
	}
	if strings.Contains(last.location(), "/error?") && j.done(w, b) && before == "" && w.person(t, b) != "" {
		t.Errorf("call %d, %s: a session without acknowledgement", n, broken)
	}
	if j.run(w, b); !j.done(w, b) {
		t.Errorf("call %d, %s: the next try does not succeed\n%s", n, broken, w.logs)
	}
	return true
}
