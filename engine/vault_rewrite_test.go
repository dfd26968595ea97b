package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// keeping configures how tokens are kept and under which secrets.
func keeping(how string, secrets ...string) func(*authsvc.Config) {
	return func(c *authsvc.Config) { c.ProviderTokens, c.Secrets = authsvc.ProviderTokens(how), secrets }
}

// rewrite runs RewriteTokens and returns what it wrote and left.
func rewrite(t *testing.T, store adapter.Adapter, config func(*authsvc.Config), dryRun bool) (written []string, left []error) {
	t.Helper()
	w := (&rotator{}).at(t, store, config)
	defer end(w, t)
	err := w.Operator(t).RewriteTokens(t.Context(), dryRun, func(did engine.TokenRewrite) error {
		if did.Written {
			written = append(written, did.UserID+" "+did.Provider+" "+did.ProviderAccountID)
		}
		if did.Left != nil {
			left = append(left, did.Left)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return written, left
}

// threeTokens stores an account with a token of each kind, in the form that config
// sets.
func threeTokens(t *testing.T, config func(*authsvc.Config)) *arena.Ledger {
	t.Helper()
	store := memory.New()
	a := due(t, store, time.Hour)
	a.IDToken = "it-0"
	if err := store.RefreshAccount(t.Context(), a, 0); err != nil {
		t.Fatal(err)
	}
	rewrite(t, store, config, false)
	return arena.NewLedger(store)
}

func onlyAccount(t *testing.T, store adapter.Adapter) authsvc.Account {
	t.Helper()
	list, err := store.ListAccounts(t.Context(), "ada")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

func TestRewriteTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to func(*authsvc.Config)
		writes   bool
		sealed   bool
		kept     string
	}{
		"plain to sealed":          {keeping("plain", arena.Secret), keeping("sealed", arena.Secret), true, true, "at-0 rt-0 it-0"},
		"plain to plain":           {keeping("plain", arena.Secret), keeping("plain", secondSecret), false, false, "at-0 rt-0 it-0"},
		"plain to drop":            {keeping("plain", arena.Secret), keeping("drop", arena.Secret), true, false, "  "},
		"sealed to plain":          {keeping("sealed", arena.Secret), keeping("plain", arena.Secret), true, false, "at-0 rt-0 it-0"},
		"sealed to sealed":         {keeping("sealed", arena.Secret), keeping("sealed", arena.Secret), false, true, "at-0 rt-0 it-0"},
		"sealed to drop":           {keeping("sealed", arena.Secret), keeping("drop", arena.Secret), true, false, "  "},
		"older secret to first":    {keeping("sealed", arena.Secret), keeping("sealed", secondSecret, arena.Secret), true, true, "at-0 rt-0 it-0"},
		"older secret to plain":    {keeping("sealed", arena.Secret), keeping("plain", secondSecret, arena.Secret), true, false, "at-0 rt-0 it-0"},
		"older secret to drop":     {keeping("sealed", arena.Secret), keeping("drop", secondSecret, arena.Secret), true, false, "  "},
		"drop to sealed":           {keeping("drop", arena.Secret), keeping("sealed", arena.Secret), false, false, "  "},
		"later secret stays first": {keeping("sealed", arena.Secret), keeping("sealed", arena.Secret, secondSecret), false, true, "at-0 rt-0 it-0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			led := threeTokens(t, c.from)
			before := onlyAccount(t, led)
			var want []string
			if c.writes {
				want = []string{"ada odd 7"}
			}
			if written, left := rewrite(t, led, c.to, true); !slices.Equal(written, want) || left != nil || len(led.Written()) != 0 {
				t.Errorf("dry run: %q, %v; written %q", written, left, led.Written())
			}
			if written, left := rewrite(t, led, c.to, false); !slices.Equal(written, want) || left != nil || len(led.Written()) != len(want) {
				t.Errorf("%q, %v; written %q", written, left, led.Written())
			}
			stored := onlyAccount(t, led)
			for _, token := range []string{stored.AccessToken, stored.RefreshToken, stored.IDToken} {
				if strings.HasPrefix(token, "authsvc.sealed.") != c.sealed {
					t.Errorf("stored %q", token)
				}
			}
			if written, left := rewrite(t, led, c.to, false); written != nil || left != nil || onlyAccount(t, led) != stored {
				t.Errorf("again: %q, %v", written, left)
			}
			first := func(config *authsvc.Config) { // older ones are no longer needed
				c.to(config)
				config.Secrets = config.Secrets[:1]
			}
			w := (&rotator{}).at(t, led, first)
			defer end(w, t)
			list, err := w.Accounts(t.Context(), "ada")
			if err != nil || list[0].AccessToken+" "+list[0].RefreshToken+" "+list[0].IDToken != c.kept {
				t.Errorf("given out: %+v, %v", list, err)
			}
			stored.AccessToken, stored.RefreshToken, stored.IDToken = before.AccessToken, before.RefreshToken, before.IDToken
			if c.kept == "  " {
				stored.ExpiresAt = before.ExpiresAt
			}
			if stored != before {
				t.Errorf("more changed than tokens: %+v", stored)
			}
		})
	}
}

// TestRewriteUnreadableTokens checks that a token that cannot be opened is reported and
// left, and that others are still rewritten. A token that is to be dropped need not be
// opened.
func TestRewriteUnreadableTokens(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*authsvc.Account) *string{
		"access_token":  func(a *authsvc.Account) *string { return &a.AccessToken },
		"refresh_token": func(a *authsvc.Account) *string { return &a.RefreshToken },
		"id_token":      func(a *authsvc.Account) *string { return &a.IDToken },
	} {
		for _, how := range []string{"sealed", "plain", "drop"} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				led := threeTokens(t, keeping("sealed", arena.Secret))
				a := onlyAccount(t, led)
				*spoil(&a) = badSeal
				if err := led.Behind.RefreshAccount(t.Context(), a, 0); err != nil {
					t.Fatal(err)
				}
				written, left := rewrite(t, led, keeping(how, secondSecret, arena.Secret), false)
				stored := onlyAccount(t, led)
				if len(written) != 1 {
					t.Errorf("written: %q", written)
				}
				if how == "drop" {
					if left != nil || stored.AccessToken+stored.RefreshToken+stored.IDToken != "" {
						t.Errorf("left %v, stored %+v", left, stored)
					}
					return
				}
				if len(left) != 1 || !strings.HasPrefix(left[0].Error(), "cannot open "+name+" of odd") {
					t.Errorf("left %v", left)
				}
				if *spoil(&stored) != badSeal {
					t.Errorf("%q was written over it", *spoil(&stored))
				}
				if written, left := rewrite(t, led, keeping(how, secondSecret), false); written != nil || len(left) != 1 {
					t.Errorf("again, without the older secret: %q, %v", written, left)
				}
			})
		}
	}
}

