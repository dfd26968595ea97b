package e2e

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/npm"
)

// The React application, bundled once with each client.
var (
	bundle4 = sync.OnceValues(func() ([]byte, error) { return npm.Bundle(webDir, "src/app.jsx") })
	bundle5 = sync.OnceValues(func() ([]byte, error) {
		return npm.Bundle(webDir, "src/app.jsx", "--alias:next-auth/react=next-auth-5/react")
	})
)

// bundle returns the application with the client of a dialect: next-auth@5 for
// Auth.js, otherwise next-auth@4.
func bundle(mode authsvc.Compat) ([]byte, error) {
	if mode == authsvc.AuthJSV5 {
		return bundle5()
	}
	return bundle4()
}

// reactSite serves the application at /app.
func reactSite(t *testing.T, strategy string, mode authsvc.Compat) *site {
	t.Helper()
	needNode(t)
	script, err := bundle(mode)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(s *site, c *authsvc.Config) {
		c.Session.Strategy, c.Compat = authsvc.Strategy(strategy), mode
		takeNames(s, c)
	})
	s.mux.HandleFunc("GET /app.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Write(script)
	})
	app := func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, `<title>App</title><div id="root"></div><script src="/app.js"></script>`)
	}
	s.mux.HandleFunc("GET /app", app)
	s.mux.HandleFunc("GET /bye", app)
	return s
}

// takeNames lets the client rename the user by update(): in the claims with strategy
// jwt, in the store with strategy database.
func takeNames(s *site, c *authsvc.Config) {
	name := func(data any) string {
		fields, _ := data.(map[string]any)
		v, _ := fields["name"].(string)
		return v
	}
	c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
		if v := name(p.Data); p.Trigger == "update" && v != "" {
			p.Claims["name"] = v
		}
		return p.Claims, nil
	}
	if c.Session.Strategy != "database" {
		return
	}
	c.Callbacks.Session = func(ctx context.Context, p authsvc.SessionParams) (map[string]any, error) {
		if v := name(p.Data); p.Trigger == "update" && v != "" {
			if _, err := s.store.UpdateUser(ctx, p.User.ID, adapter.UserUpdate{Name: &v}); err != nil {
				return nil, err
			}
			p.Session["user"].(map[string]any)["name"] = v
		}
		return p.Session, nil
	}
}

// is waits until useSession shows this status, name and address.
func is(b *chromium.Tab, status, name, email string) {
	b.T.Helper()
	for id, want := range map[string]string{"status": status, "name": name, "email": email} {
		b.Wait(`document.getElementById("` + id + `")?.textContent === ` + chromium.Quote(want))
	}
}

// A result is the value of signIn with redirect: false.
type result struct {
	Error  *string `json:"error"`
	Status int     `json:"status"`
	OK     bool    `json:"ok"`
	URL    *string `json:"url"`
}

// TestReact tests all functions of next-auth/react.
func TestReact(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
			t.Run(strategy+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				s := reactSite(t, strategy, mode)
				b := newTab(t)
				b.Open(s.origin + "/app")
				is(b, "unauthenticated", "", "")
				reactLists(t, s, b, mode)
				reactSignIn(t, s, b)
				reactUpdate(t, s, b)
				reactSignOut(t, s, b)
				reactMail(t, s, b)
				reactTabs(t, s, b)
				b.Quiet()
			})
		}
	}
}

func reactLists(t *testing.T, s *site, b *chromium.Tab, mode authsvc.Compat) {
	t.Helper()
	providers := chromium.Eval[map[string]map[string]string](b, `auth.getProviders()`)
	kind := "oauth"
	if mode == authsvc.AuthJSV5 {
		kind = "oidc"
	}
	want := map[string]string{"id": "op", "name": "Example ID", "type": kind,
		"signinUrl": s.base + "/signin/op", "callbackUrl": s.base + "/callback/op"}
	if diff := cmp.Diff(want, providers["op"]); diff != "" || len(providers) != 3 {
		t.Errorf("providers %v (-want +got)\n%s", slices.Sorted(maps.Keys(providers)), diff)
	}
	first, second := chromium.Eval[string](b, `auth.getCsrfToken()`), chromium.Eval[string](b, `auth.getCsrfToken()`)
	if len(first) < 40 || first != second {
		t.Errorf("csrf tokens %q and %q", first, second)
	}
	if s := chromium.Eval[*map[string]any](b, `auth.getSession()`); s != nil {
		t.Errorf("session before sign-in: %v", *s)
	}
	b.Click("#list")
	b.At(s.base + "/signin?callbackUrl=")
	b.Open(s.origin + "/app")
}

func reactSignIn(t *testing.T, s *site, b *chromium.Tab) {
	t.Helper()
	is(b, "unauthenticated", "", "")
	b.Click("#in")
	s.choose(b, "ada")
	b.At(s.origin + "/app")
	is(b, "authenticated", "Ada Lovelace", "ada@example.com")
	session := chromium.Eval[struct {
		User    map[string]any
		Expires string
	}](b, `auth.getSession()`)
	if session.User["email"] != "ada@example.com" || !strings.HasSuffix(session.Expires, "Z") {
		t.Errorf("session %+v", session)
	}
}

