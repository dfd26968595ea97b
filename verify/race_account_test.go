package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// race15 checks that if any number of people press the button behind a notice's link,
// exactly one undoes the change. race14 does this for a change of address.
func race15(t *T) {
	book := &raceBook{}
	racedFor(t, t.Scale("rounds of 64 clients at 3 replicas, for each store and strategy", 1, 2, 20), book.watch, func(t *T, w *raceWorld, n int) {
		b := w.at(0, w.Browser())
		b.SignInByMail(w.World, fmt.Sprintf("undo%d@app.test", n))
		user := w.Person(t, b)
		w.Mail.Notices()
		b.SignIn(w.OP, raceSpare(t, w, n, 0), "link", "true")
		raceUndone(t, w, book, user, arena.Undo(w.Mail.Notice(t)), 1)
		if list, err := w.Store.ListAccounts(t.Context(), user); err != nil || len(list) > 0 || book.count(user, "account.unlinked") != 1 {
			t.Errorf("%d identities are left, %d were removed, %v", len(list), book.count(user, "account.unlinked"), err)
		}
		raceEnded(t, w, 0, []*arena.Browser{b}) // whichever replica undid it
	})
}

// raceUndone makes 64 browsers press the button behind a notice's link. The undo is told
// by so many mails.
func raceUndone(t *T, w *raceWorld, book *raceBook, user, link string, mails int) {
	t.Helper()
	if link == "" || book.count(user, "change.undone") != 0 {
		t.Fatalf("the link is %q", link)
	}
	var undone, spent atomic.Int64
	together(crowd, func(i int) {
		switch a := accountUndo(w.at(i, w.Browser()), link); a.StatusCode {
		case http.StatusOK:
			undone.Add(1)
		case http.StatusNotFound:
			spent.Add(1)
		default:
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
	})
	if events := book.count(user, "change.undone"); undone.Load() != 1 || spent.Load() != crowd-1 || events != 1 {
		t.Errorf("%d have undone it, for %d the link was used up, %d events", undone.Load(), spent.Load(), events)
	}
	for range mails {
		if m := w.Mail.Notice(t); arena.Undo(m) != "" {
			t.Errorf("a mail about the undo has a link to undo it: %s", m.Subject)
		}
	}
	if more := w.Mail.Notices(); len(more) > 0 {
		t.Errorf("%d mails more about the undo", len(more))
	}
}

// A raceHook is an application that is asked about deletions and told of them.
type raceHook struct {
	mu          sync.Mutex
	agrees      bool
	asked, told map[string]int // by user
}

func (h *raceHook) set(agrees bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agrees, h.asked, h.told = agrees, map[string]int{}, map[string]int{}
}

func (h *raceHook) counts(user string) (asked, told int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[user], h.told[user]
}

func (h *raceHook) watch(c *authsvc.Config) {
	c.Account.Delete, c.Account.DeleteGrace = true, -1
	c.Callbacks.DeleteUser = func(_ context.Context, u authsvc.User) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.asked[u.ID]++; !h.agrees {
			return errors.New("not yet")
		}
		return nil
	}
	c.Events.DeleteUser = func(_ context.Context, u authsvc.User) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.told[u.ID]++
	}
}

// race16 checks that an account due for deletion is kept once. If it is kept and
// deleted at the same time, it either stays, or was deleted once.
func race16(t *T) {
	book, hook := &raceBook{}, &raceHook{}
	watch := func(c *authsvc.Config) { book.watch(c); hook.watch(c) }
	racedFor(t, t.Scale("rounds of twice 64 clients at 3 replicas, for each store and strategy", 1, 2, 20), watch, func(t *T, w *raceWorld, n int) {
		sub, address := racePerson(t, w, n)
		b := w.at(n, w.Browser())
		b.SignIn(w.OP, sub)
		user := w.Person(t, b)
		hook.set(false) // deletion is postponed by an hour
		b.Post("/api/auth/account/delete", "confirm", address)
		raceKeeps(t, w, book, user, sub)
		hook.set(true)
		raceDeletes(t, w, book, hook, user, sub)
	})
}

