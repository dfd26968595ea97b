package pages

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMinify(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"/* a\n * b */ a { color: red; }\n":                 "a{color:red}",
		"a:hover,\na > b :focus { margin: 0 auto ; }":       "a:hover,a>b :focus{margin:0 auto}",
		"@media (max-width: 30rem) {\n  a { top: 1px; }\n}": "@media (max-width:30rem){a{top:1px}}",
		"a { width: calc(1px + 2px); content: \"\"; }":      `a{width:calc(1px + 2px);content:""}`,
	}
	for in, want := range tests {
		if got := minify(in); got != want {
			t.Errorf("minify(%q) = %q; want %q", in, got, want)
		}
	}
}

func TestStyleSheet(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	body, contentType, ok := p.Asset(p.StylePath)
	if !ok || contentType != "text/css; charset=utf-8" || !regexp.MustCompile(`^style\.[0-9a-f]{16}\.css$`).MatchString(p.StylePath) {
		t.Fatalf("asset(%q) = %v, %q", p.StylePath, ok, contentType)
	}
	if z, err := gzip.NewReader(bytes.NewReader(p.ZippedStyle())); err != nil {
		t.Error(err)
	} else if plain, err := io.ReadAll(z); err != nil || !bytes.Equal(plain, body) {
		t.Errorf("the compressed style sheet is another: %v", err)
	}
	css := string(body)
	if strings.Count(css, "{") != strings.Count(css, "}") || strings.Contains(css, "/*") || strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("style sheet is unbalanced, has comments or loads something")
	}
	for _, rule := range []string{".p-acme .mark{background:#5b21b6;color:#ffffff;--m:1rem}", ".p-bolt .mark{background:#ffd400;color:#000000;--m:1rem}", "prefers-reduced-motion", "forced-colors"} {
		if !strings.Contains(css, rule) {
			t.Errorf("no %q", rule)
		}
	}
	icon, contentType, ok := p.Asset(p.IconPath)
	if !ok || contentType != "image/svg+xml" || !regexp.MustCompile(`^icon\.[0-9a-f]{16}\.svg$`).MatchString(p.IconPath) ||
		!strings.HasPrefix(string(icon), "<svg ") || len(icon) > 600 {
		t.Fatalf("asset(%q) = %v, %q, %s", p.IconPath, ok, contentType, icon)
	}
	for _, name := range []string{"", "icon.svg", "style.css", "/" + p.StylePath, "../" + p.StylePath, strings.ToUpper(p.StylePath), "layout.html", "templates/style.css"} {
		if _, _, ok := p.Asset(name); ok {
			t.Errorf("asset(%q) exists", name)
		}
	}
}

// documentedStyle returns the part of docs/manual/pages.md about the style sheet, and the
// page that it shows.
func documentedStyle(t *testing.T) (section, example string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/manual/pages.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ = strings.Cut(string(page), "\n## Use the built-in style\n")
	_, example, _ = strings.Cut(section, "```html\n")
	example, _, found := strings.Cut(example, "\n```")
	if !found {
		t.Fatal("docs/manual/pages.md shows no page with the style sheet")
	}
	return section, example
}

