package authsvc_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bannedImports lists packages that are dangerous in programs like this, and the files
// that may import them, with the reason. A folder stands for all files in it.
var bannedImports = map[string]map[string]string{
	"math/rand":    {},
	"unsafe":       {},
	"crypto/des":   {},
	"crypto/rc4":   {},
	"crypto/dsa":   {}, //nolint:staticcheck // a name
	"plugin":       {},
	"encoding/gob": {},
	"math/rand/v2": {
		"adapter/redis/call.go":               "pauses between tries",
		"internal/sql/stores/backoff.go":      "pauses between tries",
		"internal/protocol/outbound/retry.go": "pauses between tries",
		"engine/credentials_turn.go":          "when others try again",
		"engine/internal/limit/queue.go":      "which late attempt goes when there are too many",
		"adapter/mongodb/errors.go":           "pauses between tries",
		"adapter/mongodb/credentials.go":      "the order in which places of credentials are tried",
		"adapter/mongodb/tokens.go":           "the order in which slots of the mail queue are tried",
		"internal/sql/sqladapter/adapter.go":  "pauses between tries",
		"internal/test/freeport/":             "ports of test servers",
		"internal/test/scale/":                "people of a measurement, the same each time",
	},
	"text/template": {
		"email.go":                "the type of MailTemplates",
		"internal/text/mailtext/": "the plain text of mails, which is not HTML",
	},
	"os/exec": {
		"internal/test/proxytest/":  "starts the proxies that tests go through",
		"internal/test/servertest/": "starts database servers for tests, which alone import it",
		"internal/test/sqltest/":    "starts the processes that tests kill",
		"internal/test/process/":    "starts the built binary for tests, which alone import it",
		"internal/test/skewed/":     "builds the binary with a clock that is off",
		"internal/test/chromium/":   "starts a browser for tests, which alone import it",
		"internal/test/npm/":        "installs and bundles what tests run in browsers",
		"internal/test/webdriver/":  "starts browsers for tests, which alone import it",
		"internal/tools/":           "runs the go command; no program imports it",
	},
	"crypto/md5": {
		"provider/lastfm.go": "the service's signature has no other hash",
	},
	"crypto/sha1": {
		"internal/protocol/oauth1/oauth1.go": "HMAC-SHA1 is the protocol's signature",
		"adapter/redis/step.go":              "Redis names scripts by it",
	},
}

// bannedSettings lists fields that must not be set to true.
var bannedSettings = map[string]map[string]string{
	"InsecureSkipVerify": {
		"adapter/mysql/url.go": "tls=skip-verify, which the person who configures asks for by name",
	},
}

// bannedCalls lists methods that must not be called, with the reason.
var bannedCalls = map[string]string{
	"SetDefensive": "it writes to an arbitrary address, see adapter/sqlite/pool.go",
}

// harmlessComparisons lists comparisons, by file and text, of values that are named
// like secrets but tell an attacker nothing.
var harmlessComparisons = map[string]string{
	"engine/account_undo.go: made.Kind != adapter.CredentialToken": "the kind of a credential",
	"engine/vault_tokens.go: a.RefreshToken == refusedToken":       "a fixed word in place of a token",
	"engine/vault_unlink.go: t[0] == refusedToken":                 "a fixed word in place of a token",

	"cmd/authsvc/keys.go: keys[i].State == engine.KeySigning": "what a key does",
	"engine/internal/cookie/cookie.go: name == n.CSRF":        "the name of a cookie",
	"engine/desk_attempt.go: dk.txName(tx.State) == p.Name":   "a digest, and its own browser's cookie",
	"engine/desk_attempt.go: tx.State != state":               "found by its digest, so it is equal; its MAC decides",
}

// secretNames lists the last words of names of secret values. If comparing such a value
// takes longer the more of it is right, an attacker can guess it byte by byte.
var secretNames = []string{"secret", "token", "mac", "hmac", "signature", "sig", "password", "verifier", "csrf", "csrftoken", "nonce", "state"}

