package adaptertest

import (
	"testing"
	"time"

	"authsvc/adapter"
)

func userTests() []test {
	return []test{
		{"User/every field", userEveryField},
		{"User/unknown", userUnknown},
		{"User/email unique when present", userEmailUnique},
		{"User/email byte for byte", userEmailExact},
		{"User/update changes only named fields", userUpdate},
		{"User/update conflict", userUpdateConflict},
		{"User/update of what was read", userUpdateWas},
		{"User/update of what was read, concurrent", userUpdateRace},
		{"User/delete cascades", userDelete},
		{"User/concurrent create", userCreateRace},
		{"User/list in pages", userList},
	}
}

func userEveryField(t *testing.T, a adapter.Adapter) {
	fraction := time.Date(2038, 1, 19, 3, 14, 8, 987_654_321, time.FixedZone("east", 5*3600+1800))
	for name, u := range map[string]adapter.User{
		"all":    {ID: "u1", Name: "Zoë 🦊 O'Neil", Email: "zoe@example.com", EmailVerified: at(0), Image: "https://example.com/a?b=c&d=é"},
		"none":   {ID: "u2"},
		"time":   {ID: "u3", EmailVerified: fraction},
		"before": {ID: "u4", EmailVerified: time.Date(1969, 12, 31, 23, 59, 59, 1e6, time.UTC)},
	} {
		created, err := a.CreateUser(t.Context(), u, nil)
		ok(t, err)
		u.ID = created.ID
		if !u.EmailVerified.IsZero() {
			u.EmailVerified = u.EmailVerified.UTC().Truncate(time.Millisecond)
		}
		same(t, created, u)
		got, err := a.GetUser(t.Context(), u.ID)
		ok(t, err)
		same(t, got, u)
		if got.EmailVerified.Location() != time.UTC {
			t.Errorf("%s: time is not in UTC", name)
		}
		if u.Email != "" {
			got, err = a.GetUserByEmail(t.Context(), u.Email)
			ok(t, err)
			same(t, got, u)
		}
	}
}

func userUnknown(t *testing.T, a adapter.Adapter) {
	newUser(t, a, "somebody")
	_, err := a.CreateUser(t.Context(), adapter.User{ID: "without"}, nil)
	ok(t, err)
	_, err = a.GetUser(t.Context(), "nobody")
	is(t, err, adapter.ErrNotFound)
	_, err = a.GetUserByEmail(t.Context(), "nobody@example.com")
	is(t, err, adapter.ErrNotFound)
	_, err = a.GetUserByEmail(t.Context(), "") // does not find the user without an address
	is(t, err, adapter.ErrNotFound)
	_, err = a.GetUserByAccount(t.Context(), "github", "nobody")
	is(t, err, adapter.ErrNotFound)
	_, err = a.UpdateUser(t.Context(), "nobody", adapter.UserUpdate{Name: ptr("x")})
	is(t, err, adapter.ErrNotFound)
	is(t, a.DeleteUser(t.Context(), "nobody", about("nobody")), adapter.ErrNotFound)
	list, err := a.ListAccounts(t.Context(), "nobody")
	ok(t, err)
	same(t, len(list), 0)
}

func userEmailUnique(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	_, err := a.CreateUser(t.Context(), adapter.User{ID: "other", Email: u.Email}, nil)
	is(t, err, adapter.ErrConflict)
	_, err = a.GetUser(t.Context(), "other")
	is(t, err, adapter.ErrNotFound)
	for i := range 3 {
		_, err := a.CreateUser(t.Context(), adapter.User{ID: numbered("without", i)}, nil)
		ok(t, err)
	}
	ok(t, a.DeleteUser(t.Context(), u.ID, about(u.ID)))
	newUser(t, a, "ann") // the address is free again
}

func userEmailExact(t *testing.T, a adapter.Adapter) {
	for i, email := range lookalikes() {
		u, err := a.CreateUser(t.Context(), adapter.User{ID: numbered("user", i), Email: email}, nil)
		if refusesEmail(t, a, email, err) {
			continue
		}
		got, err := a.GetUserByEmail(t.Context(), email)
		ok(t, err)
		same(t, got, u)
	}
}

// lookalikes returns texts that a loose comparison treats as equal.
func lookalikes() []string {
	return []string{"abc", "ABC", "abc ", " abc", "äbc", "a\u0308bc", "abc\t", "ａbc", "straße", "strasse", "ſ", "s", "😀", "😁",
		"İ", "i", "1", "01", "1.0"}
}

func userUpdate(t *testing.T, a adapter.Adapter) {
	want, err := a.CreateUser(t.Context(), adapter.User{ID: "u", Name: "n", Email: "e@example.com", EmailVerified: at(0), Image: "i"}, nil)
	ok(t, err)
	bystander := newUser(t, a, "bystander")
	for _, step := range []struct {
		change adapter.UserUpdate
		expect func(*adapter.User)
	}{
		{adapter.UserUpdate{}, func(*adapter.User) {}},
		{adapter.UserUpdate{Name: ptr("new")}, func(u *adapter.User) { u.Name = "new" }},
		{adapter.UserUpdate{EmailVerified: ptr(at(7).Add(999 * time.Microsecond))}, func(u *adapter.User) { u.EmailVerified = at(7) }},
		{adapter.UserUpdate{Image: ptr("other")}, func(u *adapter.User) { u.Image = "other" }},
		{adapter.UserUpdate{Email: ptr("f@example.com")}, func(u *adapter.User) { u.Email = "f@example.com" }},
		{adapter.UserUpdate{Email: ptr("f@example.com")}, func(*adapter.User) {}}, // its own address does not conflict
		{adapter.UserUpdate{EmailVerified: &time.Time{}}, func(u *adapter.User) { u.EmailVerified = time.Time{} }},
		{adapter.UserUpdate{Name: ptr(""), Email: ptr(""), Image: ptr("")}, func(u *adapter.User) { *u = adapter.User{ID: u.ID} }},
	} {
		step.expect(&want)
		got, err := a.UpdateUser(t.Context(), want.ID, step.change)
		ok(t, err)
		same(t, got, want)
		got, err = a.GetUser(t.Context(), want.ID)
		ok(t, err)
		same(t, got, want)
	}
	_, err = a.GetUserByEmail(t.Context(), "f@example.com") // no longer its address
	is(t, err, adapter.ErrNotFound)
	got, err := a.GetUser(t.Context(), bystander.ID)
	ok(t, err)
	same(t, got, bystander)
}

