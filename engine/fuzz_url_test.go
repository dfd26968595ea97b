package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	pathpkg "path"
	"strings"
	"testing"

	"authsvc"
)

// FuzzCallbackURLParsers checks accepted URLs with the WHATWG parser of Node.js, which
// browsers have too. The requested URL, relative to the origin of the service, and the
// URL that it leads to must have the same origin, which must be allowed.
func FuzzCallbackURLParsers(f *testing.F) {
	s := fuzzedCallbacks(f)
	ask := whatwg(f, fuzzedOwn)
	f.Fuzz(func(t *testing.T, want string) {
		rq := &request{site: s.site}
		to, ok := rq.allowedURL(want)
		if !ok {
			return
		}
		asked, leads := ask(t, want), ask(t, to)
		if asked != leads || leads != fuzzedOwn && leads != fuzzedPartner {
			t.Fatalf("%q leads to %q; for the other parser these are of %q and %q", want, to, asked, leads)
		}
	})
}

// whatwgScript reads a URL as JSON from each line and prints its origin.
const whatwgScript = `
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  let origin = "none"
  try { origin = new URL(JSON.parse(line), process.argv[1]).origin } catch {}
  console.log(origin)
})`

// whatwg starts Node.js and returns a function that asks it for the origin of a URL
// relative to base.
func whatwg(f *testing.F, base string) func(t *testing.T, v string) string {
	f.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		f.Skip("needs node, for another parser of addresses")
	}
	cmd := exec.Command(node, "-e", whatwgScript, base)
	in, err := cmd.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		in.Close()
		cmd.Wait() //nolint:errcheck // it has answered what it was asked
	})
	answers := bufio.NewReader(out)
	return func(t *testing.T, v string) string {
		t.Helper()
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, string(line)+"\n"); err != nil {
			t.Fatal(err)
		}
		origin, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(origin, "\n")
	}
}

// FuzzPath checks that the router accepts only paths in the exact form of the interface,
// and that another router finds the same route for them.
func FuzzPath(f *testing.F) {
	const base = "/api/auth"
	s, err := New(authsvc.Config{URL: fuzzedOwn, Logger: slog.New(slog.DiscardHandler), Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Providers: []authsvc.Provider{
		&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
			return authsvc.User{}, authsvc.ErrAccessDenied
		}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close(context.Background()) }) //nolint:errcheck // nothing is in progress
	mux, byPattern := http.NewServeMux(), map[string]*route{base + "/" + s.site.pages.StylePath: &assetRoute, base + "/" + s.site.pages.IconPath: &assetRoute}
	for name, rt := range s.site.routes {
		pattern := strings.TrimSuffix(base+"/"+name, "/")
		pattern = strings.NewReplacer(":provider", "{provider}", ":code", "{code}").Replace(pattern)
		byPattern[pattern] = rt
		f.Add(strings.NewReplacer("{provider}", "credentials", "{code}", "Callback").Replace(pattern))
	}
	for pattern := range byPattern {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	for _, v := range []string{base + "/../auth/signout", base + "//signout", base + "/signout/", base + "/signout;x", "/API/AUTH/signout", base + "/%73ignout", base + "/%2e%2e/auth/signout", base + "/signout%00",
		base + "/signout%2f", base + "/./signout", base + "/signin/%63redentials", base + "/signin/credentials%2f", base + "/signin/..%2fsignout", base + "/", "*", "//evil.test" + base + "/signout"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.ParseRequestURI(raw)
		if err != nil {
			return
		}
		r := &http.Request{Method: http.MethodPost, URL: u, Host: "app.test"}
		rq := &request{site: s.site, r: r}
		if out := find(rq); out != nil {
			return
		}
		if rq.route == nil {
			t.Fatalf("%q is neither taken nor refused", raw)
		}
		if rq.code != "" { // the error page accepts any word
			return
		}
		if p := u.EscapedPath(); pathpkg.Clean(p) != p || strings.ContainsAny(p, "%;\\ ") {
			t.Fatalf("%q is taken", raw)
		}
		if _, pattern := mux.Handler(r); byPattern[pattern] != rq.route {
			t.Fatalf("%q is %q to another router", raw, pattern)
		}
	})
}
