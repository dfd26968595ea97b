package pages

import (
	"regexp"
	"strings"
	"testing"
)

func TestParseColor(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]rgb{"#000000": {}, "#FFd400": {0xff, 0xd4, 0}, "#0a1b2c": {0x0a, 0x1b, 0x2c}} {
		if got, err := parseColor(in); err != nil || got != want {
			t.Errorf("parseColor(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "#fff", "red", "#12345", "#1234567", "#12345g", "123456", "#12345\n", "#1234é", "#\x11\x12345", "rgb(0,0,0)", "#0;}a{b"} {
		if got, err := parseColor(in); err == nil {
			t.Errorf("parseColor(%q) = %v; want an error", in, got)
		}
	}
}

func TestContrast(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b     rgb
		min, max float64
	}{
		{black, white, 21, 21},
		{white, white, 1, 1},
		{rgb{0x77, 0x77, 0x77}, white, 4.47, 4.49}, // the well-known near miss
		{rgb{0x76, 0x76, 0x76}, white, 4.54, 4.55},
	}
	for _, tt := range tests {
		if r := contrast(tt.a, tt.b); r < tt.min-1e-9 || r > tt.max+1e-9 {
			t.Errorf("contrast(%v, %v) = %.3f; want %v to %v", tt.a, tt.b, r, tt.min, tt.max)
		}
	}
}

// colourGrid returns a sample of all colours.
func colourGrid() []rgb {
	var grid []rgb
	for r := 0; r <= 255; r += 51 {
		for g := 0; g <= 255; g += 51 {
			for b := 0; b <= 255; b += 51 {
				grid = append(grid, rgb{uint8(r), uint8(g), uint8(b)})
			}
		}
	}
	return grid
}

var property = regexp.MustCompile(`--([a-z-]+):(#[0-9a-f]{6})`)

// TestThemeContrastOfEveryBrand checks that everything in the style sheet is readable
// with any brand colour.
func TestThemeContrastOfEveryBrand(t *testing.T) {
	t.Parallel()
	pairs := []struct {
		fg, bg string
		min    float64
	}{
		{"on-brand", "brand", textContrast}, {"on-brand", "brand-hover", textContrast},
		{"accent", "card", textContrast}, {"accent", "page", textContrast},
		{"text", "card", textContrast}, {"text", "page", textContrast}, {"text", "hover", textContrast}, {"text", "press", textContrast},
		{"text", "bad-tint", textContrast}, {"text", "ok-tint", textContrast},
		{"muted", "card", textContrast}, {"muted", "page", textContrast}, {"muted", "bad-tint", textContrast},
		{"bad", "bad-tint", controlContrast}, {"bad", "card", textContrast}, {"card", "bad", textContrast}, {"good", "ok-tint", controlContrast}, {"field", "card", controlContrast},
	}
	for _, brand := range colourGrid() {
		for scheme, p := range map[string]palette{"light": lightPalette(), "dark": darkPalette()} {
			got := map[string]rgb{}
			for _, m := range property.FindAllStringSubmatch(look{brand: brand}.properties(p), -1) {
				got[m[1]], _ = parseColor(m[2])
			}
			for _, pair := range pairs {
				if r := contrast(got[pair.fg], got[pair.bg]); r < pair.min {
					t.Errorf("brand %v, %s: %s on %s has contrast %.2f; want %v", brand, scheme, pair.fg, pair.bg, r, pair.min)
				}
			}
			if r := contrast(got["brand"], got["card"]); scheme == "dark" && r < controlContrast {
				t.Errorf("brand %v: button %v has contrast %.2f on the dark card", brand, got["brand"], r)
			}
			if scheme == "light" && got["brand"] != brand {
				t.Errorf("brand %v: shown as %v in the light scheme", brand, got["brand"])
			}
		}
	}
}

func TestNewLook(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		theme Theme
		want  []string // parts of the mistakes, in order
	}{
		{"zero", Theme{}, nil},
		{"all", Theme{ColorScheme: "dark", BrandColor: "#635bff", ButtonText: "#ffffff", Logo: "https://cdn.example.com/logo.svg", SiteName: "Acme"}, nil},
		{"data logo", Theme{Logo: pngLogo}, nil},
		{"ip logo", Theme{Logo: "https://[2001:db8::1]:8443/logo.png"}, nil},
		{"scheme", Theme{ColorScheme: "dim"}, []string{"ColorScheme"}},
		{"colour", Theme{BrandColor: "red"}, []string{"BrandColor"}},
		{"injection", Theme{BrandColor: "#000;}*{}", ButtonText: "</style>"}, []string{"BrandColor", "ButtonText"}},
		{"faint text", Theme{BrandColor: "#ffd400", ButtonText: "#ffffff"}, []string{"contrast of #ffffff on #ffd400"}},
		{"readable text", Theme{BrandColor: "#ffd400", ButtonText: "#222222"}, nil},
		{"http logo", Theme{Logo: "http://cdn.example.com/logo.svg"}, []string{"Logo"}},
		{"script logo", Theme{Logo: "javascript:alert(1)"}, []string{"Logo"}},
		{"html logo", Theme{Logo: "data:text/html,<script>"}, []string{"Logo"}},
		{"big logo", Theme{Logo: "data:image/png;base64," + strings.Repeat("A", maxLogo)}, []string{"Logo"}},
		{"policy injection", Theme{Logo: "https://a.example;script-src/*"}, []string{"Logo"}},
		{"wildcard", Theme{Logo: "https://*.example/logo.png"}, []string{"Logo"}},
		{"credentials", Theme{Logo: "https://u:p@a.example/logo.png"}, []string{"Logo"}},
		{"all wrong", Theme{ColorScheme: "x", BrandColor: "y", ButtonText: "z", Logo: "w"}, []string{"ColorScheme", "BrandColor", "ButtonText", "Logo"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, errs := newLook(tt.theme)
			if len(errs) != len(tt.want) {
				t.Fatalf("mistakes %v; want %d", errs, len(tt.want))
			}
			for i, err := range errs {
				if !strings.Contains(err.Error(), tt.want[i]) {
					t.Errorf("mistake %q; want one about %q", err, tt.want[i])
				}
			}
		})
	}
}

func TestButtonTextIsKept(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{BrandColor: "#ffd400", ButtonText: "#222222"})
	if got := strings.Count(string(p.style), "--on-brand:#222222"); got != 2 {
		t.Errorf("button text occurs %d times; want it in both schemes", got)
	}
}

func TestColorSchemes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ meta, has, hasNot string }{
		"":      {"light dark", "prefers-color-scheme:dark", "color-scheme:dark;"},
		"auto":  {"light dark", "prefers-color-scheme:dark", "color-scheme:dark;"},
		"light": {"light", "color-scheme:light;", "prefers-color-scheme"},
		"dark":  {"dark", "color-scheme:dark;", "prefers-color-scheme"},
	}
	for scheme, tt := range tests {
		p := newTestPages(t, Theme{ColorScheme: scheme})
		if css := string(p.style); !strings.Contains(css, tt.has) || strings.Contains(css, tt.hasNot) {
			t.Errorf("scheme %q: style sheet wants %q and not %q", scheme, tt.has, tt.hasNot)
		}
		if p.site.ColorScheme != tt.meta {
			t.Errorf("scheme %q: meta %q; want %q", scheme, p.site.ColorScheme, tt.meta)
		}
	}
}
