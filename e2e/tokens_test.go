package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/bearer"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	testbrowser "authsvc/internal/test/browser"
)

const (
	documentedIssuer   = "https://app.example.com/api/auth"
	documentedAudience = "https://api.example.com"
)

// tokenAlgs lists the algorithms, each with its own audience.
var tokenAlgs = map[authsvc.SigningAlg]string{authsvc.SigningES256: documentedAudience, authsvc.SigningEdDSA: "https://ed.example.com", authsvc.SigningRS256: "https://rsa.example.com"}

// startIssuing serves tokens on loopback. It returns the issuer, the service, and a
// signed-in browser.
func startIssuing(t *testing.T) (issuer string, s *engine.Service, b *testbrowser.Browser) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://" + l.Addr().String()
	c := authsvc.Config{URL: origin, Secrets: []string{secretA}, Adapter: memory.New(), Session: authsvc.SessionOptions{Strategy: "jwt"}, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}}
	for alg, audience := range tokenAlgs {
		c.Tokens.Audiences = append(c.Tokens.Audiences, authsvc.Audience{ID: audience, Alg: alg, Claims: []string{"email"}})
	}
	if s, err = engine.New(c); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go server.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { server.Close(); s.Close(context.Background()) })
	b = testbrowser.New(origin, nil)
	if _, err := b.Post("/api/auth/callback/credentials", "username", "ada", "password", "right", "json", "true"); err != nil {
		t.Fatal(err)
	}
	return s.BaseURL(), s, b
}

func issueToken(t *testing.T, b *testbrowser.Browser, audience string) string {
	t.Helper()
	a, err := b.Post("/api/auth/token", "audience", audience)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(a.Text), &answer); err != nil || answer.AccessToken == "" {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	return answer.AccessToken
}

// tampered returns variants of a valid token that must be refused.
func tampered(good, ofAnother string) []string {
	parts := strings.Split(good, ".")
	flipped := "A"
	if parts[1][20] == 'A' {
		flipped = "B"
	}
	return []string{ofAnother, parts[0] + "." + parts[1][:20] + flipped + parts[1][21:] + "." + parts[2], parts[0] + "." + parts[1] + ".", "eyJhbGciOiJub25lIn0." + parts[1] + ".", "", "x"}
}

// pythonWithJWT returns a Python that has PyJWT: Debian's, even if PATH has another
// one first.
func pythonWithJWT(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import jwt, cryptography").Run() == nil { // #nosec G204 -- one of two names
			return name
		}
	}
	t.Fatal("AUTHSVC_E2E=1 needs python3-jwt and python3-cryptography")
	return ""
}

// TestTokensElsewhere checks that the programs of docs/tokens.md, and bearer, accept
// valid tokens of every algorithm and refuse all others, even after the signing key
// was retired.
func TestTokensElsewhere(t *testing.T) {
	t.Parallel()
	needNode(t)
	python := pythonWithJWT(t)
	issuer, service, b := startIssuing(t)
	for alg, audience := range tokenAlgs {
		good := issueToken(t, b, audience)
		other := issueToken(t, b, map[bool]string{true: "https://ed.example.com", false: documentedAudience}[alg == authsvc.SigningES256])
		tokens := append([]string{good}, tampered(good, other)...)
		want := []string{"ada-id", "refused", "refused", "refused", "refused", "refused", "refused"}
		v, err := bearer.New(bearer.Config{Issuer: issuer, Audience: audience})
		if err != nil {
			t.Fatal(err)
		}
		var inGo []string
		for _, raw := range tokens {
			if token, err := v.Verify(t.Context(), raw); err != nil {
				inGo = append(inGo, "refused")
			} else {
				inGo = append(inGo, token.Subject)
			}
		}
		program := func(code string) string {
			return strings.NewReplacer(documentedIssuer, issuer, documentedAudience, audience, `["ES256"]`, `["`+string(alg)+`"]`).Replace(code)
		}
		inNode := verifyIn(t, "node", "mjs", program(tokensBlock(t, "mjs"))+nodeLoop, tokens)
		inPython := verifyIn(t, python, "py", program(tokensBlock(t, "python"))+pythonLoop, tokens)
		for name, got := range map[string][]string{"bearer": inGo, "jose": inNode, "PyJWT": inPython} {
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", alg, name, got, want)
			}
		}
	}
	good := issueToken(t, b, documentedAudience)
	keys, err := service.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if err := service.RetireKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
	}
	program := strings.NewReplacer(documentedIssuer, issuer).Replace
	tokens, want := []string{good, issueToken(t, b, documentedAudience)}, []string{"refused", "ada-id"}
	inNode := verifyIn(t, "node", "mjs", program(tokensBlock(t, "mjs"))+nodeLoop, tokens)
	inPython := verifyIn(t, python, "py", program(tokensBlock(t, "python"))+pythonLoop, tokens)
	if !slices.Equal(inNode, want) || !slices.Equal(inPython, want) {
		t.Errorf("of a retired key: jose %v, PyJWT %v", inNode, inPython)
	}
}

