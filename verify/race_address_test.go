package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/dev/idp"
	"authsvc/internal/seal"
	"authsvc/internal/seal/emailchange"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// A raceBook counts the audit events of each user.
type raceBook struct {
	mu sync.Mutex
	n  map[string]int // by "user event"
}

func (k *raceBook) watch(c *authsvc.Config) {
	c.Account.ChangeEmail = new(true)
	c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.n == nil {
			k.n = map[string]int{}
		}
		k.n[e.UserID+" "+e.Name]++
	}
}

func (k *raceBook) count(user, event string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.n[user+" "+event]
}

// race14 checks that of all who confirm, finish, cancel and stop a change of address
// at once, one decides, and that of all who want an address, one gets it.
func race14(t *T) {
	book := &raceBook{}
	racedFor(t, t.Scale("rounds of 3 times 64 clients at 3 replicas, for each store and strategy", 1, 2, 20), book.watch, func(t *T, w *raceWorld, n int) {
		raceBothEnds(t, w, book, n)
		raceLastWord(t, w, book, n)
		raceOneAddress(t, w, book, n)
	})
}

// A raceChange is a change of address that waits for both ends.
type raceChange struct {
	b            *arena.Browser // that requested it
	user         string
	from, to     string
	toNew, toOld string // links
	code         string // in the mail to the new address
}

// raceAsk signs a person in and requests another address.
func raceAsk(t *T, w *raceWorld, sub, to string) raceChange {
	t.Helper()
	c := raceChange{b: w.at(0, w.Browser()), from: sub + "@people.test", to: to}
	if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: sub, Email: c.from, EmailVerified: true}); err != nil {
		t.Fatal(err)
	}
	c.b.SignIn(w.OP, sub)
	c.user = w.Person(t, c.b)
	mails := accountAskChange(t, w.World, c.b, to, 2)
	c.code = arena.Code(mails[to])
	if c.toNew, c.toOld = accountLink(mails[to]), accountLink(mails[c.from]); c.toNew == "" || c.toOld == "" || c.code == "" {
		t.Fatalf("the mails of %s: %v", sub, mails)
	}
	return c
}

