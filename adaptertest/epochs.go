package adaptertest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"authsvc/adapter"
)

func epochTests() []test {
	return []test{
		{"Epoch/raised by what takes access back", epochRaised},
		{"Epoch/of an id without a user", epochUnknown},
		{"Epoch/what grants access is stale afterwards", epochStale},
		{"Epoch/of other users does not count", epochOthers},
		{"ReplaceTokens/only of the tokens that were read", replaceTokens},
		{"ReplaceTokens/concurrent", replaceTokensRace},
		{"RefreshAccount/only of its user", refreshOwner},
		{"ProveEmail/of an address that has changed", proofChanged},
		{"Epoch/concurrent first proof", epochRaceProof},
		{"Epoch/concurrent EndSessions", epochRaceEnd},
		{"Epoch/EndSessions while sessions begin", epochRaceEnds},
		{"Epoch/concurrent UnlinkAccount", epochRaceUnlink},
		{"Epoch/UnlinkAccount of both", epochRaceUnlinks},
		{"Epoch/concurrent DeleteUser", epochRaceDelete},
	}
}

// epochsOf reads a user's epochs by every method that returns them.
func epochsOf(t *testing.T, a adapter.Adapter, k fixture) (epoch, sessions int64) {
	t.Helper()
	u, err := a.GetUser(t.Context(), k.user.ID)
	ok(t, err)
	byEmail, err := a.GetUserByEmail(t.Context(), k.user.Email)
	ok(t, err)
	same(t, byEmail, u)
	if owner, err := a.GetUserByAccount(t.Context(), k.account.Provider, k.account.ProviderAccountID); err == nil {
		same(t, owner, u)
	}
	alone, err := a.GetEpoch(t.Context(), k.user.ID)
	ok(t, err)
	same(t, alone, u.Epoch)
	return u.Epoch, u.SessionEpoch
}

func epochRaised(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	check := func(want, sessions int64) {
		t.Helper()
		epoch, ended := epochsOf(t, a, ann)
		same(t, epoch, want)
		same(t, ended, sessions)
	}
	check(0, 0)
	ended := about(ann.user.ID)
	_, err := a.EndSessions(t.Context(), ann.user.ID, ended)
	ok(t, err)
	check(ended.Seq, ended.Seq)

	by := revocation("by:github:"+ann.user.ID, 1, 1e6)
	by.UserID = ann.user.ID
	ok(t, a.Revoke(t.Context(), by, revocation("sid:1", 1, 1e6)))
	check(by.Seq, ended.Seq)

	unlinked := unlinkOf(ann.user.ID)
	ok(t, a.UnlinkAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID, by.Seq, unlinked))
	check(unlinked.Seq, ended.Seq)

	proved := about(ann.user.ID)
	u, _, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.user.ID, Email: ann.user.Email, Epoch: unlinked.Seq, At: at(1), Revoke: proved})
	ok(t, err)
	check(proved.Seq, proved.Seq)
	same(t, u.Epoch, proved.Seq)
	again := about(ann.user.ID) // already proved: revokes nothing
	u, _, err = a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.user.ID, Email: ann.user.Email, Epoch: u.Epoch, At: at(2), Revoke: again})
	ok(t, err)
	same(t, again.Seq, 0)
	same(t, u.Epoch, proved.Seq)
	check(proved.Seq, proved.Seq)

	deleted := about(ann.user.ID)
	ok(t, a.DeleteUser(t.Context(), ann.user.ID, deleted))
	epoch, err := a.GetEpoch(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, epoch, deleted.Seq)
	for i, seq := range []int64{ended.Seq, by.Seq, unlinked.Seq, proved.Seq} {
		if next := []int64{by.Seq, unlinked.Seq, proved.Seq, deleted.Seq}[i]; seq < 1 || next <= seq {
			t.Errorf("Seq %d, then %d", seq, next)
		}
	}
}