// userUpdateWas checks that a change with Was is made only while the user still matches
// it.
func userUpdateWas(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	update := func(was adapter.User, email string) error {
		_, err := a.UpdateUser(t.Context(), was.ID, adapter.UserUpdate{Email: &email, EmailVerified: ptr(at(9)), Was: &was})
		return err
	}
	is(t, update(adapter.User{ID: "nobody"}, "new@example.com"), adapter.ErrNotFound)
	for _, odd := range []func(*adapter.User){
		func(u *adapter.User) { u.Epoch++ },
		func(u *adapter.User) { u.Email = "else@example.com" },
		func(u *adapter.User) { u.Email = "" },
		func(u *adapter.User) { u.EmailVerified = at(3) },
	} {
		was := ann
		odd(&was)
		is(t, update(was, "new@example.com"), adapter.ErrStale)
	}
	is(t, update(ann, bob.Email), adapter.ErrConflict)
	got, err := a.GetUser(t.Context(), ann.ID)
	ok(t, err)
	same(t, got, ann)
	ok(t, update(ann, "new@example.com"))
	is(t, update(ann, "newer@example.com"), adapter.ErrStale)
	r := about(ann.ID)
	_, err = a.EndSessions(t.Context(), ann.ID, r)
	ok(t, err)
	ann.Email, ann.EmailVerified = "new@example.com", at(9)
	is(t, update(ann, "newer@example.com"), adapter.ErrStale)
	ann.Epoch = r.Seq
	ok(t, update(ann, ""))
	ann.Email = ""
	ok(t, update(ann, "newest@example.com"))
}

// userUpdateRace checks that exactly one of several changes based on the same user, and
// a first proof of the address, is made.
func userUpdateRace(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	oneWins(t, race(workers, func(i int) error {
		if i == 0 {
			_, _, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.ID, Email: ann.Email, Epoch: ann.Epoch, At: at(5), Revoke: about(ann.ID)})
			return err
		}
		_, err := a.UpdateUser(t.Context(), ann.ID, adapter.UserUpdate{Email: ptr(numbered("new", i)), EmailVerified: ptr(at(i)), Was: &ann})
		return err
	}), adapter.ErrStale)
}

func userUpdateConflict(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	_, err := a.UpdateUser(t.Context(), bob.ID, adapter.UserUpdate{Email: &ann.Email, Name: ptr("Ann")})
	is(t, err, adapter.ErrConflict)
	got, err := a.GetUser(t.Context(), bob.ID)
	ok(t, err)
	same(t, got, bob)
	got, err = a.GetUserByEmail(t.Context(), ann.Email)
	ok(t, err)
	same(t, got, ann)
}

func userDelete(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	link := adapter.VerificationToken{Identifier: ann.user.Email, Token: "link", Expires: at(60)}
	ok(t, a.PutToken(t.Context(), link, adapter.Mail{ID: "link", Payload: []byte("p"), Due: at(0), Expires: at(60)}, 10))
	ok(t, a.DeleteUser(t.Context(), ann.user.ID, about(ann.user.ID)))

	_, err := a.GetUser(t.Context(), ann.user.ID)
	is(t, err, adapter.ErrNotFound)
	_, err = a.GetUserByAccount(t.Context(), ann.account.Provider, ann.account.ProviderAccountID)
	is(t, err, adapter.ErrNotFound)
	_, _, err = a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)
	got, owner, err := a.TakeToken(t.Context(), link.Identifier, link.Token, at(0)) // the link belongs to the address
	ok(t, err)
	same(t, got, link)
	same(t, owner, adapter.User{})
	checkUnchanged(t, a, bob)
	checkUnchanged(t, a, signUp(t, a, "ann")) // nothing left conflicts
}

func userCreateRace(t *testing.T, a adapter.Adapter) {
	errs := race(workers, func(i int) error {
		_, err := a.CreateUser(t.Context(), adapter.User{ID: numbered("user", i), Email: "one@example.com"}, nil)
		return err
	})
	oneWins(t, errs, adapter.ErrConflict)
}

func userList(t *testing.T, a adapter.Adapter) {
	list, err := a.ListUsers(t.Context(), "", 10)
	ok(t, err)
	same(t, len(list), 0)
	want := map[string]adapter.User{}
	for i := range 7 {
		u := newUser(t, a, numbered("u", i))
		want[u.ID] = u
	}
	for _, limit := range []int{3, 7, 8} {
		got := map[string]adapter.User{}
		after := ""
		for {
			page, err := a.ListUsers(t.Context(), after, limit)
			ok(t, err)
			for _, u := range page {
				got[u.ID] = u
				after = u.ID
			}
			if len(page) < limit {
				break
			}
			same(t, len(page), limit)
		}
		same(t, got, want)
	}
}
