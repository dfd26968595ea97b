package idp_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"authsvc/internal/dev/idp"
)

const evil = `<script>alert(1)</script>"'&`

// checkPage checks the properties of all pages.
func checkPage(t *testing.T, res *http.Response, body string) {
	t.Helper()
	for _, want := range []string{
		`<html lang="en">`, `<meta name="viewport"`, "<title>", "<h1>", "<main", "For development only", `<link rel="stylesheet" href="/style-`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %s", want)
		}
	}
	for _, never := range []string{"<script>alert", " onclick", " onload", "<style", " style=", "javascript:", "ZgotmplZ"} {
		if strings.Contains(body, never) {
			t.Errorf("page has %s", never)
		}
	}
	labels := regexp.MustCompile(`<label[^>]* for="([^"]+)"`).FindAllStringSubmatch(body, -1)
	inputs := regexp.MustCompile(`<input id="`).FindAllString(body, -1)
	if len(labels) != len(inputs) {
		t.Errorf("%d labels for %d inputs", len(labels), len(inputs))
	}
	for _, label := range labels {
		if !strings.Contains(body, `<input id="`+label[1]+`"`) {
			t.Errorf("label for %s points nowhere", label[1])
		}
	}
	if len(body) > 14<<10 {
		t.Errorf("page has %d bytes", len(body))
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
		"Referrer-Policy": "strict-origin", "X-Content-Type-Options": "nosniff",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	csp := res.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "style-src 'self'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("CSP %q lacks %s", csp, want)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "form-action") {
		t.Errorf("CSP %q", csp)
	}
	if !strings.Contains(body, "<script") && strings.Contains(csp, "script-src") {
		t.Errorf("CSP %q allows a script that is not there", csp)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{
		Clients: []idp.Client{{ID: "app", Name: evil}},
		People:  append(idp.DefaultPeople(), idp.Person{Sub: `e"><i>`, Name: evil, Email: "e@example.com"}),
	})
	q := request()
	q.Set("state", evil)
	q.Set("login_hint", "alan")
	q.Set("code_challenge", strings.Repeat("c", 43))
	q.Set("code_challenge_method", "S256")
	q.Del("prompt")

	t.Run("choose", func(t *testing.T) {
		t.Parallel()
		res, body := get(t, server.Issuer()+"/authorize?"+q.Encode())
		checkPage(t, res, body)
		if strings.Contains(body, "<script") || strings.Contains(body, "<i>") {
			t.Error("unescaped text")
		}
		order := regexp.MustCompile(`name="person" value="([^"]*)"( autofocus)?`).FindAllStringSubmatch(body, -1)
		if len(order) != 5 || order[0][1] != "alan" || order[0][2] == "" || order[1][1] != "ada" || order[1][2] != "" {
			t.Errorf("buttons: %q", order)
		}
		// The form's address repeats the request unchanged.
		action := regexp.MustCompile(`<form method="post" action="([^"]*)"`).FindStringSubmatch(body)
		u, err := url.Parse(html.UnescapeString(action[1]))
		if err != nil || u.Path != "/authorize/choose" || u.Query().Encode() != q.Encode() {
			t.Errorf("action %s, %v", action[1], err)
		}
		to, _ := postForm(t, server.Issuer()+u.String(), url.Values{"person": {html.UnescapeString(order[4][1])}})
		if params := location(t, to); !params.Has("code") || params.Get("state") != evil {
			t.Errorf("answer %v", params)
		}
	})
	t.Run("problem", func(t *testing.T) {
		t.Parallel()
		res, body := postForm(t, server.Issuer()+"/authorize/choose?"+q.Encode(), url.Values{"add": {"1"}, "name": {evil}, "email": {evil}})
		checkPage(t, res, body)
		for _, want := range []string{`role="alert"`, "<details open>", `value="&lt;script&gt;alert(1)&lt;/script&gt;`, `aria-describedby="problem"`} {
			if !strings.Contains(body, want) {
				t.Errorf("page lacks %s", want)
			}
		}
		if strings.Count(body, "autofocus") != 1 {
			t.Error("want one autofocus")
		}
	})
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		res, body := get(t, server.Issuer()+"/authorize?client_id="+url.QueryEscape(evil))
		checkPage(t, res, body)
		if !strings.Contains(body, "&lt;script&gt;alert(1)") {
			t.Error("page does not show what was received")
		}
	})
}

