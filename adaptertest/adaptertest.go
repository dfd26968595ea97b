// Package adaptertest tests implementations of [adapter.Adapter]. An adapter's own test
// calls [Run]:
//
//	func TestAdapter(t *testing.T) {
//		adaptertest.Run(t, func(t *testing.T) adapter.Adapter { return memory.New() })
//	}
//
// [Faulty] wraps an adapter for the tests of programs that use one.
package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc/adapter"
)

// workers is how many callers compete in a race.
const workers = 64

// Foreign is an optional interface of the adapter under test, for stores that can be
// shared with NextAuth.js. Its methods write records as NextAuth.js does, without
// authsvc's own data. If the adapter implements it, Run also tests sharing.
type Foreign interface {
	// ForeignSession stores a session of an existing user. The id is used if
	// the table does not generate its own.
	ForeignSession(ctx context.Context, id, token, userID string, expires time.Time) error
	// ForeignSignOut deletes a session by its token.
	ForeignSignOut(ctx context.Context, token string) error
}

// Reopener is an optional interface of the adapter under test, for stores that
// several processes can share: Reopen opens the same store again.
type Reopener interface {
	Reopen(t *testing.T) adapter.Adapter
}

// Unwrapper is an optional interface of the adapter under test, for wrappers: Run
// looks behind them for an [authsvc.AuditLog].
type Unwrapper interface {
	Unwrap() adapter.Adapter
}

// Limits describes the limits of tables that another program created. The zero value
// has no limits.
type Limits struct {
	// Expiry is the latest Account.ExpiresAt, in seconds since 1970; a later one is
	// stored as Expiry. 0: no limit.
	Expiry int64
	// LooseEmail says that the tables refuse an address that differs from another
	// user's only in case, accents or trailing blanks. The refusal is a failure of the
	// store, not a conflict, because a lookup by the address would not find the other
	// user.
	LooseEmail bool
	// LooseText says the same about provider account ids, session tokens and link
	// tokens.
	LooseText bool
	// Token is the maximum length of the token fields of an Account, in bytes. A longer
	// one is a failure of the store, never truncated. 0: no limit.
	Token int
}

// Limited is an optional interface of the adapter under test, for tables with limits.
// Run then tests only within the limits.
type Limited interface {
	Limits() Limits
}

func limits(a adapter.Adapter) Limits {
	if l, limited := a.(Limited); limited {
		return l.Limits()
	}
	return Limits{}
}

// stored returns an Account.ExpiresAt as the tables hold it.
func (l Limits) stored(expiresAt int64) int64 {
	if l.Expiry > 0 {
		return min(expiresAt, l.Expiry)
	}
	return expiresAt
}

// refusesEmail reports whether loose tables refused the address with err. If so, no
// user may have it.
func refusesEmail(t *testing.T, a adapter.Adapter, email string, err error) bool {
	t.Helper()
	return refuses(t, limits(a).LooseEmail || limits(a).LooseText, err, func() error {
		_, err := a.GetUserByEmail(t.Context(), email)
		return err
	})
}

// refusesText is like refusesEmail, for other texts; find looks up the record.
func refusesText(t *testing.T, a adapter.Adapter, err error, find func() error) bool {
	t.Helper()
	return refuses(t, limits(a).LooseText, err, find)
}

func refuses(t *testing.T, loose bool, err error, find func() error) bool {
	t.Helper()
	if err == nil || !loose {
		ok(t, err)
		return false
	}
	failed(t, err)
	is(t, find(), adapter.ErrNotFound)
	return true
}

// A test is one case of the suite, on a store of its own.
type test struct {
	name string
	run  func(t *testing.T, a adapter.Adapter)
}

// Run tests an adapter. open returns an empty store and closes it with t.Cleanup. Run
// calls it once per case, from several goroutines. No case can be skipped.
func Run(t *testing.T, open func(t *testing.T) adapter.Adapter) {
	for _, group := range [][]test{
		userTests(), peopleTests(), credentialTests(), accountTests(), sessionTests(), listedTests(), signUpTests(), proofTests(),
		tokenTests(), mailTests(), onceTests(), revocationTests(), epochTests(), permitTests(), upkeepTests(),
		auditTests(), hostileTests(), contextTests(), sharedTests(),
	} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, open(t))
			})
		}
	}
}

