package useragent

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Parallel()
	const webkit = "AppleWebKit/537.36 (KHTML, like Gecko) "
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                                  "Firefox on Linux",
		"Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0":                                                                                    "Firefox on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/140.0 Mobile/15E148 Safari/605.1.15":               "Firefox on iPhone",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webkit + "Chrome/140.0.0.0 Safari/537.36":                                                                  "Chrome on Windows",
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) " + webkit + "Chrome/140.0.0.0 Safari/537.36":                                                                   "Chrome on ChromeOS",
		"Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0.7339.0 Mobile/15E148 Safari/604.1":                    "Chrome on iPad",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15":                                   "Safari on Mac",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1":                 "Safari on iPhone",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webkit + "Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0":                                                    "Edge on Windows",
		"Mozilla/5.0 (Linux; Android 10; K) " + webkit + "Chrome/140.0.0.0 Mobile Safari/537.36 EdgA/140.0.0.0":                                                   "Edge on Android",
		"Mozilla/5.0 (X11; Linux x86_64) " + webkit + "Chrome/139.0.0.0 Safari/537.36 OPR/123.0.0.0":                                                              "Opera on Linux",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) " + webkit + "Chrome/138.0.0.0 Safari/537.36 Vivaldi/7.5":                                                "Vivaldi on Mac",
		"Mozilla/5.0 (Linux; Android 10; K) " + webkit + "SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36":                                              "Samsung Internet on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 DuckDuckGo/7 Safari/605.1.15": "DuckDuckGo on iPhone",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15 Ddg/18.5":                          "DuckDuckGo on Mac",
		"Mozilla/5.0 (FreeBSD amd64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                                      "Firefox",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":                                                                                unknown,
		"Mozilla/5.0 (X11; U; Linux x86_64) Epiphany/2.30":                                                                                                        unknown,
		"Mozilla/5.0 (":  unknown,
		"curl/8.14.1":    unknown,
		"Firefox/1":      unknown,
		"":               unknown,
		"\x00\xff\r\nüÄ": unknown,
		"Mozilla/5.0 (X11; Linux) " + strings.Repeat("x", maxHeader) + " Firefox/140.0": unknown,
	} {
		if got := Name(agent); got != want {
			t.Errorf("%q: %q, want %q", agent, got, want)
		}
	}
}

// TestHowMany checks the numbers that the interface promises.
func TestHowMany(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, b := range browsers {
		names[b.name] = true
	}
	if len(names) != 8 || len(systems) != 7 {
		t.Errorf("%d browsers, %d systems", len(names), len(systems))
	}
}
