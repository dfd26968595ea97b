package probe

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// echoName distinguishes answers of [Echo] from answers of other programs.
const echoName = "authsvc echo"

// An echo describes the request that arrived at a program.
type echo struct {
	Program string      `json:"program"`
	Method  string      `json:"method"`
	Target  string      `json:"target"`
	Host    string      `json:"host"`
	Header  http.Header `json:"header"`
}

// Echo returns a handler that answers every request with the request as JSON. The
// answer contains no secrets: only the names of cookies, and the scheme of
// Authorization.
func Echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<20)) // so that proxies do not see it cut off
		got := echo{echoName, r.Method, r.RequestURI, r.Host, r.Header.Clone()}
		for i, line := range got.Header["Cookie"] {
			got.Header["Cookie"][i] = cookieNames(line)
		}
		for _, name := range []string{"Authorization", "Proxy-Authorization"} {
			for i, v := range got.Header[name] {
				scheme, _, _ := strings.Cut(v, " ")
				got.Header[name][i] = scheme + " …"
			}
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		raw, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			http.Error(w, "cannot encode the request as JSON", http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(append(raw, '\n')) // the client may be gone
	})
}

// cookieNames returns a Cookie line without the values.
func cookieNames(line string) string {
	parts := strings.Split(line, ";")
	for i, part := range parts {
		name, _, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			name = "" // all of it may be a value
		}
		parts[i] = name + "=…"
	}
	return strings.Join(parts, "; ")
}
