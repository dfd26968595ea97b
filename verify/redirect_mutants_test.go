package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"strings"
	"sync"

	"authsvc"
	"authsvc/internal/test/arena"
)

// redirectPieces are texts that URL parsers read differently.
var redirectPieces = []string{"/", "//", `\`, "@", ":", "?", "#", ".", "..", "%2f", "%5c", "%40", "%00", "%2e", "%09", "\t", "\n", "\r", "\x00", " ", "\u00a0", "\u2028", "\u3002", "\uff0f", "\uff0e", "\uff20", "\u00ad", "\u200b", "ß", "é", "İ",
	"[", "]", "[::1]", ";", ",", "&", "=", "http:", "https:", "HTTPS://", "javascript:", "data:", "blob:", "evil.test", "app.test", "APP.TEST", "partner.test:8444", ":443", ":08444", ":8444", "xn--", "^", "|", "`", "{", "'", `"`, "<", "+", "%zz", "%", "\ufeff", "\u0130"}

// redirectMutants returns the vectors and n mutants of them.
func redirectMutants(vectors []string, n int) []string {
	r := rand.New(rand.NewPCG(3, 4))
	seeds := append([]string{"/", "/a/b?c=d#e", arena.Origin, arena.Origin + "/x", redirectPartner + "/y?z"}, vectors...)
	list := append([]string(nil), vectors...)
	for range n {
		list = append(list, redirectMutant(r, seeds[r.IntN(len(seeds))], redirectPieces))
	}
	return list
}

// redirectMutant inserts one to three pieces, or removes bytes.
func redirectMutant(r *rand.Rand, s string, pieces []string) string {
	for range 1 + r.IntN(3) {
		i := r.IntN(len(s) + 1)
		j := min(len(s), i+r.IntN(3))
		s = s[:i] + pieces[r.IntN(len(pieces))] + s[j:]
	}
	return strings.ToValidUTF8(s, "")
}

// redirectPaths returns n spellings that resemble the sign-out path but do not match
// it.
func redirectPaths(n int) []string {
	const path = "/api/auth/signout"
	pieces := []string{"%2e", "%2E%2e", "/", "//", "/./", "/../", "%2f", ";", ";a=b", "%00", ".", "\\", "%5c", ":", "@", "%20", "*", "+", "'", "%c0%af", "%e2%80%8b", "%73", "%53", "S", "%61", "A", "~", "!", "%3b", "%25", "%252e"}
	r := rand.New(rand.NewPCG(5, 6))
	var list []string
	for len(list) < n {
		if p := redirectMutant(r, path, pieces); p != path {
			list = append(list, p)
		}
	}
	return list
}

// redirectScript reads addresses as JSON, one per line, and prints the origin of each
// by the WHATWG parser, relative to its argument.
const redirectScript = `
for (const line of require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  let origin = "none"
  try { origin = new URL(JSON.parse(line), process.argv[1]).origin } catch {}
  console.log(origin)
}`

// redirectNode asks Node.js for the origin of each address.
func redirectNode(t *T, list []string) []string {
	t.Helper()
	var in strings.Builder
	for _, v := range list {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&in, "%s\n", raw)
	}
	cmd := exec.CommandContext(t.Context(), "node", "-e", redirectScript, arena.Origin)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	origins := strings.Fields(string(out))
	if len(origins) != len(list) {
		t.Fatalf("%d answers to %d addresses", len(origins), len(list))
	}
	return origins
}

// redirectProxies returns the trusted proxies of the checks.
func redirectProxies() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }

// redirectClients collects the client addresses of audit events.
func redirectClients(into *[]string) func(context.Context, authsvc.AuditEvent) {
	var mu sync.Mutex
	return func(_ context.Context, e authsvc.AuditEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.ClientIP != "" {
			*into = append(*into, e.ClientIP)
		}
	}
}
