package pages

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Contrast ratios of WCAG 2.2: text (1.4.3) and parts of controls (1.4.11).
const (
	textContrast    = 4.5
	controlContrast = 3.0
)

// defaultBrand is the colour of the primary button without Theme.BrandColor.
var defaultBrand = rgb{0x3b, 0x5b, 0xdb}

// rgb is an sRGB colour.
type rgb [3]uint8

var (
	white = rgb{255, 255, 255}
	black = rgb{}
)

// parseColor reads #rrggbb. It refuses names, functions and short forms, because the
// value becomes part of a style sheet.
func parseColor(s string) (rgb, error) {
	var c rgb
	if len(s) != 7 || s[0] != '#' {
		return c, fmt.Errorf("colour %q is not of the form #rrggbb", s)
	}
	for i := range c {
		hi, lo := hexDigit(s[1+2*i]), hexDigit(s[2+2*i])
		if hi < 0 || lo < 0 {
			return rgb{}, fmt.Errorf("colour %q is not of the form #rrggbb", s)
		}
		c[i] = uint8(hi<<4 | lo)
	}
	return c, nil
}

func hexDigit(b byte) int { return strings.IndexByte("0123456789abcdef", b|0x20) }

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// luminance returns the relative luminance of WCAG 2.2, from 0 to 1.
func (c rgb) luminance() float64 {
	var l [3]float64
	for i, v := range c {
		s := float64(v) / 255
		if s <= 0.04045 {
			l[i] = s / 12.92
		} else {
			l[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// contrast returns the contrast ratio of WCAG 2.2, from 1 to 21.
func contrast(a, b rgb) float64 {
	hi, lo := a.luminance(), b.luminance()
	if hi < lo {
		hi, lo = lo, hi
	}
	return (hi + 0.05) / (lo + 0.05)
}

// readable returns the text colour for a background: white if it is readable, else
// black. One of the two always has a contrast of at least 4.58.
func readable(bg rgb) rgb {
	if contrast(white, bg) >= textContrast {
		return white
	}
	return black
}

// mix moves c towards another colour by a share from 0 to 1.
func (c rgb) mix(to rgb, share float64) rgb {
	for i := range c {
		c[i] = uint8(math.Round(float64(c[i])*(1-share) + float64(to[i])*share))
	}
	return c
}

// against moves c towards black or white in small steps until its contrast with each
// background is at least min.
func (c rgb) against(min float64, towards rgb, backgrounds ...rgb) rgb {
	const steps = 25
	path := func(i int) rgb { return c.mix(towards, float64(i)/steps) }
	if towards == white {
		// First raise the colour to full brightness: mixing a dark colour directly with
		// white would make it grey.
		path = func(i int) rgb {
			if i <= steps/2 {
				return c.mix(c.bright(), float64(i)/(steps/2))
			}
			return c.bright().mix(white, float64(i-steps/2)/(steps-steps/2))
		}
	}
	for i := range steps {
		m, enough := path(i), true
		for _, bg := range backgrounds {
			enough = enough && contrast(m, bg) >= min
		}
		if enough {
			return m
		}
	}
	return towards
}

// bright returns c at full brightness, with the same hue and saturation (HSV).
func (c rgb) bright() rgb {
	top := max(c[0], c[1], c[2])
	if top == 0 {
		return white
	}
	for i := range c {
		c[i] = uint8(int(c[i]) * 255 / int(top))
	}
	return c
}

// A palette is a colour scheme: the neutral colours as custom properties, and the two
// backgrounds that brand colours must stand out from.
type palette struct {
	page, card rgb
	towards    rgb // direction in which colours gain contrast
	neutral    string
}

func lightPalette() palette {
	return palette{page: rgb{0xf6, 0xf7, 0xf9}, card: white, towards: black, neutral: `--text:#16181d;--muted:#5b6270;--line:#e3e6eb;--edge:#cdd2da;--field:#858c99;--hover:#f5f6f8;--press:#eceef2;` +
		`--bad:#b42318;--bad-tint:#fef3f2;--bad-line:#fbd0cc;--good:#067647;--ok-tint:#edfcf3;--ok-line:#b3ecca`}
}

func darkPalette() palette {
	return palette{page: rgb{0x0f, 0x10, 0x13}, card: rgb{0x18, 0x19, 0x1d}, towards: white, neutral: `--text:#ededf0;--muted:#a3a7b1;--line:#2b2d33;--edge:#3c3f47;--field:#787d89;--hover:#212328;--press:#2c2e35;` +
		`--bad:#f97066;--bad-tint:#2a1817;--bad-line:#57302d;--good:#47cd89;--ok-tint:#11241b;--ok-line:#224d38`}
}

// look is a checked Theme.
type look struct {
	scheme     string // auto, light, dark
	brand      rgb
	text       *rgb // nil: computed
	logo       string
	logoOrigin string // for the policy; empty for a data: logo
}

// newLook checks a theme. It reports every mistake at once.
func newLook(t Theme) (look, []error) {
	l := look{scheme: t.ColorScheme, brand: defaultBrand}
	var errs []error
	report := func(field string, err error) {
		errs = append(errs, &Mistake{Field: field, Problem: "cannot be used: " + err.Error(), Fix: "correct it, or leave it out"})
	}

	switch l.scheme {
	case "":
		l.scheme = "auto"
	case "auto", "light", "dark":
	default:
		report("ColorScheme", fmt.Errorf("%q is not auto, light or dark", l.scheme))
	}
	if t.BrandColor != "" {
		c, err := parseColor(t.BrandColor)
		if err != nil {
			report("BrandColor", err)
		}
		l.brand = c
	}
	if t.ButtonText != "" {
		c, err := parseColor(t.ButtonText)
		if err != nil {
			report("ButtonText", err)
		} else if r := contrast(c, l.brand); r < textContrast && len(errs) == 0 {
			report("ButtonText", fmt.Errorf("contrast of %v on %v is %.2f, but must be at least %.1f to be readable; leave it empty to choose it automatically", c, l.brand, r, textContrast))
		}
		l.text = &c
	}
	if t.Logo != "" {
		var err error
		if l.logoOrigin, err = logoOrigin(t.Logo); err != nil {
			errs = append(errs, &Mistake{Field: "Logo", Problem: "cannot be used: " + err.Error(), Fix: logoFix})
		}
		l.logo = t.Logo
	}
	return l, errs
}

// icon returns the monogram of a site as a picture for the browser tab.
func (l look) icon(site string) []byte {
	text := readable(l.brand)
	if l.text != nil {
		text = *l.text
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="%s"/>`+
		`<text x="16" y="22.5" font-family="system-ui,sans-serif" font-size="19" font-weight="600" text-anchor="middle" fill="%s">%s</text></svg>`,
		l.brand, text, html.EscapeString(letter(site)))
}

// brandColours returns the background and text colours of a primary button in one
// scheme.
func (l look) brandColours(p palette) (brand, text rgb) {
	brand = l.brand
	if p.towards == white {
		// A dark brand colour would be hard to see on a dark card.
		brand = brand.against(controlContrast, white, p.card, p.page)
	}
	text = readable(brand)
	if l.text != nil && contrast(*l.text, brand) >= textContrast {
		text = *l.text
	}
	return brand, text
}

// properties returns the custom properties of one scheme.
func (l look) properties(p palette) string {
	brand, text := l.brandColours(p)
	// The hover colour moves away from the text colour, so the contrast only grows.
	away := black
	if text.luminance() < brand.luminance() {
		away = white
	}
	return fmt.Sprintf("--page:%v;--card:%v;--brand:%v;--brand-hover:%v;--on-brand:%v;--accent:%v;%s",
		p.page, p.card, brand, brand.mix(away, 0.12), text, l.brand.against(textContrast, p.towards, p.page, p.card), p.neutral)
}

// MailColours holds the colours of a mail in one scheme, as #rrggbb.
type MailColours struct{ Page, Card, Text, Muted, Line, Brand, OnBrand string }

// A MailLook is the theme of mails.
type MailLook struct {
	Logo        string // https URL; empty: none
	ColorScheme string // as in <meta name=color-scheme>
	Colours     MailColours
	// Dark is nil if there is only one scheme.
	Dark *MailColours
}

// MailLook returns the theme for mails. All results are equal.
func (p *Pages) MailLook() MailLook { return p.mailLook }

// mailLook leaves out a data: logo, which mail programs do not show.
func (l look) mailLook() MailLook {
	m := MailLook{ColorScheme: l.metaScheme()}
	if l.logoOrigin != "" {
		m.Logo = l.logo
	}
	switch l.scheme {
	case "light":
		m.Colours = l.mailColours(lightPalette())
	case "dark":
		m.Colours = l.mailColours(darkPalette())
	default:
		dark := l.mailColours(darkPalette())
		m.Colours, m.Dark = l.mailColours(lightPalette()), &dark
	}
	return m
}

func (l look) mailColours(p palette) MailColours {
	brand, text := l.brandColours(p)
	neutral := func(name string) string {
		_, value, _ := strings.Cut(p.neutral, "--"+name+":")
		value, _, _ = strings.Cut(value, ";")
		return value
	}
	return MailColours{Page: p.page.String(), Card: p.card.String(), Text: neutral("text"), Muted: neutral("muted"), Line: neutral("line"),
		Brand: brand.String(), OnBrand: text.String()}
}

// css returns the theme's part of the style sheet.
func (l look) css() string {
	light, dark := l.properties(lightPalette()), l.properties(darkPalette())
	switch l.scheme {
	case "light":
		return ":root{color-scheme:light;" + light + "}"
	case "dark":
		return ":root{color-scheme:dark;" + dark + "}"
	}
	return ":root{color-scheme:light dark;" + light + "}@media(prefers-color-scheme:dark){:root{" + dark + "}}"
}

// metaScheme returns the value of <meta name=color-scheme>. It colours the first paint,
// before the style sheet is loaded.
func (l look) metaScheme() string {
	if l.scheme == "auto" {
		return "light dark"
	}
	return l.scheme
}
