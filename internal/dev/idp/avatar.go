package idp

import (
	"crypto/sha256"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// avatarImage is simple enough that HTML escaping is correct in it. The hue varies; the
// lightness is low enough for white letters.
var avatarImage = template.Must(template.New("avatar").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" width="96" height="96" viewBox="0 0 96 96">` +
		`<rect width="96" height="96" fill="hsl({{.Hue}} 45% 32%)"/>` +
		`<text x="48" y="50" fill="#fff" font-family="system-ui,sans-serif" font-size="38" text-anchor="middle" dominant-baseline="central">{{.Initials}}</text>` +
		`</svg>`))

// AvatarPath is the path below the issuer where the pictures of people are.
const AvatarPath = "/avatar/"

func avatarPath(q Person) string { return AvatarPath + url.PathEscape(q.Sub) + ".svg" }

// avatar serves GET /avatar/SUB.svg: the initials on a coloured square.
func (p *Provider) avatar(w http.ResponseWriter, r *http.Request) {
	sub, ok := strings.CutSuffix(r.PathValue("file"), ".svg")
	person, known := p.personBySub(sub)
	if !ok || !known {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256([]byte(sub))
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_ = avatarImage.Execute(w, map[string]any{ // the browser is gone
		"Hue": int(sum[0]) * 360 / 256, "Initials": initials(person.Name),
	})
}

// initials returns the first letters of the first and the last word.
func initials(name string) string {
	words := strings.Fields(name)
	if len(words) > 2 {
		words = []string{words[0], words[len(words)-1]}
	}
	var letters []rune
	for _, word := range words {
		letter, _ := utf8.DecodeRuneInString(word)
		letters = append(letters, unicode.ToUpper(letter))
	}
	return string(letters)
}