func epochUnknown(t *testing.T, a adapter.Adapter) {
	epoch, err := a.GetEpoch(t.Context(), "nobody")
	ok(t, err)
	same(t, epoch, 0)
	r := about("nobody")
	_, err = a.EndSessions(t.Context(), "nobody", r)
	ok(t, err)
	epoch, err = a.GetEpoch(t.Context(), "nobody")
	ok(t, err)
	same(t, epoch, r.Seq)
	is(t, a.DeleteUser(t.Context(), "nobody", about("nobody")), adapter.ErrNotFound)
	epoch, err = a.GetEpoch(t.Context(), "nobody")
	ok(t, err)
	same(t, epoch, r.Seq)
}

// grants returns the writes that grant access to ann, as a sign-in makes them that read
// her epoch.
func grants(t *testing.T, a adapter.Adapter, ann fixture, name string, epoch int64) map[string]func() error {
	acc, s := account(name), session(name)
	acc.UserID, s.UserID, s.Epoch = ann.user.ID, ann.user.ID, epoch
	return map[string]func() error{
		"LinkAccount":    func() error { return second(a.LinkAccount(t.Context(), acc, epoch)) },
		"CreateSession":  func() error { return second(a.CreateSession(t.Context(), s)) },
		"RefreshAccount": func() error { return a.RefreshAccount(t.Context(), ann.account, epoch) },
		"PutCredential": func() error {
			return a.PutCredential(t.Context(), credential("totp", name, ann.user.ID), epoch, 1000)
		},
	}
}

