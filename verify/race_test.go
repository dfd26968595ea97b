package verify

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

// crowd is the number of simultaneous clients.
const crowd = 64

// raceReplicas is the number of services that share the store.
const raceReplicas = 3

var raceChecks = checks{
	"01": {title: "one link, many clicks: one signs in", once: true, run: race01},
	"02": {title: "many first sign-ins at once: one user, all signed in", once: true, alone: true, run: race02},
	"03": {title: "one address by mail and by provider at once: one user", once: true, run: race03},
	"04": {title: "one callback, many times: one token call, one session", once: true, run: race04},
	"05": {title: "a single-use refresh token is used once", alone: true, once: true, run: race05},
	"06": {title: "sign-out is final while sessions are renewed", once: true, run: race06},
	"07": {title: "two users link one identity: one gets it", once: true, run: race07},
	"08": {title: "a user deleted during the callback has no session", once: true, run: race08},
	"09": {title: "the suite runs with -race, shuffled", once: true, run: race09},
	"11": {title: "one mailed code, many times: one signs in", once: true, run: race11},
	"10": {title: "64 writers at one SQLite file", once: true, alone: true, run: race10},
	"12": {title: "the rate limiter at its last permit", once: true, run: race12},
	"13": {title: "a first proof during a squatter's sign-ins and links: only the owner keeps access", once: true, run: race13},
	"14": {title: "a change of address happens once or stops once, and one user gets the address", once: true, run: race14},
	"15": {title: "the link in a notice undoes a change once", once: true, run: race15},
	"16": {title: "an account is kept once or deleted once", once: true, run: race16},
}

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

// A raceWorld is a world with several services on its store.
type raceWorld struct {
	*arena.World
	services []*arena.Replica
}

// at sends a browser to replica i.
func (w *raceWorld) at(i int, b *arena.Browser) *arena.Browser {
	b.H = w.services[i%len(w.services)]
	return b
}

// raceEnter starts a world and its replicas.
func raceEnter(t *T, tune func(*authsvc.Config)) *raceWorld {
	t.Helper()
	w := &raceWorld{World: t.Enter(tune)}
	w.services = []*arena.Replica{w.First()}
	for range raceReplicas - 1 {
		w.services = append(w.services, w.Replica(t))
	}
	return w
}

// raced runs rounds on each store with each strategy. Rounds count from 0, so that
// each can use its own people.
func raced(t *T, tune func(*authsvc.Config), round func(t *T, w *raceWorld, n int)) {
	racedFor(t, t.Scale("rounds of 64 clients at 3 replicas, for each store and strategy", 1, 5, 200), tune, round)
}

// racedFor is raced with a given number of rounds.
func racedFor(t *T, rounds int, tune func(*authsvc.Config), round func(t *T, w *raceWorld, n int)) {
	t.CombinedStores(func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) {
			w := raceEnter(t, func(c *authsvc.Config) {
				c.Adapter, c.Session.Strategy = kind.Open(t), authsvc.Strategy(strategy)
				if tune != nil {
					tune(c)
				}
			})
			for n := range rounds {
				round(t, w, n)
			}
		})
	})
}

