package engine_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
)

// TestKeysAreBoundToURL: values that another deployment made with the same secret, on
// the same store, are not valid here.
func TestKeysAreBoundToURL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url  string
		same bool
	}{
		"another host":   {"https://other.test", false},
		"another path":   {arena.Origin + "/other", false},
		"the same, twin": {arena.Origin, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memory.New()
			here := arena.EnterOffline(t, func(config *authsvc.Config) { config.Adapter = store })
			base := c.url
			if base != arena.Origin+"/other" {
				base += "/api/auth"
			}
			b := here.Browser()
			token := b.CSRF()
			b.Post("/api/auth/signin/email", "email", "ada@app.test")
			link := arena.MustURL(t, arena.Link(t, here.Mail.Next(t))).Query()
			// Switch now, or the new service would send the mail.
			there := arena.Start(t, func(config *authsvc.Config) { config.URL, config.Adapter = c.url, store })
			b.H = there
			a := b.Form(base+"/callback/credentials", url.Values{"csrfToken": {token}, "username": {"ada"}, "password": {"right"}})
			if csrf := !strings.Contains(a.Location(), "csrf=true"); csrf != c.same {
				t.Errorf("its CSRF token counts: %v", csrf)
			}
			other := there.Browser()
			token = csrfAt(t, other, base)
			a = other.Form(base+"/callback/email", url.Values{"csrfToken": {token}, "email": {"ada@app.test"}, "token": {link.Get("token")}})
			if mail := !strings.Contains(a.Location(), "error=Verification"); mail != c.same {
				t.Errorf("its link counts: %v, %s", mail, a.Location())
			}
		})
	}
}

func csrfAt(t *testing.T, b *arena.Browser, base string) string {
	t.Helper()
	var v struct{ CSRFToken string }
	if err := json.Unmarshal([]byte(b.Get(base+"/csrf").Text), &v); err != nil {
		t.Fatal(err)
	}
	return v.CSRFToken
}

// TestKeysWithoutURL: values made under keys that are not bound to the URL of the
// deployment are not valid.
func TestKeysWithoutURL(t *testing.T) {
	t.Parallel()
	ring, err := seal.NewRing(arena.Secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, bound := range []string{"", " " + arena.Origin + "/api/auth"} {
		w := arena.EnterOffline(t, nil)
		token, link := seal.Token(), seal.Token()
		b := w.Browser()
		b.Cookies[w.CSRFCookie()] = token + "." + base64.RawURLEncoding.EncodeToString(ring.MAC("csrf"+bound).Sum(token, ""))
		a := b.Form("/api/auth/callback/credentials", url.Values{"csrfToken": {token}, "username": {"ada"}, "password": {"right"}})
		if counts := a.Location() == arena.Origin; counts != (bound != "") {
			t.Errorf("%q: the CSRF token counts: %t", bound, counts)
		}
		digest := base64.RawURLEncoding.EncodeToString(ring.MAC("email link" + bound).Sum(link))
		put := adapter.VerificationToken{Identifier: "ada@app.test", Token: digest, Expires: time.Now().Add(time.Minute)}
		if err := w.Store.PutToken(t.Context(), put, adapter.Mail{ID: digest, Expires: put.Expires}, 100); err != nil {
			t.Fatal(err)
		}
		a = w.Browser().Post("/api/auth/callback/email", "email", "ada@app.test", "token", link)
		if counts := a.Location() == arena.Origin; counts != (bound != "") {
			t.Errorf("%q: the link counts: %t, %s", bound, counts, a.Location())
		}
	}
}
