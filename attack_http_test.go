package authsvc_test

import (
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
)

var allPaths = []string{"", "/signin", "/signin/op", "/signin/email", "/callback/op", "/callback/email", "/callback/credentials", "/signout", "/session", "/csrf", "/providers", "/error", "/verify-request", "/_log", "/client.js"}

func TestAttackMethods(t *testing.T) {
	t.Parallel()
	for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
		w := enter(t, func(c *authsvc.Config) { c.Compat = mode })
		b := w.browser()
		b.signIn(w.op, "ada")
		for _, method := range []string{"TRACE", "CONNECT", "PUT", "DELETE", "PATCH", "FOO", "OPTIONS", "HEAD", "get", "F\"<script>"} {
			t.Run("httpwire-12 "+string(mode)+" "+method, func(t *testing.T) {
				t.Parallel()
				for _, path := range allPaths {
					before := w.led.lasting()
					r := httptest.NewRequest("GET", origin+"/api/auth"+path, strings.NewReader("canary"))
					r.Method = method
					a := b.clone().do(r)
					if want := map[bool]int{true: 405, false: 400}[mode == authsvc.CompatNone]; a.StatusCode != want {
						t.Errorf("%s: %d", path, a.StatusCode)
					}
					if mode == authsvc.CompatNone && a.Header.Get("Allow") == "" {
						t.Errorf("%s: no Allow", path)
					}
					if strings.Contains(a.body, "canary") || strings.Contains(a.body, "<script>") || w.led.lasting() != before {
						t.Errorf("%s: %s", path, a.body)
					}
				}
			})
		}
	}
}

func TestAttackBodies(t *testing.T) {
	t.Parallel()
	w := enterOffline(t, nil)
	b := w.browser()
	b.login("ada")
	token := b.csrf()
	jsonToken := `{"csrfToken":"` + token + `"`
	posts := []string{"/signin/email", "/signout", "/session", "/callback/credentials", "/callback/email", "/_log"}
	for name, v := range map[string]struct {
		contentType, body string
		want              int
	}{
		"httpwire-09 form over 64 KiB":   {"application/x-www-form-urlencoded", "csrfToken=" + token + "&x=" + strings.Repeat("x", 64<<10), 413},
		"httpwire-09 JSON over 64 KiB":   {"application/json", jsonToken + `,"x":"` + strings.Repeat("x", 64<<10) + `"}`, 413},
		"httpwire-10 many fields":        {"application/x-www-form-urlencoded", "csrfToken=" + token + strings.Repeat("&a", 30_000), 400},
		"httpwire-10 deep JSON":          {"application/json", jsonToken + `,"x":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "}", 400},
		"httpwire-10 huge number":        {"application/json", jsonToken + `,"x":1e` + strings.Repeat("9", 60_000) + "}", 400},
		"httpwire-10 duplicate keys":     {"application/json", jsonToken + `,"a":1,"a":2}`, 400},
		"httpwire-10 trailing data":      {"application/json", jsonToken + `}{}`, 400},
		"httpwire-10 BOM":                {"application/json", "\ufeff" + jsonToken + "}", 400},
		"httpwire-10 bad UTF-8":          {"application/json", jsonToken + ",\"x\":\"\xff\"}", 400},
		"httpwire-10 bad UTF-8 form":     {"application/x-www-form-urlencoded", "csrfToken=" + token + "&x=%ff", 400},
		"httpwire-10 list":               {"application/json", "[" + jsonToken + "}]", 400},
		"httpwire-10 string":             {"application/json", `"csrfToken"`, 400},
		"httpwire-10 not closed":         {"application/json", jsonToken, 400},
		"httpwire-10 token is no string": {"application/json", `{"csrfToken":["` + token + `"]}`, 0},
		"httpwire-10 other case":         {"application/json", `{"CSRFTOKEN":"` + token + `"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range posts {
				if path == "/_log" && v.want == 0 {
					continue
				}
				for _, known := range []bool{true, false} {
					began := time.Now()
					a := w.mustRefuse(t, func() *answer {
						r := httptest.NewRequest("POST", origin+"/api/auth"+path, strings.NewReader(v.body))
						if !known {
							r.ContentLength = -1
						}
						r.Header.Set("Content-Type", v.contentType)
						return b.clone().do(r)
					})
					if v.want != 0 && a.StatusCode != v.want {
						t.Errorf("%s: %d", path, a.StatusCode)
					}
					if d := time.Since(began); d > 500*time.Millisecond {
						t.Errorf("%s took %v", path, d)
					}
				}
			}
		})
	}
	t.Run("httpwire-09 reading stops", func(t *testing.T) {
		r := httptest.NewRequest("POST", origin+"/api/auth/signout", nil)
		endless := &endless{}
		r.Body, r.ContentLength = io.NopCloser(endless), -1
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if a := b.clone().do(r); a.StatusCode != 413 || endless.n > 1<<20 {
			t.Errorf("%d after %d bytes", a.StatusCode, endless.n)
		}
	})
	t.Run("httpwire-11 compressed request", func(t *testing.T) {
		for _, encoding := range []string{"gzip", "identity", "deflate", ""} {
			a := b.clone().form("/api/auth/signout", url.Values{"csrfToken": {token}}, "Content-Encoding", encoding)
			if a.StatusCode != 415 {
				t.Errorf("%q: %d", encoding, a.StatusCode)
			}
		}
	})
	t.Run("httpwire-16 long URL", func(t *testing.T) {
		for _, target := range []string{"/" + strings.Repeat("x", 64<<10), "/signin?" + strings.Repeat("x", 64<<10), "/signin?" + strings.Repeat("a=&", 100_000), "/callback/credentials?" + strings.Repeat("callbackUrl=/&", 1000)} {
			if a := b.clone().get("/api/auth" + target); a.StatusCode >= 500 {
				t.Errorf("%.20s: %d", target, a.StatusCode)
			}
		}
	})
	t.Run("httpwire-09 twin", func(t *testing.T) {
		if a := b.clone().form("/api/auth/signin/email", url.Values{"csrfToken": {token}, "email": {"a@b.test"}, "x": {strings.Repeat("x", 63<<10)}}); !strings.Contains(a.location(), "verify-request") {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	})
}

type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) { e.n += len(p); clear(p); return len(p), nil }