// TestTokenOfAPage checks that the script of docs/tokens.md gets a token.
func TestTokenOfAPage(t *testing.T) {
	t.Parallel()
	needNode(t)
	issuer, _, b := startIssuing(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.Base+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, c := range b.Client.Jar.Cookies(request.URL) {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	// A browser sends the cookies of the page's origin and resolves relative
	// addresses against it.
	const page = `
const real = globalThis.fetch;
globalThis.fetch = (path, o = {}) => real(%ORIGIN% + path, { ...o, headers: { ...o.headers, cookie: %COOKIE% } });
console.log(JSON.stringify([await token("https://api.example.com"), await token("https://unknown.example.com").catch((e) => e.message)]));
`
	quoted := func(s string) string {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	got := verifyIn(t, "node", "mjs", tokensBlock(t, "js")+strings.NewReplacer("%ORIGIN%", quoted(b.Base), "%COOKIE%", quoted(strings.Join(pairs, "; "))).Replace(page), nil)
	v, err := bearer.New(bearer.Config{Issuer: issuer, Audience: documentedAudience})
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if token, err := v.Verify(t.Context(), got[0]); err != nil || token.Subject != "ada-id" {
		t.Errorf("%+v, %v", token, err)
	}
	if got[1] != "urn:authsvc:problem:unknown_audience" {
		t.Errorf("%q", got[1])
	}
}

// The loops print, as JSON, the subject of each argument.
const (
	nodeLoop = `
const all = [];
for (const token of JSON.parse(process.argv[2])) all.push(await who(token).catch(() => "refused"));
console.log(JSON.stringify(all));
`
	pythonLoop = `

import json, sys


def safely(token):
    try:
        return who(token)
    except jwt.PyJWTError:
        return "refused"


print(json.dumps([safely(token) for token in json.loads(sys.argv[1])]))
`
)

// verifyIn runs a program with tokens as arguments, next to the npm packages, and
// returns the list that it prints.
func verifyIn(t *testing.T, interpreter, suffix, code string, tokens []string) (list []string) {
	t.Helper()
	dir, err := os.MkdirTemp(webDir, "tokens-") // Node finds the packages from there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := "program." + suffix
	if err := os.WriteFile(filepath.Join(dir, file), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(tokens)
	if err != nil {
		t.Fatal(err)
	}
	call := exec.CommandContext(t.Context(), interpreter, file, string(raw)) // #nosec G204 -- of this test
	call.Dir = dir
	out, err := call.Output()
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // for its text
		t.Fatalf("%s: %s", interpreter, failed.Stderr)
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%s printed %s", interpreter, out)
	}
	return list
}

// tokensBlock returns the only code block of a language in docs/tokens.md.
func tokensBlock(t *testing.T, language string) string {
	t.Helper()
	return onlyBlock(t, "tokens.md", language)
}