func race01(t *T) {
	raced(t, nil, func(t *T, w *raceWorld, _ int) {
		asked := w.Browser()
		asked.Post("/api/auth/signin/email", "email", "ada@app.test")
		link := arena.Link(t, w.Mail.Next(t))
		form := arena.MustURL(t, link).Query()
		var in, refused atomic.Int64
		together(crowd, func(i int) {
			b := w.at(i, asked.Clone())
			var a *browser.Answer
			if i%2 == 0 {
				a = b.Get(link)
			} else {
				a = b.Post("/api/auth/callback/email", "token", form.Get("token"), "email", form.Get("email"), "callbackUrl", form.Get("callbackUrl"))
			}
			switch {
			case a.Location() == arena.Origin && b.Email() == "ada@app.test":
				in.Add(1)
			case strings.Contains(a.Location(), "error=Verification") && b.Email() == "":
				refused.Add(1)
			default:
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
		})
		if in.Load() != 1 || refused.Load() != crowd-1 {
			t.Errorf("%d in, %d refused", in.Load(), refused.Load())
		}
	})
}

func race03(t *T) {
	raced(t, nil, func(t *T, w *raceWorld, n int) {
		sub, address := racePerson(t, w, n)
		mail, op := w.at(0, w.Browser()), w.at(1, w.Browser())
		mail.Post("/api/auth/signin/email", "email", address)
		link, back := arena.Link(t, w.Mail.Next(t)), op.Approve(w.OP, op.Begin("op"), sub)
		var byOP *browser.Answer
		together(2, func(i int) {
			if i == 0 {
				mail.Get(link)
			} else {
				byOP = op.Get(back)
			}
		})
		u, err := w.Store.GetUserByEmail(t.Context(), address)
		if err != nil || mail.Email() != address {
			t.Fatalf("by mail %q, %v", mail.Email(), err)
		}
		in, refused := byOP.Location() == arena.Origin, strings.Contains(byOP.Location(), "error=OAuthAccountNotLinked")
		if in == refused {
			t.Errorf("by provider: %d %s", byOP.StatusCode, byOP.Location())
		}
		if who := w.Person(t, op); who != "" && who != u.ID {
			t.Errorf("by provider it is %s, by mail %s", who, u.ID)
		}
		if n := raceSignUps(w, address); n != 1 {
			t.Errorf("%d users", n)
		}
	})
}

func race04(t *T) {
	raced(t, nil, func(t *T, w *raceWorld, _ int) {
		b := w.Browser()
		back := b.Approve(w.OP, b.Begin("op"), "ada")
		before := w.TokenCalls()
		var in atomic.Int64
		together(crowd, func(i int) {
			c := w.at(i, b.Clone())
			switch a := c.Get(back); {
			case a.Location() == arena.Origin && c.Email() == "ada@example.com":
				in.Add(1)
			case !strings.Contains(a.Location(), "error=OAuthCallback") || c.Email() != "":
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
		})
		if calls := w.TokenCalls() - before; in.Load() != 1 || calls != 1 {
			t.Errorf("%d sessions, %d token calls", in.Load(), calls)
		}
	})
}

// race06 checks that answers during a sign-out may renew the session but never
// restore it.
func race06(t *T) {
	always := func(c *authsvc.Config) { c.Session.UpdateAge = -1 }
	raced(t, always, func(t *T, w *raceWorld, n int) {
		b := w.at(n, w.Browser())
		b.SignIn(w.OP, "ada")
		token := b.CSRF()
		if b.Email() == "" {
			t.Fatal("twin: not signed in")
		}
		jars := make([]*arena.Browser, crowd)
		together(crowd, func(i int) {
			jars[i] = w.at(raceReplica(w, n, i), b.Clone())
			if i == crowd/2 {
				if a := w.at(n, jars[i]).Post("/api/auth/signout", "csrfToken", token); a.Location() != arena.Origin {
					t.Errorf("sign-out: %d %s", a.StatusCode, a.Location())
				}
				return
			}
			if a := jars[i].Get("/api/auth/session"); a.StatusCode != http.StatusOK {
				t.Errorf("session: %d", a.StatusCode)
			}
		})
		raceEnded(t, w, n, append(jars, b))
	})
}

// raceReplica returns the replica of client i in round n. Replicas learn of a revoked
// JWT session by polling the store every 2 s. Only the first round waits for that; in
// the others, all clients use the replica that made the revocation.
func raceReplica(w *raceWorld, n, i int) int {
	if w.Config.Session.Strategy == "jwt" && n > 0 {
		return n
	}
	return i
}

// raceEnded checks that all browsers are signed out: immediately, except with JWT at
// other replicas.
func raceEnded(t *T, w *raceWorld, n int, jars []*arena.Browser) {
	t.Helper()
	deadline := time.Now()
	if w.Config.Session.Strategy == "jwt" && n == 0 {
		deadline = deadline.Add(within(5 * time.Second))
	}
	for _, jar := range jars {
		for ; jar.Email() != ""; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("a session is still valid after sign-out")
			}
		}
	}
}

func race07(t *T) {
	raced(t, nil, func(t *T, w *raceWorld, n int) {
		sub, _ := racePerson(t, w, n)
		one, two := w.at(0, w.Browser()), w.at(1, w.Browser())
		one.SignInByMail(w.World, "one@app.test")
		two.SignInByMail(w.World, "two@app.test")
		both, back := []*arena.Browser{one, two}, [2]string{}
		for i, b := range both {
			back[i] = b.Approve(w.OP, b.Begin("op", "link", "true"), sub)
		}
		var in, refused atomic.Int64
		together(2, func(i int) {
			switch a := both[i].Get(back[i]); {
			case a.Location() == arena.Origin:
				in.Add(1)
			case strings.Contains(a.Location(), "OAuthAccountNotLinked"):
				refused.Add(1)
			}
		})
		if in.Load() != 1 || refused.Load() != 1 {
			t.Errorf("%d linked, %d refused", in.Load(), refused.Load())
		}
		for i, b := range both { // twin: an identity without an account
			if a := b.Get(b.Approve(w.OP, b.Begin("op", "link", "true"), raceSpare(t, w, n, i))); a.Location() != arena.Origin {
				t.Errorf("an identity of their own: %d %s", a.StatusCode, a.Location())
			}
		}
		if one.Email() != "one@app.test" || two.Email() != "two@app.test" {
			t.Errorf("they are %q and %q", one.Email(), two.Email())
		}
	})
}

func race12(t *T) {
	rounds := t.Scale("rounds of 64 clients at 3 replicas, for each store", 1, 5, 200)
	t.Stores(func(t *T, kind stores.Kind) {
		w := raceEnter(t, func(c *authsvc.Config) {
			c.Adapter = kind.Open(t)
			c.RateLimit.Disabled, c.RateLimit.SignIn.N, c.RateLimit.SignIn.Per = false, 10, 1<<40
		})
		for n := range rounds {
			b := w.Browser()
			b.IP = "203.0.113." + string(rune('1'+n%9)) + string(rune('0'+n/9%10)) + ":1"
			token := b.CSRF()
			var passed atomic.Int64
			together(crowd, func(i int) {
				a := w.at(i, b.Clone()).Post("/api/auth/signin/op", "csrfToken", token)
				switch {
				case strings.HasPrefix(a.Location(), w.OP.Issuer()):
					passed.Add(1)
				case a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "":
					t.Errorf("%d", a.StatusCode)
				}
			})
			// One of the ten places may remain free. If a late request is counted
			// first, the tenth place begins at its time, and earlier requests must
			// wait for it (adaptertest tests that).
			if n := passed.Load(); n != 10 && n != 9 {
				t.Errorf("%d passed, the limit is 10\n%.3000s", n, w.Logs)
			}
		}
	})
}
