package pages

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// A symbol is the inside of a 24 by 24 SVG. Line symbols are stroked in the text
// colour, the others filled. Pages contain the body unescaped, so it must be compiled
// in and must never come from configuration or a request.
type symbol struct {
	line     bool
	coloured bool   // has its own colours and a white background in both schemes
	from     string // author and licence of the drawing; "": this project
	body     string
}

// symbols holds the symbols of the pages and the multicoloured marks that their owners
// license for sign-in buttons. The other marks are outlines.
var symbols = map[string]symbol{
	"alert": {line: true, body: `<circle cx="12" cy="12" r="9"/><path d="M12 7.5v5M12 16v.01"/>`},
	"check": {line: true, body: `<circle cx="12" cy="12" r="9"/><path d="m8.5 12.25 2.5 2.5 4.75-5"/>`},
	"email": {line: true, body: `<rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="m3.75 7 8.25 6 8.25-6"/>`},
	"key":   {line: true, body: `<circle cx="8" cy="15.5" r="4.5"/><path d="m11.25 12.25 8.5-8.5M16 7.5l3 3"/>`},

	"google":    {coloured: true, from: "Google's G, a trademark of Google LLC, in the form of its sign-in branding guidelines, which license it for sign-in buttons", body: `<path fill="#4285f4" d="M22.56 12.25c0-.78-.07-1.53-.2-2.25H12v4.26h5.92c-.26 1.37-1.04 2.53-2.21 3.31v2.77h3.57c2.08-1.92 3.28-4.74 3.28-8.09z"/><path fill="#34a853" d="M12 23c2.97 0 5.46-.98 7.28-2.66l-3.57-2.77c-.98.66-2.23 1.06-3.71 1.06-2.86 0-5.29-1.93-6.16-4.53H2.18v2.84C3.99 20.53 7.7 23 12 23z"/><path fill="#fbbc05" d="M5.84 14.09c-.22-.66-.35-1.36-.35-2.09s.13-1.43.35-2.09V7.07H2.18C1.43 8.55 1 10.22 1 12s.43 3.45 1.18 4.93l3.66-2.84z"/><path fill="#ea4335" d="M12 5.38c1.62 0 3.06.56 4.21 1.64l3.15-3.15C17.45 2.09 14.97 1 12 1 7.7 1 3.99 3.47 2.18 7.07l3.66 2.84c.87-2.6 3.3-4.53 6.16-4.53z"/>`},
	"microsoft": {coloured: true, from: "Microsoft's logo, a trademark of Microsoft Corporation, in the form of its branding guidelines for sign-in buttons", body: `<path fill="#f25022" d="M1 1h10.5v10.5H1z"/><path fill="#7fba00" d="M12.5 1H23v10.5H12.5z"/><path fill="#00a4ef" d="M1 12.5h10.5V23H1z"/><path fill="#ffb900" d="M12.5 12.5H23V23H12.5z"/>`},
}

// symbolOf returns the built-in mark with the name that Style.Logo uses.
func symbolOf(name string) (symbol, bool) {
	if s, ok := symbols[name]; ok {
		return s, true
	}
	d, ok := outlines[name]
	return symbol{from: outlinesFrom, body: `<path d="` + d + `"/>`}, ok
}

// knownMark reports whether a symbol of this name exists. Without one the page shows
// the first letter of the provider's name.
func knownMark(name string) bool {
	_, ok := symbolOf(name)
	return ok
}

// colouredMark reports whether a mark has its own colours.
func colouredMark(name string) bool { return symbols[name].coloured }

// markNames lists the built-in marks of providers.
func markNames() []string {
	names := slices.Collect(maps.Keys(outlines))
	for name, s := range symbols {
		if s.coloured {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// markURL returns logo if it is a URL, else "". New has checked the URL.
func markURL(logo string) template.URL {
	if strings.HasPrefix(logo, "https://") || strings.HasPrefix(logo, "data:image/") {
		return template.URL(logo) // #nosec G203 -- the operator's
	}
	return ""
}

// mark draws a symbol, size CSS pixels wide and high.
func mark(name string, size int) (template.HTML, error) {
	s, ok := symbolOf(name)
	if !ok {
		return "", fmt.Errorf("no symbol %q", name)
	}
	class := ""
	if s.line {
		class = ` class="line"`
	}
	return template.HTML(fmt.Sprintf(`<svg%s width="%d" height="%d" viewBox="0 0 24 24" aria-hidden="true">%s</svg>`, class, size, size, s.body)), nil // #nosec G203 -- compiled-in text
}

// letter returns the first letter or digit of a name, in upper case. It is the mark of
// a provider without a symbol.
func letter(name string) string {
	i := strings.IndexFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	if i < 0 {
		return "?"
	}
	for _, r := range name[i:] {
		return string(unicode.ToUpper(r))
	}
	return "?"
}