// TestBans checks the programs' source, without tests, for everything that is banned.
func TestBans(t *testing.T) {
	t.Parallel()
	b := bans{t: t, set: token.NewFileSet(), used: map[string]bool{}}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains([]string{"node_modules", "testdata", "ferretdb", "bench"}, d.Name()) || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(b.set, path, nil, 0)
		if err != nil {
			return err
		}
		b.file(filepath.ToSlash(path), f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.unused()
}

type bans struct {
	t    *testing.T
	set  *token.FileSet
	used map[string]bool // exceptions in use
}

func (b *bans) file(path string, f *ast.File) {
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		exceptions, banned := bannedImports[name]
		if !banned || name == "os/exec" && strings.HasPrefix(path, "cmd/") {
			continue
		}
		if !b.excepted(name, path, exceptions) {
			b.t.Errorf("%s imports %s", path, name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		b.settings(path, n)
		b.comparison(path, n)
		if c, ok := n.(*ast.CallExpr); ok && bannedCalls[lastName(c.Fun)] != "" {
			b.t.Errorf("%s: %s is called: %s", b.set.Position(n.Pos()), lastName(c.Fun), bannedCalls[lastName(c.Fun)])
		}
		return true
	})
}

// excepted reports whether an exception covers path, and marks it as used.
func (b *bans) excepted(rule, path string, exceptions map[string]string) bool {
	for place := range exceptions {
		if place == path || strings.HasSuffix(place, "/") && strings.HasPrefix(path, place) {
			b.used[rule+" "+place] = true
			return true
		}
	}
	return false
}

// settings finds F: true in a literal and x.F = true.
func (b *bans) settings(path string, n ast.Node) {
	var name string
	var value ast.Expr
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		name, value = lastName(n.Key), n.Value
	case *ast.AssignStmt:
		if len(n.Lhs) == 1 {
			name, value = lastName(n.Lhs[0]), n.Rhs[0]
		}
	}
	exceptions, banned := bannedSettings[name]
	if id, ok := value.(*ast.Ident); banned && (!ok || id.Name != "false") && !b.excepted(name, path, exceptions) {
		b.t.Errorf("%s: %s is set", b.set.Position(n.Pos()), name)
	}
}

// comparison finds secrets compared by ==, != or bytes.Equal. Comparing with a
// constant, such as "", reveals nothing about a secret.
func (b *bans) comparison(path string, n ast.Node) {
	var x, y ast.Expr
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			x, y = n.X, n.Y
		}
	case *ast.CallExpr:
		if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Equal" && len(n.Args) == 2 && lastName(s.X) == "bytes" {
			x, y = n.Args[0], n.Args[1]
		}
	}
	if x == nil || constant(x) || constant(y) || !secret(x) && !secret(y) {
		return
	}
	var text strings.Builder
	_ = printer.Fprint(&text, b.set, n)
	key := path + ": " + text.String()
	if _, ok := harmlessComparisons[key]; !ok {
		b.t.Errorf("%q compares a secret in time that depends on it; use crypto/subtle", key)
	}
	b.used[key] = true
}

// constant reports whether the text of e is a literal, nil, true, false, or a
// length.
func constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "nil" || e.Name == "true" || e.Name == "false"
	case *ast.CallExpr:
		return lastName(e.Fun) == "len"
	}
	return false
}

func secret(e ast.Expr) bool {
	name := strings.ToLower(lastName(e))
	return slices.ContainsFunc(secretNames, func(word string) bool { return strings.HasSuffix(name, word) })
}

// lastName returns the C of a.b.C, or "" if e does not have that form. For a[i], a call
// or a conversion it returns the name of the operand.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		if lit, ok := e.Index.(*ast.BasicLit); ok {
			name, _ := strconv.Unquote(lit.Value)
			return name
		}
		return lastName(e.X)
	case *ast.StarExpr:
		return lastName(e.X)
	case *ast.CallExpr:
		if len(e.Args) == 1 && lastName(e.Fun) != "len" {
			return lastName(e.Args[0])
		}
		return lastName(e.Fun)
	}
	return ""
}

// unused reports exceptions that are no longer needed.
func (b *bans) unused() {
	for _, rules := range []map[string]map[string]string{bannedImports, bannedSettings} {
		for rule, exceptions := range rules {
			for place := range exceptions {
				if !b.used[rule+" "+place] {
					b.t.Errorf("nothing needs the exception of %s for %s", place, rule)
				}
			}
		}
	}
	for key := range harmlessComparisons {
		if !b.used[key] {
			b.t.Errorf("nothing needs the exception of %q", key)
		}
	}
}
