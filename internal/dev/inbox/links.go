package inbox

import (
	"html"
	"net/url"
	"slices"
	"strings"

	"authsvc/internal/text"
)

const (
	maxLinks = 50
	maxLink  = 8 << 10 // bytes per link
)

var (
	codeLine = text.LazyRegexp(`(?m)^([0-9]{4} ?[0-9]{4})\r?$`)
	textLink = text.LazyRegexp(`(?i)\bhttps?://[^\s<>"]+`)
	anchor   = text.LazyRegexp(`(?is)<a\s[^>]*\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')[^>]*>(.{0,500}?)</a>`)
	tag      = text.LazyRegexp(`<[^>]*>`)
	hrefLink = text.LazyRegexp(`(?i)\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')`)
)

// links lists the web links of a mail: first the links of the text, then further links
// of the HTML.
func links(text, markup string) []string {
	var found []string
	add := func(link string) {
		if len(found) < maxLinks && isWebLink(link) && !slices.Contains(found, link) {
			found = append(found, link)
		}
	}
	for _, link := range textLink.FindAllString(text, maxLinks) {
		add(strings.TrimRight(link, `.,;:!?)]}'`)) // punctuation of the sentence
	}
	for _, m := range hrefLink.FindAllStringSubmatch(markup, maxLinks) {
		add(strings.TrimSpace(html.UnescapeString(m[1] + m[2])))
	}
	return found
}

// maxLabel is the maximum length of a label, in characters.
const maxLabel = 60

// Label returns what the HTML of the mail says on one of its links, such as "Undo this
// change". If it says nothing, Label returns the link's path.
func (m Message) Label(link string) string {
	for _, a := range anchor.FindAllStringSubmatch(m.HTML, maxLinks) {
		if strings.TrimSpace(html.UnescapeString(a[1]+a[2])) != link {
			continue
		}
		words := []rune(text.Name(strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(a[3], " "))), " ")))
		if len(words) > 0 {
			return string(words[:min(len(words), maxLabel)])
		}
	}
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return u.Path
}

// isWebLink reports whether a link is safe to click. It rejects javascript: and all
// other schemes except http and https.
func isWebLink(link string) bool {
	if len(link) > maxLink {
		return false
	}
	u, err := url.Parse(link)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
