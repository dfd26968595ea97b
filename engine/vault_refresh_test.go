package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// tokens returns the tokens that Accounts returns for the only account.
func tokens(w *arena.World, t *testing.T) (access, refresh string) {
	t.Helper()
	list, err := w.Accounts(t.Context(), "ada")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0].AccessToken, list[0].RefreshToken
}

func TestRefreshRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*rotator)
		again   string // error of a second call
		kept    string // the refresh token afterwards
		asked   int
	}{
		"reuse":      {func(o *rotator) { o.n = 1 }, "refused", "", 1},
		"revoked":    {func(o *rotator) { o.ended = true }, "refused", "", 1},
		"down":       {func(o *rotator) { o.status = 503 }, "unavailable", "rt-0", 1},
		"bad client": {func(o *rotator) { o.status = 401 }, "temporarily_unavailable", "rt-0", 1},
		"twin":       {func(*rotator) {}, "", "rt-1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, o := memory.New(), &rotator{}
				c.prepare(o)
				due(t, store, 0)
				var events, audits []string
				w := o.at(t, store, func(config *authsvc.Config) {
					config.Events.TokenRefused = func(_ context.Context, a authsvc.Account) {
						events = append(events, a.UserID+a.AccessToken+a.RefreshToken)
					}
					config.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
						if e.UserID != "" {
							audits = append(audits, e.Name+" "+e.UserID)
						}
					}
				})
				for range 3 {
					_, err := w.AccessToken(t.Context(), "ada", "odd", nil)
					if c.again == "" && err != nil || c.again != "" && (err == nil || !strings.Contains(err.Error(), c.again)) {
						t.Errorf("%v, want %q", err, c.again)
					}
					if refused := errors.Is(err, authsvc.ErrTokenRefused); refused != (c.again == "refused") {
						t.Errorf("permanently refused: %v", refused)
					}
				}
				if _, kept := tokens(w, t); kept != c.kept || o.refreshes() != c.asked {
					t.Errorf("kept %q, asked %d times", kept, o.refreshes())
				}
				wantEvents, wantAudits := []string(nil), []string{"token.refresh_failed ada"}
				switch c.again {
				case "":
					wantAudits = nil
				case "refused":
					wantEvents, wantAudits = []string{"ada"}, []string{"token.refused ada"}
				}
				if !slices.Equal(events, wantEvents) || !slices.Equal(audits, wantAudits) {
					t.Errorf("events %q, audits %q", events, audits)
				}
				if strings.Contains(w.Logs.String(), "rt-0") || strings.Contains(w.Logs.String(), arena.ClientSecret) {
					t.Error("a secret is in the log")
				}
				// It works again when the time is over or after the next sign-in.
				time.Sleep(11 * time.Second)
				o.set(func(o *rotator) { o.status, o.ended, o.n = 0, false, 0 })
				if c.again == "refused" {
					if err := store.RefreshAccount(t.Context(), authsvc.Account{UserID: "ada", Provider: "odd", ProviderAccountID: "7", AccessToken: "x", ExpiresAt: 1, RefreshToken: "rt-0"}, 0); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := w.AccessToken(t.Context(), "ada", "odd", nil); got != "at-1" || err != nil {
					t.Errorf("afterwards: %q, %v", got, err)
				}
				end(w, t)
			})
		})
	}
}

// TestRefreshFailureBeforeExpiry checks that a valid token can still be used while a
// provider is down.
func TestRefreshFailureBeforeExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, o := memory.New(), &rotator{status: 500}
		due(t, store, 45*time.Second)
		w := o.at(t, store, nil)
		for i, want := range []string{"at-0", "at-0", ""} {
			got, err := w.AccessToken(t.Context(), "ada", "odd", nil)
			if got != want || (err == nil) != (want != "") {
				t.Errorf("call %d: %q, %v", i, got, err)
			}
			time.Sleep(23 * time.Second)
		}
		end(w, t)
	})
}

// TestRefreshedTokensSurviveStoreFailure checks that nothing is lost if the store fails
// after the provider rotated its token, as long as the process lives. No token is
// returned before it is stored.
func TestRefreshedTokensSurviveStoreFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how   arena.Failure
		fails int
		first string // the answer while the store fails
		lost  bool
	}{
		"twin":                   {arena.Works, 0, "at-1", false},
		"a moment":               {arena.FailBefore, 2, "at-1", false},
		"a moment, answer lost":  {arena.FailAfter, 2, "at-1", false},
		"minutes":                {arena.FailBefore, 20, "", false},
		"until the service ends": {arena.FailBefore, 1 << 30, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				led, o := arena.NewLedger(memory.New()), &rotator{}
				due(t, led, 0)
				w := o.at(t, led, nil)
				failed := 0
				led.BreakAt(func(_ int, method string) arena.Failure {
					if method != "ReplaceTokens" || failed >= c.fails {
						return arena.Works
					}
					failed++
					return c.how
				})
				got, err := w.AccessToken(t.Context(), "ada", "odd", nil)
				if got != c.first || (err == nil) != (c.first != "") {
					t.Errorf("%q, %v", got, err)
				}
				if _, err := w.AccessToken(t.Context(), "ada", "odd", nil); (err == nil) != (c.first != "") {
					t.Errorf("again: %v", err)
				}
				time.Sleep(3 * time.Minute)
				if !c.lost {
					if got, err := w.AccessToken(t.Context(), "ada", "odd", nil); got != "at-1" || err != nil {
						t.Errorf("later: %q, %v", got, err)
					}
				}
				end(w, t)
				if o.refreshes() != 1 || strings.Contains(w.Logs.String(), "are lost") != c.lost {
					t.Errorf("asked %d times\n%s", o.refreshes(), w.Logs)
				}
			})
		})
	}
}

