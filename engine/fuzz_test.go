package engine

import (
	"bufio"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"authsvc"
	"authsvc/engine/internal/cookie"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/emailaddr"
)

// fuzzedOwn and fuzzedPartner are the origins that fuzz tests allow in a callbackUrl.
const fuzzedOwn, fuzzedPartner = "https://app.test", "https://partner.test:8444"

// fuzzedCallbacks adds the vectors in testdata/redirects.txt to f and returns a service
// that resolves them. With -fuzz it adds only every 16th, since each seed first runs
// slowly.
func fuzzedCallbacks(f *testing.F) *Service {
	f.Helper()
	file, err := os.Open("testdata/redirects.txt")
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	stride := 1
	if flag.Lookup("test.fuzz").Value.String() != "" {
		stride = 16
	}
	lines := bufio.NewScanner(file)
	for n := 0; lines.Scan(); n++ {
		if _, literal, ok := strings.Cut(lines.Text(), " "); ok && n%stride == 0 {
			if v, err := strconv.Unquote(literal); err == nil {
				f.Add(v)
			}
		}
	}
	s := &Service{People: People{newStoreys(&fleet.Common{})}}
	s.site.origin, s.site.origins.redirect = fuzzedOwn, map[string]bool{fuzzedOwn: true, fuzzedPartner: true}
	return s
}

// FuzzCallbackURL checks that any callbackUrl leads to an allowed origin, in bytes that
// no browser reads as another origin. Resolving the result again must not change it.
func FuzzCallbackURL(f *testing.F) {
	const own, partner = fuzzedOwn, fuzzedPartner
	s := fuzzedCallbacks(f)
	f.Fuzz(func(t *testing.T, want string) {
		rq := &request{site: s.site}
		to := resolveCallbackURL(rq, want)
		rest, ok := strings.CutPrefix(to, own)
		if !ok {
			if rest, ok = strings.CutPrefix(to, partner); !ok {
				t.Fatalf("%q leads to %q", want, to)
			}
		}
		if rest != "" && strings.IndexByte("/?#", rest[0]) < 0 {
			t.Fatalf("%q leads to %q", want, to)
		}
		if strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\\\"<>'`", r) }) {
			t.Fatalf("%q gives bytes that are not encoded: %q", want, to)
		}
		if len(to) <= weburl.MaxLength {
			if again := resolveCallbackURL(rq, to); again != to {
				t.Fatalf("%q gives %q, which gives %q", want, to, again)
			}
		}
		u, err := url.Parse(to)
		if err != nil || u.User != nil {
			t.Fatalf("%q gives %q: %v", want, to, err)
		}
	})
}

// FuzzCookies checks that no Cookie header makes the engine panic, echo a name or value
// into Set-Cookie, or read a session that is not a single value.
func FuzzCookies(f *testing.F) {
	const s = "__Host-authsvc.session"
	for _, line := range []string{s + "=a", s + "=a; " + s + "=b", s + ".0=a; " + s + ".1=b", s + ".00=a", s + ".-1=a", s + ".1e1=a", s + "=", "=" + s, s + ".4=a", ";;=;", s + "=a; " + s + ".0=b",
		"__Host-authsvc.tx.abcdefghijklmnop=x", "__Host-authsvc.tx.\"\\=x", s + ".\r\nX: y=a", strings.Repeat(s+".0=x;", 100)} {
		f.Add(line, "")
		f.Add(line, line)
	}
	names := cookie.NewNames("", [3]string{"session", "csrf", "callback-url"}, "__Host-", true, authsvc.CookieOptions{})
	f.Fuzz(func(t *testing.T, one, two string) {
		rq := &request{site: &site{names: names}, place: &loginPlace{}}
		rq.jar.Names = &rq.names
		rq.jar.Parse(http.Header{"Cookie": {one, two}}, rq.pairBuf[:])
		value, present := rq.jar.Session()
		if value != "" && !present {
			t.Fatal("a session without cookies")
		}
		if strings.ContainsAny(value, ";") || len(rq.jar.Pairs) > cookie.MaxKept {
			t.Fatalf("value %q, %d cookies", value, len(rq.jar.Pairs))
		}
		if bare, ok := rq.jar.Get(names.Session); ok && value != "" && value != bare {
			t.Fatalf("%q beside the bare %q", value, bare)
		}
		rq.clearSession()
		for i := range rq.set {
			line := rq.set[i].Line(true)
			if !strings.HasPrefix(line, s) || strings.Count(line, ";") != 5 || strings.ContainsAny(line, "\r\n\x00") {
				t.Fatalf("Set-Cookie %q", line)
			}
		}
	})
}

// FuzzBody checks that a body is either refused or read completely, and that no field is
// accepted twice.
func FuzzBody(f *testing.F) {
	for _, v := range []string{"csrfToken=a", "a=1&a=2", "a[]=1", "a=%zz", "a;b", "", `{"csrfToken":"a"}`, `{"a":1,"a":2}`, `{"data":{"x":[1]}}`, `[]`, `{"a":"\ud800"}`, "\ufeff{}", `{} {}`, `{"a":1e999}`} {
		f.Add(v, false)
		f.Add(v, true)
	}
	f.Fuzz(func(t *testing.T, raw string, asJSON bool) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(raw))
		r.Header.Set("Content-Type", map[bool]string{false: "application/x-www-form-urlencoded", true: "application/json"}[asJSON])
		rq := &request{site: &site{bodies: newBodySlots()}, ctx: t.Context(), r: r}
		if out := readBody(rq); out != nil {
			if p, ok := out.(problem); !ok || p.status < 400 || p.status > 415 || rq.body != nil {
				t.Fatalf("%#v", out)
			}
			return
		}
		for name, v := range rq.body.fields {
			if !utf8.ValidString(name) || !utf8.ValidString(v) {
				t.Fatalf("field %q=%q is not UTF-8", name, v)
			}
		}
		if values, err := url.ParseQuery(raw); !asJSON && (err != nil || len(values) != len(rq.body.fields)) {
			t.Fatalf("read %v of %v, %v", rq.body.fields, values, err)
		}
	})
}

// FuzzAddress checks that an accepted email address is a single mailbox in a stable
// form, which cannot be read as a list, a comment, a quote or a line break.
func FuzzAddress(f *testing.F) {
	for _, v := range []string{"a@x.test", "A@X.TEST ", "a@x,v@y.test", `"a"@x.test`, "a@x.test\r\nBcc: v@y.test", "a＠x.test", "<a@x.test>", "a(c)@x.test", "a@[127.0.0.1]", "ſ@x.test", "İ@x.test", "a@x。test", "ﬀ@x.test", "a@\u0345.test", "℀@x.test", "é@x.test"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		s, err := emailaddr.Normalise(raw)
		if err != nil {
			return
		}
		if again, err := emailaddr.Normalise(s); err != nil || again != s {
			t.Fatalf("%q gives %q, which gives %q, %v", raw, s, again, err)
		}
		if strings.Count(s, "@") != 1 || len(s) > emailaddr.MaxLength || !utf8.ValidString(s) || strings.ContainsAny(s, " \t\r\n\x00,;:<>()[]\"\\%") {
			t.Fatalf("%q gives %q", raw, s)
		}
		if s != strings.ToLower(s) {
			t.Fatalf("%q gives %q, which is not lower case", raw, s)
		}
	})
}
