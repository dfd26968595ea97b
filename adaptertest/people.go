package adaptertest

import (
	"testing"
	"time"

	"authsvc/adapter"
)

func peopleTests() []test {
	return []test{
		{"Person/every field", personEveryField},
		{"Person/unknown user", personUnknown},
		{"Person/blocked users and those to be deleted are returned as such", personBlocked},
		{"Person/users are returned with their locale", personLocale},
		{"Person/goes with the user", personDeleted},
		{"SearchUsers/conditions and pages", searchUsers},
	}
}

// person checks the data stored about a user.
func person(t *testing.T, a adapter.Adapter, want adapter.Person) {
	t.Helper()
	got, err := a.GetPerson(t.Context(), want.UserID)
	ok(t, err)
	same(t, got, want)
}

func personEveryField(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	person(t, a, adapter.Person{UserID: ann.ID})
	want := adapter.Person{UserID: ann.ID, Blocked: at(1), BlockedWhy: "it's \"spam\"; -- é", DeleteAfter: at(2), SecondStep: true, RecoverAfter: at(3), Locale: "pt-BR"}
	ok(t, a.SetPerson(t.Context(), ann.ID, adapter.PersonUpdate{Blocked: ptr(want.Blocked.Add(999)), BlockedWhy: &want.BlockedWhy,
		DeleteAfter: &want.DeleteAfter, SecondStep: &want.SecondStep, RecoverAfter: &want.RecoverAfter, Locale: &want.Locale}, nil))
	person(t, a, want)
	ok(t, a.SetPerson(t.Context(), ann.ID, adapter.PersonUpdate{}, nil))
	person(t, a, want)
	ok(t, a.SetPerson(t.Context(), ann.ID, adapter.PersonUpdate{Blocked: &time.Time{}, SecondStep: ptr(false), Locale: ptr("de")}, nil))
	want.Blocked, want.SecondStep, want.Locale = time.Time{}, false, "de"
	person(t, a, want)
	ok(t, a.SetPerson(t.Context(), ann.ID, adapter.PersonUpdate{BlockedWhy: ptr(""), DeleteAfter: &time.Time{}, RecoverAfter: &time.Time{}, Locale: ptr("")}, nil))
	person(t, a, adapter.Person{UserID: ann.ID})
	person(t, a, adapter.Person{UserID: bob.ID})
	revocations(t, a, 0)
}

func personUnknown(t *testing.T, a adapter.Adapter) {
	_, err := a.GetPerson(t.Context(), "nobody")
	is(t, err, adapter.ErrNotFound)
	is(t, a.SetPerson(t.Context(), "nobody", adapter.PersonUpdate{Locale: ptr("de")}, about("nobody")), adapter.ErrNotFound)
	is(t, a.PutCredential(t.Context(), credential("totp", "c", "nobody"), 0, 10), adapter.ErrNotFound)
	_, err = a.GetCredential(t.Context(), "totp", "c")
	is(t, err, adapter.ErrNotFound)
	is(t, a.UpdateCredential(t.Context(), credential("totp", "c", "nobody")), adapter.ErrNotFound)
	is(t, a.TryCredential(t.Context(), "totp", "c", 5), adapter.ErrNotFound)
	is(t, a.DeleteCredential(t.Context(), "totp", "c", "nobody", about("nobody")), adapter.ErrNotFound)
	revocations(t, a, 0)
	rev := about("nobody")
	n, err := a.DeleteCredentials(t.Context(), "nobody", rev, "totp")
	ok(t, err)
	same(t, n, 0)
	revocations(t, a, 0, *rev)
}

func personBlocked(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	rev := about(ann.user.ID)
	ok(t, a.SetPerson(t.Context(), ann.user.ID, adapter.PersonUpdate{Blocked: ptr(at(1)), DeleteAfter: ptr(at(2))}, rev))
	revocations(t, a, 0, *rev)
	epoch, ended := epochsOf(t, a, ann)
	same(t, epoch, rev.Seq)
	same(t, ended, rev.Seq)
	_, _, err := a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)
	same(t, len(sessionsOf(t, a, ann.user.ID)), 0)
	checkUnchanged(t, a, bob)
	for _, find := range []func() (adapter.User, error){
		func() (adapter.User, error) { return a.GetUser(t.Context(), ann.user.ID) },
		func() (adapter.User, error) { return a.GetUserByEmail(t.Context(), ann.user.Email) },
		func() (adapter.User, error) {
			return a.GetUserByAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID)
		},
	} {
		u, err := find()
		ok(t, err)
		same(t, u.Blocked, at(1))
		same(t, u.DeleteAfter, at(2))
	}
	s := session("late")
	s.UserID = ann.user.ID
	is(t, second(a.CreateSession(t.Context(), s)), adapter.ErrStale)
	list, err := a.ListUsers(t.Context(), "", 10)
	ok(t, err)
	for _, u := range list {
		same(t, u.Blocked.IsZero(), u.ID == bob.user.ID)
		same(t, u.DeleteAfter.IsZero(), u.ID == bob.user.ID)
	}
	ok(t, a.SetPerson(t.Context(), ann.user.ID, adapter.PersonUpdate{Blocked: &time.Time{}}, nil))
	u, err := a.GetUser(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, u.Blocked, time.Time{})
	same(t, u.DeleteAfter, at(2))
	ok(t, a.SetPerson(t.Context(), ann.user.ID, adapter.PersonUpdate{DeleteAfter: &time.Time{}}, nil))
	u, err = a.GetUser(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, u.DeleteAfter, time.Time{})
	same(t, u.Epoch, rev.Seq)
}

