package webdriver

import (
	"io"
	"net/http"
	"os"
	"testing"

	"authsvc/internal/test/sites"
)

// TestDrivers opens an https site, types, clicks and reads cookies.
func TestDrivers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, string) *Session{FirefoxNames[0]: Firefox, WebKitName: WebKit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv("AUTHSVC_E2E") != "1" {
				t.Skipf("needs %s; run with AUTHSVC_E2E=1 to switch it on", name)
			}
			net := sites.Start(t)
			net.Serve("https://app.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost { // ignores requests that the browser makes by itself
					http.SetCookie(w, &http.Cookie{Name: "__Host-a", Value: r.FormValue("word"), Path: "/", Secure: true, HttpOnly: true})
				}
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, `<!doctype html><form method="post" action="/sent"><input name="word" value="old"><button>Go</button></form>`)
			}))
			s := start(t, net.Proxy())
			s.Open("https://app.test/")
			s.Fill("input", "hello")
			s.Click("button")
			s.At("https://app.test/sent")
			var script string
			if s.Script("document.cookie", &script); script != "" {
				t.Errorf("a script reads %q", script)
			}
			var list []struct{ Name, Value string }
			if s.do(cookies, nil, &list); len(list) != 1 || list[0].Value != "hello" {
				t.Errorf("cookies %v", list)
			}
		})
	}
}
