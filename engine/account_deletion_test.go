package engine_test

import (
	"context"
	"errors"
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

// A hook is the application's part in deletions.
type hook struct {
	asked, told atomic.Int32
	agrees      atomic.Bool  // whatever answer says
	answer      func() error // nil: agrees
	early, late atomic.Int32 // calls of the event before the deletion, and of the callback after it
}

func (h *hook) set(c *authsvc.Config) {
	store := c.Adapter
	exists := func(ctx context.Context, u authsvc.User) bool {
		_, err := store.GetUser(ctx, u.ID)
		return err == nil
	}
	c.Callbacks.DeleteUser = func(ctx context.Context, u authsvc.User) error {
		if u.Email == "" {
			return errors.New("the user is not told")
		}
		if !exists(ctx, u) {
			h.late.Add(1)
		}
		h.asked.Add(1)
		if h.answer == nil || h.agrees.Load() {
			return nil
		}
		return h.answer()
	}
	c.Events.DeleteUser = func(ctx context.Context, u authsvc.User) {
		if exists(ctx, u) {
			h.early.Add(1)
		}
		h.told.Add(1)
	}
}

// replicas runs services over one store.
func replicas(t *testing.T, n int, tune func(*authsvc.Config)) (list []*arena.World) {
	t.Helper()
	first := arena.EnterOffline(t, tune)
	for list = append(list, first); len(list) < n; {
		c := first.Config
		s, err := engine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		w := *first
		w.Service = s
		list = append(list, &w)
	}
	return list
}

// closeAll ends services within a bubble.
func closeAll(t *testing.T, list []*arena.World) {
	t.Helper()
	for _, w := range list {
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func gone(t *testing.T, w *arena.World, user string) bool {
	t.Helper()
	_, err := w.Store.GetUser(t.Context(), user)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		t.Fatal(err)
	}
	return err != nil
}

// TestDeletionAfterTheGrace checks that one of three replicas asks the application and
// deletes the user with all data. An error or a panic delays that by an hour.
func TestDeletionAfterTheGrace(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func() error{"agrees": nil, "fails": func() error { return errors.New("no") }, "panics": func() error { panic("no") }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &hook{answer: answer}
				list := replicas(t, 3, func(c *authsvc.Config) { c.Account.DeleteGrace = 2 * time.Hour; h.set(c) })
				w := list[0]
				if _, err := w.Store.LinkAccount(t.Context(), authsvc.Account{UserID: "ada-id", Type: "oauth", Provider: "op", ProviderAccountID: "ada"}, 0); err != nil {
					t.Fatal(err)
				}
				if err := w.Store.PutCredential(t.Context(), adapter.Credential{Kind: adapter.CredentialPasskey, ID: "key", UserID: "ada-id", Created: time.Now()}, 0, 1); err != nil {
					t.Fatal(err)
				}
				b := w.Browser()
				b.Login("ada")
				at, err := list[1].ScheduleDeletion(t.Context(), "ada-id")
				if err != nil || time.Until(at) != 2*time.Hour {
					t.Fatalf("%v, %v", time.Until(at), err)
				}
				time.Sleep(time.Until(at) - time.Second)
				if a := w.Browser().Login("ada"); !heldBack(a) {
					t.Errorf("in the last second: %d %s", a.StatusCode, a.Location())
				}
				if h.asked.Load() > 0 || gone(t, w, "ada-id") {
					t.Error("too early")
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if h.asked.Load() != 1 || gone(t, w, "ada-id") != (answer == nil) {
					t.Errorf("asked %d times, gone %v\n%s", h.asked.Load(), gone(t, w, "ada-id"), w.Logs)
				}
				if answer != nil {
					if log := w.Logs.String(); !strings.Contains(log, "user.delete_failed") {
						t.Error("the failure is not recorded")
					}
					time.Sleep(50 * time.Minute)
					if h.asked.Load() != 1 {
						t.Error("asked again within the hour")
					}
					h.agrees.Store(true)
					time.Sleep(15 * time.Minute)
					synctest.Wait()
				}
				nothingLeft(t, w, h)
				if gone(t, w, "bob-id") {
					t.Error("another user is gone")
				}
				closeAll(t, list)
			})
		})
	}
}

