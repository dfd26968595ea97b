package authsvc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

const secondSecret = "another secret, also 32 bytes or more: 0b81c6f2e7"

// theAccount returns the account of the only user, as it is stored and as the
// service gives it out.
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
				t.Errorf("%q is no ID token", opened.IDToken)
			}
			if opened.RefreshToken == "" && strings.Contains(stored.RefreshToken, "sealed") {
				t.Error("an absent token was sealed")
			}
		})
	}
}

// Plain rows are read after sealing was switched on, and the other way round;
// a sign-in writes anew, under the newest secret.
func TestProviderTokensChange(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.ProviderTokens = "plain" })
	w.Browser().SignIn(w.OP, "ada")
	before, _ := theAccount(t, w)

	restart := func(how string, secrets ...string) {
		t.Helper()
		w.Config.ProviderTokens, w.Config.Secrets = authsvc.ProviderTokens(how), secrets
		s, err := authsvc.New(w.Config)
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
	if stored != first || opened.AccessToken != token.AccessToken { // stored is of before Accounts was asked
		t.Error("a row of the older secret was not read")
	}
	w.Browser().SignIn(w.OP, "ada")
	restart("plain", secondSecret)
	if stored, _ = theAccount(t, w); stored.AccessToken == first.AccessToken {
		t.Error("a sign-in did not seal anew")
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

// Whoever can write rows cannot have one account show the tokens of another.
func TestProviderTokensStayInPlace(t *testing.T) {
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

func TestProviderTokensWord(t *testing.T) {
	t.Parallel()
	_, err := authsvc.New(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, ProviderTokens: "hidden",
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: nobody}}})
	if err == nil || !strings.Contains(err.Error(), `ProviderTokens "hidden" is not known; use sealed, plain or drop`) {
		t.Error(err)
	}
}

// badSeal stands for a token whose secret is gone.
const badSeal = "authsvc.sealed.AAAA"

// One token that cannot be opened takes nothing else along.
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
			if said := strings.Contains(w.Logs.String(), "cannot be opened"); said != (name != "none") || strings.Contains(w.Logs.String(), "AAAA") {
				t.Errorf("the log says %s", w.Logs)
			}
			if kept, err := store.ListAccounts(t.Context(), "ada"); err != nil || kept[0] != a {
				t.Errorf("stored: %+v, %v", kept, err)
			}
		})
	}
}

// sealedStore has the account of due, sealed under arena.Secret, behind a
// ledger.
func sealedStore(t *testing.T, d time.Duration) *arena.Ledger {
	t.Helper()
	store, o := memory.New(), &rotator{}
	due(t, store, 0)
	w := o.at(t, store, nil)
	if _, err := w.AccessToken(t.Context(), "ada", "odd"); err != nil {
		t.Fatal(err)
	}
	end(w, t)
	list, err := store.ListAccounts(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	list[0].ExpiresAt = time.Now().Add(d).Unix()
	if err := store.RefreshAccount(t.Context(), list[0], 0); err != nil {
		t.Fatal(err)
	}
	return arena.NewLedger(store)
}

func secrets(list ...string) func(*authsvc.Config) {
	return func(c *authsvc.Config) { c.Secrets = list }
}

// What an older secret sealed is stored anew, as tokens are kept now, by the
// first who reads it, and by nobody afterwards.
func TestStaleTokensAreSealedAnew(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*arena.World) (string, error){
		"AccessToken": func(w *arena.World) (string, error) { return w.AccessToken(t.Context(), "ada", "odd") },
		"Accounts": func(w *arena.World) (string, error) {
			list, err := w.Accounts(t.Context(), "ada")
			if err != nil || len(list) != 1 || list[0].RefreshToken != "rt-1" {
				return "", fmt.Errorf("%+v, %w", list, err)
			}
			return list[0].AccessToken, nil
		},
	} {
		for _, how := range []string{"sealed", "plain"} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				led, o := sealedStore(t, time.Hour), &rotator{n: 1}
				rotated := func(c *authsvc.Config) {
					c.Secrets, c.ProviderTokens = []string{secondSecret, arena.Secret}, authsvc.ProviderTokens(how)
				}
				for range 3 {
					w := o.at(t, led, rotated)
					if got, err := read(w); got != "at-1" || err != nil {
						t.Errorf("%q, %v", got, err)
					}
					end(w, t)
				}
				if written := led.Written(); len(written) != 1 || !strings.HasPrefix(written[0], "ReplaceTokens") {
					t.Errorf("written: %q", written)
				}
				w := o.at(t, led, secrets(secondSecret))
				defer end(w, t)
				if got, err := read(w); got != "at-1" || err != nil || o.refreshes() != 0 {
					t.Errorf("without the older secret: %q, %v", got, err)
				}
				stored, err := led.ListAccounts(t.Context(), "ada")
				if err != nil || strings.HasPrefix(stored[0].AccessToken, "authsvc.sealed.") != (how == "sealed") {
					t.Errorf("stored: %+v, %v", stored, err)
				}
			})
		}
	}
}

