package verify

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// httpwirePosts lists all routes that read a body.
var httpwirePosts = []string{"/signin/email", "/signin/op", "/signout", "/session", "/callback/credentials", "/callback/email", "/callback/op", "/_log", "/backchannel-logout/op"}

// A bomb is a body that must be refused with no more work than its size requires.
type bomb struct {
	contentType, body string
	want              int // 0: any refusal
}

// httpwireDefuse posts bodies to every route, with and without a length, and returns
// the longest time to an answer.
func httpwireDefuse(t *T, w *arena.World, b *arena.Browser, bombs map[string]bomb) time.Duration {
	var longest time.Duration
	for name, v := range bombs {
		t.Run(name, func(t *T) {
			for _, path := range httpwirePosts {
				if v.want == 0 && (path == "/_log" || path == "/callback/op" || path == "/backchannel-logout/op") {
					continue // these need no token
				}
				for _, known := range []bool{true, false} {
					began := time.Now()
					a := w.MustRefuse(t, func() *browser.Answer {
						r := httptest.NewRequest(http.MethodPost, b.Origin+"/api/auth"+path, strings.NewReader(v.body))
						if !known {
							r.ContentLength = -1
						}
						r.Header.Set("Content-Type", v.contentType)
						return b.Clone().Do(r)
					})
					longest = max(longest, time.Since(began))
					if v.want != 0 && a.StatusCode != v.want {
						t.Errorf("%s: %d", path, a.StatusCode)
					}
				}
			}
		})
	}
	return longest
}

// httpwireSignedIn returns a signed-in browser whose session an attack would end.
func httpwireSignedIn(t *T) (*arena.World, *arena.Browser, string) {
	t.Helper()
	w := t.Enter(func(c *authsvc.Config) { c.Account.Delete = true })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	return w, b, b.CSRF()
}

const formType, jsonType = "application/x-www-form-urlencoded", "application/json"

