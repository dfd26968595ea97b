package adaptertest

import (
	"testing"

	"authsvc/adapter"
)

// Columns describes the columns of an application's own table of users.
type Columns struct {
	// Adapter reads the columns named in Want.
	Adapter adapter.Adapter
	// Set writes the values of Want into the columns of a user, as the application
	// does.
	Set  func(t *testing.T, userID string)
	Want map[string]any
}

// RunColumns tests how an adapter reads [adapter.User].Extra. Every method that returns
// a stored user must return all of it, and none may write it. Only adapters that read
// further columns must pass.
func RunColumns(t *testing.T, c Columns) {
	t.Helper()
	a, ctx := c.Adapter, t.Context()
	names, declares := a.(adapter.UserColumns)
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
	reads := map[string]func() (adapter.User, error){
		"GetUser":        func() (adapter.User, error) { return a.GetUser(ctx, ann.user.ID) },
		"GetUserByEmail": func() (adapter.User, error) { return a.GetUserByEmail(ctx, ann.user.Email) },
		"GetUserByAccount": func() (adapter.User, error) {
			return a.GetUserByAccount(ctx, ann.account.Provider, ann.account.ProviderAccountID)
		},
		"GetSession": func() (adapter.User, error) {
			_, u, err := a.GetSession(ctx, ann.session.SessionToken, ann.session.Digest)
			return u, err
		},
		"ListUsers": func() (u adapter.User, err error) {
			list, err := a.ListUsers(ctx, "", 10)
			for _, one := range list {
				if one.ID == ann.user.ID {
					u = one
				}
			}
			return u, err
		},
		"UpdateUser": func() (adapter.User, error) {
			return a.UpdateUser(ctx, ann.user.ID, adapter.UserUpdate{Name: ptr("Ann")})
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
	u, _, err := a.ProveEmail(ctx, adapter.Proof{UserID: ann.user.ID, Email: ann.user.Email, At: at(1), Keep: true})
	ok(t, err)
	same(t, u.Extra, c.Want)
}
