package authtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/authtest"
	"authsvc/engine"
)

// A handler behind Require, requested by a signed-in user and by a guest.
func Example() {
	t, done := test() // in a test of yours: the *testing.T
	defer done()

	// docs: a test
	auth := authtest.New(t, nil)
	auth.Handle("/orders", auth.Require(orders(auth.Service)))
	res, err := auth.Client(t, authsvc.User{Email: "ada@example.com"}).Get(auth.URL + "/orders")
	// docs

	show(res, err)
	show(auth.Guest(t).Get(auth.URL + "/orders"))
	// Output:
	// 200 orders of ada@example.com
	// 401 sign in first
}

// A handler without a server, with the session cookie on the request.
func ExampleSignedIn() {
	t, done := test()
	defer done()

	// docs: a cookie
	auth := authtest.New(t, nil)
	app := auth.Require(orders(auth.Service))

	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	r.AddCookie(authtest.SignedIn(t, auth, authsvc.User{ID: "7", Email: "ada@example.com"}))
	w := httptest.NewRecorder()
	app.ServeHTTP(w, r)
	// docs

	fmt.Println(w.Code, w.Body)
	// Output: 200 orders of ada@example.com
}

// A session that has ended is not accepted.
func ExampleExpired() {
	t, done := test()
	defer done()

	// docs: an expired session
	auth := authtest.New(t, nil)
	app := auth.Require(orders(auth.Service))

	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	r.Header.Set("Accept", "text/html") // like a browser that opens a page
	r.AddCookie(authtest.Expired(t, auth, authsvc.User{Email: "ada@example.com"}))
	w := httptest.NewRecorder()
	app.ServeHTTP(w, r)
	// docs

	to, err := url.Parse(w.Header().Get("Location"))
	fmt.Println(w.Code, to.Path, err)
	// Output: 302 /api/auth/signin <nil>
}

// Roles are in a column of the users table.
func ExampleNew() {
	t, done := test()
	defer done()

	// docs: roles
	type member struct{ Role string }
	auth := authtest.New(t, func(c *authsvc.Config) {
		c.Adapter = memory.New("role") // the columns of Naming.UserColumns in your program
	})
	auth.Handle("/admin", auth.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.Session(r)
		if err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		if me, err := authsvc.Decode[member](session); err != nil || me.Role != "admin" {
			http.Error(w, "not for you", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "hello")
	})))
	admin := auth.Client(t, authsvc.User{ID: "7", Name: "Ada", Extra: map[string]any{"role": "admin"}})
	other := auth.Client(t, authsvc.User{ID: "8", Name: "Eve"})
	// docs

	show(admin.Get(auth.URL + "/admin"))
	show(other.Get(auth.URL + "/admin"))
	// Output:
	// 200 hello
	// 403 not for you
}

// A mailed link, from the request to the session.
func ExampleService_Submit() {
	t, done := test()
	defer done()

	// docs: a mail
	auth := authtest.New(t, nil)
	auth.Handle("/orders", auth.Require(orders(auth.Service)))
	browser := auth.Guest(t)
	auth.Submit(t, browser, "signin/email", url.Values{"email": {"ada@example.com"}, "callbackUrl": {"/orders"}}).Body.Close()
	res, err := browser.Get(auth.Mail.Link(t, "ada@example.com"))
	// docs

	show(res, err)
	// Output: 200 orders of ada@example.com
}

// A user whom the SignIn callback refuses.
func ExampleService_Refused() {
	t, done := test()
	defer done()

	// docs: a refusal
	auth := authtest.New(t, func(c *authsvc.Config) {
		c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if a.User.Email == "eve@example.com" {
				return "", authsvc.ErrAccessDenied
			}
			return "", nil
		}
	})
	code := auth.Refused(t, authsvc.User{Email: "eve@example.com"})
	// docs

	fmt.Println(code)
	// Output: AccessDenied
}

// orders returns a handler of the program under test.
func orders(auth *engine.Service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.Session(r)
		if err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "orders of ", session.Email)
	})
}

// show prints a response.
func show(res *http.Response, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	fmt.Print(res.StatusCode, " ")
	io.Copy(os.Stdout, res.Body)
	fmt.Println()
}

// test replaces a *testing.T, which examples do not have.
func test() (t testing.TB, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &example{ctx: ctx}
	return e, func() {
		cancel()
		for len(e.cleanups) > 0 {
			last := len(e.cleanups) - 1
			f := e.cleanups[last]
			e.cleanups = e.cleanups[:last]
			f()
		}
	}
}

type example struct {
	testing.TB
	ctx      context.Context
	cleanups []func()
}

func (*example) Helper()                           {}
func (e *example) Cleanup(f func())                { e.cleanups = append(e.cleanups, f) }
func (e *example) Context() context.Context        { return e.ctx }
func (*example) Output() io.Writer                 { return io.Discard }
func (*example) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (*example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (*example) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
