package e2e

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/chromium"
)

const (
	secretA = "mQ4xT7vB1nZ8kL2pW9cR5yH3jF6dS0aG-first"
	secretB = "hJ6rN0bV3mX9qK5tE8wZ2uC7yA4sD1fL-other"
)

// A dialect is one library and the engine's settings for its cookies.
type dialect struct {
	lib     string
	compat  authsvc.Compat
	session string // cookie name without its prefix
	csrf    string
}

func dialects() []dialect {
	return []dialect{
		{"v4", authsvc.NextAuthV4, "next-auth.session-token", "next-auth.csrf-token"},
		{"v5", authsvc.AuthJSV5, "authjs.session-token", "authjs.csrf-token"},
	}
}

// names returns the full names of the cookies.
func (d dialect) names(secure bool) (session, csrf string) {
	if secure {
		return "__Secure-" + d.session, "__Host-" + d.csrf
	}
	return d.session, d.csrf
}

// salt returns the salt of session tokens: none in v4, the cookie name in v5.
func (d dialect) salt(cookie string) string {
	if d.lib == "v4" {
		return ""
	}
	return cookie
}

// eachDialect runs a test for both libraries, each over http and https.
func eachDialect(t *testing.T, test func(t *testing.T, d dialect, secure bool)) {
	t.Helper()
	needNode(t)
	for _, d := range dialects() {
		for name, secure := range map[string]bool{"http": false, "https": true} {
			t.Run(d.lib+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, d, secure)
			})
		}
	}
}

func baseURL(secure bool) string {
	if secure {
		return "https://app.test/api/auth"
	}
	return "http://localhost:3000/api/auth"
}

// engine creates a service with sessions in cookies, on which Ada signs in with
// credentials, and a visitor.
func (d dialect) engine(t *testing.T, secure bool, tune func(*authsvc.Config)) *visitor {
	t.Helper()
	c := authsvc.Config{
		URL: baseURL(secure), Secrets: []string{secretA}, Compat: d.compat,
		Session: authsvc.SessionOptions{Strategy: "jwt"},
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		Providers: []authsvc.Provider{&authsvc.Credentials{
			Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
				return authsvc.User{ID: "ada-id", Name: "Ada Lovelace", Email: "ada@app.test"}, nil
			},
		}},
	}
	if tune != nil {
		tune(&c)
	}
	s, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), chromium.Patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return newVisitor(t, s, c.URL)
}

// blob returns a claim that makes the token larger than 6 KB, so that it needs two
// cookies.
func blob() string { return strings.Repeat("0123456789abcdef", 384) }

// TestTheirSessions checks that the engine opens sessions sealed by the libraries.
func TestTheirSessions(t *testing.T) {
	t.Parallel()
	claims := map[string]any{"name": "Grace Hopper", "email": "grace@app.test", "picture": "https://img.test/g.png", "sub": "42"}
	large := maps.Clone(claims)
	large["blob"] = blob()
	eachDialect(t, func(t *testing.T, d dialect, secure bool) {
		session, _ := d.names(secure)
		seal := func(claims map[string]any, secret, salt string) call {
			return call{Lib: d.lib, Op: "encode", Claims: claims, Secret: secret, Salt: salt}
		}
		tokens := ask[string](t,
			seal(claims, secretA, d.salt(session)),
			seal(large, secretA, d.salt(session)),
			seal(claims, secretB, d.salt(session)),
			seal(claims, secretA, "another-cookie"),
		)
		var chunks []call
		for _, token := range tokens {
			chunks = append(chunks, call{Lib: d.lib, Op: "chunk", Name: session, Token: token})
		}
		cookies := ask[map[string]string](t, chunks...)
		grace := map[string]any{"name": "Grace Hopper", "email": "grace@app.test", "image": "https://img.test/g.png"}
		for _, c := range []struct {
			name    string
			cookies map[string]string
			count   int
			secrets []string
			want    map[string]any
		}{
			{"one cookie", cookies[0], 1, []string{secretA}, grace},
			{"chunks", cookies[1], len(cookies[1]), []string{secretA}, grace},
			{"an older secret", cookies[0], 1, []string{secretB, secretA}, grace},
			{"another secret", cookies[2], 1, []string{secretA}, nil},
			{"another salt", cookies[3], 1, []string{secretA}, nil},
		} {
			v := d.engine(t, secure, func(s *authsvc.Config) { s.Secrets = c.secrets })
			v.cookies = maps.Clone(c.cookies)
			if diff := cmp.Diff(c.want, v.user()); diff != "" || len(c.cookies) != c.count {
				t.Errorf("%s, in %d cookies: user (-want +got)\n%s", c.name, len(c.cookies), diff)
			}
		}
		if len(cookies[1]) < 2 {
			t.Errorf("the large token came in %d cookies: nothing was chunked", len(cookies[1]))
		}
	})
}