// raceChangeCode enters the code of a change 64 times at once, in tabs of one session.
// The change must be made once; after five tries, no code is compared.
func raceChangeCode(t *T, w *raceWorld, book *raceBook, n int) {
	t.Helper()
	c := raceAsk(t, w, fmt.Sprintf("coded%d", n), fmt.Sprintf("coded%d@new.test", n))
	w.opens(t, 0, c.toOld)
	csrf := c.b.CSRF()
	var made atomic.Int64
	together(crowd, func(i int) {
		tab := w.at(i, c.b.Clone())
		a := tab.Post("/api/auth/account/email/confirm", "code", c.code, "csrfToken", csrf)
		switch {
		case strings.HasSuffix(a.Location(), "/account?done=address"):
			made.Add(1)
		case a.StatusCode >= 500:
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
	})
	if got, events := w.email(t, c.user), book.count(c.user, "email.change_completed"); got != c.to || made.Load() != 1 || events != 1 {
		t.Errorf("the address is %s, %d were told that they changed it, %d events", got, made.Load(), events)
	}
}

// opens presses the button behind a link in a new browser at replica i.
func (w *raceWorld) opens(t *T, i int, link string, more ...string) *browser.Answer {
	t.Helper()
	a := accountPress(t, w.at(i, w.Browser()), link, more...)
	if a.StatusCode >= 500 {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	return a
}

// email returns a user's address in the store.
func (w *raceWorld) email(t *T, user string) string {
	t.Helper()
	u, err := w.Store.GetUser(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	return u.Email
}

// raceBothEnds makes both ends agree 32 times at once. The change must be made once,
// and the old address's undo link must work once.
func raceBothEnds(t *T, w *raceWorld, book *raceBook, n int) {
	t.Helper()
	c := raceAsk(t, w, fmt.Sprintf("ends%d", n), fmt.Sprintf("ends%d@new.test", n))
	w.Mail.Notices()
	var made atomic.Int64
	together(crowd, func(i int) {
		if a := w.opens(t, i, []string{c.toNew, c.toOld}[i/raceReplicas%2]); strings.HasSuffix(a.Location(), "done=completed") {
			made.Add(1)
		}
	})
	if got, events := w.email(t, c.user), book.count(c.user, "email.change_completed"); got != c.to || made.Load() != 1 || events != 1 {
		t.Errorf("the address is %s, %d were told that they changed it, %d events", got, made.Load(), events)
	}
	m := w.Mail.Notice(t)
	if more := w.Mail.Notices(); m.To != c.from || len(more) > 0 {
		t.Errorf("a notice to %s, and %d more", m.To, len(more))
	}
	raceUndone(t, w, book, c.user, arena.Undo(m), 2) // to both addresses
	if got := w.email(t, c.user); got != c.from {
		t.Errorf("undone, and the address is %s", got)
	}
	raceEnded(t, w, 0, []*arena.Browser{c.b}) // whichever replica undid it
}

// raceLastWord checks that the first request to finish, cancel or stop a due change
// decides.
func raceLastWord(t *T, w *raceWorld, book *raceBook, n int) {
	t.Helper()
	c := raceAsk(t, w, fmt.Sprintf("word%d", n), fmt.Sprintf("word%d@new.test", n))
	w.opens(t, 0, c.toNew)
	c.age(t, w, emailchange.Silence+time.Hour)
	csrf := c.b.CSRF()
	words := map[string]string{"/account?done=address": "made", "/account?done=unchanged": "dropped", "/confirm?done=stopped": "dropped"}
	var mu sync.Mutex
	said := map[string]int{}
	together(crowd, func(i int) {
		a := &browser.Answer{}
		switch own := w.at(i, c.b.Clone()); i / raceReplicas % 3 {
		case 0:
			a = own.Post("/api/auth/account/email/finish", "csrfToken", csrf)
		case 1:
			a = own.Post("/api/auth/account/email/cancel", "csrfToken", csrf)
		case 2:
			a = w.opens(t, i, c.toOld, "stop", "true")
		}
		if a.StatusCode >= 500 {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
		mu.Lock()
		defer mu.Unlock()
		for end, word := range words {
			if strings.HasSuffix(a.Location(), end) {
				said[word]++
			}
		}
	})
	made, dropped := book.count(c.user, "email.change_completed"), book.count(c.user, "email.change_stopped")
	if made+dropped != 1 || said["made"] != made || said["dropped"] != dropped || (w.email(t, c.user) == c.to) != (made == 1) {
		t.Errorf("made %d times and dropped %d times; the answers said %v; the address is %s", made, dropped, said, w.email(t, c.user))
	}
}

// age makes a pending change older.
func (c *raceChange) age(t *T, w *raceWorld, by time.Duration) {
	t.Helper()
	p, err := w.Store.GetPerson(t.Context(), c.user)
	accountOK(t, err)
	ring, err := seal.NewRing(arena.Secret)
	accountOK(t, err)
	box := ring.Box("credentials")
	for _, stored := range p.Credentials {
		if stored.Kind != adapter.CredentialAddress {
			continue
		}
		place := []string{string(stored.Kind), stored.ID, stored.UserID}
		text, _, err := box.Open(string(stored.Data), place...)
		accountOK(t, err)
		var waits emailchange.Change
		accountOK(t, json.Unmarshal([]byte(text), &waits))
		waits.Asked -= by.Milliseconds()
		raw, err := json.Marshal(waits)
		accountOK(t, err)
		stored.Data = []byte(box.Seal(string(raw), place...))
		accountOK(t, w.Store.UpdateCredential(t.Context(), stored))
		return
	}
	t.Fatal("no change waits")
}

// raceOneAddress makes four people confirm a change to one address, whose owner signs
// up at the same time. One of them must get it.
func raceOneAddress(t *T, w *raceWorld, book *raceBook, n int) {
	t.Helper()
	const people = 4
	sub := fmt.Sprintf("wanted%d", n)
	address := sub + "@new.test"
	if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: sub, Email: address, EmailVerified: true}); err != nil {
		t.Fatal(err)
	}
	var all [people]raceChange
	for i := range all {
		all[i] = raceAsk(t, w, fmt.Sprintf("taker%d-%d", n, i), address)
		w.opens(t, i, all[i].toOld)
	}
	owner := w.at(1, w.Browser())
	back := owner.Approve(w.OP, owner.Begin("op"), sub)
	var made atomic.Int64
	together(crowd, func(i int) {
		if i == crowd/2 {
			owner.Get(back)
			return
		}
		if a := w.opens(t, i, all[i%people].toNew); strings.HasSuffix(a.Location(), "done=completed") {
			made.Add(1)
		}
	})
	u, err := w.Store.GetUserByEmail(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, c := range all {
		changed += book.count(c.user, "email.change_completed")
		if got := w.email(t, c.user); (got == address) != (c.user == u.ID) || got != address && got != c.from {
			t.Errorf("the address is %s's, and %s has %s", u.ID, c.user, got)
		}
	}
	if signUps := raceSignUps(w, address); changed+signUps != 1 || int(made.Load()) != changed {
		t.Errorf("%d changes, of which %d were told, and %d sign-ups", changed, made.Load(), signUps)
	}
	storeWhole(t, w.Store)
}
