package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// A strongStore says that each session began with two factors.
type strongStore struct{ adapter.Adapter }

func (s strongStore) ListSessions(ctx context.Context, userID string) ([]adapter.SessionRecord, error) {
	list, err := s.Adapter.ListSessions(ctx, userID)
	for i := range list {
		list[i].AMR = "app otp mfa"
	}
	return list, err
}

// An addressCase is one row of the table: which ends agreed to a change, when, how it
// was requested, and whether the address was taken meanwhile.
type addressCase struct {
	proves bool   // the new end, on day 0
	old    string // allows, stops or is silent
	strong bool
	day    int // on which the old end acts and the user presses Finish; later than 0: after a restart
	taken  bool
}

// want is the table itself: whether the change is made.
func (c addressCase) want() bool {
	switch {
	case !c.proves || c.taken:
		return false
	case c.day == 0:
		return c.old == "allows" || c.old == "silent" && c.strong
	}
	return c.strong || c.old != "stops" // with two factors it was made on day 0
}

func TestEmailChangeTable(t *testing.T) {
	t.Parallel()
	for _, proves := range []bool{true, false} {
		for _, old := range []string{"allows", "stops", "silent"} {
			for _, strong := range []bool{false, true} {
				for _, day := range []int{0, 8} {
					for _, taken := range []bool{false, true} {
						c := addressCase{proves, old, strong, day, taken}
						t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
							t.Parallel()
							synctest.Test(t, c.run)
						})
					}
				}
			}
		}
	}
}

func (c addressCase) run(t *testing.T) {
	w := arena.EnterOffline(t, func(config *authsvc.Config) {
		if c.strong {
			config.Adapter = strongStore{config.Adapter}
		}
	})
	b := w.Browser()
	b.Login("ada")
	if a := askEmail(b, newAddress); a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	mails := mailsTo(t, w, 2)
	toNew, toOld := mails[newAddress].links[0], mails["ada@app.test"].links[0]
	if c.taken {
		if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "other", Email: newAddress}, nil); err != nil {
			t.Fatal(err)
		}
	}
	act := func() {
		switch c.old {
		case "allows":
			confirmEmail(t, w.Browser(), toOld)
		case "stops":
			confirmEmail(t, w.Browser(), toOld, "stop", "true")
		}
	}
	if c.day == 0 {
		act()
	}
	if c.proves {
		confirmEmail(t, b, toNew)
	}
	if c.day > 0 {
		restartAfter(t, w, time.Duration(c.day)*24*time.Hour)
		act()
		before := storedEmail(t, w, "ada-id")
		confirmEmail(t, w.Browser(), toNew)
		if got := storedEmail(t, w, "ada-id"); got != before {
			t.Errorf("the link of the new address, without a session, changed the address to %s", got)
		}
	}
	finish := b.Post("/api/auth/account/email/finish", "json", "true")
	got := storedEmail(t, w, "ada-id")
	if (got == newAddress) != c.want() {
		t.Errorf("the address is %s; finish: %d %s", got, finish.StatusCode, finish.Text)
	}
	if c.taken && c.proves && pendingChange(t, b) != nil && c.withoutTaken().want() {
		t.Error("a change to a taken address is still pending")
	}
	if c.taken && !c.strong && c.proves && c.old == "silent" && c.day == 8 && !answers(finish, http.StatusConflict, "Taken") {
		t.Errorf("taken: %d %s", finish.StatusCode, finish.Text)
	}
}