// TestOurSessions signs in at the engine and opens the session with the libraries.
func TestOurSessions(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect, secure bool) {
		session, _ := d.names(secure)
		for _, claim := range []string{"", blob()} {
			v := d.engine(t, secure, func(c *authsvc.Config) {
				c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
					p.Claims["blob"] = claim
					return p.Claims, nil
				}
			})
			v.post("/callback/credentials", "username", "ada", "password", "right")
			token := v.cookies[session] + v.cookies[session+".0"] + v.cookies[session+".1"] + v.cookies[session+".2"]
			if chunked := v.cookies[session] == ""; chunked != (claim != "") || token == "" {
				t.Fatalf("chunked: %t, token of %d bytes", chunked, len(token))
			}
			calls := []call{
				{Lib: d.lib, Op: "getToken", Cookies: v.cookies, Secret: secretA, Secure: secure},
				{Lib: d.lib, Op: "decode", Token: token, Secret: secretA, Salt: d.salt(session)},
				{Lib: d.lib, Op: "getToken", Cookies: v.cookies, Secret: secretB, Secure: secure},
			}
			if d.lib == "v5" {
				calls = append(calls, call{Lib: d.lib, Op: "getToken", Cookies: v.cookies, Secret: []string{secretB, secretA}, Secure: secure})
			}
			got := ask[map[string]any](t, calls...)
			for i, claims := range got {
				if i == 2 {
					if claims != nil {
						t.Errorf("another secret opens the token: %v", claims)
					}
					continue
				}
				want := map[string]any{"sub": "ada-id", "name": "Ada Lovelace", "email": "ada@app.test", "blob": claim}
				for name, value := range want {
					if claims[name] != value {
						t.Errorf("%s: claim %s is %.40v, want %.40v", calls[i].Op, name, claims[name], value)
					}
				}
				if exp, ok := claims["exp"].(float64); !ok || exp < float64(time.Now().Add(719*time.Hour).Unix()) {
					t.Errorf("%s: exp is %v", calls[i].Op, claims["exp"])
				}
			}
		}
	})
}

// TestRoundTrip checks that the engine accepts a session that a library has resealed,
// as Next.js middleware does.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect, secure bool) {
		session, _ := d.names(secure)
		v := d.engine(t, secure, nil)
		v.post("/callback/credentials", "username", "ada", "password", "right")
		claims := ask[map[string]any](t, call{Lib: d.lib, Op: "getToken", Cookies: v.cookies, Secret: secretA, Secure: secure})[0]
		claims["name"] = "Ada King"
		v.cookies[session] = ask[string](t, call{Lib: d.lib, Op: "encode", Claims: claims, Secret: secretA, Salt: d.salt(session)})[0]
		if got := v.user()["name"]; got != "Ada King" {
			t.Errorf("name is %v", got)
		}
	})
}

