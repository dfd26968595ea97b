package e2e

import (
	"fmt"
	"strings"
	"testing"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
)

// TestNextAuth5 checks that next-auth@5 in a Next.js application reads the sessions
// of `serve` with all its functions: auth() in middleware, in a page and around a
// route handler, which reseals them, and getToken, useSession, signIn and signOut.
func TestNextAuth5(t *testing.T) {
	t.Parallel()
	needNode(t)
	a := newApplication(t, "jwt", "authjs-v5")
	next := startNext(t, "AUTH_URL="+a.origin, "AUTH_SECRET="+arena.Secret)
	for _, path := range []string{"/five", "/five/", "/api/five", "/_next/"} {
		a.mux.Handle(path, next)
	}
	b := newTab(t)
	b.Open(a.origin + "/five")
	b.At(a.origin + "/api/auth/signin?callbackUrl=")
	b.Click(".p-op button")
	b.At(a.op.Issuer())
	b.Click(`button[name=person][value="ada"]`)
	b.At(a.origin + "/five")
	id := a.shownBy5(t, b, "USER")
	a.exec(t, `UPDATE "User" SET role = 'ADMIN';`)
	a.shownBy5(t, b, "USER")
	if got := a.user(t, b, `auth.update({})`, "ADMIN")["id"]; got != id {
		t.Errorf("update: user.id is %v, not %s", got, id)
	}
	a.shownBy5(t, b, "ADMIN")

	b.Click("#out")
	b.At(a.origin + "/five/open")
	b.Wait(`document.getElementById("status")?.textContent === "unauthenticated"`)
	if got := a.readBy5(b); got.Session != nil || got.Token != nil {
		t.Errorf("after the sign-out: %+v", got)
	}
	b.Click("#in")
	b.At(a.op.Issuer())
	b.Click(`button[name=person][value="ada"]`)
	b.At(a.origin + "/five")
	a.shownBy5(t, b, "ADMIN")
	b.Quiet()
}

// readBy5 returns the session that the application's server reads with next-auth@5.
func (a *application) readBy5(b *chromium.Tab) (read struct {
	Session *struct{ User map[string]any }
	Token   map[string]any
}) {
	chromium.Eval[bool](b, `fetch("/api/five").then((r) => r.json()).then((read) => { window.read = read; return true })`)
	return chromium.Eval[struct {
		Session *struct{ User map[string]any }
		Token   map[string]any
	}](b, `window.read`)
}

// shownBy5 checks that the server, the page's client and the route handler all show
// Ada with a role, and that the service accepts the handler's cookie. It returns her
// id.
func (a *application) shownBy5(t *testing.T, b *chromium.Tab, role string) (id string) {
	t.Helper()
	b.Open(a.origin + "/five")
	b.Wait(`document.getElementById("status")?.textContent === "authenticated"`)
	id = chromium.Eval[string](b, `document.getElementById("id").textContent`)
	want := fmt.Sprintf("%s %s ada@example.com", id, role)
	if got := chromium.Eval[string](b, `document.getElementById("server").textContent`); got != want {
		t.Errorf("auth() in the page: %q, and useSession %q", got, want)
	}
	sealed := a.sessionCookie(b)
	read := a.readBy5(b)
	if read.Session == nil || read.Session.User["id"] != id || read.Session.User["role"] != role || read.Token["sub"] != id || read.Token["email"] != "ada@example.com" {
		t.Errorf("auth() and getToken in the route handler: %+v", read)
	}
	if again := a.sessionCookie(b); again == sealed {
		t.Error("next-auth@5 did not seal the session again")
	}
	if got := a.user(t, b, `auth.getSession()`, role)["id"]; got != id {
		t.Errorf("the service shows %v, not %s", got, id)
	}
	return id
}

// sessionCookie returns the value of the session cookie, joined from its chunks.
func (a *application) sessionCookie(b *chromium.Tab) (value string) {
	for name, part := range b.Cookies(a.origin + "/five") {
		if strings.HasPrefix(name, "authjs.session-token") {
			value += part
		}
	}
	return value
}