// TestFormPost: the form_post page runs its only script, allowed by hash, and works
// without it.
func TestFormPost(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	for name, tt := range map[string]struct{ hint, param string }{
		"code": {"ada", "code"}, "error": {"mallory", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := request()
			q.Set("response_mode", "form_post")
			q.Set("state", evil)
			q.Set("login_hint", tt.hint)
			res, body := get(t, server.Issuer()+"/authorize?"+q.Encode())
			checkPage(t, res, body)
			script := regexp.MustCompile(`<script>([^<]*)</script>`).FindStringSubmatch(body)
			if script == nil {
				t.Fatalf("no script in\n%s", body)
			}
			sum := sha256.Sum256([]byte(script[1]))
			want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
			if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, want) {
				t.Errorf("CSP %q lacks %s", csp, want)
			}
			got := url.Values{}
			for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(body, -1) {
				got.Add(m[1], html.UnescapeString(m[2]))
			}
			if !got.Has(tt.param) || got.Get("state") != evil || got.Get("iss") != server.Issuer() {
				t.Errorf("fields %v", got)
			}
			if !strings.Contains(body, `action="`+callback+`"`) || !strings.Contains(body, "<noscript>") {
				t.Errorf("page:\n%s", body)
			}
		})
	}
}

func TestStyleAndAvatar(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{
		Issuer:     "/op",
		StyleSheet: []byte("body{}"),
		People:     []idp.Person{{Sub: "x/y", Name: "Äda de la <Lovelace"}},
	})
	q := request()
	q.Set("redirect_uri", callback)
	q.Del("prompt")
	_, body := get(t, server.Issuer()+"/authorize?"+q.Encode())
	origin := strings.TrimSuffix(server.Issuer(), "/op")

	href := regexp.MustCompile(`href="(/op/style-[0-9a-f]+\.css)"`).FindStringSubmatch(body)
	res, css := get(t, origin+href[1])
	if css != "body{}" || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") || res.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("style: %v %q", res.Header, css)
	}
	src := regexp.MustCompile(`src="(/op/avatar/[^"]+)"`).FindStringSubmatch(body)
	res, svg := get(t, origin+src[1])
	var image struct {
		Text string `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(svg), &image); err != nil || image.Text != "Ä<" || res.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("avatar: %v %q %s", err, image.Text, svg)
	}
	if res, _ := get(t, origin+"/op/avatar/nobody.svg"); res.StatusCode != http.StatusNotFound {
		t.Errorf("avatar of an unknown person: %d", res.StatusCode)
	}
	for path, want := range map[string]int{"/favicon.ico": http.StatusNoContent, "/favicon.png": http.StatusNotFound} { // browsers ask for it
		if res, _ := get(t, origin+path); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

// TestForeignHost: a rebound name reaches the listener but is not served.
func TestForeignHost(t *testing.T) {
	t.Parallel()
	provider, err := idp.New(idp.Options{Issuer: "http://localhost:3001", Key: ecKey()})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		"localhost:3001": 200, "LOCALHOST:3001": 200,
		"evil.test:3001": 421, "localhost": 421, "127.0.0.1:3001": 421, "": 421,
	} {
		req := httptest.NewRequest(http.MethodGet, "/.well-known/openid-configuration", nil)
		req.Host = host
		rec := httptest.NewRecorder()
		provider.ServeHTTP(rec, req)
		if rec.Code != want {
			t.Errorf("Host %q: %d, want %d", host, rec.Code, want)
		}
	}
}
