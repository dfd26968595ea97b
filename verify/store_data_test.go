package verify

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
)

// storeInjections are texts with a special meaning in some store.
var storeInjections = []string{`'`, `"`, `\`, `\'`, `;`, `--`, `/*`, `%`, `_`, `*`, `?`, `$1`, `:x`, `' OR '1'='1`, `'; DROP TABLE "User"; --`,
	`" OR ""="`, `$gt`, `$ne`, `{"$ne":""}`, `{"$gt":""}`, `{"$where":"1"}`, "a\r\nDEL b", `a:b:*`, `[1]`, "NULL", "\x00", "ada@app.test\x00", `\u0000`}

// store01 sends the injections in every part of a request that reaches the store. An
// existing user is the witness.
func store01(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		w := t.Enter(func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		witness := w.Browser()
		witness.SignInByMail(w, "ada@app.test")
		session := w.SessionCookie()
		for _, text := range storeInjections {
			before := w.Ledger.Lasting()
			stranger := w.Browser()
			stranger.Cookies[session] = url.QueryEscape(text)
			if got := stranger.Email(); got != "" {
				t.Errorf("the session cookie %q is of %s", text, got)
			}
			b := w.Browser()
			for path, fields := range map[string][]string{
				"/api/auth/callback/email":                       {"token", text + strings.Repeat("x", 20), "email", "ada@app.test"},
				"/api/auth/callback/email?":                      {"token", strings.Repeat("x", 30), "email", text},
				"/api/auth/callback/" + url.PathEscape(text):     {"token", "x"},
				"/api/auth/signin/" + url.PathEscape(text) + "?": {},
			} {
				if a := b.Post(path, fields...); a.StatusCode >= 500 || b.Email() != "" {
					t.Errorf("%s with %q: %d %s", path, text, a.StatusCode, a.Location())
				}
			}
			if a := b.Get("/api/auth/callback/op?" + url.Values{"state": {text}, "code": {text}, "iss": {text}}.Encode()); a.StatusCode >= 500 {
				t.Errorf("state %q: %d", text, a.StatusCode)
			}
			if now := w.Ledger.Lasting(); now != before {
				t.Errorf("%q had effects: %s", text, strings.TrimPrefix(now, before))
			}
			storeHostileSub(t, w, text)
		}
		storeObjects(t, w)
		if witness.Email() != "ada@app.test" {
			t.Errorf("the witness is %q", witness.Email())
		}
		storeWhole(t, w.Store)
	})
}

// storeHostileSub signs in a person whose sub at the provider is text. Either the
// identity is refused as invalid, or it gets its own user.
func storeHostileSub(t *T, w *arena.World, text string) {
	t.Helper()
	w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["sub"] = text; delete(c, "email") },
		UserInfo: func(c map[string]any) { c["sub"] = text; delete(c, "email") }})
	defer w.OP.SetFault(idp.Fault{})
	b := w.Browser()
	a := b.SignIn(w.OP, "katherine")
	who := w.Person(t, b)
	if who == "" {
		if !arena.IsRefusal(a) {
			t.Errorf("sub %q: %d %s", text, a.StatusCode, a.Location())
		}
		return
	}
	owner, err := w.Store.GetUserByAccount(t.Context(), "op", text)
	accounts, listErr := w.Store.ListAccounts(t.Context(), who)
	if err != nil || listErr != nil || owner.ID != who || len(accounts) != 1 || accounts[0].ProviderAccountID != text {
		t.Errorf("sub %q: stored %+v of %q, %v", text, accounts, owner.ID, errors.Join(err, listErr))
	}
}

// storeObjects sends objects instead of texts.
func storeObjects(t *T, w *arena.World) {
	t.Helper()
	b := w.Browser()
	token := b.CSRF()
	for _, body := range []string{`{"csrfToken":%q,"email":{"$ne":""}}`, `{"csrfToken":%q,"email":["ada@app.test"]}`, `{"csrfToken":{"$ne":""},"email":"x@app.test","x":%q}`} {
		before := w.Ledger.Lasting()
		a := b.Raw("/api/auth/signin/email", "application/json", fmt.Sprintf(body, token))
		if a.StatusCode >= 500 || strings.Contains(a.Location(), "verify-request") || w.Ledger.Lasting() != before {
			t.Errorf("%s: %d %s", body, a.StatusCode, a.Location())
		}
	}
	if a := b.Post("/api/auth/signin/email", "email", "twin@app.test"); !strings.Contains(a.Location(), "verify-request") {
		t.Errorf("twin: %d %s", a.StatusCode, a.Location())
	}
	w.Mail.Next(t)
}

// storeAlike are texts that a loose collation considers equal.
var storeAlike = []string{"a", "A", "á", "à", "a\u0301", "ａ", "a ", " a", "ss", "ß", "ſs", "s", "ſ", "😀", "😁", "i", "İ", "ı", "K", "\u212a", "0", "٠"}

// store02 signs in identities that differ only slightly.
func store02(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		w := t.Enter(func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		users := map[string]string{}
		for range 2 { // the second time, all are known
			for _, sub := range storeAlike {
				w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["sub"] = sub; delete(c, "email") },
					UserInfo: func(c map[string]any) { c["sub"] = sub; delete(c, "email") }})
				b := w.Browser()
				a := b.SignIn(w.OP, "katherine")
				who := w.Person(t, b)
				if known := users[sub]; who == "" || known != "" && known != who {
					t.Errorf("sub %q is %q and was %q: %d %s", sub, who, known, a.StatusCode, a.Location())
				}
				users[sub] = who
			}
		}
		if n := len(storeUsers(t, w.Store)); n != len(storeAlike) {
			t.Errorf("%d users of %d identities", n, len(storeAlike))
		}
		storeAddresses(t, w)
		storeTokens(t, w)
	})
}

// storeAddresses checks that addresses are equal only if their normalised forms are.
func storeAddresses(t *T, w *arena.World) {
	t.Helper()
	who := map[string]string{}
	for _, address := range []string{"jose@app.test", "JOSE@App.Test", "josé@app.test", "jöse@app.test", "josse@app.test", "joße@app.test"} {
		b := w.Browser()
		b.Post("/api/auth/signin/email", "email", address)
		b.Get(arena.Link(t, w.Mail.Next(t)))
		who[address] = w.Person(t, b)
	}
	if who["jose@app.test"] == "" || who["jose@app.test"] != who["JOSE@App.Test"] {
		t.Errorf("case makes two users: %v", who)
	}
	different := map[string]bool{}
	for _, id := range who {
		different[id] = true
	}
	if len(different) != len(who)-1 {
		t.Errorf("addresses that differ are one user: %v", who)
	}
}

// storeTokens checks that a token in another case, or with a blank, is invalid.
func storeTokens(t *T, w *arena.World) {
	t.Helper()
	b := w.Browser()
	b.SignInByMail(w, "jose@app.test")
	value := b.Cookies[w.SessionCookie()]
	for _, other := range []string{strings.ToLower(value), strings.ToUpper(value), value + " ", value + "%20", " " + value, value[:len(value)-1]} {
		c := b.Clone()
		if c.Cookies[w.SessionCookie()] = other; other != value && c.Email() != "" && strings.TrimSpace(other) != value {
			t.Errorf("%q passes for %q", other, value)
		}
	}
	c := w.Browser()
	c.Post("/api/auth/signin/email", "email", "jose@app.test")
	link := arena.MustURL(t, arena.Link(t, w.Mail.Next(t)))
	q := link.Query()
	plain := q.Get("token")
	for _, other := range []string{strings.ToLower(plain), strings.ToUpper(plain), plain + " "} {
		if q.Set("token", other); other != plain {
			d := c.Clone()
			if a := d.Post("/api/auth/callback/email", "token", other, "email", "jose@app.test"); !strings.Contains(a.Location(), "error=Verification") {
				t.Errorf("link token %q passes: %d %s", other, a.StatusCode, a.Location())
			}
		}
	}
	if c.Get(link.String()); c.Email() != "jose@app.test" || b.Email() != "jose@app.test" {
		t.Errorf("twin: the right tokens are %q and %q", c.Email(), b.Email())
	}
}

// store13 stores long and odd values with the store's own methods and, for the
// longest, with a sign-in.
func store13(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		s := kind.Open(t)
		for i, text := range []string{strings.Repeat("x", 64<<10), strings.Repeat("😀", 16<<10), strings.Repeat("é\u0301", 12<<10), "NUL \x00 inside", "\xff\xfe", "a\xc3"} {
			a := authsvc.Account{ID: fmt.Sprintf("a%d", i), Type: "oauth", Provider: "p", ProviderAccountID: fmt.Sprint(i),
				AccessToken: text, RefreshToken: text, IDToken: text, Scope: "x"}
			rec := adapter.SessionRecord{ID: fmt.Sprintf("s%d", i), SessionToken: fmt.Sprintf("t%d", i), Digest: fmt.Sprintf("d%d", i), Expires: time.Now().Add(time.Hour)}
			u, err := s.SignUp(t.Context(), authsvc.User{ID: fmt.Sprintf("u%d", i), Email: fmt.Sprintf("%d@app.test", i)}, &a, &rec, "", nil)
			if err != nil {
				_, lookErr := s.GetUserByEmail(t.Context(), fmt.Sprintf("%d@app.test", i))
				if i < 3 || errors.Is(err, adapter.ErrConflict) || !errors.Is(lookErr, adapter.ErrNotFound) {
					t.Errorf("%.20q of %d bytes: %v; then %v", text, len(text), err, lookErr)
				}
				continue
			}
			list, err := s.ListAccounts(t.Context(), u.ID)
			if err != nil || len(list) != 1 || list[0].AccessToken != text || list[0].RefreshToken != text || list[0].IDToken != text {
				t.Errorf("%.20q of %d bytes was changed, %v", text, len(text), err)
			}
		}
		w := t.Enter(func(c *authsvc.Config) { c.Adapter = s })
		long := strings.Repeat("t", 64<<10-100)
		w.OP.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) { a["refresh_token"] = long }})
		b := w.Browser()
		if a := b.SignIn(w.OP, "ada"); a.StatusCode != http.StatusFound || b.Email() != "ada@example.com" {
			t.Fatalf("a long refresh token: %d %s", a.StatusCode, a.Location())
		}
		list, err := w.Accounts(t.Context(), w.Person(t, b))
		if err != nil || len(list) != 1 || list[0].RefreshToken != long {
			t.Errorf("the long refresh token was changed, %v", err)
		}
	})
}