func nothingLeft(t *testing.T, w *arena.World, h *hook) {
	t.Helper()
	if h.told.Load() != 1 || h.early.Load()+h.late.Load() > 0 || !gone(t, w, "ada-id") {
		t.Errorf("told %d times, before the deletion %d times, asked after it %d times, gone %v", h.told.Load(), h.early.Load(), h.late.Load(), gone(t, w, "ada-id"))
	}
	if _, err := w.Store.GetCredential(t.Context(), adapter.CredentialPasskey, "key"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("a credential: %v", err)
	}
	accounts, err := w.Store.ListAccounts(t.Context(), "ada-id")
	if len(accounts) > 0 || err != nil {
		t.Errorf("accounts %v, %v", accounts, err)
	}
	sessions, err := w.Store.ListSessions(t.Context(), "ada-id")
	if len(sessions) > 0 || err != nil {
		t.Errorf("sessions %v, %v", sessions, err)
	}
	if _, err := w.Store.GetPerson(t.Context(), "ada-id"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("the person: %v", err)
	}
}

// TestDeletionAtOnce checks that, without a grace period, the user is deleted before
// the answer, or an hour later if the application refuses.
func TestDeletionAtOnce(t *testing.T) {
	t.Parallel()
	for name, refuses := range map[string]bool{"agrees": false, "refuses": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &hook{}
				if refuses {
					h.answer = func() error { return errors.New("no") }
				}
				w := arena.EnterOffline(t, func(c *authsvc.Config) { deletable(c); c.Account.DeleteGrace = -1; h.set(c) })
				b := w.Browser()
				b.SignInByMail(w, "ada@app.test")
				if page := b.Get("/api/auth/account/delete").Text; !strings.Contains(page, "deleted immediately") {
					t.Errorf("%s", page)
				}
				want := map[bool]string{false: "deleted", true: "scheduled"}[refuses]
				if a := b.Post("/api/auth/account/delete", "confirm", "ada@app.test"); a.Location() != arena.Origin+"/api/auth/account/delete?done="+want || gone(t, w, "ada-id") == refuses {
					t.Errorf("%d %s, gone %v", a.StatusCode, a.Location(), gone(t, w, "ada-id"))
				}
				if page := b.Get("/api/auth/account/delete?done=" + want).Text; strings.Contains(page, "Your account has been deleted") == refuses {
					t.Errorf("%s", page)
				}
				h.agrees.Store(true)
				time.Sleep(62 * time.Minute)
				synctest.Wait()
				nothingLeft(t, w, h)
				closeAll(t, []*arena.World{w})
			})
		})
	}
}

