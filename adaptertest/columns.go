package adaptertest

import (
	"testing"

	"authsvc"
)

// Columns describes the columns of an application's own table of users.
type Columns struct {
	// Adapter reads the columns named in Want.
	Adapter authsvc.Adapter
	// Set writes the values of Want into the columns of a user, as the application
	// does.
	Set  func(t *testing.T, userID string)
	Want map[string]any
}

// RunColumns tests how an adapter reads [authsvc.User].Extra. Every method that returns
// a stored user must return all of it, and none may write it. Only adapters that read
// further columns must pass.
func RunColumns(t *testing.T, c Columns) {
	t.Helper()
	a, ctx := c.Adapter, t.Context()
	names, declares := a.(authsvc.UserColumns)
	if !declares || len(names.UserColumns()) != len(c.Want) {
		t.Fatal("the adapter does not name its columns")
	}
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	_, before, err := a.GetSession(ctx, bob.session.SessionToken, bob.session.Digest)
	ok(t, err)
	for name := range c.Want {
		if _, there := before.Extra[name]; !there {
			t.Errorf("of a new user %s is missing, not nil", name)
		}
	}
	c.Set(t, ann.user.ID)
	reads := map[string]func() (authsvc.User, error){
		"GetUser":        func() (authsvc.User, error) { return a.GetUser(ctx, ann.user.ID) },
		"GetUserByEmail": func() (authsvc.User, error) { return a.GetUserByEmail(ctx, ann.user.Email) },
		"GetUserByAccount": func() (authsvc.User, error) {
			return a.GetUserByAccount(ctx, ann.account.Provider, ann.account.ProviderAccountID)
		},
		"GetSession": func() (authsvc.User, error) {
			_, u, err := a.GetSession(ctx, ann.session.SessionToken, ann.session.Digest)
			return u, err
		},
		"ListUsers": func() (u authsvc.User, err error) {
			list, err := a.ListUsers(ctx, "", 10)
			for _, one := range list {
				if one.ID == ann.user.ID {
					u = one
				}
			}
			return u, err
		},
		"UpdateUser": func() (authsvc.User, error) {
			return a.UpdateUser(ctx, ann.user.ID, authsvc.UserUpdate{Name: ptr("Ann")})
		},
	}
	for range 2 { // the writes in between must not change them
		for name, read := range reads {
			u, err := read()
			ok(t, err)
			t.Log(name)
			same(t, u.Extra, c.Want)
		}
	}
	_, proved, err := a.GetSession(ctx, bob.session.SessionToken, bob.session.Digest)
	ok(t, err)
	same(t, proved.Extra, before.Extra)
	u, _, err := a.ProveEmail(ctx, authsvc.Proof{UserID: ann.user.ID, Email: ann.user.Email, At: at(1), Keep: true})
	ok(t, err)
	same(t, u.Extra, c.Want)
}
