package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"authsvc/internal/test/chromium"
)

// htmxSite has a public page with htmx, and two addresses behind Require: a fragment
// of that page, and a whole page.
func htmxSite(t *testing.T, module string) *site {
	t.Helper()
	needNode(t)
	script, err := os.ReadFile(filepath.Join(webDir, "node_modules", module, "dist", "htmx.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, nil)
	s.mux.HandleFunc("GET /htmx.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Write(script)
	})
	const head = `<title>Orders</title><script src="/htmx.js"></script>`
	s.mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, head+`<h1>Page</h1><button id="load" hx-get="/part" hx-target="#part">Load</button>`+
			`<form hx-post="/part" hx-target="#part"><button id="send">Send</button></form><div id="part">nothing yet</div>`+
			`<p hx-boost="true"><a id="boosted" href="/orders?year=2026">Orders</a></p>`)
	})
	s.mux.Handle("/part", s.auth.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := s.auth.Session(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, r.Method+" of "+session.Email)
	})))
	s.mux.Handle("GET /orders", s.auth.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writePage(w, head+"<h1>Your orders</h1>") })))
	return s
}

// TestHTMX tests every htmx version in use. If Require refuses a fragment, the whole
// page goes to the sign-in page and back. With a session, htmx swaps the fragment in.
func TestHTMX(t *testing.T) {
	t.Parallel()
	for _, module := range []string{"htmx-1", "htmx-2", "htmx-4"} {
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			s := htmxSite(t, module)
			for _, c := range []struct{ click, back string }{
				{"#load", "/page?filter=a%26b"}, {"#send", "/page?filter=a%26b"}, {"#boosted", "/orders?year=2026"},
			} {
				b := newTab(t)
				b.Open(s.origin + "/page?filter=a%26b")
				b.Wait(`window.htmx !== undefined && document.readyState === "complete"`)
				b.Click(c.click)
				b.At(s.base + "/signin")
				b.Click(".p-op button")
				s.choose(b, "ada")
				b.At(s.origin + c.back)
				if got := chromium.Eval[string](b, "location.pathname + location.search"); got != c.back {
					t.Errorf("%s: back at %s, want %s", c.click, got, c.back)
				}
				if c.click == "#boosted" {
					awaitText(b, "Your orders")
					continue
				}
				awaitText(b, "nothing yet")
				b.Click("#load")
				awaitText(b, "GET of ada@example.com")
				b.Click("#send")
				awaitText(b, "POST of ada@example.com")
				if got := chromium.Eval[string](b, "location.pathname"); got != "/page" {
					t.Errorf("%s: the part led to %s", c.click, got)
				}
				b.Click("#boosted")
				awaitText(b, "Your orders")
			}
		})
	}
}

// awaitText waits until a page shows a text.
func awaitText(b *chromium.Tab, text string) {
	b.T.Helper()
	b.Wait(`document.body?.innerText.includes(` + chromium.Quote(text) + `)`)
}
