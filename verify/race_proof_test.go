package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
)

// A squat is an address that a squatter has registered through a provider before its
// owner came, with the squatter's pending sign-ins.
type squat struct {
	*raceWorld
	round         int
	address, user string
	first         *arena.Browser
	browsers      []*arena.Browser
	callbacks     []string
}

// race13 has 64 sign-ins and links of a squatter in progress at two replicas while
// the owner proves the address at the third. Afterwards nothing of the squatter may
// be left, and the owner must be signed in.
func race13(t *T) {
	rounds := t.Scale("rounds of 64 clients at 3 replicas, for each store and strategy", 1, 3, 200)
	t.Stores(func(t *T, kind stores.Kind) {
		n := rounds
		if kind.Name == "mongodb" { // FerretDB runs one command at a time
			n = (rounds + 3) / 4
		}
		t.Strategies(func(t *T, strategy string) {
			gate := &raceGate{}
			w := raceEnter(t, func(c *authsvc.Config) {
				c.Adapter, c.Session.Strategy, c.Callbacks.SignIn = kind.Open(t), authsvc.Strategy(strategy), gate.signIn
			})
			for i := range n {
				raceSquat(t, w, i).contest(t, gate)
			}
		})
	})
}

// raceThinks is the longest time that the application takes to decide about a
// sign-in.
const raceThinks = 30 * time.Millisecond

// A raceGate is a SignIn callback that opens once it has been asked a number of times
// about an identity of the provider. Until it is shut, it takes time to answer, as an
// application does, between a sign-in's reads and writes.
type raceGate struct {
	mu   sync.Mutex
	left int
	open chan struct{} // nil: shut
}

// after makes the gate open at the n-th question.
func (g *raceGate) after(n int) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.open = n, make(chan struct{})
	return g.open
}

func (g *raceGate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = nil
}

func (g *raceGate) signIn(_ context.Context, a authsvc.SignInAttempt) (string, error) {
	if a.Account.Provider == "op" && g.asked() {
		time.Sleep(rand.N(raceThinks))
	}
	return "", nil
}

func (g *raceGate) asked() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		return false
	}
	if g.left--; g.left == 0 {
		close(g.open)
	}
	return true
}

// raceSquat registers the address of round n and begins 64 attempts, up to the
// provider's redirect back. Half of them sign in as the squatter, half link another
// identity. Each two of the latter share a session, which ends with the first link.
func raceSquat(t *T, w *raceWorld, n int) *squat {
	t.Helper()
	sub := fmt.Sprintf("squat%d", n)
	s := &squat{raceWorld: w, round: n, address: sub + "@people.test", browsers: make([]*arena.Browser, crowd), callbacks: make([]string, crowd)}
	if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: sub, Email: s.address}); err != nil {
		t.Fatal(err)
	}
	s.first = w.at(0, w.Browser())
	s.first.SignIn(w.OP, sub)
	if s.user = w.Person(t, s.first); s.user == "" || s.first.Email() != s.address {
		t.Fatalf("twin: not signed in\n%.3000s", w.Logs)
	}
	const each = 4
	together(crowd/each, func(i int) {
		session := w.at(0, w.Browser())
		session.SignIn(w.OP, sub)
		for j := each * i; j < each*(i+1); j++ {
			b := w.Browser()
			if j%2 == 0 {
				s.callbacks[j] = b.Approve(w.OP, b.Begin("op"), sub)
			} else {
				b = session.Clone()
				s.callbacks[j] = b.Approve(w.OP, b.Begin("op", "link", "true"), raceSpare(t, w, n, j))
			}
			s.browsers[j] = w.at(2*(i%2), b)
		}
	})
	return s
}

// contest completes all attempts at once, and makes the owner prove the address once
// some have succeeded.
func (s *squat) contest(t *T, gate *raceGate) {
	t.Helper()
	owner := s.at(1, s.Browser())
	owner.Post("/api/auth/signin/email", "email", s.address)
	link := arena.Link(t, s.Mail.Next(t))
	open := gate.after(1 + rand.N(crowd/2))
	var left atomic.Int64
	left.Store(crowd)
	all := make(chan struct{})
	together(crowd+1, func(i int) {
		if i == crowd {
			select {
			case <-open:
			case <-all:
			}
			owner.Get(link)
			return
		}
		if a := s.browsers[i].Get(s.callbacks[i]); a.StatusCode >= 500 {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
		if left.Add(-1) == 0 {
			close(all)
		}
	})
	gate.shut()
	s.settled(t, owner)
}

// settled checks what is left. Linking makes a replica read all revocations, so the
// owner, who is allowed to, links at each.
func (s *squat) settled(t *T, owner *arena.Browser) {
	t.Helper()
	if address := owner.Email(); address != s.address {
		t.Errorf("the owner is %q\n%.3000s", address, s.Logs)
	}
	accounts, err := s.Store.ListAccounts(t.Context(), s.user)
	if err != nil || len(accounts) > 0 {
		t.Errorf("%d identities of the squatter are left, %v", len(accounts), err)
	}
	for i := range s.services {
		s.at(i, owner)
		back := owner.Approve(s.OP, owner.Begin("op", "link", "true"), raceSpare(t, s.raceWorld, s.round, crowd+i))
		if a := owner.Get(back); a.Location() != arena.Origin || !raceIs(owner, s.user) {
			t.Errorf("twin: the owner links at replica %d: %d %s", i, a.StatusCode, a.Location())
		}
		in := 0
		for _, b := range append(s.browsers, s.first) {
			if raceIs(s.at(i, b), s.user) {
				in++
			}
		}
		if in > 0 {
			t.Errorf("replica %d: %d of the squatter's browsers are signed in", i, in)
		}
	}
	storeWhole(t, s.Store)
}