// restartAfter stops the service for some time, in which nothing works in the background,
// and starts it again.
func restartAfter(t *testing.T, w *arena.World, d time.Duration) {
	t.Helper()
	closeAll(t, []*arena.World{w})
	time.Sleep(d)
	s, err := engine.New(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	w.Service = s
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

func (c addressCase) withoutTaken() addressCase {
	c.taken = false
	return c
}

// waiting starts a world with a change that waits for both ends.
func waiting(t *testing.T, tune func(*authsvc.Config)) (w *arena.World, b *arena.Browser, user string, mails map[string]linkMail) {
	t.Helper()
	w = arena.Enter(t, tune)
	b = w.Browser()
	b.SignIn(w.OP, "ada")
	askEmail(b, newAddress)
	return w, b, readAccount(t, b).User.ID, mailsTo(t, w, 2)
}

// TestEmailChangeConfirmedAtOnce checks that the change is made once if both ends agree
// 64 times concurrently.
func TestEmailChangeConfirmedAtOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		var completed atomic.Int64
		w, _, user, mails := waiting(t, func(c *authsvc.Config) {
			c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
				if e.Name == "email.change_completed" {
					completed.Add(1)
				}
			}
		})
		var wg sync.WaitGroup
		for i := range 64 {
			one, address := w.Browser(), []string{newAddress, oldAddress}[i%2]
			one.CSRF()
			wg.Go(func() { confirmEmail(t, one, mails[address].links[0]) })
		}
		wg.Wait()
		if got := storedEmail(t, w, user); got != newAddress || completed.Load() != 1 {
			t.Fatalf("%s, made %d times", got, completed.Load())
		}
	}
}

// TestEmailChangeGuessedAtOnce checks that of 64 concurrent wrong codes, five are
// compared, and that the link still works.
func TestEmailChangeGuessedAtOnce(t *testing.T) {
	t.Parallel()
	var compared, refused atomic.Int64
	w, b, _, mails := waiting(t, func(c *authsvc.Config) {
		c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
			switch {
			case e.Name == "code.refused" && e.Reason == "it does not match the mailed code":
				compared.Add(1)
			case e.Name == "code.spent":
				refused.Add(1)
			}
		}
	})
	code := arena.Code(mails[newAddress].Message)
	b.CSRF()
	var wg sync.WaitGroup
	for range 64 {
		tab := b.Clone()
		wg.Go(func() {
			if a := tab.Post(emailConfirmPath, "code", wrong(code), "json", "true"); !answers(a, http.StatusBadRequest, "Code") {
				t.Errorf("%d %s", a.StatusCode, a.Text)
			}
		})
	}
	wg.Wait()
	if compared.Load() != 5 || refused.Load() != 59 {
		t.Errorf("%d codes were compared, %d were not", compared.Load(), refused.Load())
	}
	if confirmEmail(t, w.Browser(), mails[newAddress].links[0]); !pendingChange(t, b).NewProved {
		t.Error("twin: the link does not work")
	}
}

// An overtakenStore reports each credential as changed since it was read.
type overtakenStore struct {
	adapter.Adapter
	on atomic.Bool
}

func (s *overtakenStore) UpdateCredential(ctx context.Context, c adapter.Credential) error {
	if s.on.Load() {
		return adapter.ErrStale
	}
	return s.Adapter.UpdateCredential(ctx, c)
}

// TestEmailChangeProvedTwice checks that a recorded agreement is not written again. Of
// many concurrent requests, none fails because others came first.
func TestEmailChangeProvedTwice(t *testing.T) {
	t.Parallel()
	store := &overtakenStore{Adapter: memory.New()}
	w, b, _, mails := waiting(t, func(c *authsvc.Config) { c.Adapter = store })
	link := mails[newAddress].links[0]
	confirmEmail(t, w.Browser(), link)
	store.on.Store(true)
	if a := confirmEmail(t, w.Browser(), link); a.Location() != arena.Origin+emailConfirmPath+"?done=proved" || !pendingChange(t, b).NewProved {
		t.Errorf("%d %s", a.StatusCode, a.Location())
	}
	if a := confirmEmail(t, w.Browser(), mails[oldAddress].links[0]); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("twin, a proof that must be written: %d %s", a.StatusCode, a.Location())
	}
}

