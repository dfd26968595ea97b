// Package adaptertest judges implementations of [authsvc.Adapter]. An
// adapter's own test is a call of [Run]:
//
//	func TestAdapter(t *testing.T) {
//		adaptertest.Run(t, func(t *testing.T) authsvc.Adapter { return memory.New() })
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

	"authsvc"
)

// workers is how many callers race for one thing.
const workers = 64

// Foreign is what the adapter of a store that NextAuth.js can share has to
// implement in its test, beside the contract: it writes a record as that
// program would, without anything of authsvc's own. When the adapter under
// test implements it, Run judges that too; SQL adapters are required to.
type Foreign interface {
	// ForeignSession stores a session of an existing user. The id counts where
	// the table does not make its own.
	ForeignSession(ctx context.Context, id, token, userID string, expires time.Time) error
	// ForeignSignOut deletes a session by its token.
	ForeignSignOut(ctx context.Context, token string) error
}

// Reopener is what the adapter under test implements when several processes
// can share its store: Reopen opens the same store again.
type Reopener interface {
	Reopen(t *testing.T) authsvc.Adapter
}

// Unwrapper is what the adapter under test implements when it only wraps
// another one for its test, so that Run finds out whether that is an
// authsvc.AuditLog.
type Unwrapper interface {
	Unwrap() authsvc.Adapter
}

// Limits are of tables that another program made, and that are used as they
// are. The zero value has none.
type Limits struct {
	// Expiry is the latest Account.ExpiresAt; a later one is stored as this.
	Expiry int64
	// LooseEmail: an address that differs from another user's only in case,
	// accents or trailing blanks is refused, as a failure of the store and not
	// as a conflict: nobody would find the other user by it.
	LooseEmail bool
	// LooseText: so it is with provider account ids, session tokens and link
	// tokens as well.
	LooseText bool
	// Token is how long the token fields of an Account may be, in bytes; a
	// longer one is refused as a failure of the store, never cut.
	Token int
}

// Limited is what the adapter under test implements when its tables have
// limits. Run then demands what they leave, and no less.
type Limited interface {
	Limits() Limits
}

func limits(a authsvc.Adapter) Limits {
	if l, limited := a.(Limited); limited {
		return l.Limits()
	}
	return Limits{}
}

// stored is an Account.ExpiresAt as the tables hold it.
func (l Limits) stored(expiresAt int64) int64 {
	if l.Expiry > 0 {
		return min(expiresAt, l.Expiry)
	}
	return expiresAt
}

// refusesEmail reports whether err is how loose tables refuse the address.
// Then nobody may have it.
func refusesEmail(t *testing.T, a authsvc.Adapter, email string, err error) bool {
	t.Helper()
	return refuses(t, limits(a).LooseEmail || limits(a).LooseText, err, func() error {
		_, err := a.GetUserByEmail(t.Context(), email)
		return err
	})
}

// refusesText is refusesEmail for other texts; find looks for the record.
func refusesText(t *testing.T, a authsvc.Adapter, err error, find func() error) bool {
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
	is(t, find(), authsvc.ErrNotFound)
	return true
}

// A test is one case of the suite, on a store of its own.
type test struct {
	name string
	run  func(t *testing.T, a authsvc.Adapter)
}

// Run judges an adapter. open returns an empty store, and arranges with
// t.Cleanup that it is closed; it is called once per case, from several
// goroutines. There is no way to leave out a case.
func Run(t *testing.T, open func(t *testing.T) authsvc.Adapter) {
	for _, group := range [][]test{
		userTests(), accountTests(), sessionTests(), signUpTests(), proofTests(),
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

// epoch is a moment with milliseconds; at counts seconds from it.
var epoch = time.Date(2030, 2, 28, 23, 59, 59, 123e6, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// A known is a user with an account and a session, named after one word.
type known struct {
	user    authsvc.User
	account authsvc.Account
	session authsvc.SessionRecord
}

func account(name string) authsvc.Account {
	return authsvc.Account{ID: "account-" + name, Type: "oauth", Provider: "github", ProviderAccountID: "github-" + name,
		AccessToken: "access-" + name, ExpiresAt: 2_000_000_000}
}

func session(name string) authsvc.SessionRecord {
	return authsvc.SessionRecord{ID: "session-" + name, SessionToken: "token-" + name, Digest: "digest-" + name,
		Expires: at(3600), AuthTime: at(-60), Provider: "github"}
}

// newUser stores a user without anything.
func newUser(t *testing.T, a authsvc.Adapter, name string) authsvc.User {
	t.Helper()
	u, err := a.CreateUser(t.Context(), authsvc.User{ID: "user-" + name, Email: name + "@example.com"})
	ok(t, err)
	return u
}

// signUp stores a user with an account and a session.
func signUp(t *testing.T, a authsvc.Adapter, name string) known {
	t.Helper()
	k := known{account: account(name), session: session(name)}
	var err error
	k.user, err = a.SignUp(t.Context(), authsvc.User{ID: "user-" + name, Email: name + "@example.com"}, &k.account, &k.session)
	ok(t, err)
	return k
}

// alive checks that everything of k is stored and has not changed, but for the
// epochs, which cases of their own judge.
func alive(t *testing.T, a authsvc.Adapter, k known) {
	t.Helper()
	u, err := a.GetUser(t.Context(), k.user.ID)
	ok(t, err)
	u.Epoch, u.SessionEpoch, k.user.Epoch, k.user.SessionEpoch = 0, 0, 0, 0
	same(t, u, k.user)
	list, err := a.ListAccounts(t.Context(), k.user.ID)
	ok(t, err)
	same(t, list, []authsvc.Account{k.account})
	s, u, err := a.GetSession(t.Context(), k.session.SessionToken, k.session.Digest)
	ok(t, err)
	same(t, s, k.session)
	u.Epoch, u.SessionEpoch = 0, 0
	same(t, u, k.user)
}

// ok stops the case on an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is demands one error of the contract and none of the others.
func is(t *testing.T, err, want error) {
	t.Helper()
	for _, e := range []error{authsvc.ErrNotFound, authsvc.ErrConflict, authsvc.ErrStale, authsvc.ErrQueueFull} {
		if errors.Is(err, e) != (e == want) {
			t.Fatalf("got error %v, want %v", err, want)
		}
	}
}

// failed demands an error that is none of the contract: nothing is known.
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

// race runs f from many goroutines at once and returns their errors.
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

// oneWins demands that one error is nil and all others are want.
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

// long returns at least 64 KiB of text made of a piece.
func long(piece string) string {
	return strings.Repeat(piece, (64<<10)/len(piece)+1)
}

func numbered(word string, i int) string { return fmt.Sprintf("%s-%02d", word, i) }

func ptr[T any](v T) *T { return &v }
