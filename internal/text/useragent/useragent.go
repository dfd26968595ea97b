// Package useragent names the browser and the system of a User-Agent header for people,
// as in "Firefox on Linux". The names prove nothing: a client can send any header.
package useragent

import "strings"

// unknown is the name of a browser that this package does not know.
const unknown = "Unknown browser"

// maxHeader is the number of bytes that Parse reads; browsers send less than 300.
const maxHeader = 512

// browsers lists the marks in the order of the search. Most browsers also name others,
// for sites that look for those.
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

// systems lists the marks in the order of the search: Android also names Linux, and an
// iPhone names Mac OS X.
var systems = []struct{ mark, name string }{
	{"iPhone", "iPhone"},
	{"iPad", "iPad"},
	{"Android", "Android"},
	{"CrOS", "ChromeOS"},
	{"Windows", "Windows"},
	{"Macintosh", "Mac"},
	{"Linux", "Linux"},
}

// Parse returns the names of the browser and the system, such as "Firefox" and "Linux".
// An unknown name is "".
func Parse(userAgent string) (browser, system string) {
	userAgent = userAgent[:min(len(userAgent), maxHeader)]
	if !strings.HasPrefix(userAgent, "Mozilla/5.0 (") { // all browsers send this; programs name themselves
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

// Name returns a name such as "Firefox on Linux", only "Firefox" if the system is
// unknown, or "Unknown browser" if the browser is.
func Name(userAgent string) string {
	switch browser, system := Parse(userAgent); {
	case browser == "":
		return unknown
	case system == "":
		return browser
	default:
		return browser + " on " + system
	}
}
