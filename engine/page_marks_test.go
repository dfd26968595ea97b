package engine_test

import (
	"regexp"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestStyleIsCompressed checks that the style sheet is compressed only for clients that
// accept gzip.
func TestStyleIsCompressed(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	style := regexp.MustCompile(`/api/auth/style\.[0-9a-f]+\.css`).FindString(w.Browser().Get("/api/auth/signin").Text)
	for header, want := range map[string]string{
		"": "", "gzip": "gzip", "gzip, deflate, br, zstd": "gzip", "br;q=1.0, GZIP;q=0.5": "gzip",
		"br": "", "gzip;q=0": "", "gzip; q=0.000": "", "identity": "", "xgzip": "",
	} {
		b := w.Browser()
		if header != "" {
			b.Header.Set("Accept-Encoding", header)
		}
		a := b.Get(style)
		zipped := strings.HasPrefix(a.Text, "\x1f\x8b")
		if a.StatusCode != 200 || a.Header.Get("Content-Encoding") != want || zipped != (want != "") || a.Header.Get("Vary") != "Accept-Encoding" ||
			a.Header.Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("%q: %d %v", header, a.StatusCode, a.Header)
		}
	}
}

// TestNamesThatClash checks that the page distinguishes two providers with the same
// name, and that the list for front ends has their names unchanged.
func TestNamesThatClash(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		for _, id := range []string{"contoso", "fabrikam"} {
			c.Providers = append(c.Providers, &authsvc.OAuth{ID: id, Name: "Microsoft", Client: authsvc.Client{ID: "a", Secret: "b"},
				Endpoints: authsvc.Endpoints{Authorization: "https://" + id + ".example/a", Token: "https://" + id + ".example/t", UserInfo: "https://" + id + ".example/u"}})
		}
	})
	b := w.Browser()
	page, list := b.Get("/api/auth/signin").Text, b.Get("/api/auth/providers").Text
	for _, id := range []string{"contoso", "fabrikam"} {
		if !strings.Contains(page, "Sign in with Microsoft ("+id+")<") || !strings.Contains(list, `"id":"`+id+`","name":"Microsoft"`) {
			t.Errorf("%s: %s\n%s", id, list, page)
		}
	}
}
