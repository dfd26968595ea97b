package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"authsvc/internal/text"
)

// embeddedStyle is the embedded style sheet, minified once.
var embeddedStyle = sync.OnceValues(func() (string, error) {
	css, err := pageFiles.ReadFile("templates/style.css")
	return minify(string(css)), err
})

// minify takes comments and needless white space out of the embedded style
// sheet. It knows only the CSS of that file: no strings with spaces in them,
// and no space between a colon and a selector.
func minify(css string) string {
	var plain strings.Builder
	for css != "" {
		before, comment, _ := strings.Cut(css, "/*")
		plain.WriteString(before)
		_, css, _ = strings.Cut(comment, "*/")
	}
	words := strings.Fields(plain.String())
	var b strings.Builder
	for i, word := range words {
		if i > 0 && !strings.ContainsRune("{};,:>", rune(words[i-1][len(words[i-1])-1])) && !strings.ContainsRune("{};,>", rune(word[0])) {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return strings.ReplaceAll(b.String(), ";}", "}")
}

// styleSheet joins theme, embedded sheet (minified) and provider colours, and names the
// result after its content, so that it can be cached for ever.
func styleSheet(l look, embedded string, providers []ProviderStyle) (body []byte, name string, errs []error) {
	var b strings.Builder
	b.WriteString(l.css())
	b.WriteString(embedded)
	for _, p := range providers {
		rule, mistakes := providerRule(p)
		errs = append(errs, mistakes...)
		b.WriteString(rule)
	}
	body = []byte(b.String())
	return body, hashed("style", body, "css"), errs
}

// hashed names a file after its content, so that it can be cached for ever.
func hashed(name string, body []byte, extension string) string {
	sum := sha256.Sum256(body)
	return name + "." + hex.EncodeToString(sum[:8]) + "." + extension
}

// providerID is what may be written into a selector.
var providerID = text.LazyRegexp(`^[a-z0-9_-]+$`)

// providerRule colours the mark of one provider. Without colours of its own a
// provider gets no rule, and its mark the colour of the text; a mark in several
// colours stands on white.
func providerRule(p ProviderStyle) (string, []error) {
	var errs []error
	report := func(field, problem, fix string) {
		errs = append(errs, &Mistake{Provider: p.ID, Field: field, Problem: "cannot be used: " + problem, Fix: fix})
	}
	if p.Style.Background == "" && p.Style.Text == "" {
		return "", nil
	}
	if !providerID.MatchString(p.ID) {
		report("Background", fmt.Sprintf("the id %q may hold only a-z, 0-9, - and _", p.ID), "name the provider otherwise")
	}
	const fix = "write #rrggbb, such as #1d4ed8"
	var decl []string
	var text rgb
	if p.Style.Background != "" {
		bg, err := parseColor(p.Style.Background)
		if err != nil {
			report("Background", err.Error(), fix)
		}
		decl, text = append(decl, "background:"+bg.String()), readable(bg)
	}
	if p.Style.Text != "" {
		var err error
		if text, err = parseColor(p.Style.Text); err != nil {
			report("Text", err.Error(), fix)
		}
	}
	if len(errs) > 0 || colouredMark(p.Style.Logo) {
		return "", errs
	}
	decl = append(decl, "color:"+text.String())
	if p.Style.Background != "" {
		decl = append(decl, "--m:1rem") // room around the mark
	}
	return fmt.Sprintf(".p-%s .mark{%s}", p.ID, strings.Join(decl, ";")), nil
}

// zipped is b in gzip.
func zipped(b []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level exists
	_, _ = z.Write(b)                                       // a buffer takes all
	_ = z.Close()
	return out.Bytes()
}