// TestDeleteUserAsks checks that Service.DeleteUser calls callbacks and events as the
// end of a grace period does.
func TestDeleteUserAsks(t *testing.T) {
	t.Parallel()
	h := &hook{answer: func() error { return errors.New("there are invoices") }}
	w := arena.EnterOffline(t, h.set)
	if err := w.DeleteUser(t.Context(), "ada-id"); err == nil || !strings.Contains(err.Error(), "there are invoices") || gone(t, w, "ada-id") || h.told.Load() > 0 {
		t.Errorf("refused: %v", err)
	}
	h.agrees.Store(true)
	if err := w.DeleteUser(t.Context(), "ada-id"); err != nil {
		t.Error(err)
	}
	nothingLeft(t, w, h)
	asked := h.asked.Load()
	if err := w.DeleteUser(t.Context(), "ada-id"); !errors.Is(err, adapter.ErrNotFound) || h.asked.Load() != asked {
		t.Errorf("again: %v", err)
	}
	for name, err := range map[string]error{"keep": w.CancelDeletion(t.Context(), "ada-id"), "schedule": second(w.ScheduleDeletion(t.Context(), "ada-id"))} {
		if !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%s of an unknown user: %v", name, err)
		}
	}
	if err := w.CancelDeletion(t.Context(), "bob-id"); err != nil {
		t.Errorf("without a scheduled deletion: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// paused is a store that runs a function before one call, without blocking other calls.
type paused struct {
	adapter.Adapter
	mu     sync.Mutex
	first  string // must be called before; "": nothing
	method string
	act    func()
}

func (p *paused) before(method string, act func()) { p.after("", method, act) }

// after is like before, for the call that follows one of first.
func (p *paused) after(first, method string, act func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first, p.method, p.act = first, method, act
}

func (p *paused) called(method string) {
	p.mu.Lock()
	act := p.act
	if p.first == method {
		p.first = ""
		p.mu.Unlock()
		return
	}
	if act == nil || p.first != "" || p.method != method {
		p.mu.Unlock()
		return
	}
	p.act = nil
	p.mu.Unlock()
	act()
}

func (p *paused) SearchUsers(ctx context.Context, q adapter.UserQuery) ([]authsvc.User, error) {
	list, err := p.Adapter.SearchUsers(ctx, q)
	if len(list) > 0 {
		p.called("SearchUsers")
	}
	return list, err
}

func (p *paused) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	p.called("GetUser")
	return p.Adapter.GetUser(ctx, id)
}

func (p *paused) GetPerson(ctx context.Context, id string) (adapter.Person, error) {
	p.called("GetPerson")
	return p.Adapter.GetPerson(ctx, id)
}

func (p *paused) DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error {
	p.called("DeleteUser")
	return p.Adapter.DeleteUser(ctx, id, r)
}

func (p *paused) UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (authsvc.User, error) {
	p.called("UpdateUser")
	return p.Adapter.UpdateUser(ctx, id, change)
}

func (p *paused) EndSessions(ctx context.Context, id string, r *adapter.Revocation) (int, error) {
	p.called("EndSessions")
	return p.Adapter.EndSessions(ctx, id, r)
}

func (p *paused) GetCredential(ctx context.Context, kind adapter.CredentialKind, id string) (adapter.Credential, error) {
	p.called("GetCredential")
	return p.Adapter.GetCredential(ctx, kind, id)
}

func (p *paused) UpdateCredential(ctx context.Context, c adapter.Credential) error {
	p.called("UpdateCredential")
	return p.Adapter.UpdateCredential(ctx, c)
}

// TestKeepDuringDeletion checks that, if an account is kept at any point of its
// deletion, either the application is not asked and the user stays, or the user is
// deleted and no one was told otherwise.
func TestKeepDuringDeletion(t *testing.T) {
	t.Parallel()
	seen := map[bool]bool{}
	for _, method := range []string{"SearchUsers", "GetUser", "DeleteUser"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, p := &hook{}, &paused{Adapter: memory.New()}
				w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Account.DeleteGrace = 10 * time.Minute; c.Adapter = p; h.set(c) })
				at, err := w.ScheduleDeletion(t.Context(), "ada-id")
				if err != nil {
					t.Fatal(err)
				}
				c := w.Config
				c.Adapter = p.Adapter
				keeper, err := engine.NewOperator(c)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(at) - time.Second)
				var kept error
				p.before(method, func() { kept = keeper.CancelDeletion(t.Context(), "ada-id") })
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				done := p.act == nil
				stays := !gone(t, w, "ada-id")
				if !done || stays != (kept == nil) || stays == (h.asked.Load() > 0) || stays != deletionStands(t, w) {
					t.Errorf("called %v, kept: %v, stays %v, asked %d times", done, kept, stays, h.asked.Load())
				}
				seen[stays] = true
				closeAll(t, []*arena.World{w})
			})
		})
	}
	if len(seen) != 2 {
		t.Errorf("one outcome only: %v", seen)
	}
}

