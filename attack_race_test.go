package authsvc_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"authsvc"
)

// together runs n copies of f at once.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		all.Go(func() { <-gate; f(i) })
	}
	close(gate)
	all.Wait()
}

const crowd = 64

func TestAttackRaces(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		fresh := func(t *testing.T) *arena {
			t.Helper()
			t.Parallel()
			return enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
		}
		t.Run("race-01 one link, many clicks "+strategy, func(t *testing.T) {
			w := fresh(t)
			asked := w.browser()
			asked.post("/api/auth/signin/email", "email", "ada@app.test")
			l := link(t, w.mail.next(t))
			var in, refused atomic.Int64
			together(crowd, func(i int) {
				b := asked.clone()
				var a *answer
				if i%2 == 0 {
					a = b.get(l)
				} else {
					a = b.post("/api/auth/callback/email", formOf(t, l)...)
				}
				switch {
				case a.location() == origin && b.email() == "ada@app.test":
					in.Add(1)
				case strings.Contains(a.location(), "error=Verification") && b.email() == "":
					refused.Add(1)
				default:
					t.Errorf("%d %s", a.StatusCode, a.location())
				}
			})
			if in.Load() != 1 || refused.Load() != crowd-1 {
				t.Errorf("%d in, %d refused", in.Load(), refused.Load())
			}
		})
		t.Run("race-02 first sign-in storm "+strategy, func(t *testing.T) {
			w := fresh(t)
			var callbacks [crowd]string
			var browsers [crowd]*browser
			for i := range crowd {
				browsers[i] = w.browser()
				callbacks[i] = browsers[i].approve(w.op, browsers[i].begin("op"), "ada")
			}
			together(crowd, func(i int) {
				if a := browsers[i].get(callbacks[i]); a.location() != origin || browsers[i].email() != "ada@example.com" {
					t.Errorf("%d %s", a.StatusCode, a.location())
				}
			})
			w.oneUser(t, browsers[:])
		})
		t.Run("race-02 first mail storm "+strategy, func(t *testing.T) {
			w := fresh(t)
			var links [8]string
			var browsers [8]*browser
			for i := range links {
				browsers[i] = w.browser()
				browsers[i].post("/api/auth/signin/email", "email", "new@app.test")
				links[i] = link(t, w.mail.next(t))
			}
			var mu sync.Mutex
			var in []*browser
			together(len(links), func(i int) {
				switch a := browsers[i].get(links[i]); {
				case a.location() == origin:
					mu.Lock()
					defer mu.Unlock()
					in = append(in, browsers[i])
				case !strings.Contains(a.location(), "error=Verification"): // another link was used before
					t.Errorf("%d %s", a.StatusCode, a.location())
				}
			})
			if len(in) == 0 {
				t.Fatal("nobody got in")
			}
			w.oneUser(t, in)
		})
		t.Run("race-03 same address, two methods "+strategy, func(t *testing.T) {
			w := fresh(t)
			mail, op := w.browser(), w.browser()
			mail.post("/api/auth/signin/email", "email", "ada@example.com")
			l, back := link(t, w.mail.next(t)), op.approve(w.op, op.begin("op"), "ada")
			together(2, func(i int) {
				if i == 0 {
					mail.get(l)
				} else {
					op.get(back)
				}
			})
			signUps := strings.Count(strings.Join(w.led.written(), "\n"), "SignUp ")
			if signUps != 1 || mail.email() != "ada@example.com" {
				t.Errorf("%d users, mail is %q, op is %q\n%s", signUps, mail.email(), op.email(), w.logs)
			}
		})
		t.Run("race-04 same callback URL "+strategy, func(t *testing.T) {
			w := fresh(t)
			b := w.browser()
			back := b.approve(w.op, b.begin("op"), "ada")
			var in atomic.Int64
			together(crowd, func(int) {
				c := b.clone()
				switch a := c.get(back); {
				case a.location() == origin:
					in.Add(1)
				case !strings.Contains(a.location(), "error=OAuthCallback"):
					t.Errorf("%d %s", a.StatusCode, a.location())
				}
			})
			if in.Load() != 1 || w.tokenCalls() != 1 {
				t.Errorf("%d sessions, %d token calls", in.Load(), w.tokenCalls())
			}
		})
		t.Run("race-06 sign-out and renewal "+strategy, func(t *testing.T) {
			t.Parallel()
			w := enter(t, func(c *authsvc.Config) { c.Session.Strategy, c.Session.UpdateAge = strategy, -1 })
			b := w.browser()
			b.signIn(w.op, "ada")
			token := b.csrf()
			jars := make([]*browser, crowd)
			together(crowd, func(i int) {
				jars[i] = b.clone()
				if i == crowd/2 {
					if a := jars[i].form("/api/auth/signout", with(nil, "csrfToken", token)); a.location() != origin {
						t.Errorf("sign-out: %d %s", a.StatusCode, a.location())
					}
					return
				}
				if a := jars[i].get("/api/auth/session"); a.StatusCode != http.StatusOK {
					t.Errorf("session: %d", a.StatusCode)
				}
			})
			for _, jar := range append(jars, b) {
				if jar.email() != "" {
					t.Fatal("a session lives on after sign-out")
				}
			}
		})
		t.Run("race-07 link versus link "+strategy, func(t *testing.T) {
			w := fresh(t)
			one, two := w.browser(), w.browser()
			one.signInByMail(w.world, "one@app.test")
			two.signInByMail(w.world, "two@app.test")
			both := []*browser{one, two}
			back := [2]string{}
			for i, b := range both {
				back[i] = b.approve(w.op, b.begin("op", "link", "true"), "ada")
			}
			var in, refused atomic.Int64
			together(2, func(i int) {
				switch a := both[i].get(back[i]); {
				case a.location() == origin:
					in.Add(1)
				case strings.Contains(a.location(), "OAuthAccountNotLinked"):
					refused.Add(1)
				}
			})
			if in.Load() != 1 || refused.Load() != 1 {
				t.Errorf("%d linked, %d refused", in.Load(), refused.Load())
			}
		})
	}
	t.Run("race-12 limiter at the last permit", func(t *testing.T) {
		t.Parallel()
		w := enter(t, func(c *authsvc.Config) {
			c.RateLimit.Disabled, c.RateLimit.SignIn.N, c.RateLimit.SignIn.Per = false, 10, 1<<40
		})
		b := w.browser()
		token := b.csrf()
		var passed atomic.Int64
		together(crowd, func(int) {
			a := b.clone().form("/api/auth/signin/op", with(nil, "csrfToken", token))
			switch {
			case strings.HasPrefix(a.location(), w.op.Issuer()):
				passed.Add(1)
			case a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "":
				t.Errorf("%d", a.StatusCode)
			}
		})
		if passed.Load() != 10 {
			t.Errorf("%d passed", passed.Load())
		}
	})
}

// oneUser checks that all browsers are one stored person.
func (w *arena) oneUser(t *testing.T, browsers []*browser) {
	t.Helper()
	me := w.person(t, browsers[0])
	for _, b := range browsers {
		if got := w.person(t, b); got != me || got == "" {
			t.Errorf("signed in as %q and %q", me, got)
		}
	}
	if n := strings.Count(strings.Join(w.led.written(), "\n"), "SignUp "); n != 1 {
		t.Errorf("%d sign-ups", n)
	}
}