// personLocale checks that the methods that return the epoch of a user also return the
// locale as it is now.
func personLocale(t *testing.T, a adapter.Adapter) {
	ann := fixture{account: account("ann"), session: session("ann")}
	var err error
	ann.user, err = a.SignUp(t.Context(), adapter.User{ID: "user-ann", Email: "ann@example.com"}, &ann.account, &ann.session, "pt-BR", nil)
	ok(t, err)
	bob := signUp(t, a, "bob")
	found := func(list []adapter.User, err error) (adapter.User, error) {
		var user adapter.User
		for _, u := range list {
			switch u.ID {
			case ann.user.ID:
				user = u
			case bob.user.ID:
				same(t, u.Locale, "")
			}
		}
		return user, err
	}
	links := 0
	for _, want := range []string{"pt-BR", "", "zh-Hant-TW-x-a-locale-of-35-letters"} {
		ok(t, a.SetPerson(t.Context(), ann.user.ID, adapter.PersonUpdate{Locale: &want}, nil))
		for name, find := range map[string]func() (adapter.User, error){
			"GetUser":        func() (adapter.User, error) { return a.GetUser(t.Context(), ann.user.ID) },
			"GetUserByEmail": func() (adapter.User, error) { return a.GetUserByEmail(t.Context(), ann.user.Email) },
			"GetUserByAccount": func() (adapter.User, error) {
				return a.GetUserByAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID)
			},
			"ListUsers": func() (adapter.User, error) { return found(a.ListUsers(t.Context(), "", 10)) },
			"SearchUsers": func() (adapter.User, error) {
				return found(a.SearchUsers(t.Context(), adapter.UserQuery{Prefix: "a", Limit: 10}))
			},
			"TakeToken": func() (adapter.User, error) {
				links++
				putLink(t, a, ann.user.Email, numbered("link", links))
				_, u, err := a.TakeToken(t.Context(), ann.user.Email, numbered("link", links), at(0))
				return u, err
			},
			"ProveEmail": func() (adapter.User, error) {
				u, _, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.user.ID, Email: ann.user.Email, At: at(1), Keep: true})
				return u, err
			},
		} {
			u, err := find()
			ok(t, err)
			if u.ID != ann.user.ID || u.Locale != want {
				t.Errorf("%s: user %s with locale %q, want %q", name, u.ID, u.Locale, want)
			}
		}
	}
}

func personDeleted(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	ok(t, a.SetPerson(t.Context(), ann.ID, adapter.PersonUpdate{Blocked: ptr(at(1)), DeleteAfter: ptr(at(1))}, nil))
	putCredential(t, a, "totp", "c", ann.ID, 0)
	kept := putCredential(t, a, "totp", "d", bob.ID, 0)
	ok(t, a.DeleteUser(t.Context(), ann.ID, about(ann.ID)))
	_, err := a.GetPerson(t.Context(), ann.ID)
	is(t, err, adapter.ErrNotFound)
	_, err = a.GetCredential(t.Context(), "totp", "c")
	is(t, err, adapter.ErrNotFound)
	found, err := a.SearchUsers(t.Context(), adapter.UserQuery{Due: at(9), Limit: 10})
	ok(t, err)
	same(t, len(found), 0)
	person(t, a, adapter.Person{UserID: bob.ID, Credentials: []adapter.Credential{kept}})
	// A new user with the same id starts without data.
	if u, err := a.CreateUser(t.Context(), adapter.User{ID: ann.ID, Email: "new@example.com"}, nil); err == nil {
		person(t, a, adapter.Person{UserID: u.ID})
		same(t, u.Blocked, time.Time{})
	}
}

