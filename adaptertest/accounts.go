package adaptertest

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"authsvc/adapter"
)

func accountTests() []test {
	return []test{
		{"Account/every field", accountEveryField},
		{"Account/unknown", accountUnknown},
		{"Account/identity unique", accountUnique},
		{"Account/identity byte for byte", accountExact},
		{"Account/refresh", accountRefresh},
		{"Account/unlink", accountUnlink},
		{"Account/list in order", accountList},
		{"Account/long tokens", accountLong},
		{"Account/concurrent link", accountLinkRace},
	}
}

func accountEveryField(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	for _, want := range []adapter.Account{
		{ID: "a1", UserID: u.ID, Type: "oauth", Provider: "a", ProviderAccountID: "1", RefreshToken: "r", AccessToken: "a",
			ExpiresAt: 1<<31 + 5, TokenType: "bearer", Scope: "openid email", IDToken: "i", SessionState: "s"},
		{ID: "a2", UserID: u.ID, Type: "email", Provider: "b", ProviderAccountID: "2"},
	} {
		got, err := a.LinkAccount(t.Context(), want, 0)
		ok(t, err)
		want.ID, want.ExpiresAt = got.ID, limits(a).stored(want.ExpiresAt)
		same(t, got, want)
		list, err := a.ListAccounts(t.Context(), u.ID)
		ok(t, err)
		same(t, list[len(list)-1], want)
		owner, err := a.GetUserByAccount(t.Context(), want.Provider, want.ProviderAccountID)
		ok(t, err)
		same(t, owner, u)
	}
}

func accountUnknown(t *testing.T, a adapter.Adapter) {
	lost := account("lost")
	lost.UserID = "nobody"
	_, err := a.LinkAccount(t.Context(), lost, 0)
	is(t, err, adapter.ErrNotFound)
	is(t, a.RefreshAccount(t.Context(), lost, 0), adapter.ErrNotFound)
	is(t, a.UnlinkAccount(t.Context(), lost.Provider, lost.ProviderAccountID, 0, about("nobody")), adapter.ErrNotFound)
	_, err = a.GetUserByAccount(t.Context(), lost.Provider, lost.ProviderAccountID)
	is(t, err, adapter.ErrNotFound)

	lost.UserID = newUser(t, a, "somebody").ID
	_, err = a.LinkAccount(t.Context(), lost, 0)
	ok(t, err)
}

func accountUnique(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	for _, owner := range []string{ann.user.ID, bob.user.ID} {
		again := account("ann")
		again.ID, again.UserID, again.AccessToken = "again", owner, "stolen"
		_, err := a.LinkAccount(t.Context(), again, 0)
		is(t, err, adapter.ErrConflict)
	}
	other := account("ann") // of another provider
	other.ID, other.UserID, other.Provider = "other", bob.user.ID, "gitlab"
	_, err := a.LinkAccount(t.Context(), other, 0)
	ok(t, err)
	checkUnchanged(t, a, ann)
}

func accountExact(t *testing.T, a adapter.Adapter) {
	for i, id := range lookalikes() {
		acc := adapter.Account{ID: numbered("account", i), Type: "oauth", Provider: "github", ProviderAccountID: id}
		u, err := a.SignUp(t.Context(), adapter.User{ID: numbered("user", i)}, &acc, nil, "", nil)
		if refusesText(t, a, err, func() error { _, err := a.GetUserByAccount(t.Context(), "github", id); return err }) {
			continue
		}
		owner, err := a.GetUserByAccount(t.Context(), "github", id)
		ok(t, err)
		same(t, owner, u)
	}
	for _, provider := range []string{"GitHub", "github ", "githüb"} {
		_, err := a.GetUserByAccount(t.Context(), provider, "abc")
		is(t, err, adapter.ErrNotFound)
	}
}

func accountRefresh(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	for _, fields := range []adapter.Account{
		{RefreshToken: "R", AccessToken: "A", ExpiresAt: 7, TokenType: "T", Scope: "S", IDToken: "I", SessionState: "X"},
		{AccessToken: "only"},
		{},
	} {
		change := fields
		change.ID, change.UserID = "ignored", ann.user.ID
		change.Provider, change.ProviderAccountID = ann.account.Provider, ann.account.ProviderAccountID
		ok(t, a.RefreshAccount(t.Context(), change, 0))
		want := change
		want.RefreshToken = "R" // a provider issues it only once
		want.ID, want.UserID, want.Type = ann.account.ID, ann.account.UserID, ann.account.Type
		ann.account = want
		checkUnchanged(t, a, ann)
	}
	checkUnchanged(t, a, bob)
}