// TestEmailChangeFinishAgainstStop checks that, of a concurrent last proof and stop,
// only one takes effect, and the event says which.
func TestEmailChangeFinishAgainstStop(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for range 20 {
		var mu sync.Mutex
		var ends []string
		w, _, user, mails := waiting(t, func(c *authsvc.Config) {
			c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
				mu.Lock()
				defer mu.Unlock()
				if e.Name == "email.change_completed" || e.Name == "email.change_stopped" {
					ends = append(ends, e.Name)
				}
			}
		})
		confirmEmail(t, w.Browser(), mails[oldAddress].links[0])
		var wg sync.WaitGroup
		for i := range 8 {
			one := w.Browser()
			one.CSRF()
			wg.Go(func() {
				if i%2 == 0 {
					confirmEmail(t, one, mails[newAddress].links[0])
				} else {
					confirmEmail(t, one, mails[oldAddress].links[0], "stop", "true")
				}
			})
		}
		wg.Wait()
		made := storedEmail(t, w, user) == newAddress
		if len(ends) != 1 || (ends[0] == "email.change_completed") != made {
			t.Fatalf("%v, made: %v", ends, made)
		}
		outcomes[ends[0]]++
	}
	t.Log(outcomes)
}

// TestEmailChangeAgainstSignUp checks that, of a concurrent change to an address and
// sign-up with it, only one gets the address.
func TestEmailChangeAgainstSignUp(t *testing.T) {
	t.Parallel()
	for range 10 {
		w, b, user, mails := waiting(t, nil)
		confirmEmail(t, w.Browser(), mails[oldAddress].links[0])
		stranger := w.Browser()
		stranger.Post("/api/auth/signin/email", "email", newAddress)
		link := arena.Link(t, w.Mail.Next(t))
		b.CSRF()
		var wg sync.WaitGroup
		var got string
		wg.Go(func() { stranger.Get(link) })
		wg.Go(func() { got = confirmEmail(t, b, mails[newAddress].links[0]).Location() })
		wg.Wait()
		owner, err := w.Store.GetUserByEmail(t.Context(), newAddress)
		if err != nil {
			t.Fatal(err)
		}
		if (owner.ID == user) != strings.Contains(got, "done=address") || storedEmail(t, w, user) != map[bool]string{true: newAddress, false: oldAddress}[owner.ID == user] {
			t.Fatalf("the address is %s's, and the answer was %s", owner.ID, got)
		}
	}
}

// An interposed store runs a function before one of its methods, once.
type interposed struct {
	*memory.Store
	mu     sync.Mutex
	before map[string]func()
}

