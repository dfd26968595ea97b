package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

const secondSecret = "another secret, also 32 bytes or more: 0b81c6f2e7"

// theAccount returns the account of the only user, as stored and as the service returns
// it.
func theAccount(t *testing.T, w *arena.World) (stored, opened authsvc.Account) {
	t.Helper()
	users, err := w.Store.ListUsers(t.Context(), "", 2)
	if err != nil || len(users) != 1 {
		t.Fatal(users, err)
	}
	raw, err := w.Store.ListAccounts(t.Context(), users[0].ID)
	if err != nil || len(raw) != 1 {
		t.Fatal(raw, err)
	}
	list, err := w.Accounts(t.Context(), users[0].ID)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return raw[0], list[0]
}

func TestProviderTokensAtRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		compat authsvc.Compat
		how    string
		sealed bool
		kept   bool
	}{
		{authsvc.CompatNone, "", true, true},
		{authsvc.CompatNone, "plain", false, true},
		{authsvc.CompatNone, "drop", false, false},
		{authsvc.NextAuthV4, "", false, true},
		{authsvc.AuthJSV5, "", false, true},
		{authsvc.AuthJSV5, "sealed", true, true},
	} {
		t.Run(string(c.compat)+" "+c.how, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(config *authsvc.Config) {
				config.Compat, config.ProviderTokens = c.compat, authsvc.ProviderTokens(c.how)
			})
			w.Browser().SignIn(w.OP, "ada")
			stored, opened := theAccount(t, w)
			for _, token := range [][2]string{{stored.AccessToken, opened.AccessToken}, {stored.IDToken, opened.IDToken}} {
				if sealed := strings.HasPrefix(token[0], "authsvc.sealed."); sealed != c.sealed || (token[1] != "") != c.kept {
					t.Errorf("stored %.30q, given %.30q", token[0], token[1])
				}
			}
			if c.kept && strings.Count(opened.IDToken, ".") != 2 {
				t.Errorf("%q is not an ID token", opened.IDToken)
			}
			if opened.RefreshToken == "" && strings.Contains(stored.RefreshToken, "sealed") {
				t.Error("an absent token was sealed")
			}
		})
	}
}

// TestProviderTokensSettingChange checks that plain rows are read after sealing is
// switched on, and the reverse. A sign-in writes the row again, under the newest
// secret.
func TestProviderTokensSettingChange(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.ProviderTokens = "plain" })
	w.Browser().SignIn(w.OP, "ada")
	before, _ := theAccount(t, w)

	restart := func(how string, secrets ...string) {
		t.Helper()
		w.Config.ProviderTokens, w.Config.Secrets = authsvc.ProviderTokens(how), secrets
		s, err := engine.New(w.Config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(t.Context()) })
		w.Service = s
	}
	restart("sealed", arena.Secret)
	if _, opened := theAccount(t, w); opened.AccessToken != before.AccessToken {
		t.Error("a plain row was not read")
	}
	w.Browser().SignIn(w.OP, "ada")
	first, token := theAccount(t, w)

	restart("sealed", secondSecret, arena.Secret)
	stored, opened := theAccount(t, w)
	if stored != first || opened.AccessToken != token.AccessToken { // stored is from before the call of Accounts
		t.Error("a row of the older secret was not read")
	}
	w.Browser().SignIn(w.OP, "ada")
	restart("plain", secondSecret)
	if stored, _ = theAccount(t, w); stored.AccessToken == first.AccessToken {
		t.Error("a sign-in did not reseal the tokens")
	}
	restart("plain", arena.Secret+" and more")
	users, err := w.Store.ListUsers(t.Context(), "", 2)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.Accounts(t.Context(), users[0].ID)
	if err != nil || len(list) != 1 || list[0].AccessToken+list[0].IDToken != "" {
		t.Errorf("without the secret: %v, %v", list, err)
	}
}

