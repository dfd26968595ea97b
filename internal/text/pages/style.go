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

// embeddedStyle returns the embedded style sheet, minified once.
var embeddedStyle = sync.OnceValues(func() (string, error) {
	css, err := pageFiles.ReadFile("templates/style.css")
	return minify(string(css)), err
})

// minify removes comments and needless white space from the embedded style sheet. It
// supports only the CSS of that file: no strings with spaces, and no space between a
// colon and a selector.
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

// styleSheet joins theme, embedded sheet (minified) and provider colours. The name of
// the result contains a hash of its content, so it can be cached for ever.
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

// hashed returns a file name with a hash of the content, so the file can be cached for
// ever.
func hashed(name string, body []byte, extension string) string {
	sum := sha256.Sum256(body)
	return name + "." + hex.EncodeToString(sum[:8]) + "." + extension
}

// providerID matches ids that are safe in a selector.
var providerID = text.LazyRegexp(`^[a-z0-9_-]+$`)

// providerRule returns the rule that colours the mark of one provider. A provider
// without colours gets no rule, and its mark has the colour of the text. A
// multicoloured mark has a white background.
func providerRule(p ProviderStyle) (string, []error) {
	var errs []error
	report := func(field, problem, fix string) {
		errs = append(errs, &Mistake{Provider: p.ID, Field: field, Problem: "cannot be used: " + problem, Fix: fix})
	}
	if p.Style.Background == "" && p.Style.Text == "" {
		return "", nil
	}
	if !providerID.MatchString(p.ID) {
		report("Background", fmt.Sprintf("the id %q must contain only a-z, 0-9, - and _", p.ID), "use another id")
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

// zipped returns b in gzip.
func zipped(b []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = z.Write(b)                                       // a buffer accepts everything
	_ = z.Close()
	return out.Bytes()
}