func epochStale(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	for name, grant := range grants(t, a, ann, "before", 0) {
		if err := grant(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	r := about(ann.user.ID)
	_, err := a.EndSessions(t.Context(), ann.user.ID, r)
	ok(t, err)
	for _, epoch := range []int64{0, r.Seq - 1, r.Seq + 1} {
		for name, grant := range grants(t, a, ann, "late", epoch) {
			if err := grant(); !errors.Is(err, adapter.ErrStale) {
				t.Errorf("%s at epoch %d: %v", name, epoch, err)
			}
		}
	}
	_, err = a.GetUserByAccount(t.Context(), "github", "github-late")
	is(t, err, adapter.ErrNotFound)
	_, _, err = a.GetSession(t.Context(), "token-late", "digest-late")
	is(t, err, adapter.ErrNotFound)
	for name, grant := range grants(t, a, ann, "late", r.Seq) { // the stale writes stored nothing
		if err := grant(); err != nil {
			t.Errorf("%s at the epoch: %v", name, err)
		}
	}
}

func epochOthers(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	_, err := a.EndSessions(t.Context(), bob.user.ID, about(bob.user.ID))
	ok(t, err)
	ok(t, a.Revoke(t.Context(), revocation("sid:1", 1, 1e6)))
	epoch, sessions := epochsOf(t, a, ann)
	same(t, epoch, 0)
	same(t, sessions, 0)
	checkUnchanged(t, a, ann)
	for name, grant := range grants(t, a, ann, "more", 0) {
		if err := grant(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func replaceTokens(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	replace := func(fields adapter.Account) {
		t.Helper()
		change := fields
		change.ID, change.UserID = "ignored", "ignored"
		change.Provider, change.ProviderAccountID = ann.account.Provider, ann.account.ProviderAccountID
		for field, spoil := range map[string]func(*adapter.Account) *string{
			"refresh token": func(a *adapter.Account) *string { return &a.RefreshToken },
			"access token":  func(a *adapter.Account) *string { return &a.AccessToken },
			"ID token":      func(a *adapter.Account) *string { return &a.IDToken },
		} {
			was := ann.account
			token := spoil(&was)
			for _, wrong := range []string{"", strings.ToLower(*token), *token + " ", "other"} {
				if wrong == *spoil(&ann.account) {
					continue
				}
				if *token = wrong; !errors.Is(a.ReplaceTokens(t.Context(), change, was), adapter.ErrStale) {
					t.Errorf("%s %q in place of %q is not noticed", field, wrong, *spoil(&ann.account))
				}
			}
		}
		checkUnchanged(t, a, ann)
		ok(t, a.ReplaceTokens(t.Context(), change, ann.account))
		change.ID, change.UserID, change.Type = ann.account.ID, ann.account.UserID, ann.account.Type
		ann.account = change
		checkUnchanged(t, a, ann)
	}
	replace(adapter.Account{AccessToken: "A1"})
	replace(adapter.Account{RefreshToken: "R2", AccessToken: "A2", ExpiresAt: 7, TokenType: "T", Scope: "S", IDToken: "I2", SessionState: "X"})
	_, err := a.EndSessions(t.Context(), ann.user.ID, about(ann.user.ID)) // does not revoke tokens
	ok(t, err)
	change := ann.account
	change.RefreshToken, change.AccessToken = "R3", "A3"
	ok(t, a.ReplaceTokens(t.Context(), change, ann.account))
	ok(t, a.ReplaceTokens(t.Context(), ann.account, change))
	list, err := a.ListAccounts(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, list, []adapter.Account{ann.account})

	none := adapter.Account{Provider: change.Provider, ProviderAccountID: change.ProviderAccountID, Scope: "S"}
	ok(t, a.ReplaceTokens(t.Context(), none, ann.account)) // also removes the refresh token
	none.ID, none.UserID, none.Type = ann.account.ID, ann.account.UserID, ann.account.Type
	list, err = a.ListAccounts(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, list, []adapter.Account{none})
	checkUnchanged(t, a, bob)
	change.ProviderAccountID = "nobody"
	is(t, a.ReplaceTokens(t.Context(), change, none), adapter.ErrNotFound)
}

// replaceTokensRace checks that exactly one of many callers that read the same tokens
// replaces them, with and without a refresh token.
func replaceTokensRace(t *testing.T, a adapter.Adapter) {
	for name, field := range map[string]func(*adapter.Account) *string{
		"ann": func(a *adapter.Account) *string { return &a.RefreshToken },
		"bob": func(a *adapter.Account) *string { return &a.AccessToken },
	} {
		was := signUp(t, a, name).account
		oneWins(t, race(workers, func(i int) error {
			change := was
			*field(&change) = numbered("T", i)
			return a.ReplaceTokens(t.Context(), change, was)
		}), adapter.ErrStale)
	}
}

func refreshOwner(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	change := ann.account
	change.AccessToken = "stolen"
	for _, id := range []string{bob.user.ID, "nobody"} {
		change.UserID = id
		is(t, a.RefreshAccount(t.Context(), change, 0), adapter.ErrNotFound)
	}
	is(t, a.UnlinkAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID, 0, about(bob.user.ID)), adapter.ErrNotFound)
	checkUnchanged(t, a, ann)
	revocations(t, a, 0)
}

func proofChanged(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	for _, keep := range []bool{false, true} {
		_, _, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.user.ID, Email: "old@example.com", At: at(1), Keep: keep, Revoke: about(ann.user.ID)})
		is(t, err, adapter.ErrStale)
	}
	checkUnchanged(t, a, ann)
	revocations(t, a, 0)
}

// overtaken runs sign-ins of several kinds while revoke runs. Each sign-in reads the
// epoch, checks that it is still allowed, and writes. It repeats this if the write is
// stale, and ends when it is no longer allowed. Only writes after the revocation may
// remain.
func overtaken(t *testing.T, a adapter.Adapter, ann fixture, revoke func() error) {
	t.Helper()
	errs := race(workers, func(i int) error {
		if i == workers/2 {
			return revoke()
		}
		for {
			u, err := a.GetUserByAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID)
			if i%2 == 1 { // a session that links an account
				if u, err = a.GetUser(t.Context(), ann.user.ID); err == nil {
					_, _, err = a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
				}
			}
			if err != nil {
				return unless(adapter.ErrNotFound, err)
			}
			if err = attempt(t, a, ann, u.Epoch, i); !errors.Is(err, adapter.ErrStale) {
				return unless(adapter.ErrNotFound, err)
			}
		}
	})
	nWin(t, errs, workers, nil)
}

func attempt(t *testing.T, a adapter.Adapter, ann fixture, epoch int64, i int) error {
	grant := grants(t, a, ann, numbered("racer", i), epoch)
	if i%2 == 1 {
		return grant["LinkAccount"]()
	}
	if err := grant["RefreshAccount"](); err != nil {
		return err
	}
	return grant["CreateSession"]()
}

func epochRaceProof(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	overtaken(t, a, ann, func() error {
		_, _, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.user.ID, Email: ann.user.Email, At: at(1), Revoke: about(ann.user.ID)})
		return err
	})
	left(t, a, ann.user.ID, nil, nil)
}

