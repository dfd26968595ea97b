package engine_test

import (
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// refuse brings the browser back from the provider with a refusal. It returns where the
// browser is led.
func refuse(t *testing.T, b *arena.Browser, authorization string, more ...string) string {
	t.Helper()
	q := url.Values{"state": {arena.MustURL(t, authorization).Query().Get("state")}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Add(more[i], more[i+1])
	}
	return b.Get("/api/auth/callback/op?" + q.Encode()).Location()
}

// TestExpiredPage checks that a sign-in begins again, once, if the provider says that
// its own page was open for too long, and that the second attempt is the same as the
// first.
func TestExpiredPage(t *testing.T) {
	t.Parallel()
	expired := []string{"error", "temporarily_unavailable", "error_description", "authentication_expired"}
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		inEveryMode(t, nil, func(t *testing.T, w *arena.World) {
			b := w.Browser()
			long := "/in?" + strings.Repeat("a", 1900) // only the callback-url cookie has room for it
			for name, to := range map[string]string{"short": "/in?a=1", "long": long} {
				first := b.Post("/api/auth/signin/op?login_hint=ada%40op.test&max_age=300", "callbackUrl", to).Location()
				second := refuse(t, b, first, expired...)
				one, two := arena.MustURL(t, first).Query(), arena.MustURL(t, second).Query()
				for _, bound := range []string{"state", "nonce", "code_challenge"} {
					if two.Get(bound) == "" || two.Get(bound) == one.Get(bound) {
						t.Errorf("%s: %s is %q, as in the first request", name, bound, two.Get(bound))
					}
					one.Del(bound)
					two.Del(bound)
				}
				if one.Encode() != two.Encode() {
					t.Errorf("%s: the second request is %s, the first one %s", name, two.Encode(), one.Encode())
				}
				if len(txCookies(b)) > 1 {
					t.Errorf("%s: the first attempt still waits: %v", name, txCookies(b))
				}
				if again := refuse(t, b, first, expired...); !strings.Contains(again, "error=OAuthCallback") {
					t.Errorf("%s: the first attempt begins again twice: %s", name, again)
				}
				if a := b.Get(b.Approve(w.OP, second, "ada")); a.Location() != arena.Origin+to {
					t.Errorf("%s: the second attempt leads to %.60s\n%s", name, a.Location(), w.Logs)
				}
			}
		})
	})
	t.Run("not twice", func(t *testing.T) {
		t.Parallel()
		w := arena.EnterInMemory(t, nil)
		b := w.Browser()
		second := refuse(t, b, b.Begin("op"), expired...)
		to := refuse(t, b, second, expired...)
		if !strings.HasPrefix(to, arena.Origin+"/api/auth/error?error=OAuthCallback&") || len(txCookies(b)) != 0 {
			t.Errorf("the second time leads to %s", to)
		}
		if want := `cause="the provider answered with error \"temporarily_unavailable\", error_description \"authentication_expired\""`; !strings.Contains(w.Logs.String(), want) {
			t.Errorf("the log lacks %s\n%s", want, w.Logs)
		}
	})
	for name, tt := range map[string]struct {
		tune  func(*authsvc.OAuth)
		start string
		words []string
		again bool
		code  string
	}{
		"begins again":              {nil, "", expired, true, ""},
		"another description":       {nil, "", []string{"error", "temporarily_unavailable", "error_description", "maintenance"}, false, "OAuthCallback"},
		"no description":            {nil, "", []string{"error", "temporarily_unavailable"}, false, "OAuthCallback"},
		"another error":             {nil, "", []string{"error", "server_error", "error_description", "authentication_expired"}, false, "OAuthCallback"},
		"with a code":               {nil, "", append([]string{"code", "c"}, expired...), false, "OAuthCallback"},
		"the operator denies":       {func(o *authsvc.OAuth) { o.DeniedErrors = []string{"temporarily_unavailable"} }, "", expired, false, "AccessDenied"},
		"parameters fit":            {nil, "?login_hint=" + strings.Repeat("a", 500), expired, true, ""},
		"parameters do not fit":     {nil, "?login_hint=" + strings.Repeat("a", 510), expired, false, "OAuthCallback"},
		"parameters of escapes":     {nil, "?login_hint=" + strings.Repeat("%3C", 200), expired, true, ""},
		"too long as JSON":          {nil, "?login_hint=" + strings.Repeat("%3C", 500), expired, false, "OAuthCallback"},
		"parameter that is ignored": {nil, "?login_hint=" + strings.Repeat("a", 513), expired, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.EnterInMemory(t, func(c *authsvc.Config) {
				if o, ok := c.Providers[0].(*authsvc.OAuth); ok && tt.tune != nil {
					tt.tune(o)
				}
			})
			b := w.Browser()
			start := b.Post("/api/auth/signin/op" + tt.start).Location()
			if !strings.HasPrefix(start, w.OP.Issuer()) {
				t.Fatalf("the sign-in begins at %s\n%s", start, w.Logs)
			}
			to := refuse(t, b, start, tt.words...)
			if tt.again && !strings.HasPrefix(to, w.OP.Issuer()) || !tt.again && !strings.Contains(to, "error="+tt.code+"&") {
				t.Errorf("leads to %s", to)
			}
		})
	}
	t.Run("not twice without storage", func(t *testing.T) {
		t.Parallel()
		w := arena.EnterInMemory(t, func(c *authsvc.Config) { c.Adapter, c.Providers = nil, c.Providers[:1] })
		b := w.Browser()
		first := b.Begin("op")
		kept := b.Clone() // keeps the cookie of the attempt
		if to := refuse(t, b, first, expired...); !strings.HasPrefix(to, w.OP.Issuer()) {
			t.Errorf("the first time leads to %s", to)
		} else if a := b.Get(b.Approve(w.OP, to, "ada")); a.Location() != arena.Origin {
			t.Errorf("the second attempt leads to %s", a.Location())
		}
		if to := refuse(t, kept, first, expired...); !strings.Contains(to, "error=OAuthCallback") {
			t.Errorf("the same attempt begins again twice: %s", to)
		}
	})
	t.Run("not without the browser's cookie", func(t *testing.T) {
		t.Parallel()
		w := arena.EnterInMemory(t, nil)
		if to := refuse(t, w.Browser(), w.Browser().Begin("op"), expired...); !strings.Contains(to, "error=OAuthCallback") {
			t.Errorf("another browser is led to %s", to)
		}
	})
}

