package verify

import (
	"cmp"

	"authsvc/internal/test/webdriver"
)

// A browserKind is a browser that checks run in.
type browserKind struct {
	name  string
	needs []need
	open  func(s *stage) surfer
}

var engines = []browserKind{
	{"chromium", []need{needsChromium}, func(s *stage) surfer { return s.tab() }},
	{"firefox", []need{program(webdriver.FirefoxNames...)},
		func(s *stage) surfer { return webdriver.Firefox(s.t, s.net.Proxy()) }},
	{"webkit", []need{program(webdriver.WebKitName), program(webdriver.WebKitScreen), {lackOfMiniBrowser}},
		func(s *stage) surfer { return webdriver.WebKit(s.t, s.net.Proxy()) }},
}

func lackOfMiniBrowser() string {
	if webdriver.MiniBrowser() == "" {
		return "needs MiniBrowser of WebKitGTK"
	}
	return ""
}

// eachEngine runs f in all available engines.
func eachEngine(t *T, f func(t *T, open func(s *stage) surfer)) {
	t.Helper()
	for _, e := range engines {
		var lack string
		for _, n := range e.needs {
			lack = cmp.Or(lack, n.lack())
		}
		if lack == "" {
			t.Run(e.name, func(t *T) { f(t, e.open) })
			t.Figure("%s", e.name)
			continue
		}
		if demanded() {
			t.Errorf("%s: %s", e.name, lack)
		}
		t.Figure("without %s", e.name)
	}
}