// TestRewriteDuringSignIn checks that a sign-in before any call of the store is not
// overwritten, whether or not the provider issues refresh tokens. Its tokens are
// rewritten as well if it came in time.
func TestRewriteDuringSignIn(t *testing.T) {
	t.Parallel()
	for _, refresh := range []string{"", "rt"} {
		for how, from := range map[string]string{"sealed": "plain", "plain": "sealed", "drop": "plain"} {
			t.Run(fmt.Sprintf("%s to %s %s", from, how, refresh), func(t *testing.T) {
				t.Parallel()
				for call := 1; overtakenRewrite(t, call, from, how, refresh); call++ {
				}
			})
		}
	}
}

// overtakenRewrite runs a sign-in before a call of a rewrite. It reports whether there
// was such a call.
func overtakenRewrite(t *testing.T, call int, from, how, refresh string) (reached bool) {
	t.Helper()
	store := memory.New()
	old := due(t, store, time.Hour)
	old.IDToken = "it-0"
	if refresh == "" {
		last := old
		old.RefreshToken, last.IDToken = "", ""
		if err := store.ReplaceTokens(t.Context(), old, last); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(t, store, keeping(from, arena.Secret), false)
	led := arena.NewLedger(store)
	replaced := false
	led.BreakAt(func(n int, method string) arena.Failure {
		if n == call {
			reached = true
			a := onlyAccount(t, store)
			a.AccessToken, a.IDToken = "at-new", "it-new"
			if refresh != "" {
				a.RefreshToken = "rt-new"
			}
			if err := store.RefreshAccount(t.Context(), a, 0); err != nil {
				t.Error(err)
			}
		}
		replaced = replaced || n >= call && method == "ReplaceTokens"
		return arena.Works
	})
	_, left := rewrite(t, led, keeping(how, arena.Secret), false)
	led.BreakAt(nil)
	if left != nil {
		t.Errorf("call %d: left %v", call, left)
	}
	if !reached {
		return false
	}
	stored := onlyAccount(t, store)
	if replaced && how == "drop" {
		if stored.AccessToken+stored.RefreshToken+stored.IDToken != "" {
			t.Errorf("call %d: stored %+v", call, stored)
		}
		return true
	}
	if sealed := strings.HasPrefix(stored.AccessToken, "authsvc.sealed."); sealed != (replaced && how == "sealed") {
		t.Errorf("call %d: stored %q", call, stored.AccessToken)
	}
	w := (&rotator{}).at(t, store, keeping(how, arena.Secret))
	list, err := w.Accounts(t.Context(), "ada")
	end(w, t)
	if err != nil || list[0].AccessToken != "at-new" || list[0].IDToken != "it-new" || list[0].RefreshToken != refresh && list[0].RefreshToken != refresh+"-new" {
		t.Errorf("call %d: the sign-in's tokens were overwritten: %+v, %v", call, list, err)
	}
	return true
}

// TestRewriteGivesUp checks that an account replaced before every write is reported as
// left, and that one removed meanwhile is not.
func TestRewriteGivesUp(t *testing.T) {
	t.Parallel()
	led := threeTokens(t, keeping("plain", arena.Secret))
	n := 0
	led.BreakAt(func(_ int, method string) arena.Failure {
		if method == "ReplaceTokens" {
			n++
			a := onlyAccount(t, led.Behind)
			a.AccessToken = fmt.Sprintf("at-%d", n)
			if err := led.Behind.RefreshAccount(t.Context(), a, 0); err != nil {
				t.Error(err)
			}
		}
		return arena.Works
	})
	if written, left := rewrite(t, led, keeping("sealed", arena.Secret), false); written != nil || len(left) != 1 || !errors.Is(left[0], adapter.ErrStale) {
		t.Errorf("%q, %v", written, left)
	}
	led.BreakAt(func(_ int, method string) arena.Failure {
		if method == "ReplaceTokens" {
			if err := led.Behind.UnlinkAccount(t.Context(), "odd", "7", 0, unlinkOf("ada")); err != nil {
				t.Error(err)
			}
		}
		return arena.Works
	})
	if written, left := rewrite(t, led, keeping("sealed", arena.Secret), false); written != nil || left != nil {
		t.Errorf("unlinked: %q, %v", written, left)
	}
}

// TestRewriteDuringRefresh checks that new tokens from a refresh during a rewrite are
// stored, whether or not they differ, unless tokens are to be dropped.
func TestRewriteDuringRefresh(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to     func(*authsvc.Config)
		answer string
		err    error
	}{
		"resealed":              {keeping("sealed", secondSecret, arena.Secret), "at-1", nil},
		"resealed, same tokens": {keeping("sealed", secondSecret, arena.Secret), "at-0", nil},
		"plain":                 {keeping("plain", arena.Secret), "at-1", nil},
		"drop":                  {keeping("drop", arena.Secret), "at-1", authsvc.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memory.New()
			due(t, store, 0)
			rewrite(t, store, keeping("sealed", arena.Secret), false)
			w := (&rotator{}).at(t, store, func(config *authsvc.Config) {
				config.Secrets = []string{arena.Secret, secondSecret}
				config.Providers[len(config.Providers)-1].(*authsvc.OAuth).Hooks.RefreshTokens = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
					if written, _ := rewrite(t, store, c.to, false); len(written) != 1 {
						t.Errorf("written: %q", written)
					}
					return authsvc.Profile{"access_token": c.answer, "token_type": "bearer", "expires_in": 3600}, nil
				}
			})
			defer end(w, t)
			got, err := w.AccessToken(t.Context(), "ada", "odd", nil)
			if !errors.Is(err, c.err) || err == nil && got != c.answer {
				t.Fatalf("%q, %v", got, err)
			}
			stored := onlyAccount(t, store)
			if c.err != nil {
				if stored.AccessToken+stored.RefreshToken != "" {
					t.Errorf("stored %+v", stored)
				}
				return
			}
			if access, refresh := tokens(w, t); access != c.answer || refresh != "rt-0" || stored.ExpiresAt < time.Now().Add(50*time.Minute).Unix() {
				t.Errorf("%q, %q, stored %+v", access, refresh, stored)
			}
		})
	}
}

// TestRewriteManyUsers rewrites more than one page of users.
func TestRewriteManyUsers(t *testing.T) {
	t.Parallel()
	store := memory.New()
	for i := range 1001 {
		u := authsvc.User{ID: fmt.Sprintf("u%04d", i)}
		a := authsvc.Account{ID: u.ID, Type: "oauth", Provider: "odd", ProviderAccountID: u.ID, AccessToken: "at"}
		if _, err := store.SignUp(t.Context(), u, &a, nil, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if written, left := rewrite(t, store, keeping("sealed", arena.Secret), false); len(written) != 1001 || left != nil {
		t.Errorf("%d written, left %v", len(written), left)
	}
}
