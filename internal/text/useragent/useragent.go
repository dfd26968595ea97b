// Package useragent names the browser and the system of a User-Agent header for
// people, who know "Firefox on Linux". It is no proof of anything: a client sends
// what it likes.
package useragent

import "strings"

// Unknown is the name of a browser that is none of those that are known here.
const Unknown = "Unknown browser"

// maxHeader bounds what is looked at, in bytes: browsers send less than 300.
const maxHeader = 512

// browsers are looked for in this order: most name others too, for the sake of
// sites that ask for those.
var browsers = []struct{ mark, name string }{
	{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"},
	{"OPR/", "Opera"}, {"OPT/", "Opera"},
	{"Vivaldi/", "Vivaldi"},
	{"SamsungBrowser/", "Samsung Internet"},
	{"DuckDuckGo/", "DuckDuckGo"}, {"Ddg/", "DuckDuckGo"},
	{"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
	{"Chrome/", "Chrome"}, {"CriOS/", "Chrome"},
	{"Safari/", "Safari"},
}

// systems likewise: Android names Linux, and an iPhone Mac OS X.
var systems = []struct{ mark, name string }{
	{"iPhone", "iPhone"},
	{"iPad", "iPad"},
	{"Android", "Android"},
	{"CrOS", "ChromeOS"},
	{"Windows", "Windows"},
	{"Macintosh", "Mac"},
	{"Linux", "Linux"},
}

// Parse returns the names of the browser and of the system, such as "Firefox" and
// "Linux"; each is "" if it is not known.
func Parse(userAgent string) (browser, system string) {
	userAgent = userAgent[:min(len(userAgent), maxHeader)]
	if !strings.HasPrefix(userAgent, "Mozilla/5.0 (") { // all browsers do; programs name themselves
		return "", ""
	}
	for _, b := range browsers {
		if strings.Contains(userAgent, b.mark) {
			browser = b.name
			break
		}
	}
	inner, _, _ := strings.Cut(userAgent[len("Mozilla/5.0 ("):], ")")
	for _, s := range systems {
		if strings.Contains(inner, s.mark) {
			system = s.name
			break
		}
	}
	return browser, system
}

// Name is "Firefox on Linux", "Firefox" on a system that is not known, else
// Unknown.
func Name(userAgent string) string {
	switch browser, system := Parse(userAgent); {
	case browser == "":
		return Unknown
	case system == "":
		return browser
	default:
		return browser + " on " + system
	}
}