// TestDocumentedClasses checks that the style sheet and the built-in pages have the
// classes that docs/manual/pages.md promises to pages of the application, and that the
// page shown there uses exactly these.
func TestDocumentedClasses(t *testing.T) {
	t.Parallel()
	section, example := documentedStyle(t)
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z ]+)` \\|").FindAllStringSubmatch(section, -1) {
		documented[row[1]] = true
	}
	if want := map[string]bool{"page": true, "card": true, "button": true, "button primary": true}; !maps.Equal(documented, want) {
		t.Errorf("documented: %v, want %v", documented, want)
	}
	p := newTestPages(t, Theme{})
	used, shown := map[string]bool{}, map[string]bool{}
	for _, s := range gallery() {
		_, elements := parsed(t, p, "en", s)
		for _, n := range elements {
			used[attr(n, "class")] = true
		}
	}
	for _, class := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(example, -1) {
		shown[class[1]] = true
	}
	if !maps.Equal(shown, documented) {
		t.Errorf("the page shown uses %v", shown)
	}
	for class := range documented {
		if !used[class] {
			t.Errorf("no built-in page has the class %q", class)
		}
		for _, word := range strings.Fields(class) {
			if !regexp.MustCompile(`[},]\.` + word + `\{`).Match(p.style) {
				t.Errorf("the style sheet has no rule for %q", word)
			}
		}
	}
}

func TestStyleNameFollowsContent(t *testing.T) {
	t.Parallel()
	base, again, brand := newTestPages(t, Theme{}), newTestPages(t, Theme{SiteName: "Acme"}), newTestPages(t, Theme{BrandColor: "#635bff"})
	if base.StylePath != again.StylePath {
		t.Error("same style sheet, other name")
	}
	if base.StylePath == brand.StylePath {
		t.Error("other theme, same name")
	}
	if want := testBase + "/" + base.StylePath; base.site.StyleURL != want {
		t.Errorf("style URL %q; want %q", base.site.StyleURL, want)
	}
}

func TestProviderStyles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		provider ProviderStyle
		want     string // part of the mistake; empty: none
	}{
		{"none", ProviderStyle{ID: "a"}, ""},
		{"both", ProviderStyle{ID: "a-1", Style: Style{Background: "#123456", Text: "#ffffff"}}, ""},
		{"text only", ProviderStyle{ID: "a", Style: Style{Text: "#123456"}}, ""},
		{"background", ProviderStyle{ID: "a", Style: Style{Background: "url(//evil)"}}, "a Background cannot be used"},
		{"text", ProviderStyle{ID: "a", Style: Style{Text: "#000;}*{"}}, "a Text cannot be used"},
		{"id", ProviderStyle{ID: "a{}", Style: Style{Text: "#000000"}}, "must contain only"},
		{"mark", ProviderStyle{ID: "a", Style: Style{Logo: "gitlab"}}, ""},
		{"unknown mark", ProviderStyle{ID: "a", Style: Style{Logo: "GitLabs"}}, "not a built-in mark; use the name of one, such as gitlab,"},
		{"https logo", ProviderStyle{ID: "a", Style: Style{Logo: "https://cdn.example.com/a.png"}}, ""},
		{"data logo", ProviderStyle{ID: "a", Style: Style{Logo: svgLogo}}, ""},
		{"http logo", ProviderStyle{ID: "a", Style: Style{Logo: "http://cdn.example.com/a.png"}}, "a Logo cannot be used: only https:"},
		{"script logo", ProviderStyle{ID: "a", Style: Style{Logo: "javascript:alert(1)"}}, "a Logo cannot be used: only https:"},
		{"empty data logo", ProviderStyle{ID: "a", Style: Style{Logo: "data:image/png;base64,"}}, "must hold an image of that type"},
	}
	for _, tt := range tests {
		_, errs := New(Theme{}, testBase, testOrigin, tt.provider)
		if tt.want == "" && len(errs) > 0 || tt.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want)) {
			t.Errorf("%s: %v; want %q", tt.name, errs, tt.want)
		}
	}
	if _, errs := New(Theme{BrandColor: "x", Logo: "y"}, testBase, testOrigin, ProviderStyle{ID: "a", Style: Style{Text: "z"}}); len(errs) != 3 {
		t.Errorf("mistakes %v; want all three at once", errs)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Concat(slices.Collect(maps.Keys(symbols)), slices.Collect(maps.Keys(outlines))) {
		if s, err := mark(name, 20); err != nil || !strings.HasPrefix(string(s), "<svg") || !strings.Contains(string(s), `width="20" height="20"`) {
			t.Errorf("mark(%q) = %s, %v", name, s, err)
		}
	}
	if _, err := mark("nosuch", 20); err == nil || knownMark("nosuch") {
		t.Error("an unknown symbol was drawn")
	}
	for name, want := range map[string]string{"acme": "A", "42 Ltd": "4", "«élan»": "É", "": "?", "—": "?", "日本": "日"} {
		if got := letter(name); got != want {
			t.Errorf("letter(%q) = %q; want %q", name, got, want)
		}
	}
}
