package authsvc

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
func styleSheet(l look, embedded string, providers []info) (body []byte, name string, errs []error) {
	var b strings.Builder
	b.WriteString(l.css())
	b.WriteString(minify(embedded))
	for _, p := range providers {
		rule, err := providerRule(p)
		if err != nil {
			errs = append(errs, &ConfigError{Key: "providers." + p.id + ".style", Problem: "cannot be used: " + err.Error(), Mend: "write colours as #rrggbb"})
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
func providerRule(p info) (string, error) {
	if p.style.Background == "" && p.style.Text == "" {
		return "", nil
	}
	if !providerID.MatchString(p.id) {
		return "", fmt.Errorf("provider %q: id may hold only a-z, 0-9, - and _", p.id)
	}
	var decl []string
	var text rgb
	if p.style.Background != "" {
		bg, err := parseColor(p.style.Background)
		if err != nil {
			return "", fmt.Errorf("provider %q: style background: %w", p.id, err)
		}
		decl, text = append(decl, "background:"+bg.String()), readable(bg)
	}
	if p.style.Text != "" {
		var err error
		if text, err = parseColor(p.style.Text); err != nil {
			return "", fmt.Errorf("provider %q: style text: %w", p.id, err)
		}
	}
	decl = append(decl, "color:"+text.String())
	return fmt.Sprintf(".p-%s .mark{%s}", p.id, strings.Join(decl, ";")), nil
}
