package authsvc_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
)

// TestKeysAreBoundToURL: what another deployment made with the same secret, on
// the same store, counts for nothing here.
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
			// From now on, or it would send the mail.
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

// TestOldKeysExpire: what was made before keys were bound to the URL counts
// for a day, and not for ever.
func TestOldKeysExpire(t *testing.T) {
	t.Parallel()
	ring, err := seal.NewRing(arena.Secret)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, nil)
		try := func(token, cookie, link string) (csrf, mail bool) {
			b := w.Browser()
			b.Cookies[w.CSRFCookie()] = cookie
			a := b.Form("/api/auth/callback/credentials", url.Values{"csrfToken": {token}, "username": {"ada"}, "password": {"right"}})
			csrf = a.Location() == arena.Origin
			digest := base64.RawURLEncoding.EncodeToString(ring.MAC("email link").Sum(link))
			put := authsvc.VerificationToken{Identifier: "ada@app.test", Token: digest, Expires: time.Now().Add(time.Minute)}
			if err := w.Store.PutToken(t.Context(), put, authsvc.Mail{ID: digest, Expires: put.Expires}, 100); err != nil {
				t.Fatal(err)
			}
			other := w.Browser()
			a = other.Post("/api/auth/callback/email", "email", "ada@app.test", "token", link)
			return csrf, a.Location() == arena.Origin
		}
		token, link := seal.Token(), seal.Token()
		cookie := token + "." + base64.RawURLEncoding.EncodeToString(ring.MAC("csrf").Sum(token, ""))
		if csrf, mail := try(token, cookie, link); !csrf || !mail {
			t.Errorf("at once: token %v, link %v\n%s", csrf, mail, w.Logs)
		}
		time.Sleep(24 * time.Hour)
		if csrf, mail := try(token, cookie, link); csrf || mail {
			t.Errorf("a day later: token %v, link %v", csrf, mail)
		}
	})
}