// TestRefusalInLog checks that the log line of a refusal has the provider's words, plain
// and short, and that no answer and no audit event has them.
func TestRefusalInLog(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code, description string
		want              string
	}{
		"refused":        {"server_error", "LDAP is down", `the provider answered with error \"server_error\", error_description \"LDAP is down\"`},
		"declined":       {"access_denied", "User Denied <b>x</b>", `the person or the provider refused: error \"access_denied\", error_description \"User Denied <b>x</b>\"`},
		"no description": {"invalid_scope", "", `the provider answered with error \"invalid_scope\""`},
		"hostile":        {"a\nlevel=ERROR", "b\r\n\x1b[31m\u202e\"", `error \"a?level=ERROR\", error_description \"b???[31m?\\\"\"`},
		"long":           {strings.Repeat("c", 100), strings.Repeat("d", 3000), `error \"` + strings.Repeat("c", 60) + `\", error_description \"` + strings.Repeat("d", 200) + `\""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.EnterInMemory(t, nil)
			b := w.Browser()
			to := refuse(t, b, b.Begin("op"), "error", tt.code, "error_description", tt.description)
			line := ""
			for one := range strings.Lines(w.Logs.String()) {
				if strings.Contains(one, "sign-in refused") {
					line += one
				} else if strings.Contains(one, "msg=audit") && strings.Contains(one, "error_description") {
					t.Errorf("the audit event has the provider's words: %s", one)
				}
			}
			if strings.Count(line, "\n") != 1 || !strings.Contains(line, tt.want) {
				t.Errorf("log line: %swant %s", line, tt.want)
			}
			a := b.Get(to)
			for _, words := range []string{tt.code, tt.description} {
				if words != "" && (strings.Contains(to, url.QueryEscape(words)) || strings.Contains(a.Text, words)) {
					t.Errorf("%s or its page has %q", to, words)
				}
			}
		})
	}
}