// TestRefreshIsStoredOnClose checks that closing the service tries once more to store
// the tokens.
func TestRefreshIsStoredOnClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		led, o := arena.NewLedger(memory.New()), &rotator{}
		due(t, led, 0)
		w := o.at(t, led, nil)
		led.BreakAt(func(_ int, method string) arena.Failure {
			if method == "ReplaceTokens" {
				return arena.FailBefore
			}
			return arena.Works
		})
		if _, err := w.AccessToken(t.Context(), "ada", "odd", nil); err == nil {
			t.Error("twin: the store arena.Works")
		}
		led.BreakAt(nil)
		end(w, t)
		if _, refresh := tokens(w, t); refresh != "rt-1" {
			t.Errorf("kept %q", refresh)
		}
		if _, err := w.AccessToken(t.Context(), "ada", "odd", nil); err != nil {
			t.Errorf("what is stored can be had after the end: %v", err)
		}
		o.set(func(o *rotator) { o.n = 5 })
		time.Sleep(2 * time.Hour)
		if _, err := w.AccessToken(t.Context(), "ada", "odd", nil); err == nil || o.refreshes() != 1 {
			t.Errorf("a service that ended refreshes: %v", err)
		}
	})
}

// TestRefreshOutlivesCaller checks that a caller that leaves does not stop the refresh.
func TestRefreshOutlivesCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, o := memory.New(), &rotator{delay: 5 * time.Second}
		due(t, store, 0)
		w := o.at(t, store, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.AccessToken(ctx, "ada", "odd", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		end(w, t) // waits for work in progress
		if access, refresh := tokens(w, t); access != "at-1" || refresh != "rt-1" {
			t.Errorf("stored %q and %q", access, refresh)
		}
	})
}

// TestStoredAccessToken covers tokens for which no provider is asked.
func TestStoredAccessToken(t *testing.T) {
	t.Parallel()
	hour := time.Now().Add(time.Hour).Unix()
	for name, c := range map[string]struct {
		change func(*authsvc.Account)
		user   string
		how    string
		want   string
		err    string
	}{
		"fresh":                  {change: func(a *authsvc.Account) { a.ExpiresAt = hour }, want: "at-0"},
		"never ends":             {change: func(a *authsvc.Account) { a.ExpiresAt = 0 }, want: "at-0"},
		"due":                    {change: func(*authsvc.Account) {}, want: "at-1"},
		"none stored":            {change: func(a *authsvc.Account) { a.AccessToken, a.ExpiresAt = "", 0 }, want: "at-1"},
		"no refresh":             {change: func(a *authsvc.Account) { a.RefreshToken = "" }, err: "sign in again"},
		"nothing":                {change: func(a *authsvc.Account) { a.RefreshToken, a.AccessToken = "", "" }, err: "sign in again"},
		"dropped":                {change: func(a *authsvc.Account) { a.RefreshToken, a.AccessToken = "", "" }, how: "drop", err: "ProviderTokens"},
		"drop since":             {change: func(*authsvc.Account) {}, how: "drop", err: "ProviderTokens"},
		"other user":             {change: func(*authsvc.Account) {}, user: "bob", err: "not found"},
		"other provider":         {change: func(a *authsvc.Account) { a.Provider = "gone" }, err: "not found"},
		"bad access token":       {change: func(a *authsvc.Account) { a.AccessToken, a.ExpiresAt = badSeal, hour }, want: "at-1"},
		"bad refresh token":      {change: func(a *authsvc.Account) { a.RefreshToken, a.ExpiresAt = badSeal, hour }, want: "at-0"},
		"bad refresh token, due": {change: func(a *authsvc.Account) { a.RefreshToken = badSeal }, err: "sign in again"},
		"bad ID token":           {change: func(a *authsvc.Account) { a.IDToken = badSeal }, want: "at-1"},
		"all bad":                {change: func(a *authsvc.Account) { a.AccessToken, a.RefreshToken, a.IDToken = badSeal, badSeal, badSeal }, err: "sign in again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, o := memory.New(), &rotator{}
			if _, err := store.CreateUser(t.Context(), authsvc.User{ID: "ada"}, nil); err != nil {
				t.Fatal(err)
			}
			a := authsvc.Account{ID: "a1", UserID: "ada", Type: "oauth", Provider: "odd", ProviderAccountID: "7", AccessToken: "at-0", RefreshToken: "rt-0", ExpiresAt: 1}
			c.change(&a)
			if _, err := store.LinkAccount(t.Context(), a, 0); err != nil {
				t.Fatal(err)
			}
			w := o.at(t, store, func(config *authsvc.Config) { config.ProviderTokens = authsvc.ProviderTokens(c.how) })
			defer end(w, t)
			user := "ada"
			if c.user != "" {
				user = c.user
			}
			got, err := w.AccessToken(t.Context(), user, "odd", nil)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	t.Run("two accounts", accessTokenOfTwoAccounts)
}

func accessTokenOfTwoAccounts(t *testing.T) {
	t.Parallel()
	store, o := memory.New(), &rotator{}
	a := due(t, store, time.Hour)
	a.ID, a.ProviderAccountID, a.AccessToken = "a2", "8", "other"
	if _, err := store.LinkAccount(t.Context(), a, 0); err != nil {
		t.Fatal(err)
	}
	w := o.at(t, store, nil)
	defer end(w, t)
	if got, err := w.AccessToken(t.Context(), "ada", "odd", nil); err == nil || !strings.Contains(err.Error(), "2 accounts") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := w.AccessToken(t.Context(), "ada", "odd", &engine.AccessTokenOptions{ProviderAccountID: "8"}); got != "other" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