// TestSealedTokensAreBoundToAccount checks that a person who can write rows cannot make
// one account show the tokens of another.
func TestSealedTokensAreBoundToAccount(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(a *authsvc.Account, b authsvc.Account){
		"of another account": func(a *authsvc.Account, b authsvc.Account) { a.AccessToken = b.AccessToken },
		"of another field":   func(a *authsvc.Account, _ authsvc.Account) { a.AccessToken = a.IDToken },
		"cut":                func(a *authsvc.Account, _ authsvc.Account) { a.AccessToken = a.AccessToken[:40] },
		"as they are":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, nil)
			w.Browser().SignIn(w.OP, "ada")
			a, _ := theAccount(t, w)
			w.Browser().SignIn(w.OP, "grace")
			users, err := w.Store.ListUsers(t.Context(), "", 3)
			if err != nil {
				t.Fatal(err)
			}
			other := users[slices.IndexFunc(users, func(u authsvc.User) bool { return u.ID != a.UserID })]
			b, err := w.Store.ListAccounts(t.Context(), other.ID)
			if err != nil {
				t.Fatal(err)
			}
			if move != nil {
				move(&a, b[0])
			}
			if err := w.Store.RefreshAccount(t.Context(), a, 0); err != nil {
				t.Fatal(err)
			}
			list, err := w.Accounts(t.Context(), a.UserID)
			if err != nil || len(list) != 1 || (list[0].AccessToken != "") != (move == nil) || list[0].IDToken == "" {
				t.Errorf("got %+v, %v", list, err)
			}
		})
	}
}

func TestProviderTokensValues(t *testing.T) {
	t.Parallel()
	_, err := engine.New(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, ProviderTokens: "hidden",
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: nobody}}})
	if err == nil || !strings.Contains(err.Error(), `ProviderTokens "hidden" is not known; use sealed, plain or drop`) {
		t.Error(err)
	}
}

// badSeal stands for a token whose secret is gone.
const badSeal = "authsvc.sealed.AAAA"

// TestOneUnreadableToken checks that one token that cannot be opened does not affect
// the others.
func TestOneUnreadableToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*authsvc.Account)
		want  string // access, refresh and ID token
	}{
		"none":    {func(*authsvc.Account) {}, "at-0 rt-0 it-0"},
		"access":  {func(a *authsvc.Account) { a.AccessToken = badSeal }, " rt-0 it-0"},
		"refresh": {func(a *authsvc.Account) { a.RefreshToken = badSeal }, "at-0  it-0"},
		"id":      {func(a *authsvc.Account) { a.IDToken = badSeal }, "at-0 rt-0 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, o := memory.New(), &rotator{}
			a := due(t, store, time.Hour)
			other := a
			other.ID, other.ProviderAccountID = "a2", "8"
			if _, err := store.LinkAccount(t.Context(), other, 0); err != nil {
				t.Fatal(err)
			}
			a.IDToken = "it-0"
			c.spoil(&a)
			if err := store.RefreshAccount(t.Context(), a, 0); err != nil {
				t.Fatal(err)
			}
			w := o.at(t, store, nil)
			defer end(w, t)
			list, err := w.Accounts(t.Context(), "ada")
			if err != nil || len(list) != 2 {
				t.Fatalf("%+v, %v", list, err)
			}
			if got := list[0].AccessToken + " " + list[0].RefreshToken + " " + list[0].IDToken; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if list[1].AccessToken != "at-0" {
				t.Errorf("twin: the other account has %+v", list[1])
			}
			if said := strings.Contains(w.Logs.String(), "cannot open the tokens of an account"); said != (name != "none") || strings.Contains(w.Logs.String(), "AAAA") {
				t.Errorf("the log says %s", w.Logs)
			}
			if kept, err := store.ListAccounts(t.Context(), "ada"); err != nil || kept[0] != a {
				t.Errorf("stored: %+v, %v", kept, err)
			}
		})
	}
}