// A sleeper is the store of a process that can be suspended: it renews no lease then.
type sleeper struct {
	adapter.Adapter
	asleep atomic.Bool
}

func (s *sleeper) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	if s.asleep.Load() {
		return errors.New("suspended")
	}
	return s.Adapter.Lease(ctx, name, holder, now, until)
}

// TestKeepWhileAsleep checks that an account stays if it is kept while the deleting
// process is suspended for longer than a lease lasts, whatever the application answers
// then.
func TestKeepWhileAsleep(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"agrees": nil, "refuses": errors.New("no")} {
		for _, kept := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "/kept", false: "/not kept"}[kept], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h, store := &hook{}, &sleeper{Adapter: memory.New()}
					w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Account.DeleteGrace = 10 * time.Minute; c.Adapter = store; h.set(c) })
					c := w.Config
					c.Adapter = store.Adapter
					keeper, err := engine.NewOperator(c)
					if err != nil {
						t.Fatal(err)
					}
					h.answer = func() error {
						store.asleep.Store(true)
						time.Sleep(40 * time.Second)
						if kept {
							if err := keeper.CancelDeletion(t.Context(), "ada-id"); err != nil {
								t.Error(err)
							}
						}
						store.asleep.Store(false)
						return answer
					}
					if _, err := w.ScheduleDeletion(t.Context(), "ada-id"); err != nil {
						t.Fatal(err)
					}
					time.Sleep(15 * time.Minute)
					if asked := h.asked.Load(); asked != 1 || gone(t, w, "ada-id") != (!kept && answer == nil) {
						t.Errorf("asked %d times, gone %v\n%s", asked, gone(t, w, "ada-id"), w.Logs)
					}
					h.agrees.Store(true)
					time.Sleep(2 * time.Hour)
					if gone(t, w, "ada-id") == kept || kept && !deletionStands(t, w) {
						t.Errorf("two hours later: gone %v\n%s", gone(t, w, "ada-id"), w.Logs)
					}
					closeAll(t, []*arena.World{w})
				})
			})
		}
	}
}

// deletionStands reports whether the user exists and is not to be deleted.
func deletionStands(t *testing.T, w *arena.World) bool {
	t.Helper()
	return !gone(t, w, "ada-id") && deletionOf(t, w, "ada-id").IsZero()
}

// TestSignInDuringDeletion checks a sign-in and a deletion that overlap: either the
// session was first and has ended, or the sign-in is held back.
func TestSignInDuringDeletion(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			seen := map[bool]bool{}
			n, more := 1, true
			for ; more; n++ {
				o := newOverlap(t, memory.New(), strategy)
				b := o.attack.Browser()
				back := b.Approve(o.attack.OP, b.Begin("op"), "alan")
				var held bool
				_, more = o.before(n, func() {
					if _, err := o.owner.ScheduleDeletion(t.Context(), o.user); err != nil {
						t.Error(err)
					}
				}, func() { held = heldBack(b.Get(back)) })
				if !more { // the sign-in was first
					if o.owner.Person(t, b) != o.user {
						t.Error("twin: the sign-in failed by itself")
					}
					if _, err := o.owner.ScheduleDeletion(t.Context(), o.user); err != nil {
						t.Error(err)
					}
				}
				if seen[held] = true; held && !more {
					t.Errorf("before call %d: held back %v", n, held)
				}
				if in := o.owner.Person(t, b); in != "" {
					t.Errorf("before call %d: %q is signed in\n%s", n, in, o.attack.Logs)
				}
				sessions, err := o.owner.Store.ListSessions(t.Context(), o.user)
				if len(sessions) > 0 || err != nil {
					t.Errorf("before call %d: sessions %v, %v", n, sessions, err)
				}
			}
			if n < 5 || len(seen) != 2 {
				t.Errorf("%d calls were overtaken, outcomes %v", n-2, seen)
			}
		})
	}
}
