package verify

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// A storeJourney is a flow that a person completes in one go. run returns every
// answer on the way; done reports whether the person has reached the goal.
type storeJourney struct {
	prepare func(w *arena.World, b *arena.Browser)
	run     func(w *arena.World, b *arena.Browser) []*browser.Answer
	done    func(w *arena.World, b *arena.Browser) bool
}

func storeSignedInAs(address string) func(*arena.World, *arena.Browser) bool {
	return func(_ *arena.World, b *arena.Browser) bool { return b.Email() == address }
}

// storeViaProvider stops at the first answer that does not continue.
func storeViaProvider(sub string, fields ...string) func(w *arena.World, b *arena.Browser) []*browser.Answer {
	return func(w *arena.World, b *arena.Browser) []*browser.Answer {
		a := b.Post("/api/auth/signin/op", fields...)
		if !strings.HasPrefix(a.Location(), w.OP.Issuer()) {
			return []*browser.Answer{a}
		}
		return []*browser.Answer{a, b.Get(b.Approve(w.OP, a.Location(), sub))}
	}
}

func storeViaMail(address string) func(w *arena.World, b *arena.Browser) []*browser.Answer {
	return func(w *arena.World, b *arena.Browser) []*browser.Answer {
		a := b.Post("/api/auth/signin/email", "email", address)
		if !strings.Contains(a.Location(), "verify-request") {
			return []*browser.Answer{a}
		}
		// A failed try may have left a mail in the queue. Its link shows a
		// confirmation page first.
		for range 2 {
			if last := b.Get(arena.Link(b.T, w.Mail.Next(b.T))); last.StatusCode != http.StatusOK || strings.Contains(last.Text, "removed") {
				return []*browser.Answer{a, last}
			}
		}
		b.T.Error("no link signs in at once")
		return []*browser.Answer{a}
	}
}

var storeJourneys = map[string]storeJourney{
	"first OAuth sign-in": {run: storeViaProvider("ada"), done: storeSignedInAs("ada@example.com")},
	"next OAuth sign-in": {
		prepare: func(w *arena.World, _ *arena.Browser) { w.Browser().SignIn(w.OP, "ada") },
		run:     storeViaProvider("ada"), done: storeSignedInAs("ada@example.com")},
	"link": {
		prepare: func(w *arena.World, b *arena.Browser) { b.SignInByMail(w, "someone@app.test") },
		run:     storeViaProvider("ada", "link", "true"),
		done: func(w *arena.World, b *arena.Browser) bool {
			u, err := w.Ledger.Behind.GetUserByAccount(w.T.Context(), "op", "ada")
			return err == nil && u.Email == "someone@app.test" && b.Email() == u.Email
		}},
	"first mail": {run: storeViaMail("new@app.test"), done: storeSignedInAs("new@app.test")},
	"first proof": {
		prepare: func(w *arena.World, _ *arena.Browser) { w.Browser().SignIn(w.OP, "alan") },
		run:     storeViaMail("alan@example.com"),
		done: func(w *arena.World, b *arena.Browser) bool {
			_, err := w.Ledger.Behind.GetUserByAccount(w.T.Context(), "op", "alan")
			return b.Email() == "alan@example.com" && err != nil
		}},
	"credentials": {
		run: func(_ *arena.World, b *arena.Browser) []*browser.Answer { return []*browser.Answer{b.Login("ada")} }, done: storeSignedInAs("ada@app.test")},
	"switch user": {
		prepare: func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "grace") },
		run:     storeViaProvider("ada"), done: storeSignedInAs("ada@example.com")},
	"sign-out": {
		prepare: func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "ada") },
		run: func(_ *arena.World, b *arena.Browser) []*browser.Answer {
			return []*browser.Answer{b.Post("/api/auth/signout")}
		},
		done: storeSignedInAs("")},
}

// store04 makes every store call fail at every step of every journey, before and
// after it takes effect.
func store04(t *T) {
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: arena.ClientSecret, RedirectURIs: storeRedirectURIs()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	tries := 0
	t.Strategies(func(t *T, strategy string) {
		for name, j := range storeJourneys {
			for how, kind := range map[string]arena.Failure{"before": arena.FailBefore, "after": arena.FailAfter} {
				t.Run(name+" "+how, func(t *T) {
					for n := 1; storeTryBroken(t, op, j, strategy, n, kind); n++ {
						if tries++; n > 40 {
							t.Fatal("the journey never ends")
						}
					}
				})
			}
		}
		t.Run("disconnect", func(t *T) { storeDisconnect(t, strategy) })
	})
	t.Figure("%d calls broken", tries)
}

func storeRedirectURIs() []string { return []string{arena.Origin + "/api/auth/callback/op"} }

// storeDisconnect tests a client that disconnects during a sign-in, after its link was
// used up.
func storeDisconnect(t *T, strategy string) {
	w := t.EnterOffline(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
	b := w.Browser()
	b.Post("/api/auth/signin/email", "email", "new@app.test")
	link := arena.Link(t, w.Mail.Next(t))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	w.Ledger.BreakAt(func(_ int, method string) arena.Failure {
		if method == "SignUp" {
			leave()
		}
		return arena.Works
	})
	a := b.Do(r)
	w.Ledger.BreakAt(nil)
	if a.Location() != arena.Origin || b.Email() != "new@app.test" {
		t.Errorf("half done: %d %s %s", a.StatusCode, a.Location(), w.Ledger.Lasting())
	}
	if ctx.Err() == nil {
		t.Error("the client never left")
	}
}

// storeTryBroken runs a journey whose n-th call fails, then again with a working
// store. It reports whether there was an n-th call.
func storeTryBroken(t *T, op *idp.Server, j storeJourney, strategy string, n int, kind arena.Failure) bool {
	t.Helper()
	w := t.EnterOffline(func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		c.Providers = append(c.Providers, &authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: arena.ClientSecret}})
	})
	w.OP = op
	b := w.Browser()
	if j.prepare != nil {
		j.prepare(w, b)
	}
	before := w.Person(t, b)
	broken := ""
	w.Ledger.BreakAt(func(i int, method string) arena.Failure {
		if i == n {
			broken = method
			return kind
		}
		return arena.Works
	})
	answers := j.run(w, b)
	w.Ledger.BreakAt(nil)
	if broken == "" {
		t.Logf("%d calls", n-1)
		if !j.done(w, b) {
			t.Errorf("twin: the journey does not arrive\n%s", w.Logs)
		}
		return false
	}
	last := answers[len(answers)-1]
	for _, a := range answers {
		if a.StatusCode >= 500 && a.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("call %d, %s: status %d %s", n, broken, a.StatusCode, a.Text)
		}
	}
	if arena.IsRefusal(last) && w.Person(t, b) != before && w.Person(t, b) != "" {
		t.Errorf("call %d, %s: refused, but signed in", n, broken)
	}
	if strings.Contains(last.Location(), "/error?") && j.done(w, b) && before == "" && w.Person(t, b) != "" {
		t.Errorf("call %d, %s: a session without acknowledgement", n, broken)
	}
	if j.run(w, b); !j.done(w, b) {
		t.Errorf("call %d, %s: the next try does not succeed\n%s", n, broken, w.Logs)
	}
	storeWhole(t, w.Ledger.Behind)
	return true
}