// left checks which accounts and sessions a user has.
func left(t *testing.T, a adapter.Adapter, userID string, accounts, sessions []string) {
	t.Helper()
	list, err := a.ListAccounts(t.Context(), userID)
	ok(t, err)
	var names []string
	for _, acc := range list {
		names = append(names, acc.ProviderAccountID)
	}
	same(t, names, accounts)
	records, err := a.ListSessions(t.Context(), userID)
	ok(t, err)
	var tokens []string
	for _, s := range records {
		tokens = append(tokens, s.SessionToken)
	}
	slices.Sort(tokens)
	same(t, tokens, sessions)
}

// epochRaceEnd: the account still allows new sessions, with the new epoch; the ended
// session no longer allows linking.
func epochRaceEnd(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	r := about(ann.user.ID)
	overtaken(t, a, ann, func() error {
		_, err := a.EndSessions(t.Context(), ann.user.ID, r)
		return err
	})
	_, _, err := a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)
	s := session("late")
	s.UserID = ann.user.ID
	is(t, second(a.CreateSession(t.Context(), s)), adapter.ErrStale)
}

func epochRaceUnlink(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	overtaken(t, a, ann, func() error {
		return a.UnlinkAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID, 0, unlinkOf(ann.user.ID))
	})
	_, err := a.GetUserByAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID)
	is(t, err, adapter.ErrNotFound)
}

func unlinkOf(userID string) *adapter.Revocation {
	r := revocation("account:"+userID, 1, 1e6)
	r.UserID = userID
	return r
}

// epochRaceUnlinks checks two concurrent removals with the same epoch, each of which
// would leave one account: exactly one succeeds, and the other changes nothing.
func epochRaceUnlinks(t *testing.T, a adapter.Adapter) {
	for i := range 8 {
		ann := signUp(t, a, fmt.Sprint("ann", i))
		more := account(fmt.Sprint("more", i))
		more.UserID = ann.user.ID
		more, err := a.LinkAccount(t.Context(), more, 0)
		ok(t, err)
		before := about(ann.user.ID)
		_, err = a.EndSessions(t.Context(), ann.user.ID, before)
		ok(t, err)
		is(t, a.UnlinkAccount(t.Context(), more.Provider, more.ProviderAccountID, 0, unlinkOf(ann.user.ID)), adapter.ErrStale)
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for k, acc := range []adapter.Account{ann.account, more} {
			wg.Go(func() {
				errs[k] = a.UnlinkAccount(t.Context(), acc.Provider, acc.ProviderAccountID, before.Seq, unlinkOf(ann.user.ID))
			})
		}
		wg.Wait()
		list, err := a.ListAccounts(t.Context(), ann.user.ID)
		ok(t, err)
		if stale := cmp.Or(errs[0], errs[1]); len(list) != 1 || !errors.Is(stale, adapter.ErrStale) || errs[0] != nil && errs[1] != nil {
			t.Errorf("%d accounts are left, %v", len(list), errs)
		}
	}
}

func epochRaceDelete(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	overtaken(t, a, ann, func() error { return a.DeleteUser(t.Context(), ann.user.ID, about(ann.user.ID)) })
	left(t, a, ann.user.ID, nil, nil)
}