func (s *interposed) run(method string) {
	s.mu.Lock()
	f := s.before[method]
	delete(s.before, method)
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

func (s *interposed) DeleteCredential(ctx context.Context, kind adapter.CredentialKind, id, user string, r *adapter.Revocation) error {
	s.run("DeleteCredential")
	return s.Store.DeleteCredential(ctx, kind, id, user, r)
}

func (s *interposed) UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (authsvc.User, error) {
	s.run("UpdateUser")
	return s.Store.UpdateUser(ctx, id, change)
}

// TestEmailChangeOvertaken checks that revoking access between the steps of the last
// proof prevents the change.
func TestEmailChangeOvertaken(t *testing.T) {
	t.Parallel()
	acts := map[string]struct {
		act  func(w *arena.World, store *interposed, user string) error
		made bool
	}{
		"the end of all sessions": {func(w *arena.World, _ *interposed, user string) error { return w.EndSessions(w.T.Context(), user) }, false},
		"the end of all sessions, elsewhere": {func(w *arena.World, s *interposed, user string) error {
			_, err := s.Store.EndSessions(w.T.Context(), user, &adapter.Revocation{Key: "user:" + user, UserID: user, NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)})
			return err
		}, false},
		"a block": {func(w *arena.World, _ *interposed, user string) error { return w.Block(w.T.Context(), user, "spam") }, false},
		"another address": {func(w *arena.World, s *interposed, user string) error {
			_, err := s.Store.UpdateUser(w.T.Context(), user, adapter.UserUpdate{Email: new("third@app.test")})
			return err
		}, false},
		"a first proof": {func(w *arena.World, s *interposed, user string) error {
			u, err := s.GetUser(w.T.Context(), user)
			if err == nil {
				_, _, err = s.ProveEmail(w.T.Context(), adapter.Proof{UserID: user, Email: u.Email, Epoch: u.Epoch, At: time.Now(),
					Revoke: &adapter.Revocation{Key: "user:" + user, UserID: user, NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)}})
			}
			return err
		}, false},
		"a sign-up with the address": {func(w *arena.World, s *interposed, _ string) error {
			_, err := s.CreateUser(w.T.Context(), authsvc.User{ID: "other", Email: newAddress}, nil)
			return err
		}, false},
		"another name": {func(w *arena.World, s *interposed, user string) error {
			_, err := s.Store.UpdateUser(w.T.Context(), user, adapter.UserUpdate{Name: new("Ada King")})
			return err
		}, true},
	}
	for name, tt := range acts {
		for _, method := range []string{"DeleteCredential", "UpdateUser"} {
			t.Run(name+" before "+method, func(t *testing.T) {
				t.Parallel()
				store := &interposed{Store: memory.New(), before: map[string]func(){}}
				w, b, user, mails := waitingUnproved(t, store, name == "a first proof")
				b.CSRF()
				store.mu.Lock()
				store.before[method] = func() {
					if err := tt.act(w, store, user); err != nil {
						t.Error(err)
					}
				}
				store.mu.Unlock()
				confirmEmail(t, b, mails[newAddress].links[0])
				if got := storedEmail(t, w, user); (got == newAddress) != tt.made {
					t.Errorf("the address is %s", got)
				}
				if len(store.before) != 0 {
					t.Error("nothing happened in between")
				}
			})
		}
	}
}

// TestEmailChangeStoppedMeanwhile checks that a stop between the steps of the last proof
// prevents the change.
func TestEmailChangeStoppedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, stops := range []bool{true, false} {
		t.Run(fmt.Sprintf("stops %v", stops), func(t *testing.T) {
			t.Parallel()
			store := &interposed{Store: memory.New(), before: map[string]func(){}}
			w, b, user, mails := waitingUnproved(t, store, false)
			owner := w.Browser()
			owner.CSRF()
			b.CSRF()
			store.mu.Lock()
			store.before["DeleteCredential"] = func() {
				if !stops {
					return
				}
				if a := confirmEmail(t, owner, mails[oldAddress].links[0], "stop", "true"); !strings.Contains(a.Location(), "done=stopped") {
					t.Errorf("stop: %d %s", a.StatusCode, a.Location())
				}
			}
			store.mu.Unlock()
			a := confirmEmail(t, b, mails[newAddress].links[0])
			if got := storedEmail(t, w, user); (got == newAddress) == stops || strings.Contains(a.Location(), "done=address") == stops || len(store.before) != 0 {
				t.Errorf("the address is %s, and the answer was %d %s", got, a.StatusCode, a.Location())
			}
		})
	}
}

// waitingUnproved starts a world with a change that waits for the new end only. The old
// address is unverified, or has allowed the change.
func waitingUnproved(t *testing.T, store adapter.Adapter, unproved bool) (w *arena.World, b *arena.Browser, user string, mails map[string]linkMail) {
	t.Helper()
	w = arena.Enter(t, func(c *authsvc.Config) { c.Adapter = store })
	b = w.Browser()
	b.SignIn(w.OP, map[bool]string{true: "alan", false: "ada"}[unproved])
	askEmail(b, newAddress)
	mails = mailsTo(t, w, map[bool]int{true: 1, false: 2}[unproved])
	if !unproved {
		confirmEmail(t, w.Browser(), mails[oldAddress].links[0])
	}
	return w, b, readAccount(t, b).User.ID, mails
}
