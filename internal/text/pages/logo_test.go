package pages

import (
	"encoding/base64"
	"strings"
	"testing"
)

const (
	pngLogo  = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	gifLogo  = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
	webpLogo = "data:image/webp;base64,UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
	svgLogo  = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'%3E%3Cpath d='M0 0h1v1H0z'/%3E%3C/svg%3E"
)

func TestDataImages(t *testing.T) {
	t.Parallel()
	b64 := func(kind, s string) string {
		return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString([]byte(s))
	}
	const svg = "<svg xmlns='http://www.w3.org/2000/svg'/>"
	tests := map[string]struct{ logo, problem string }{
		"png": {pngLogo, ""}, "gif": {gifLogo, ""}, "webp": {webpLogo, ""}, "svg": {svgLogo, ""},
		"svg in base64":          {b64("image/svg+xml", svg), ""},
		"svg with a charset":     {"data:image/svg+xml;charset=utf-8," + svg, ""},
		"svg with a prologue":    {b64("image/svg+xml", "<?xml version='1.0'?>\n<!-- a -->\n"+svg), ""},
		"text":                   {"data:text/html,<script>", "must hold an image"},
		"no comma":               {"data:image/png", "must hold an image"},
		"only the signature":     {"data:image/png;base64,iVBORw0KGgo=", "must hold an image of that type"},
		"text that says png":     {"data:image/png,hello", "must hold an image of that type"},
		"png that says jpeg":     {strings.Replace(pngLogo, "png", "jpeg", 1), "must hold an image of that type"},
		"type that is not known": {strings.Replace(pngLogo, "png", "x-icon", 1), "must hold an image of that type"},
		"broken base64":          {"data:image/png;base64,%%%", "cannot be decoded"},
		"other root":             {b64("image/svg+xml", "<html xmlns='http://www.w3.org/2000/svg'/>"), "must hold an image of that type"},
		"no namespace":           {b64("image/svg+xml", "<svg/>"), "must hold an image of that type"},
		"svg cut short":          {b64("image/svg+xml", svg[:len(svg)-2]+"><path>"), "must hold an image of that type"},
		"too big":                {"data:image/svg+xml," + svg + strings.Repeat(" ", maxLogo), "use an https address"},
	}
	for name, tt := range tests {
		origin, err := logoOrigin(tt.logo)
		if tt.problem == "" && (err != nil || origin != "") || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s: %q, %v; want %q", name, origin, err, tt.problem)
		}
	}
}

// TestMarkOrigins checks that only the sign-in page may load marks from other origins.
func TestMarkOrigins(t *testing.T) {
	t.Parallel()
	at := func(id, logo string) ProviderStyle { return ProviderStyle{ID: id, Style: Style{Logo: logo}} }
	p, errs := New(Theme{Logo: "https://a.example/l.png"}, testBase, testOrigin,
		at("a", "https://B.example/1.svg"), at("b", "https://b.example/2.svg"), at("c", "https://a.example/3.svg"), at("d", "github"), at("e", pngLogo))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for name := range pageNames() {
		raw, err := pageFiles.ReadFile("templates/" + string(name) + ".html")
		if err != nil {
			t.Fatal(err)
		}
		if shows := strings.Contains(string(raw), `template "symbol"`); shows != strings.Contains(p.Policy(name, ""), "https://b.example") {
			t.Errorf("%s shows marks of providers: %t; %s", name, shows, p.Policy(name, ""))
		}
	}
	if want := "img-src 'self' data: https://a.example https://b.example;"; !strings.Contains(p.Policy(SignIn, ""), want) {
		t.Errorf("policy %q; want %q", p.Policy(SignIn, ""), want)
	}
	if want := "img-src 'self' data: https://a.example;"; !strings.Contains(p.Policy(Error, ""), want) {
		t.Errorf("policy of errors %q; want %q", p.Policy(Error, ""), want)
	}
	list := []Provider{button("a", "A", "https://B.example/1.svg"), button("e", "E", pngLogo), button("f", "F", "javascript:alert(1)")}
	_, elements := parsed(t, p, "en", state{"", SignIn, SignInView{Providers: list}})
	var got []string
	for _, n := range elements {
		if n.Data == "img" && attr(n, "class") == "mark" {
			got = append(got, attr(n, "src"))
			if !hasAttr(n, "alt") || attr(n, "alt") != "" {
				t.Error("a mark is not hidden from screen readers")
			}
		}
	}
	if want := []string{"https://B.example/1.svg", pngLogo}; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("images %q; want %q", got, want)
	}
}
