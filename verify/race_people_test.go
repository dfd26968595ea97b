package verify

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// racePerson adds the identity of a round to the provider.
func racePerson(t *T, w *raceWorld, n int) (sub, address string) {
	t.Helper()
	sub = fmt.Sprintf("race%d", n)
	address = sub + "@people.test"
	if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: sub, Email: address, EmailVerified: true}); err != nil {
		t.Fatal(err)
	}
	return sub, address
}

// raceSpare adds another identity of a round.
func raceSpare(t *T, w *raceWorld, n, i int) string {
	t.Helper()
	sub := fmt.Sprintf("spare%d-%d", n, i)
	if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: sub}); err != nil {
		t.Fatal(err)
	}
	return sub
}

// raceSignUps counts the successful sign-ups with an address.
func raceSignUps(w *raceWorld, address string) (n int) {
	for _, e := range w.Ledger.Written() {
		if strings.HasPrefix(e, "SignUp ") && strings.Contains(e, address) {
			n++
		}
	}
	return n
}

func race02(t *T) {
	raced(t, nil, func(t *T, w *raceWorld, n int) {
		sub, address := racePerson(t, w, n)
		var browsers [crowd]*arena.Browser
		var callbacks [crowd]string
		for i := range crowd {
			browsers[i] = w.at(i, w.Browser())
			callbacks[i] = browsers[i].Approve(w.OP, browsers[i].Begin("op"), sub)
		}
		together(crowd, func(i int) {
			if a := browsers[i].Get(callbacks[i]); a.Location() != arena.Origin || browsers[i].Email() != address {
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
		})
		raceOneUser(t, w, address, browsers[:])
		raceMails(t, w, fmt.Sprintf("mail%d@app.test", n))
	})
}

// raceMails opens the links of several browsers for one new address at once.
func raceMails(t *T, w *raceWorld, address string) {
	t.Helper()
	var browsers [8]*arena.Browser
	var links [8]string
	for i := range links {
		browsers[i] = w.at(i, w.Browser())
		browsers[i].Post("/api/auth/signin/email", "email", address)
		links[i] = arena.Link(t, w.Mail.Next(t))
	}
	var mu sync.Mutex
	var in []*arena.Browser
	together(len(links), func(i int) {
		switch a := browsers[i].Get(links[i]); {
		case a.Location() == arena.Origin:
			mu.Lock()
			defer mu.Unlock()
			in = append(in, browsers[i])
		case !strings.Contains(a.Location(), "error=Verification"): // another link was used first
			t.Errorf("%d %s", a.StatusCode, a.Location())
		}
	})
	if len(in) == 0 {
		t.Fatal("no one signed in")
	}
	raceOneUser(t, w, address, in)
}

// raceOneUser checks that all browsers are signed in as one stored user.
func raceOneUser(t *T, w *raceWorld, address string, browsers []*arena.Browser) {
	t.Helper()
	me, err := w.Store.GetUserByEmail(t.Context(), address)
	for deadline := time.Now().Add(time.Minute); err != nil && !errors.Is(err, adapter.ErrNotFound) && time.Now().Before(deadline); {
		// On a busy machine, a server may not answer directly after a storm.
		time.Sleep(time.Second)
		me, err = w.Store.GetUserByEmail(t.Context(), address)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range browsers {
		if got := w.Person(t, b); got != me.ID {
			t.Errorf("stored as %q, signed in as %q", me.ID, got)
		}
	}
	if n := raceSignUps(w, address); n != 1 {
		t.Errorf("%d sign-ups", n)
	}
	accounts, err := w.Store.ListAccounts(t.Context(), me.ID)
	if want := map[bool]int{true: 1, false: 0}[strings.HasPrefix(address, "race")]; err != nil || len(accounts) != want {
		t.Errorf("%d accounts, want %d; %v", len(accounts), want, err)
	}
}

// race08 deletes a user while others sign in as that user.
func race08(t *T) {
	raced(t, nil, func(t *T, w *raceWorld, n int) {
		sub, address := racePerson(t, w, n)
		first := w.Browser()
		if first.SignIn(w.OP, sub); first.Email() != address {
			t.Fatal("twin: not signed in")
		}
		u, err := w.Store.GetUserByEmail(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		var browsers [8]*arena.Browser
		var callbacks [8]string
		for i := range browsers {
			replica := i
			if w.Config.Session.Strategy == "jwt" && n > 0 {
				replica = 0
			}
			browsers[i] = w.at(replica, w.Browser())
			callbacks[i] = browsers[i].Approve(w.OP, browsers[i].Begin("op"), sub)
		}
		together(len(browsers)+1, func(i int) {
			if i == len(browsers) {
				if err := w.DeleteUser(t.Context(), u.ID); err != nil {
					t.Error(err)
				}
				return
			}
			if a := browsers[i].Get(callbacks[i]); a.StatusCode >= 500 {
				t.Errorf("%d %s", a.StatusCode, a.Text)
			}
		})
		raceDeleted(t, w, n, u.ID, append(browsers[:], first))
	})
}

// raceDeleted checks that nothing is left of a user and that no browser is signed in
// as them. People who came after the deletion are new users.
func raceDeleted(t *T, w *raceWorld, n int, id string, browsers []*arena.Browser) {
	t.Helper()
	if _, err := w.Store.GetUser(t.Context(), id); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("the deleted user: %v", err)
	}
	sessions, err := w.Store.ListSessions(t.Context(), id)
	if err != nil || len(sessions) > 0 {
		t.Errorf("%d sessions of the deleted user, %v", len(sessions), err)
	}
	accounts, err := w.Store.ListAccounts(t.Context(), id)
	if err != nil || len(accounts) > 0 {
		t.Errorf("%d accounts of the deleted user, %v", len(accounts), err)
	}
	deadline := time.Now()
	if w.Config.Session.Strategy == "jwt" && n == 0 {
		deadline = deadline.Add(within(5 * time.Second)) // other replicas poll every 2 s
	}
	for _, b := range browsers {
		for ; raceIs(b, id); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Error("signed in as the deleted user")
				break
			}
		}
	}
	storeWhole(t, w.Store)
}

// raceIs asks the browser's replica whether it is signed in as this user.
func raceIs(b *arena.Browser, id string) bool {
	r := httptest.NewRequest(http.MethodGet, b.Origin+"/", nil)
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	s, err := b.H.(interface { // a world or a replica
		Session(*http.Request) (*authsvc.Session, error)
	}).Session(r)
	return err == nil && s != nil && s.UserID == id
}
