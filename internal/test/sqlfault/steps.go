package sqlfault

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// A Store is an adapter whose contents a test can dump.
type Store interface {
	adapter.Adapter
	// Dump returns the rows of all tables as text, in a fixed order.
	Dump(t *testing.T) string
}

// Run calls every method that writes, and makes each of its statements fail in turn.
// Afterwards, the store must hold its earlier contents or, if the fault came after
// the event, the complete result of the method. open returns an empty store whose
// statements pass through the switch. If there are names, only those methods run.
func Run(t *testing.T, open func(t *testing.T, fault *Switch) Store, names ...string) {
	for _, s := range steps() {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			j := judge{t: t, open: open, step: s}
			j.failBefore()
			j.failAfter()
		})
	}
}

// A judge tries one step with every fault.
type judge struct {
	t    *testing.T
	open func(t *testing.T, fault *Switch) Store
	step step

	before, done string // contents of the store
}

func (j *judge) fresh() (*Switch, Store) {
	var fault Switch
	a := j.open(j.t, &fault)
	arrange(j.t, a)
	j.before = a.Dump(j.t)
	return &fault, a
}

// try makes the n-th event fail. It reports whether there was such an event, and
// returns the store's contents afterwards.
func (j *judge) try(fault *Switch, a Store, n int, after bool) (fired bool, got string) {
	fault.Arm(n, after)
	err := j.step.act(j.t.Context(), a)
	fired = fault.Disarm()
	if fired && !errors.Is(err, ErrFault) {
		j.t.Fatalf("event %d failed, the method returned %v", n, err)
	}
	if !fired && err != nil {
		j.t.Fatalf("after %d faults the step fails: %v", n-1, err)
	}
	return fired, a.Dump(j.t)
}

// failBefore fails events before they take effect. Nothing may have changed, and the
// step must succeed on the same store afterwards.
func (j *judge) failBefore() {
	fault, a := j.fresh()
	for n := 1; ; n++ {
		fired, got := j.try(fault, a, n, false)
		if !fired {
			if n == 1 || got == j.before {
				j.t.Fatal("the step does nothing")
			}
			j.done = got
			return
		}
		if got != j.before {
			j.t.Fatalf("event %d did not happen, but the store has changed:\n%s", n, got)
		}
	}
}

// failAfter fails events after they have taken effect. The step must be complete or
// must not have happened.
func (j *judge) failAfter() {
	fault, a := j.fresh()
	for n := 1; ; n++ {
		fired, got := j.try(fault, a, n, true)
		switch {
		case !fired && got == j.done:
			return
		case fired && got == j.before:
		case fired && got == j.done:
			fault, a = j.fresh()
		default:
			j.t.Fatalf("event %d failed afterwards, the store is neither as before nor as done:\n%s", n, got)
		}
	}
}

func at(seconds int) time.Time { return time.UnixMilli(1_900_000_000_000 + int64(seconds)*1000).UTC() }