// epoch is a time with milliseconds; at counts seconds from it.
var epoch = time.Date(2030, 2, 28, 23, 59, 59, 123e6, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// A fixture is a user with an account and a session, all named after one word.
type fixture struct {
	user    adapter.User
	account adapter.Account
	session adapter.SessionRecord
}

func account(name string) adapter.Account {
	return adapter.Account{ID: "account-" + name, Type: "oauth", Provider: "github", ProviderAccountID: "github-" + name,
		AccessToken: "access-" + name, ExpiresAt: 2_000_000_000}
}

func session(name string) adapter.SessionRecord {
	return adapter.SessionRecord{ID: "session-" + name, SessionToken: "token-" + name, Digest: "digest-" + name,
		Expires: at(3600), Began: at(-60), AuthTime: at(-90), Provider: "github", Claims: []byte(`{"groups":["ops","` + name + `"]}`)}
}

// newUser stores a user without accounts and sessions.
func newUser(t *testing.T, a adapter.Adapter, name string) adapter.User {
	t.Helper()
	u, err := a.CreateUser(t.Context(), adapter.User{ID: "user-" + name, Email: name + "@example.com"}, nil)
	ok(t, err)
	return u
}

// signUp stores a user with an account and a session.
func signUp(t *testing.T, a adapter.Adapter, name string) fixture {
	t.Helper()
	k := fixture{account: account(name), session: session(name)}
	var err error
	k.user, err = a.SignUp(t.Context(), adapter.User{ID: "user-" + name, Email: name + "@example.com"}, &k.account, &k.session, "", nil)
	ok(t, err)
	return k
}

// checkUnchanged checks that everything of k is stored and unchanged, except the
// epochs and the locale, which have cases of their own.
func checkUnchanged(t *testing.T, a adapter.Adapter, k fixture) {
	t.Helper()
	u, err := a.GetUser(t.Context(), k.user.ID)
	ok(t, err)
	u.Epoch, u.SessionEpoch, k.user.Epoch, k.user.SessionEpoch = 0, 0, 0, 0
	u.Locale, k.user.Locale = "", ""
	same(t, u, k.user)
	list, err := a.ListAccounts(t.Context(), k.user.ID)
	ok(t, err)
	same(t, list, []adapter.Account{k.account})
	s, u, err := a.GetSession(t.Context(), k.session.SessionToken, k.session.Digest)
	ok(t, err)
	same(t, s, k.session)
	u.Epoch, u.SessionEpoch, u.Locale = 0, 0, ""
	same(t, u, k.user)
}

// ok ends the test if err is not nil.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is checks that err is the given error of the contract and none of the others.
func is(t *testing.T, err, want error) {
	t.Helper()
	for _, e := range []error{adapter.ErrNotFound, adapter.ErrConflict, adapter.ErrStale, adapter.ErrQueueFull, adapter.ErrTooMany} {
		if errors.Is(err, e) != (e == want) {
			t.Fatalf("got error %v, want %v", err, want)
		}
	}
}

// failed checks that err is an error, but not an error of the contract.
func failed(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	is(t, err, nil)
}

func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		if len(diff) > 4096 {
			diff = diff[:4096] + " …"
		}
		t.Fatalf("differs (-want +got):\n%s", diff)
	}
}

// race runs f in n goroutines at once and returns their errors.
func race(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// oneWins checks that one error is nil and all others are want.
func oneWins(t *testing.T, errs []error, want error) {
	t.Helper()
	nWin(t, errs, 1, want)
}

func nWin(t *testing.T, errs []error, n int, want error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			is(t, err, want)
		}
	}
	if won != n {
		t.Fatalf("%d of %d succeeded, want %d: %v", won, len(errs), n, errors.Join(errs...))
	}
}

// long returns at least 64 KiB of text that repeats piece.
func long(piece string) string {
	return strings.Repeat(piece, (64<<10)/len(piece)+1)
}

func numbered(word string, i int) string { return fmt.Sprintf("%s-%02d", word, i) }

func ptr[T any](v T) *T { return &v }
