package adaptertest

import (
	"testing"

	"authsvc/adapter"
)

func signUpTests() []test {
	return []test{
		{"SignUp/user, account and session", signUpAll},
		{"SignUp/without account or session", signUpLess},
		{"SignUp/conflict leaves nothing", signUpConflict},
		{"SignUp/locale", signUpLocale},
		{"SignUp/locale with account and session", signUpLocaleAll},
		{"SignUp/conflict leaves no locale", signUpLocaleConflict},
		{"SignUp/ends the sessions of an earlier user with the id", signUpAgain},
		{"SignUp/with a UUID ends no sessions", signUpUUID},
		{"SignUp/conflict ends no sessions", signUpAgainConflict},
		{"SignUp/concurrent, one account", signUpRace},
		{"SignUp/concurrent with an email link", signUpRaceEmail},
	}
}

func signUpAll(t *testing.T, a adapter.Adapter) {
	acc, s := account("ann"), session("ann")
	acc.UserID, s.UserID = "wrong", "wrong" // the adapter replaces these
	u, err := a.SignUp(t.Context(), adapter.User{ID: "u", Name: "Ann", Email: "ann@example.com", EmailVerified: at(0).Add(1)}, &acc, &s, "", nil)
	ok(t, err)
	same(t, u, adapter.User{ID: u.ID, Name: "Ann", Email: "ann@example.com", EmailVerified: at(0)})
	same(t, acc.UserID, u.ID)
	same(t, s.UserID, u.ID)
	checkUnchanged(t, a, fixture{u, acc, s})
}

func signUpLess(t *testing.T, a adapter.Adapter) {
	_, err := a.SignUp(t.Context(), adapter.User{ID: "alone"}, nil, nil, "", nil)
	ok(t, err)
	acc := account("acc")
	u, err := a.SignUp(t.Context(), adapter.User{ID: "u1"}, &acc, nil, "", nil)
	ok(t, err)
	owner, err := a.GetUserByAccount(t.Context(), acc.Provider, acc.ProviderAccountID)
	ok(t, err)
	same(t, owner, u)
	s := session("s")
	u, err = a.SignUp(t.Context(), adapter.User{ID: "u2"}, nil, &s, "", nil)
	ok(t, err)
	got, owner, err := a.GetSession(t.Context(), s.SessionToken, s.Digest)
	ok(t, err)
	same(t, owner, u)
	same(t, got.UserID, u.ID)
}

func signUpConflict(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	for name, spoil := range map[string]func(*adapter.User, *adapter.Account, *adapter.SessionRecord){
		"email": func(u *adapter.User, _ *adapter.Account, _ *adapter.SessionRecord) { u.Email = ann.user.Email },
		"identity": func(_ *adapter.User, acc *adapter.Account, _ *adapter.SessionRecord) {
			acc.ProviderAccountID = "github-ann"
		},
		"token": func(_ *adapter.User, _ *adapter.Account, s *adapter.SessionRecord) { s.SessionToken = "token-ann" },
	} {
		u := adapter.User{ID: "user-bob", Email: "bob@example.com"}
		acc, s := account("bob"), session("bob")
		spoil(&u, &acc, &s)
		_, err := a.SignUp(t.Context(), u, &acc, &s, "de", nil)
		is(t, err, adapter.ErrConflict)
		if acc.UserID != "" || s.UserID != "" {
			t.Errorf("%s: a failed sign-up changed its arguments", name)
		}
		_, err = a.GetUser(t.Context(), "user-bob")
		is(t, err, adapter.ErrNotFound)
		_, err = a.GetUserByEmail(t.Context(), "bob@example.com")
		is(t, err, adapter.ErrNotFound)
		_, err = a.GetUserByAccount(t.Context(), "github", "github-bob")
		is(t, err, adapter.ErrNotFound)
		_, _, err = a.GetSession(t.Context(), "token-bob", "digest-bob")
		is(t, err, adapter.ErrNotFound)
		checkUnchanged(t, a, ann)
	}
	bob := signUp(t, a, "bob")
	checkUnchanged(t, a, bob) // nothing left of the failures conflicts
	p, err := a.GetPerson(t.Context(), bob.user.ID)
	ok(t, err)
	same(t, p, adapter.Person{UserID: bob.user.ID})
}