// raceKeeps makes four sign-ins wait for a decision about the account, each in 16
// tabs that choose to keep it.
func raceKeeps(t *T, w *raceWorld, book *raceBook, user, sub string) {
	t.Helper()
	const waiting = 4
	var browsers [waiting]*arena.Browser
	var kept [waiting]atomic.Int64
	for i := range browsers {
		browsers[i] = w.at(i, w.Browser())
		if a := browsers[i].SignIn(w.OP, sub); !strings.HasSuffix(a.Location(), "/account/keep") {
			t.Fatalf("a sign-in is not held back: %d %s", a.StatusCode, a.Location())
		}
	}
	together(crowd, func(i int) {
		tab := w.at(i, browsers[i%waiting].Clone())
		switch a := tab.Post("/api/auth/account/keep", "pending", "true"); {
		case strings.HasSuffix(a.Location(), "/account/keep?done=kept"):
			kept[i%waiting].Add(1)
		case !strings.Contains(a.Location(), "/api/auth/signin"):
			t.Errorf("%d %s %s", a.StatusCode, a.Location(), a.Text)
		}
	})
	all := 0
	for i := range kept {
		if n := kept[i].Load(); n > 1 {
			t.Errorf("one sign-in that waited kept the account %d times", n)
		}
		all += int(kept[i].Load())
	}
	u, err := w.Store.GetUser(t.Context(), user)
	if events := book.count(user, "user.deletion_cancelled"); err != nil || !u.DeleteAfter.IsZero() || events != 1 || all == 0 {
		t.Errorf("kept %d times, by %d events; to be deleted at %v, %v", all, events, u.DeleteAfter, err)
	}
}

// raceDeletes makes the user delete the account in 32 tabs while the operator keeps
// it, at all replicas.
func raceDeletes(t *T, w *raceWorld, book *raceBook, hook *raceHook, user, sub string) {
	t.Helper()
	b := w.at(0, w.Browser())
	b.SignIn(w.OP, sub)
	if w.Person(t, b) != user {
		t.Fatal("twin: the user who was kept is not signed in")
	}
	csrf, address := b.CSRF(), b.Email()
	together(crowd, func(i int) {
		if i/raceReplicas%2 == 0 {
			w.services[i%raceReplicas].At(func(s *engine.Service) {
				if err := s.CancelDeletion(t.Context(), user); err != nil && !errors.Is(err, adapter.ErrNotFound) && !errors.Is(err, authsvc.ErrBusy) {
					t.Error(err)
				}
			})
			return
		}
		tab := w.at(i, b.Clone())
		if a := tab.Post("/api/auth/account/delete", "csrfToken", csrf, "confirm", address); a.StatusCode >= 500 && a.Header.Get("Retry-After") == "" {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
	})
	u, err := w.Store.GetUser(t.Context(), user)
	deleted := errors.Is(err, adapter.ErrNotFound)
	if err != nil && !deleted {
		t.Fatal(err)
	}
	want := 0
	if deleted {
		want = 1
	}
	asked, told := hook.counts(user)
	if events := book.count(user, "user.deleted"); asked != want || told != want || events != want || !deleted && !u.DeleteAfter.IsZero() {
		t.Errorf("gone: %v; the application was asked %d times and told %d times, %d events; to be deleted at %v", deleted, asked, told, events, u.DeleteAfter)
	}
	if deleted {
		raceDeleted(t, w, 0, user, []*arena.Browser{b})
	}
}

// race11 checks that a mailed code, entered many times at once, signs in once, and
// that the code and its link together also sign in once. The code that proves a new
// address changes it once. There are no second factors, whose codes would need the same
// check.
func race11(t *T) {
	book := &raceBook{}
	racedFor(t, t.Scale("rounds of twice 64 clients at 3 replicas, for each store and strategy", 1, 2, 20), codesOn(book.watch), func(t *T, w *raceWorld, n int) {
		raceChangeCode(t, w, book, n)
		address := fmt.Sprintf("code%d@app.test", n)
		asked := w.at(n, w.Browser())
		code, link := codeAsk(t, w.World, asked, address)
		csrf := asked.CSRF()
		var in atomic.Int64
		together(crowd, func(i int) {
			b := w.at(i, asked.Clone())
			var a *browser.Answer
			if i%4 == 3 {
				a = b.Get(link)
			} else {
				a = b.Post("/api/auth/callback/email", "email", address, "code", code, "csrfToken", csrf)
			}
			switch signedIn := b.Email() == address; {
			case signedIn && a.Location() == arena.Origin:
				in.Add(1)
			case signedIn, !strings.Contains(a.Location(), "error=Verification") && !strings.Contains(a.Location(), "error=Code"):
				t.Errorf("signed in: %v, %d %s", signedIn, a.StatusCode, a.Location())
			}
		})
		if in.Load() != 1 {
			t.Errorf("%d signed in", in.Load())
		}
		if n := raceSignUps(w, address); n != 1 {
			t.Errorf("%d sign-ups", n)
		}
		again := w.at(n, w.Browser()) // twin: the next code
		code, _ = codeAsk(t, w.World, again, address)
		if codeEnter(again, address, code); again.Email() != address {
			t.Error("twin: the next code does not sign in")
		}
	})
}
