package adaptertest

import (
	"context"
	"errors"
	"maps"
	"testing"

	"authsvc/adapter"
)

func contextTests() []test {
	return []test{{"Context/a cancelled call fails and changes nothing", cancelled}}
}

func cancelled(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	link := putLink(t, a, ann.user.Email, "link")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range everyCall(ctx, a, ann) {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the context's error", name, err)
		}
	}
	checkUnchanged(t, a, ann)
	_, err := a.GetUser(t.Context(), "user-new")
	is(t, err, adapter.ErrNotFound)
	same(t, links(t, a, "new@example.com", "new"), 0)
	revocations(t, a, 0)
	same(t, queued(t, a), []string{"link"})
	got, _, err := a.TakeToken(t.Context(), link.Identifier, link.Token, at(0))
	ok(t, err)
	same(t, got, link)
	ok(t, a.UseOnce(t.Context(), "new", at(1)))
	ok(t, a.Lease(t.Context(), "new", "bob", at(0), at(60)))
	permitted(t, a, "new", at(0), 0)
	meta, err := a.PutMeta(t.Context(), "new", "later")
	ok(t, err)
	same(t, meta, "later")
}

// everyCall returns a call of each method. Each call would succeed and, if it writes,
// change a record of ann or create one named new.
func everyCall(ctx context.Context, a adapter.Adapter, ann fixture) map[string]func() error {
	fresh := adapter.User{ID: "user-new", Email: "new@example.com"}
	acc, s := account("new"), session("new")
	acc.UserID, s.UserID = ann.user.ID, ann.user.ID
	changed := ann.session
	changed.Expires, changed.Provider = at(1), "changed"
	changedAcc := ann.account
	changedAcc.AccessToken = "changed"
	rev := revocation("user:"+ann.user.ID, 1, 3)
	rev.UserID = ann.user.ID
	calls := map[string]func() error{
		"CreateUser":       func() error { _, err := a.CreateUser(ctx, fresh, nil); return err },
		"GetUser":          func() error { _, err := a.GetUser(ctx, ann.user.ID); return err },
		"GetUserByEmail":   func() error { _, err := a.GetUserByEmail(ctx, ann.user.Email); return err },
		"GetUserByAccount": func() error { _, err := a.GetUserByAccount(ctx, "github", "github-ann"); return err },
		"UpdateUser":       func() error { _, err := a.UpdateUser(ctx, ann.user.ID, adapter.UserUpdate{Name: ptr("x")}); return err },
		"ListUsers":        func() error { _, err := a.ListUsers(ctx, "", 10); return err },
		"PutMail":          func() error { return a.PutMail(ctx, adapter.Mail{ID: "alone", Due: at(0), Expires: at(1)}, 10) },
		"ListSessions":     func() error { _, err := a.ListSessions(ctx, ann.user.ID); return err },
		"DeleteUser":       func() error { return a.DeleteUser(ctx, ann.user.ID, rev) },
		"LinkAccount":      func() error { _, err := a.LinkAccount(ctx, acc, 0); return err },
		"RefreshAccount":   func() error { return a.RefreshAccount(ctx, changedAcc, 0) },
		"ReplaceTokens":    func() error { return a.ReplaceTokens(ctx, changedAcc, ann.account) },
		"UnlinkAccount":    func() error { return a.UnlinkAccount(ctx, "github", "github-ann", 0, rev) },
		"GetEpoch":         func() error { _, err := a.GetEpoch(ctx, ann.user.ID); return err },
		"ListAccounts":     func() error { _, err := a.ListAccounts(ctx, ann.user.ID); return err },
		"CreateSession":    func() error { _, err := a.CreateSession(ctx, s); return err },
		"GetSession":       func() error { _, _, err := a.GetSession(ctx, "token-ann", "digest-ann"); return err },
		"UpdateSession":    func() error { return a.UpdateSession(ctx, changed) },
		"DeleteSession":    func() error { _, err := a.DeleteSession(ctx, "token-ann"); return err },
		"SignUp":           func() error { x, y := acc, s; _, err := a.SignUp(ctx, fresh, &x, &y, "", nil); return err },
		"ProveEmail": func() error {
			_, _, err := a.ProveEmail(ctx, adapter.Proof{UserID: ann.user.ID, Email: ann.user.Email, At: at(1), Revoke: rev})
			return err
		},
		"EndSessions": func() error { _, err := a.EndSessions(ctx, ann.user.ID, rev); return err },
		"PutToken": func() error {
			return a.PutToken(ctx, adapter.VerificationToken{Identifier: "new@example.com", Token: "new", Expires: at(1)},
				adapter.Mail{ID: "new", Due: at(0), Expires: at(1)}, 10)
		},
		"GetToken":   func() error { _, err := a.GetToken(ctx, ann.user.Email, "link"); return err },
		"TakeToken":  func() error { _, _, err := a.TakeToken(ctx, ann.user.Email, "link", at(0)); return err },
		"VoidTokens": func() error { return a.VoidTokens(ctx, ann.user.Email) },
		"ClaimMail":  func() error { _, err := a.ClaimMail(ctx, at(0), at(100)); return err },
		"DelayMail":  func() error { return a.DelayMail(ctx, "link", at(100)) },
		"DeleteMail": func() error { return a.DeleteMail(ctx, "link") },
		"Sweep":      func() error { _, err := a.Sweep(ctx, at(1e6), 1000); return err },
		"Ping":       func() error { return a.Ping(ctx) },
	}
	maps.Copy(calls, coordinationCalls(ctx, a, rev))
	maps.Copy(calls, peopleCalls(ctx, a, ann))
	return calls
}