func accountUnlink(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	unlinked := revocation("account:"+ann.user.ID, 1, 1e6)
	unlinked.UserID = ann.user.ID
	ok(t, a.UnlinkAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID, 0, unlinked))
	list, err := a.ListAccounts(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, len(list), 0)
	_, _, err = a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest) // remains
	ok(t, err)
	checkUnchanged(t, a, bob)

	again := account("ann") // anyone may link it now, with the same id
	again.UserID = bob.user.ID
	_, err = a.LinkAccount(t.Context(), again, 0)
	ok(t, err)
}

func accountList(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	var want []adapter.Account
	for _, id := range []string{"5", "1", "4", "2", "3"} {
		acc := adapter.Account{ID: id, UserID: u.ID, Type: "oauth", Provider: "b", ProviderAccountID: id}
		if id > "3" {
			acc.Provider = "a"
		}
		acc, err := a.LinkAccount(t.Context(), acc, 0)
		ok(t, err)
		want = append(want, acc)
	}
	slices.SortFunc(want, func(x, y adapter.Account) int {
		// Ids of one store have the same form; a longer number is larger.
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(len(x.ID), len(y.ID)), cmp.Compare(x.ID, y.ID),
			cmp.Compare(x.ProviderAccountID, y.ProviderAccountID))
	})
	list, err := a.ListAccounts(t.Context(), u.ID)
	ok(t, err)
	same(t, list, want)
}

func accountLong(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	for i, piece := range []string{"0123456789abcdef", "é", "漢", "🦊"} {
		want := adapter.Account{ID: numbered("account", i), UserID: u.ID, Type: "oauth", Provider: numbered("p", i), ProviderAccountID: "1",
			RefreshToken: long(piece + "r"), AccessToken: long(piece + "a"), IDToken: long(piece + "i")}
		if most := limits(a).Token; most > 0 {
			want = refusesLong(t, a, want, most)
		}
		_, err := a.LinkAccount(t.Context(), want, 0)
		ok(t, err)
		want.AccessToken = want.AccessToken[len(piece):] + "z"
		ok(t, a.RefreshAccount(t.Context(), want, 0))
		list, err := a.ListAccounts(t.Context(), u.ID)
		ok(t, err)
		want.ID = list[i].ID
		same(t, list[i], want)
	}
}

// refusesLong checks that only tokens that are too long are refused. It returns the
// account with tokens that just fit.
func refusesLong(t *testing.T, a adapter.Adapter, acc adapter.Account, most int) adapter.Account {
	t.Helper()
	fits := acc
	for _, token := range []*string{&fits.RefreshToken, &fits.AccessToken, &fits.IDToken} {
		*token = strings.ToValidUTF8((*token)[:most], "")
		*token += strings.Repeat("f", most-len(*token))
	}
	for _, long := range []adapter.Account{
		{RefreshToken: acc.RefreshToken}, {AccessToken: acc.AccessToken}, {IDToken: acc.IDToken}, {AccessToken: fits.AccessToken + "f"},
	} {
		long.ID, long.UserID, long.Type, long.Provider, long.ProviderAccountID = acc.ID, acc.UserID, acc.Type, acc.Provider, acc.ProviderAccountID
		_, err := a.LinkAccount(t.Context(), long, 0)
		failed(t, err)
		_, err = a.GetUserByAccount(t.Context(), acc.Provider, acc.ProviderAccountID)
		is(t, err, adapter.ErrNotFound)
	}
	return fits
}

func accountLinkRace(t *testing.T, a adapter.Adapter) {
	users := []adapter.User{newUser(t, a, "ann"), newUser(t, a, "bob")}
	errs := race(workers, func(i int) error {
		_, err := a.LinkAccount(t.Context(), adapter.Account{ID: numbered("account", i), UserID: users[i%2].ID,
			Type: "oauth", Provider: "github", ProviderAccountID: "one"}, 0)
		return err
	})
	oneWins(t, errs, adapter.ErrConflict)
	total := 0
	for _, u := range users {
		list, err := a.ListAccounts(t.Context(), u.ID)
		ok(t, err)
		total += len(list)
	}
	same(t, total, 1)
}
