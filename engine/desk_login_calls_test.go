package engine_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"authsvc"
	"authsvc/internal/test/arena"
)

// callsOfSignIns lists the store calls of a sign-in, from the form to the session, in
// their order. more lists the calls added by the data kept for the person. A mail is
// put into the queue during the request. The language is kept after it, and the browser
// does not wait for that.
var callsOfSignIns = []struct {
	by, when  string
	only      authsvc.Strategy // "": both
	calls     string
	more      string
	exception string // why there are more
}{
	{by: "op", when: "first", calls: "UseOnce GetUserByAccount GetUserByEmail SignUp"},
	{by: "op", when: "signed in", only: authsvc.StrategyDatabase,
		calls: "UseOnce GetSession GetUserByAccount RefreshAccount CreateSession DeleteSession"},
	{by: "op", when: "signed in", only: authsvc.StrategyJWT,
		calls: "UseOnce GetUserByAccount RefreshAccount CreateSession Revoke DeleteSessionOf"},
	{by: "op", when: "signed out", calls: "UseOnce GetUserByAccount RefreshAccount CreateSession"},
	{by: "op", when: "another language", calls: "UseOnce GetUserByAccount RefreshAccount CreateSession", more: "SetPerson",
		exception: "it is written once"},
	{by: "op", when: "new browser", calls: "UseOnce GetUserByAccount RefreshAccount CreateSession", more: "GetPerson PutMail",
		exception: "the person is told by mail, in their own language"},

	{by: "email", when: "first", calls: "GetUserByEmail PutToken TakeToken SignUp"},
	{by: "email", when: "signed in", only: authsvc.StrategyDatabase,
		calls: "GetUserByEmail GetSession PutToken GetSession TakeToken GetSession CreateSession DeleteSession"},
	{by: "email", when: "signed in", only: authsvc.StrategyJWT,
		calls: "GetUserByEmail PutToken TakeToken CreateSession Revoke DeleteSessionOf"},
	{by: "email", when: "signed out", calls: "GetUserByEmail PutToken TakeToken CreateSession"},
	{by: "email", when: "another language", calls: "GetUserByEmail PutToken TakeToken CreateSession", more: "SetPerson",
		exception: "it is written once"},
	{by: "email", when: "new browser", calls: "GetUserByEmail PutToken TakeToken CreateSession", more: "GetPerson PutMail",
		exception: "the person is told by mail, in their own language"},
}

// TestCallsOfASignIn checks that a sign-in makes no store calls beyond the list.
// Notices, the language of mails and the account page add none, unless an exception is
// named. The list of sessions and the known browsers add none: the call
// that used to check the epoch now also stores a session of strategy jwt.
func TestCallsOfASignIn(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		for _, by := range []string{"op", "email"} {
			for name, with := range map[string]bool{"with": true, "without": false} {
				t.Run(strings.Join([]string{string(strategy), by, name}, " "), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { countCalls(t, strategy, by, with) })
				})
			}
		}
	}
}

func countCalls(t *testing.T, strategy authsvc.Strategy, by string, with bool) {
	w := arena.EnterInMemory(t, func(c *authsvc.Config) {
		c.Session.Strategy, c.Notices.Disabled, c.Account.Disabled = strategy, !with, !with
	})
	ada := w.Browser()
	for _, c := range callsOfSignIns {
		if c.by != by || c.only != "" && c.only != strategy {
			continue
		}
		b, language := ada, "de"
		switch c.when {
		case "signed out":
			delete(b.Cookies, w.SessionCookie())
		case "another language":
			delete(b.Cookies, w.SessionCookie())
			language = "en"
		case "new browser":
			b, language = w.Browser(), "en"
		}
		want := strings.Fields(c.calls)
		if with {
			b.Header = http.Header{"Accept-Language": {language}}
			want = append(want, strings.Fields(c.more)...)
		}
		if c.more != "" && c.exception == "" {
			t.Errorf("%s: %s", c.when, c.more)
		}
		synctest.Wait()
		w.Ledger.BreakAt(nil)
		if by == "op" {
			b.SignIn(w.OP, "ada")
		} else {
			b.SignInByMail(w, "ada@example.com")
		}
		synctest.Wait()
		if got := w.Ledger.Called(); !slices.Equal(got, want) {
			t.Errorf("%s: %d calls, want %d\n got %s\nwant %s", c.when, len(got), len(want), strings.Join(got, " "), strings.Join(want, " "))
		}
		if b.Email() != "ada@example.com" {
			t.Errorf("%s: signed in as %q", c.when, b.Email())
		}
	}
}