func signUpLocale(t *testing.T, a adapter.Adapter) {
	ctx := t.Context()
	for _, locale := range []string{"de", "", "zh-Hant-TW-x-a-locale-of-35-letters"} {
		u, err := a.SignUp(ctx, adapter.User{ID: "user-locale"}, nil, nil, locale, nil)
		ok(t, err)
		same(t, u.Locale, locale)
		p, err := a.GetPerson(ctx, u.ID)
		ok(t, err)
		same(t, p, adapter.Person{UserID: u.ID, Locale: locale})
		other := "en" // the record is changed as any other
		ok(t, a.SetPerson(ctx, u.ID, adapter.PersonUpdate{Locale: &other}, nil))
		p, err = a.GetPerson(ctx, u.ID)
		ok(t, err)
		same(t, p, adapter.Person{UserID: u.ID, Locale: "en"})
		ok(t, a.DeleteUser(ctx, u.ID, revocation("user:"+u.ID, 0, 60)))
		is(t, second(a.GetPerson(ctx, u.ID)), adapter.ErrNotFound)
	}
}

// signUpLocaleAll stores the locale beside each combination of account and session.
func signUpLocaleAll(t *testing.T, a adapter.Adapter) {
	for i := range 4 {
		name := numbered("ann", i)
		k := fixture{account: account(name), session: session(name)}
		acc, s := &k.account, &k.session
		if i&1 == 0 {
			acc = nil
		}
		if i&2 == 0 {
			s = nil
		}
		var err error
		k.user, err = a.SignUp(t.Context(), adapter.User{ID: "user-" + name, Email: name + "@example.com"}, acc, s, "pt-BR", nil)
		ok(t, err)
		p, err := a.GetPerson(t.Context(), k.user.ID)
		ok(t, err)
		same(t, p, adapter.Person{UserID: k.user.ID, Locale: "pt-BR"})
		if acc != nil && s != nil {
			checkUnchanged(t, a, k)
		}
	}
}

// signUpLocaleConflict checks that a conflict of the account, the session or the address
// changes no locale, and that the next user under the id does not inherit one.
func signUpLocaleConflict(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	ok(t, a.SetPerson(t.Context(), ann.user.ID, adapter.PersonUpdate{Locale: ptr("fr")}, nil))
	for i, name := range [][3]string{{"ann", "bob", "bob"}, {"bob", "ann", "bob"}, {"bob", "bob", "ann"}} {
		acc, s := account(name[0]), session(name[1])
		_, err := a.SignUp(t.Context(), adapter.User{ID: "user-bob", Email: name[2] + "@example.com"}, &acc, &s, "de", nil)
		is(t, err, adapter.ErrConflict)
		is(t, second(a.GetPerson(t.Context(), "user-bob")), adapter.ErrNotFound)
		p, err := a.GetPerson(t.Context(), ann.user.ID)
		ok(t, err)
		same(t, p, adapter.Person{UserID: ann.user.ID, Locale: "fr"})
		bob, err := a.SignUp(t.Context(), adapter.User{ID: "user-bob"}, nil, nil, "", nil)
		ok(t, err)
		p, err = a.GetPerson(t.Context(), bob.ID)
		ok(t, err)
		same(t, p, adapter.Person{UserID: bob.ID})
		ok(t, a.DeleteUser(t.Context(), bob.ID, revocation("user:"+bob.ID, i, 60)))
	}
}

func signUpRace(t *testing.T, a adapter.Adapter) {
	errs := race(workers, func(i int) error {
		acc, s := account("one"), session(numbered("s", i))
		acc.ID = numbered("account", i)
		_, err := a.SignUp(t.Context(), adapter.User{ID: numbered("user", i)}, &acc, &s, "", nil)
		return err
	})
	oneWins(t, errs, adapter.ErrConflict)
	owner, err := a.GetUserByAccount(t.Context(), "github", "github-one")
	ok(t, err)
	for i := range workers {
		_, _, err := a.GetSession(t.Context(), "token-"+numbered("s", i), "digest-"+numbered("s", i))
		_, userErr := a.GetUser(t.Context(), numbered("user", i))
		if errs[i] != nil {
			is(t, err, adapter.ErrNotFound)
			is(t, userErr, adapter.ErrNotFound)
			continue
		}
		ok(t, err)
		list, err := a.ListAccounts(t.Context(), owner.ID)
		ok(t, err)
		same(t, len(list), 1)
	}
}

func signUpRaceEmail(t *testing.T, a adapter.Adapter) {
	const email = "one@example.com"
	errs := race(workers, func(i int) error {
		if i%2 == 0 {
			_, err := a.SignUp(t.Context(), adapter.User{ID: numbered("user", i), Email: email, EmailVerified: at(0)}, nil, nil, "", nil)
			return err
		}
		acc := account(numbered("acc", i))
		_, err := a.SignUp(t.Context(), adapter.User{ID: numbered("user", i), Email: email}, &acc, nil, "", nil)
		return err
	})
	oneWins(t, errs, adapter.ErrConflict)
	for i := range workers {
		_, err := a.GetUserByAccount(t.Context(), "github", "github-"+numbered("acc", i))
		if i%2 == 1 && errs[i] == nil {
			ok(t, err)
		} else {
			is(t, err, adapter.ErrNotFound)
		}
	}
}
