package gate

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// registers reports whether net/http.ServeMux accepts patterns together.
func registers(patterns ...string) (ok bool) {
	defer func() { ok = recover() == nil }()
	mux := http.NewServeMux()
	for _, p := range patterns {
		mux.HandleFunc(p, func(http.ResponseWriter, *http.Request) {})
	}
	return true
}

var samplePatterns = []string{"/", "/{$}", "/a", "/a/", "/a/{$}", "/a/b", "/a/b/", "/a/{x}", "/a/{x}/", "/a/{x...}", "/{x}", "/{x}/", "/{x}/b", "/{x}/b/", "/{x}/{y}",
	"/{x}/{y...}", "/a/{x}/c", "/{x}/b/c", "/b/", "/%61/b", "GET /", "GET /a", "GET /a/", "HEAD /a/", "HEAD /a", "POST /a/", "POST /{x}/b", "PUT /a/{x}", "GET /{x}/{y}", "OPTIONS /a/b"}

var samplePaths = []string{"/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c", "/b", "/b/", "/b/b", "/b/b/c", "/b/b/c/d", "/c/d", "/a/x/c", "/a%2Fb", "/a/b%2Fc", "/a/x"}

// TestPatternsAreThoseOfServeMux checks that the package accepts the same patterns as
// ServeMux, finds the same clashes and chooses the same pattern.
func TestPatternsAreThoseOfServeMux(t *testing.T) {
	t.Parallel()
	for _, p := range samplePatterns {
		for _, q := range samplePatterns {
			a, errA := parsePattern(p)
			b, errB := parsePattern(q)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if p == q {
				continue
			}
			if clash := a.clashes(b); clash == registers(p, q) {
				t.Errorf("%s and %s: clash %v, ServeMux says otherwise", p, q, clash)
			} else if !clash {
				checkChoice(t, p, q)
			}
		}
	}
}

// checkChoice compares which of two patterns is chosen.
func checkChoice(t *testing.T, p, q string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(p, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc(q, func(http.ResponseWriter, *http.Request) {})
	table, problems := Compile([]Host{{Origin: "https://a.example", Rules: []Rule{{Match: p}, {Match: q}}}})
	if problems != nil {
		t.Fatal(problems)
	}
	s, _ := table.Find("a.example")
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS"} {
		for _, path := range samplePaths {
			u, err := url.Parse(path)
			if err != nil {
				t.Fatal(err)
			}
			h, want := mux.Handler(&http.Request{Method: method, URL: u, Host: "a.example"})
			if answer := httptest.NewRecorder(); want != "" {
				h.ServeHTTP(answer, &http.Request{Method: method, URL: u})
				if answer.Code != http.StatusOK { // a redirect to the path with a slash
					continue
				}
			}
			got := ""
			if i := s.find(&s.exact, method, segmentsOf(path, nil), false); i < len(s.rules) {
				got = s.rules[i].text
			}
			if got != want {
				t.Errorf("%s %s with %s and %s: %q, ServeMux chooses %q", method, path, p, q, got, want)
			}
		}
	}
}

func TestParsePattern(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a", "a.example/", "GET", "GET a/", "get /a", "M-SEARCH /a", " /a", "G@T /", "/a//b", "//", "/a/../b", "/a/./b", "/{}", "/{x", "/x}", "/{x}y", "/{x...}/y",
		"/{$}/y", "/{x}/{x}", "/{1}", "/%zz", "/a b", "/a?b", "/a#b", `/a\b`, "/a;b/", "GET a.example/"} {
		if _, err := parsePattern(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{"/", "GET  /a", "/a/{b}/{c...}", "/ä", "/%C3%A4", "PROPFIND /dav/", "/{$}"} {
		if _, err := parsePattern(good); err != nil || !registers(good) {
			t.Errorf("%q: %v; ServeMux takes it: %v", good, err, registers(good))
		}
	}
}