// What a sign-in stored while tokens are sealed anew stays, also when the
// provider gives no refresh token by which one could tell.
func TestSealingAnewOvertakenBySignIn(t *testing.T) {
	t.Parallel()
	led, o := sealedStore(t, time.Hour), &rotator{n: 1}
	list, err := led.ListAccounts(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	none := list[0]
	none.RefreshToken = ""
	if err := led.Behind.ReplaceTokens(t.Context(), none, list[0]); err != nil {
		t.Fatal(err)
	}
	during := &beforeReplace{Adapter: led, step: func(a authsvc.Account) {
		a.AccessToken = "at-new"
		if err := led.Behind.RefreshAccount(t.Context(), a, 0); err != nil {
			t.Error(err)
		}
	}}
	w := o.at(t, during, secrets(secondSecret, arena.Secret))
	defer end(w, t)
	if got, err := w.AccessToken(t.Context(), "ada", "odd"); got != "at-1" || err != nil {
		t.Errorf("during a sign-in: %q, %v", got, err)
	}
	if access, refresh := tokens(w, t); access != "at-new" || refresh != "" {
		t.Errorf("the sign-in's tokens were overwritten by %q and %q", access, refresh)
	}
}

// Sealing anew is a convenience: a store that takes no writes is read as ever,
// and what a sign-in stored meanwhile stays.
func TestStaleTokensThatCannotBeSealedAnew(t *testing.T) {
	t.Parallel()
	led, o := sealedStore(t, time.Hour), &rotator{n: 1}
	w := o.at(t, led, secrets(secondSecret, arena.Secret))
	defer end(w, t)
	led.BreakAt(func(_ int, method string) arena.Failure {
		if method == "ReplaceTokens" {
			return arena.FailBefore
		}
		return arena.Works
	})
	if got, err := w.AccessToken(t.Context(), "ada", "odd"); got != "at-1" || err != nil {
		t.Errorf("no writes: %q, %v", got, err)
	}
	led.BreakAt(nil)
	during := &beforeReplace{Adapter: led, step: func(a authsvc.Account) {
		a.AccessToken, a.RefreshToken = "at-new", "rt-new"
		if err := led.Behind.RefreshAccount(t.Context(), a, 0); err != nil {
			t.Error(err)
		}
	}}
	second := o.at(t, during, secrets(secondSecret, arena.Secret))
	defer end(second, t)
	if got, err := second.AccessToken(t.Context(), "ada", "odd"); got != "at-1" || err != nil {
		t.Errorf("during a sign-in: %q, %v", got, err)
	}
	if access, refresh := tokens(w, t); access != "at-new" || refresh != "rt-new" {
		t.Errorf("the sign-in's tokens were overwritten by %q and %q", access, refresh)
	}
}

// beforeReplace runs a step before the first ReplaceTokens.
type beforeReplace struct {
	authsvc.Adapter
	step func(authsvc.Account)
	once sync.Once
}

func (m *beforeReplace) ReplaceTokens(ctx context.Context, a, was authsvc.Account) error {
	m.once.Do(func() { m.step(a) })
	return m.Adapter.ReplaceTokens(ctx, a, was)
}

// A reader may seal the tokens anew while they are refreshed: the new ones,
// which spent the old refresh token, are stored all the same.
func TestRefreshOfTokensSealedAnewMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		led, o := sealedStore(t, 0), &rotator{n: 1}
		reader := o.at(t, led, secrets(secondSecret, arena.Secret))
		defer end(reader, t)
		o.steps = func() {
			if _, err := reader.Accounts(t.Context(), "ada"); err != nil {
				t.Error(err)
			}
		}
		w := o.at(t, led, secrets(arena.Secret, secondSecret))
		defer end(w, t)
		if got, err := w.AccessToken(t.Context(), "ada", "odd"); got != "at-2" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if n := len(led.Written()); n < 2 {
			t.Errorf("%d writes: the reader's did not come first", n)
		}
		if access, refresh := tokens(w, t); access != "at-2" || refresh != "rt-2" {
			t.Errorf("stored %q and %q", access, refresh)
		}
	})
}