func searchUsers(t *testing.T, a adapter.Adapter) {
	var ids []string
	for _, name := range []string{"ada", "adam", "bob", "ad%", "Ada", "ad_m", "ad|m", "zoé"} {
		u, err := a.CreateUser(t.Context(), adapter.User{ID: "user-" + name, Email: name + "@example.com"}, nil)
		if refusesEmail(t, a, name+"@example.com", err) {
			u = adapter.User{}
		}
		ids = append(ids, u.ID)
	}
	_, err := a.CreateUser(t.Context(), adapter.User{ID: "user-none"}, nil) // has no address
	ok(t, err)
	ok(t, a.SetPerson(t.Context(), ids[0], adapter.PersonUpdate{Blocked: ptr(at(1)), DeleteAfter: ptr(at(5))}, nil))
	ok(t, a.SetPerson(t.Context(), ids[1], adapter.PersonUpdate{DeleteAfter: ptr(at(6))}, nil))
	ok(t, a.SetPerson(t.Context(), ids[2], adapter.PersonUpdate{Blocked: ptr(at(2)), Locale: ptr("de")}, nil))
	for _, c := range []struct {
		q    adapter.UserQuery
		want []string // as a set, since the store chooses the order
	}{
		{adapter.UserQuery{Prefix: "ada"}, []string{ids[0], ids[1]}},
		{adapter.UserQuery{Prefix: "ada@"}, []string{ids[0]}},
		{adapter.UserQuery{Prefix: "ad%"}, []string{ids[3]}},
		{adapter.UserQuery{Prefix: "ad_"}, []string{ids[5]}},
		{adapter.UserQuery{Prefix: "ad|"}, []string{ids[6]}},
		{adapter.UserQuery{Prefix: "zoé"}, []string{ids[7]}},
		{adapter.UserQuery{Prefix: "zoe"}, nil},
		{adapter.UserQuery{Prefix: "x"}, nil},
		{adapter.UserQuery{Blocked: true}, []string{ids[0], ids[2]}},
		{adapter.UserQuery{Blocked: true, Prefix: "b"}, []string{ids[2]}},
		{adapter.UserQuery{Blocked: true, Prefix: "ad"}, []string{ids[0]}},
		{adapter.UserQuery{Due: at(6), Prefix: "ada"}, []string{ids[0], ids[1]}},
		{adapter.UserQuery{Due: at(6), Blocked: true, Prefix: "adam"}, nil},
		{adapter.UserQuery{Prefix: "ad"}, []string{ids[0], ids[1], ids[3], ids[5], ids[6]}},
		{adapter.UserQuery{Prefix: "A"}, []string{ids[4]}},
		{adapter.UserQuery{Due: at(5)}, []string{ids[0]}},
		{adapter.UserQuery{Due: at(6)}, []string{ids[0], ids[1]}},
		{adapter.UserQuery{Due: at(4)}, nil},
		{adapter.UserQuery{Due: at(6), Blocked: true}, []string{ids[0]}},
	} {
		want := map[string]bool{}
		for _, id := range c.want {
			if id != "" {
				want[id] = true
			}
		}
		for _, limit := range []int{1, 2, 10} {
			c.q.Limit = limit
			same(t, foundInPages(t, a, c.q), want)
		}
	}
	all, err := a.ListUsers(t.Context(), "", 100)
	ok(t, err)
	found, err := a.SearchUsers(t.Context(), adapter.UserQuery{Limit: 100})
	ok(t, err)
	same(t, found, all)
	found, err = a.SearchUsers(t.Context(), adapter.UserQuery{})
	ok(t, err)
	same(t, len(found), 0)
	afterWithoutPrefix(t, a, ids[2])
}

// afterWithoutPrefix checks searches for bob, whose id is given, that start after an
// address without the prefix.
func afterWithoutPrefix(t *testing.T, a adapter.Adapter, bob string) {
	t.Helper()
	found, err := a.SearchUsers(t.Context(), adapter.UserQuery{Prefix: "b", After: "ada@example.com", Limit: 10})
	ok(t, err)
	same(t, len(found), 1)
	same(t, found[0].ID, bob)
	found, err = a.SearchUsers(t.Context(), adapter.UserQuery{Prefix: "b", After: "zoe@example.com", Limit: 10})
	ok(t, err)
	same(t, len(found), 0)
}

// foundInPages returns the ids of the users that a search finds page by page.
func foundInPages(t *testing.T, a adapter.Adapter, q adapter.UserQuery) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	for {
		page, err := a.SearchUsers(t.Context(), q)
		ok(t, err)
		for _, u := range page {
			if got[u.ID] {
				t.Fatalf("%s came twice", u.ID)
			}
			got[u.ID], q.After = true, q.Next(u)
		}
		if len(page) < q.Limit {
			return got
		}
	}
}