// TestCSRFCookies checks that each side accepts the other's double-submit cookies.
func TestCSRFCookies(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect, secure bool) {
		_, csrf := d.names(secure)
		type token struct {
			CSRFToken         string
			Cookie            string
			CSRFTokenVerified bool
		}
		theirs := ask[token](t,
			call{Lib: d.lib, Op: "csrf", Secret: secretA},
			call{Lib: d.lib, Op: "csrf", Secret: secretB})
		accepted := func(cookie, token string) bool {
			v := d.engine(t, secure, nil)
			v.cookies[csrf] = cookie
			res, _ := v.do(http.MethodPost, "/signout", url.Values{"csrfToken": {token}})
			return res.StatusCode == http.StatusFound && !strings.Contains(res.Header.Get("Location"), "csrf=true")
		}
		if !accepted(theirs[0].Cookie, theirs[0].CSRFToken) || !accepted(url.QueryEscape(theirs[0].Cookie), theirs[0].CSRFToken) {
			t.Error("the engine refuses their cookie")
		}
		if accepted(theirs[1].Cookie, theirs[1].CSRFToken) || accepted(theirs[0].Cookie, theirs[1].CSRFToken) {
			t.Error("the engine takes a cookie of another secret, or another token")
		}

		v := d.engine(t, secure, nil)
		ours := v.csrf()
		cookie, err := url.QueryUnescape(v.cookies[csrf])
		if err != nil {
			t.Fatal(err)
		}
		verdicts := ask[token](t,
			call{Lib: d.lib, Op: "csrf", Secret: secretA, Token: cookie, Body: ours},
			call{Lib: d.lib, Op: "csrf", Secret: secretB, Token: cookie, Body: ours},
			call{Lib: d.lib, Op: "csrf", Secret: secretA, Token: cookie, Body: theirs[0].CSRFToken})
		if !verdicts[0].CSRFTokenVerified || verdicts[1].CSRFTokenVerified || verdicts[2].CSRFTokenVerified {
			t.Errorf("verdicts on our cookie: %+v", verdicts)
		}
	})
}

// TestRotatedCSRFCookies uses several secrets: Auth.js hashes with the whole list,
// joined by commas.
func TestRotatedCSRFCookies(t *testing.T) {
	t.Parallel()
	needNode(t)
	d := dialects()[1]
	list := []string{secretB, secretA}
	_, csrf := d.names(true)
	v := d.engine(t, true, func(c *authsvc.Config) { c.Secrets = list })
	type token struct {
		CSRFToken, Cookie string
		CSRFTokenVerified bool
	}
	ours := v.csrf()
	cookie, err := url.QueryUnescape(v.cookies[csrf])
	if err != nil {
		t.Fatal(err)
	}
	got := ask[token](t,
		call{Lib: d.lib, Op: "csrf", Secret: list, Token: cookie, Body: ours},
		call{Lib: d.lib, Op: "csrf", Secret: list})
	if !got[0].CSRFTokenVerified {
		t.Error("Auth.js refuses our cookie")
	}
	v.cookies[csrf] = got[1].Cookie
	if v.csrf() != got[1].CSRFToken {
		t.Error("the engine refuses the cookie of Auth.js")
	}
}

// TestLinkTokens checks how both sides store the token of a mailed link: each must
// find the row that the other has written.
func TestLinkTokens(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect, secure bool) {
		store, sent := memory.New(), make(chan authsvc.Message, 1)
		secrets := []string{secretA}
		var secret any = secretA
		if d.lib == "v5" {
			secrets = []string{secretB, secretA}
			secret = secrets
		}
		v := d.engine(t, secure, func(c *authsvc.Config) {
			c.Secrets, c.Adapter = secrets, store
			c.Providers = append(c.Providers, &authsvc.Email{From: "no-reply@app.test",
				Send: func(_ context.Context, m authsvc.Message) error { sent <- m; return nil }})
		})
		if res := v.post("/signin/email", "email", "ada@app.test"); res.StatusCode != http.StatusFound {
			t.Fatalf("signin/email: %d", res.StatusCode)
		}
		var m authsvc.Message
		select {
		case m = <-sent:
		case <-time.After(chromium.Patience):
			t.Fatal("no mail")
		}
		token := linkOf(t, m.Text).Query().Get("token")
		stored := ask[string](t, call{Lib: d.lib, Op: "hash", Token: token, Secret: secret})[0]
		if _, _, err := store.TakeToken(t.Context(), "ada@app.test", stored, time.Now()); err != nil {
			t.Errorf("no row under the library's hash: %v", err)
		}
	})
}

// linkOf returns the sign-in link in the text of a mail.
func linkOf(t *testing.T, text string) *url.URL {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		if u, err := url.Parse(word); err == nil && u.Query().Get("token") != "" {
			return u
		}
	}
	t.Fatalf("no link in %q", text)
	return nil
}