func httpwire09(t *T) {
	w, b, token := httpwireSignedIn(t)
	httpwireDefuse(t, w, b, map[string]bomb{
		"form over 64 KiB": {formType, "csrfToken=" + token + "&x=" + strings.Repeat("x", 64<<10), 413},
		"JSON over 64 KiB": {jsonType, `{"csrfToken":"` + token + `","x":"` + strings.Repeat("x", 64<<10) + `"}`, 413},
		"form of 1 MB":     {formType, "csrfToken=" + token + strings.Repeat("&x=", 1<<20/3), 413},
	})
	t.Run("reading stops", func(t *T) {
		for _, path := range httpwirePosts {
			r := httptest.NewRequest(http.MethodPost, b.Origin+"/api/auth"+path, nil)
			endless := &counted{r: repeat("x", 10<<20)}
			r.Body, r.ContentLength = io.NopCloser(endless), -1
			r.Header.Set("Content-Type", formType)
			if a := b.Clone().Do(r); a.StatusCode != 413 || endless.n > 128<<10 {
				t.Errorf("%s: %d after %d bytes", path, a.StatusCode, endless.n)
			}
		}
	})
	t.Run("twin", func(t *T) {
		a := b.Clone().Form("/api/auth/signin/email", url.Values{"csrfToken": {token}, "email": {"a@b.test"}, "x": {strings.Repeat("x", 63<<10)}})
		if !strings.Contains(a.Location(), "verify-request") {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
	})
	if t.Mode == modeNone {
		t.Run("on the wire", httpwireWireBodies)
	}
}

// httpwireWireBodies announces or sends up to 10 GB to the binary, which must read
// little of it.
func httpwireWireBodies(t *T) {
	p, _ := httpwireServe(t)
	for _, path := range httpwirePosts {
		if path == "/callback/credentials" { // the binary has no such provider
			continue
		}
		for size, header := range map[int64]string{1 << 20: "Content-Length: 1048576\r\n", 10 << 30: "Content-Length: 10737418240\r\n", 10<<30 + 1: "Transfer-Encoding: chunked\r\n"} {
			t.Run(fmt.Sprintf("%s %d", strings.TrimPrefix(path, "/"), size), func(t *T) {
				t.Parallel()
				head := "POST /api/auth" + path + " HTTP/1.1\r\nHost: " + p.Addr + "\r\nContent-Type: " + formType + "\r\n" + header + "\r\n"
				body := &counted{r: repeat("1000\r\n"+strings.Repeat("x", 4096)+"\r\n", int(size/4104))}
				a := rawExchange(t, rawDial(t, p.Addr), patience, &joined{head, body})
				if len(a.status) > 1 || len(a.status) == 1 && a.status[0] != 413 || !a.closed {
					t.Errorf("%v, closed %v", a.status, a.closed)
				}
				if body.n > 16<<20 { // includes the kernel's buffers on both sides
					t.Errorf("%d bytes were taken", body.n)
				}
			})
		}
	}
}

func httpwire10(t *T) {
	w, b, token := httpwireSignedIn(t)
	jsonToken := `{"csrfToken":"` + token + `"`
	form := "csrfToken=" + token
	longest := httpwireDefuse(t, w, b, map[string]bomb{
		"many fields":           {formType, form + strings.Repeat("&a", 30_000), 400},
		"10^6 fields":           {formType, form + strings.Repeat("&a", 1_000_000), 413},
		"deep JSON":             {jsonType, jsonToken + `,"x":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "}", 400},
		"deep open JSON":        {jsonType, jsonToken + `,"x":` + strings.Repeat(`{"a":`, 12_000), 400},
		"depth 10^5":            {jsonType, jsonToken + `,"x":` + strings.Repeat("[", 100_000), 413},
		"huge number":           {jsonType, jsonToken + `,"x":1e` + strings.Repeat("9", 60_000) + "}", 400},
		"number of 10 MB":       {jsonType, jsonToken + `,"x":` + strings.Repeat("9", 10_000_000) + "}", 413},
		"duplicate keys":        {jsonType, jsonToken + `,"a":1,"a":2}`, 400},
		"duplicate token":       {jsonType, jsonToken + `,"csrfToken":"` + token + `"}`, 400},
		"duplicate escaped":     {jsonType, jsonToken + `,"csrf\u0054oken":"x"}`, 400},
		"duplicate fields":      {formType, form + "&email=a@b.test&email=c@d.test", 400},
		"trailing data":         {jsonType, jsonToken + `}{}`, 400},
		"BOM":                   {jsonType, "\ufeff" + jsonToken + "}", 400},
		"bad UTF-8":             {jsonType, jsonToken + ",\"x\":\"\xff\"}", 400},
		"bad UTF-8 form":        {formType, form + "&x=%ff", 400},
		"bad escape":            {formType, form + "&x=%zz", 400},
		"semicolon":             {formType, form + ";x=1", 400},
		"list":                  {jsonType, "[" + jsonToken + "}]", 400},
		"string":                {jsonType, `"csrfToken"`, 400},
		"not closed":            {jsonType, jsonToken, 400},
		"another charset":       {formType + "; charset=utf-16", form, 415},
		"text":                  {"text/plain", form, 415},
		"multipart":             {"multipart/form-data; boundary=x", "--x\r\n\r\n" + form + "\r\n--x--", 415},
		"no type":               {"", form, 415},
		"token is not a string": {jsonType, `{"csrfToken":["` + token + `"]}`, 0},
		"token in a list":       {formType, "csrfToken[]=" + token, 0},
		"other case":            {jsonType, `{"CSRFTOKEN":"` + token + `"}`, 0},
	})
	t.Figure("longest answer %v (%s)", longest.Round(100*time.Microsecond), t.Mode)
	if longest > within(500*time.Millisecond) { // other checks run at the same time
		t.Errorf("an answer took %v", longest)
	}
	if a := b.Raw("/api/auth/signout", jsonType, jsonToken+`}`); a.StatusCode != 302 || b.Email() != "" {
		t.Errorf("twin: %d %s", a.StatusCode, a.Text)
	}
}

func httpwire11(t *T) {
	w, b, token := httpwireSignedIn(t)
	var bombed bytes.Buffer
	z := gzip.NewWriter(&bombed)
	io.Copy(z, &joined{"csrfToken=" + token + "&x=", repeat(strings.Repeat("x", 1<<20), 50)}) //nolint:errcheck // into memory
	z.Close()
	for _, encoding := range []string{"gzip", "x-gzip", "deflate", "br", "zstd", "identity", "gzip, gzip", ""} {
		t.Run("as "+encoding, func(t *T) {
			a := w.NoEffect(t, b, func() *browser.Answer {
				return b.Clone().Raw("/api/auth/signout", formType, bombed.String()[:min(bombed.Len(), 60<<10)], "Content-Encoding", encoding)
			})
			c := b.Clone().Form("/api/auth/signout", url.Values{"csrfToken": {token}}, "Content-Encoding", encoding)
			if a.StatusCode != 415 || c.StatusCode != 415 {
				t.Errorf("%d, %d", a.StatusCode, c.StatusCode)
			}
		})
	}
	t.Run("not announced", func(t *T) {
		if a := w.NoEffect(t, b, func() *browser.Answer { return b.Clone().Raw("/api/auth/signout", formType, bombed.String()) }); a.StatusCode != 400 && a.StatusCode != 413 {
			t.Errorf("%d", a.StatusCode)
		}
	})
	if b.Form("/api/auth/signout", url.Values{"csrfToken": {token}}); b.Email() != "" {
		t.Error("twin: the same without an encoding does not sign out")
	}
}

// rawAllocated returns how many bytes f allocates. Concurrent allocations count too.
func rawAllocated(f func()) int64 {
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
	})
	return r.AllocedBytesPerOp()
}
