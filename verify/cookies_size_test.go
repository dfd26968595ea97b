package verify

import (
	"context"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/test/arena"
)

// cookiesFat gives sessions n more bytes of data. Nothing is compressed.
func cookiesFat(n *int) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			if p.Trigger != "" {
				p.Claims["fat"] = strings.Repeat("x", *n)
			}
			return p.Claims, nil
		}
	}
}

// cookiesGrown signs in with a session of some size. It returns the number of cookies
// and the length of the longest name-value pair in bytes.
func cookiesGrown(t *T, w *arena.World) (count, longest int) {
	t.Helper()
	b := w.Browser()
	a := b.Login("ada")
	for _, line := range a.Header["Set-Cookie"] {
		pair, _, _ := strings.Cut(line, ";")
		longest = max(longest, len(pair)-1) // the limit applies to name and value
	}
	count = len(b.SessionCookies())
	if longest > 4096 || count < 1 || count > 5 || b.Email() != "ada@app.test" {
		t.Errorf("%d cookies, the longest of %d bytes, %s", count, longest, a.Location())
	}
	return count, longest
}

func cookies07(t *T) {
	size := 0
	w := t.EnterOffline(cookiesFat(&size))
	step := t.Scale("bytes between steps", 29, 3, 1)
	counts, longest := map[int]int{}, 0
	for size = 2200; size < 3300; size += step {
		n, l := cookiesGrown(t, w)
		counts[n]++
		longest = max(longest, l)
	}
	for size = 3300; size < 14_000; size += 31 * step {
		n, l := cookiesGrown(t, w)
		counts[n]++
		longest = max(longest, l)
	}
	t.Figure("longest pair %d bytes", longest)
	if len(counts) != 5 || longest < 3900 {
		t.Errorf("twin: sessions of %v cookies, the longest pair of %d bytes", counts, longest)
	}
	for _, size = range []int{16_000, 20_000, 40_000, 200_000} {
		before := w.Ledger.Lasting()
		b := w.Browser()
		a := b.Login("ada")
		if !strings.Contains(a.Location(), "/error?error=Callback") || len(b.SessionCookies()) != 0 || w.Ledger.Lasting() != before {
			t.Errorf("%d bytes: %d %s", size, a.StatusCode, a.Location())
		}
	}
}

func cookies10(t *T) {
	for _, domain := range []string{"", "app.test"} {
		size := 9000
		w := t.EnterOffline(func(c *authsvc.Config) {
			cookiesFat(&size)(c)
			c.Cookies.Domain = domain
		})
		b := w.Browser()
		set := map[string][]string{}
		for _, line := range b.Login("ada").Header["Set-Cookie"] {
			name, _, _ := strings.Cut(line, "=")
			set[name] = cookiesAttributes(line)
		}
		chunks := b.SessionCookies()
		if len(chunks) < 3 {
			t.Fatalf("cookies %v", chunks)
		}
		size = 1000
		expired := map[string][]string{}
		for _, line := range b.Post("/api/auth/session", "data", "x").Header["Set-Cookie"] {
			if name, value, _ := strings.Cut(line, "="); strings.HasPrefix(value, "; Max-Age=0") {
				expired[name] = cookiesAttributes(line)
			}
		}
		for _, name := range chunks {
			if !slices.Equal(expired[name], set[name]) {
				t.Errorf("%s was set with %v and is expired with %v", name, set[name], expired[name])
			}
		}
		if left := b.SessionCookies(); len(left) != 1 || strings.Contains(left[0], "session.0") || b.Email() != "ada@app.test" {
			t.Errorf("after shrinking: %v, %q", left, b.Email())
		}
		size = 9000
		if b.Post("/api/auth/session", "data", "x"); len(b.SessionCookies()) < 3 || b.Email() != "ada@app.test" {
			t.Errorf("after growing: %v, %q", b.SessionCookies(), b.Email())
		}
	}
}