// reactUpdate renames the user, and reads the session again on focus.
func reactUpdate(t *testing.T, s *site, b *chromium.Tab) {
	t.Helper()
	b.Click("#rename")
	is(b, "authenticated", "Ada King", "ada@example.com")
	b.Open(s.origin + "/app")
	is(b, "authenticated", "Ada King", "ada@example.com")
	before := s.count("GET /api/auth/session")
	chromium.Eval[bool](b, `document.dispatchEvent(new Event("visibilitychange"))`)
	s.eventually(func() bool { return s.count("GET /api/auth/session") > before }, "no session was read on focus")
}

func reactSignOut(t *testing.T, s *site, b *chromium.Tab) {
	t.Helper()
	out := chromium.Eval[map[string]string](b, `auth.signOut({redirect: false, callbackUrl: "/bye"})`)
	if out["url"] != s.origin+"/bye" {
		t.Errorf("signOut answered %v", out)
	}
	is(b, "unauthenticated", "", "")
	if !strings.HasPrefix(b.URL(), s.origin+"/app") {
		t.Errorf("signOut with redirect: false went to %s", b.URL())
	}
}

// reactMail signs in with a link opened in the same tab, and signs out with a
// redirect.
func reactMail(t *testing.T, s *site, b *chromium.Tab) {
	t.Helper()
	bad := chromium.Eval[result](b, `auth.signIn("email", {email: "not an address", redirect: false})`)
	if bad.Error == nil || *bad.Error != "EmailSignin" || bad.URL != nil {
		t.Errorf("signIn with a malformed address: %+v", bad)
	}
	r := chromium.Eval[result](b, `auth.signIn("email", {email: "Grace@Acme.test", redirect: false})`)
	if r.Error != nil || r.Status != http.StatusOK || !r.OK || r.URL == nil || !strings.HasPrefix(*r.URL, s.base+"/verify-request") {
		t.Fatalf("signIn by mail: %+v", r)
	}
	b.Open(s.mailTo("grace@acme.test"))
	b.At(s.origin + "/app")
	is(b, "authenticated", "", "grace@acme.test")
	b.Click("#out")
	b.At(s.origin + "/bye")
	is(b, "unauthenticated", "", "")
}

// reactTabs signs out in one tab and checks another.
func reactTabs(t *testing.T, s *site, b *chromium.Tab) {
	t.Helper()
	s.signIn(b, "ada", "/app")
	other := b.Sibling()
	other.Open(s.origin + "/app")
	other.Wait(`document.getElementById("status")?.textContent === "authenticated"`)
	chromium.Eval[map[string]string](b, `auth.signOut({redirect: false})`)
	is(other, "unauthenticated", "", "")
	other.Quiet()
}

// polled is a page of the application that reads the session every second. It keeps
// the user of each answer, in the order in which the requests began.
const polled = `<title>App</title><div id="root"></div><script>
	window.every = 1
	window.reads = []
	const real = window.fetch
	window.fetch = async (...args) => {
		const read = {who: null}
		if (String(args[0]).endsWith("/session")) window.reads.push(read)
		const answer = await real(...args)
		read.who = (await answer.clone().json())?.user?.email ?? ""
		return answer
	}
</script><script src="/app.js"></script>`

// noticed checks that useSession in a tab reports the end of its session after the
// first poll that began after the end.
func noticed(t *testing.T, b *chromium.Tab) {
	t.Helper()
	before := chromium.Eval[int](b, `window.reads.length`)
	is(b, "unauthenticated", "", "")
	all := chromium.Eval[[]*string](b, `window.reads.map((r) => r.who)`)
	since := all[before:] // empty if the poll that showed it was already in progress
	if len(all) < 2 || len(since) > 0 && (since[0] == nil || *since[0] != "") {
		t.Errorf("the first poll after the end did not show it: %d of %d", len(since), len(all))
	}
}

// TestReactEndedElsewhere ends sessions on the account page of another browser while
// next-auth/react uses them.
func TestReactEndedElsewhere(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4} {
			t.Run(strategy+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				s := reactSite(t, strategy, mode)
				s.mux.HandleFunc("GET /polled", func(w http.ResponseWriter, _ *http.Request) { writePage(w, polled) })
				desk, phone := newTab(t), newTab(t)
				s.signIn(desk, "ada", "/")
				s.signIn(phone, "ada", "/polled")
				is(phone, "authenticated", "Ada Lovelace", "ada@example.com")
				endPhone(s, desk, "button[name=session]", "ended")
				noticed(t, phone)
				out := chromium.Eval[map[string]string](phone, `auth.signOut({redirect: false, callbackUrl: "/bye"})`)
				if out["url"] != s.origin+"/bye" {
					t.Errorf("signOut of an ended session answered %v", out)
				}

				phone.Click("#in")
				s.choose(phone, "ada")
				phone.At(s.origin + "/polled")
				is(phone, "authenticated", "Ada Lovelace", "ada@example.com")
				endPhone(s, desk, "button[name=others]", "others")
				noticed(t, phone)

				desk.Open(s.origin + "/app")
				is(desk, "authenticated", "Ada Lovelace", "ada@example.com")
				desk.Click("#out")
				desk.At(s.origin + "/bye")
				is(desk, "unauthenticated", "", "")
				desk.Quiet()
				phone.Quiet()
			})
		}
	}
}

// endPhone presses a button of the account page.
func endPhone(s *site, desk *chromium.Tab, button, done string) {
	s.t.Helper()
	desk.Open(s.base + "/account")
	desk.Click(button)
	desk.At(s.base + "/account?done=" + done)
}