// coordinationCalls returns the calls of everyCall that coordinate replicas.
func coordinationCalls(ctx context.Context, a adapter.Adapter, rev *adapter.Revocation) map[string]func() error {
	return map[string]func() error{
		"UseOnce":     func() error { return a.UseOnce(ctx, "new", at(1)) },
		"Revoke":      func() error { return a.Revoke(ctx, rev) },
		"Revocations": func() error { _, _, err := a.Revocations(ctx, 0, 10); return err },
		"Permit":      func() error { _, _, err := a.Permit(ctx, at(0), three("new")); return err },
		"Lease":       func() error { return a.Lease(ctx, "new", "ann", at(0), at(60)) },
		"Release":     func() error { return a.Release(ctx, "new", "ann") },
		"PutMeta":     func() error { _, err := a.PutMeta(ctx, "new", "new"); return err },
		"GetMeta":     func() error { return unless(adapter.ErrNotFound, second(a.GetMeta(ctx, "absent"))) },
		"SetMeta":     func() error { return a.SetMeta(ctx, "new", "new") },
	}
}

// peopleCalls returns the calls of everyCall about persons, credentials and lists.
func peopleCalls(ctx context.Context, a adapter.Adapter, ann fixture) map[string]func() error {
	return map[string]func() error{
		"SearchUsers": func() error { _, err := a.SearchUsers(ctx, adapter.UserQuery{Blocked: true, Limit: 10}); return err },
		"GetPerson":   func() error { _, err := a.GetPerson(ctx, ann.user.ID); return err },
		"SetPerson": func() error {
			return a.SetPerson(ctx, ann.user.ID, adapter.PersonUpdate{Locale: ptr("de")}, nil)
		},
		"PutCredential": func() error {
			return a.PutCredential(ctx, credential("totp", "new", ann.user.ID), ann.user.Epoch, 10)
		},
		"GetCredential": func() error { return unless(adapter.ErrNotFound, second(a.GetCredential(ctx, "totp", "absent"))) },
		"UpdateCredential": func() error {
			return unless(adapter.ErrNotFound, a.UpdateCredential(ctx, credential("totp", "absent", ann.user.ID)))
		},
		"TryCredential": func() error { return unless(adapter.ErrNotFound, a.TryCredential(ctx, "totp", "absent", 5)) },
		"DeleteCredential": func() error {
			return unless(adapter.ErrNotFound, a.DeleteCredential(ctx, "totp", "absent", ann.user.ID, nil))
		},
		"DeleteCredentials": func() error { _, err := a.DeleteCredentials(ctx, ann.user.ID, nil, "totp"); return err },
		"DeleteSessionOf":   func() error { _, err := a.DeleteSessionOf(ctx, ann.user.ID, "digest-ann"); return err },
		"TouchSessions": func() error {
			return a.TouchSessions(ctx, []adapter.SessionSeen{{Digest: "digest-ann", At: at(1)}})
		},
	}
}

func second[T any](_ T, err error) error { return err }

// unless returns err, or nil if err is the expected error.
func unless(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
