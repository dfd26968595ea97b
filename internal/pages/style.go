package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

var (
	cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssSpace   = regexp.MustCompile(`\s+`)
	cssAround  = regexp.MustCompile(`\s*([{};,])\s*|(:) | (>) `)
)

// minify takes comments and needless white space out of the embedded style
// sheet. It knows only the CSS of that file: no strings with spaces in them,
// and no space between a colon and a selector.
func minify(css string) string {
	css = cssComment.ReplaceAllString(css, "")
	css = cssSpace.ReplaceAllString(css, " ")
	css = cssAround.ReplaceAllString(css, "$1$2$3")
	return strings.TrimSpace(strings.ReplaceAll(css, ";}", "}"))
}

// styleSheet joins theme, embedded sheet and provider colours, and names the
// result after its content, so that it can be cached for ever.
func styleSheet(l look, embedded string, providers []ProviderStyle) (body []byte, name string, errs []error) {
	var b strings.Builder
	b.WriteString(l.css())
	b.WriteString(minify(embedded))
	for _, p := range providers {
		rule, err := providerRule(p)
		if err != nil {
			errs = append(errs, &Mistake{Provider: p.ID, Problem: "cannot be used: " + err.Error(), Fix: "write colours as #rrggbb"})
		}
		b.WriteString(rule)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return []byte(b.String()), "style." + hex.EncodeToString(sum[:8]) + ".css", errs
}

// providerID is what may be written into a selector.
var providerID = regexp.MustCompile(`^[a-z0-9_-]+$`)

// providerRule colours the mark of one provider. Without colours of its own a
// provider gets no rule, and its mark the colour of the text.
func providerRule(p ProviderStyle) (string, error) {
	if p.Style.Background == "" && p.Style.Text == "" {
		return "", nil
	}
	if !providerID.MatchString(p.ID) {
		return "", fmt.Errorf("provider %q: id may hold only a-z, 0-9, - and _", p.ID)
	}
	var decl []string
	var text rgb
	if p.Style.Background != "" {
		bg, err := parseColor(p.Style.Background)
		if err != nil {
			return "", fmt.Errorf("provider %q: style background: %w", p.ID, err)
		}
		decl, text = append(decl, "background:"+bg.String()), readable(bg)
	}
	if p.Style.Text != "" {
		var err error
		if text, err = parseColor(p.Style.Text); err != nil {
			return "", fmt.Errorf("provider %q: style text: %w", p.ID, err)
		}
	}
	decl = append(decl, "color:"+text.String())
	return fmt.Sprintf(".p-%s .mark{%s}", p.ID, strings.Join(decl, ";")), nil
}