// arrange stores a user with a record of every kind.
func arrange(t *testing.T, a adapter.Adapter) {
	t.Helper()
	_, err := a.SignUp(t.Context(), authsvc.User{ID: "ann", Email: "ann@example.com"}, &authsvc.Account{ID: "a1", Type: "oauth", Provider: "github", ProviderAccountID: "1"}, &adapter.SessionRecord{ID: "s1", SessionToken: "t1", Digest: "d1", Expires: at(60), Began: at(0)}, "", nil)

	if err == nil {
		err = a.PutToken(t.Context(), adapter.VerificationToken{Identifier: "ann@example.com", Token: "link", Expires: at(60)},
			adapter.Mail{ID: "link", Due: at(0), Expires: at(60)}, 10)
	}
	if err == nil {
		_, err = a.CreateSession(t.Context(), adapter.SessionRecord{Digest: "d0", UserID: "ann", Expires: at(60), Began: at(0)})
	}
	if err == nil {
		err = a.PutCredential(t.Context(), adapter.Credential{Kind: "pending", ID: "c1", UserID: "ann", Created: at(0)}, 0, 5)
	}
	if err == nil {
		second := true
		err = a.SetPerson(t.Context(), "ann", adapter.PersonUpdate{SecondStep: &second}, nil)
	}
	if err == nil {
		err = a.Revoke(t.Context(), revocation("old", 1))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func revocation(key string, seconds int) *adapter.Revocation {
	return &adapter.Revocation{Key: key, UserID: "ann", NotBefore: at(seconds), Expires: at(seconds)}
}

// A step is a call that changes records made by arrange.
type step struct {
	name string
	act  func(context.Context, adapter.Adapter) error
}

func steps() []step {
	fresh := authsvc.Account{ID: "a2", UserID: "ann", Type: "oauth", Provider: "gitlab", ProviderAccountID: "2"}
	epoch := at(1).UnixMicro() // as arrange has set it
	session := adapter.SessionRecord{ID: "s2", SessionToken: "t2", Digest: "d2", UserID: "ann", Expires: at(60), Epoch: epoch}
	old := func() *adapter.Revocation { return revocation("old", 2) }
	name := "Ann"
	return []step{
		{"CreateUser", func(ctx context.Context, a adapter.Adapter) error {
			_, err := a.CreateUser(ctx, authsvc.User{ID: "bob"}, old())
			return err
		}},
		{"UpdateUser", func(ctx context.Context, a adapter.Adapter) error {
			_, err := a.UpdateUser(ctx, "ann", adapter.UserUpdate{Name: &name})
			return err
		}},
		{"DeleteUser", func(ctx context.Context, a adapter.Adapter) error { return a.DeleteUser(ctx, "ann", old()) }},
		{"LinkAccount", func(ctx context.Context, a adapter.Adapter) error {
			_, err := a.LinkAccount(ctx, fresh, epoch)
			return err
		}},
		{"RefreshAccount", func(ctx context.Context, a adapter.Adapter) error {
			return a.RefreshAccount(ctx, authsvc.Account{UserID: "ann", Provider: "github", ProviderAccountID: "1", AccessToken: "x"}, epoch)
		}},
		{"ReplaceTokens", func(ctx context.Context, a adapter.Adapter) error {
			return a.ReplaceTokens(ctx, authsvc.Account{Provider: "github", ProviderAccountID: "1", RefreshToken: "x"}, authsvc.Account{})
		}},
		{"UnlinkAccount", func(ctx context.Context, a adapter.Adapter) error {
			return a.UnlinkAccount(ctx, "github", "1", epoch, old())
		}},
		{"CreateSession", func(ctx context.Context, a adapter.Adapter) error {
			_, err := a.CreateSession(ctx, session)
			return err
		}},
		{"UpdateSession", func(ctx context.Context, a adapter.Adapter) error {
			return a.UpdateSession(ctx, adapter.SessionRecord{SessionToken: "t1", Digest: "d1", Expires: at(90), Began: at(9)})
		}},
		{"DeleteSession", func(ctx context.Context, a adapter.Adapter) error { _, err := a.DeleteSession(ctx, "t1"); return err }},
		{"SignUp", func(ctx context.Context, a adapter.Adapter) error {
			acc, s := fresh, session
			_, err := a.SignUp(ctx, authsvc.User{ID: "bob"}, &acc, &s, "de", old())
			return err
		}},
		{"ProveEmail", func(ctx context.Context, a adapter.Adapter) error {
			_, _, err := a.ProveEmail(ctx, adapter.Proof{UserID: "ann", Email: "ann@example.com", Epoch: epoch, At: at(5), Revoke: old()})
			return err
		}},
		{"EndSessions", func(ctx context.Context, a adapter.Adapter) error {
			_, err := a.EndSessions(ctx, "ann", revocation("new", 2))
			return err
		}},
		{"PutToken", func(ctx context.Context, a adapter.Adapter) error {
			return a.PutToken(ctx, adapter.VerificationToken{Identifier: "ann@example.com", Token: "second", Expires: at(60)},
				adapter.Mail{ID: "second", Due: at(0), Expires: at(60)}, 10)
		}},
		{"TakeToken", func(ctx context.Context, a adapter.Adapter) error {
			_, _, err := a.TakeToken(ctx, "ann@example.com", "link", at(0))
			return err
		}},
		{"VoidTokens", func(ctx context.Context, a adapter.Adapter) error { return a.VoidTokens(ctx, "ann@example.com") }},
		{"ClaimMail", func(ctx context.Context, a adapter.Adapter) error {
			_, err := a.ClaimMail(ctx, at(1), at(2))
			return err
		}},
		{"DelayMail", func(ctx context.Context, a adapter.Adapter) error { return a.DelayMail(ctx, "link", at(9)) }},
		{"DeleteMail", func(ctx context.Context, a adapter.Adapter) error { return a.DeleteMail(ctx, "link") }},
		{"UseOnce", func(ctx context.Context, a adapter.Adapter) error { return a.UseOnce(ctx, "k", at(9)) }},
		{"Revoke", func(ctx context.Context, a adapter.Adapter) error { return a.Revoke(ctx, old()) }},
		{"SetPerson", func(ctx context.Context, a adapter.Adapter) error {
			blocked := at(5)
			return a.SetPerson(ctx, "ann", adapter.PersonUpdate{Blocked: &blocked}, old())
		}},
		{"PutCredential", func(ctx context.Context, a adapter.Adapter) error {
			return a.PutCredential(ctx, adapter.Credential{Kind: "totp", ID: "c2", UserID: "ann", Created: at(0)}, epoch, 5)
		}},
		{"UpdateCredential", func(ctx context.Context, a adapter.Adapter) error {
			return a.UpdateCredential(ctx, adapter.Credential{Kind: "pending", ID: "c1", UserID: "ann", Version: 1, Name: "new"})
		}},
		{"TryCredential", func(ctx context.Context, a adapter.Adapter) error { return a.TryCredential(ctx, "pending", "c1", 5) }},
		{"DeleteCredential", func(ctx context.Context, a adapter.Adapter) error {
			return a.DeleteCredential(ctx, "pending", "c1", "ann", old())
		}},
		{"DeleteCredentials", func(ctx context.Context, a adapter.Adapter) error {
			_, err := a.DeleteCredentials(ctx, "ann", old(), "pending", "totp")
			return err
		}},
		{"DeleteSessionOf", func(ctx context.Context, a adapter.Adapter) error {
			_, err := a.DeleteSessionOf(ctx, "ann", "d0")
			return err
		}},
		{"TouchSessions", func(ctx context.Context, a adapter.Adapter) error {
			return a.TouchSessions(ctx, []adapter.SessionSeen{{Digest: "d0", At: at(5)}, {Digest: "d1", At: at(5)}})
		}},
		{"PutMail", func(ctx context.Context, a adapter.Adapter) error {
			return a.PutMail(ctx, adapter.Mail{ID: "notice", Due: at(0), Expires: at(60)}, 10)
		}},
		{"PutMeta", func(ctx context.Context, a adapter.Adapter) error { _, err := a.PutMeta(ctx, "k", "v"); return err }},
	}
}
