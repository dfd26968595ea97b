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

// isWebLink reports whether a link is safe to click. It rejects javascript: and all
// other schemes except http and https.
func isWebLink(link string) bool {
	if len(link) > maxLink {
		return false
	}
	u, err := url.Parse(link)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
