package authsvc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"authsvc"
)

// root is the path of the module.
var root = reflect.TypeFor[authsvc.Config]().PkgPath()

// TestArrows checks the import graph against the layout.
func TestArrows(t *testing.T) {
	t.Parallel()
	for _, a := range []struct{ from, never, reason string }{
		{"authsvc/engine", "authsvc/provider", "the engine knows kinds of provider, not services"},
		{"authsvc/engine", "authsvc/adapter/", "an embedder gets only the driver that it imports"},
		{"authsvc", "authsvc/stats", "words for operators stay off the page of embedders"},
		{"authsvc/engine", "authsvc/mail", "the caller chooses how mail is sent"},
		{"authsvc/engine", "authsvc/cmd", "the binary is a caller like any other"},
		{"authsvc/engine", "authsvc/internal/dev/idp", "test code stays out of programs"},
		{"authsvc/engine", "authsvc/devidp", "a program asks for it by name"},
		{"authsvc/engine", "authsvc/internal/sql/sqladapter", "no database in the engine"},
		{"authsvc/engine", "database/sql", "no database in the engine"},
		{"authsvc/engine", "github.com/coreos", "go-oidc is only a reference in tests"},
		{"authsvc/engine", "golang.org/x/oauth2", "x/oauth2 is only a reference in tests"},
		{"authsvc/engine", "modernc.org", "no driver in the engine"},
		{"authsvc/engine", "zombiezen.com", "no driver in the engine"},
		{"authsvc/engine", "testing", "test code stays out of programs"},
		{"authsvc/engine", "authsvc/authtest", "test code stays out of programs"},
		{"authsvc/engine/internal/fleet", "authsvc/engine/internal/audit", "a storey must not import a storey above it"},
		{"authsvc/engine/internal/fleet", "authsvc/engine/internal/limit", "a storey must not import a storey above it"},
		{"authsvc/engine/internal/audit", "authsvc/engine/internal/limit", "the two storeys are independent"},
		{"authsvc/engine/internal/limit", "authsvc/engine/internal/audit", "the two storeys are independent"},
		{"authsvc/internal/seal", "net/http", "sealing does not depend on HTTP"},
		{"authsvc/internal/protocol/oauth1", "net/http", "signatures and parameters; calls are the caller's"},
		{"authsvc/internal/protocol/openid2", "net/http", "assertions and parameters; calls are the caller's"},
		{"authsvc/internal/protocol/outbound", "authsvc/internal/protocol/oidc", "outbound calls do not depend on a protocol"},
		{"authsvc/adapter/memory", "database/sql", "the memory adapter needs no database"},
	} {
		for _, dep := range deps(t, a.from) {
			if dep == a.never || strings.HasPrefix(dep, strings.TrimSuffix(a.never, "/")+"/") {
				t.Errorf("%s imports %s: %s", a.from, dep, a.reason)
			}
		}
	}
	for _, line := range list(t, "-f", `{{.ImportPath}}{{range .Imports}},{{.}}{{end}}`, "./engine/internal/fleet", "./engine/internal/audit", "./engine/internal/limit") {
		pkg, imports, _ := strings.Cut(line, ",")
		for _, never := range []string{"net/http", "authsvc/engine"} {
			if slices.Contains(strings.Split(imports, ","), never) {
				t.Errorf("%s imports %s: a storey below the requests must not know about them", pkg, never)
			}
		}
	}
	words := []string{root, "authsvc/stats", "authsvc/provider", "authsvc/mail", "authsvc/bearer", "authsvc/adaptertest"}
	for _, word := range append(words, list(t, "./adapter/...")...) {
		for _, dep := range deps(t, word) {
			if dep == "authsvc/engine" || strings.HasPrefix(dep, "authsvc/engine/") {
				t.Errorf("%s imports %s: it only declares types, which do not need the engine", word, dep)
			}
		}
	}
	for _, leaf := range []string{"authsvc/adapter", "authsvc/bearer", "authsvc/cmd/authsvc/internal/probe", "authsvc/internal/protocol/access", "authsvc/internal/sql/stores", "authsvc/internal/dev/devsite", "authsvc/internal/text/emailaddr", "authsvc/internal/seal/emailchange", "authsvc/internal/protocol/exchange", "authsvc/internal/protocol/gate", "authsvc/internal/protocol/handover", "authsvc/internal/dev/idp", "authsvc/internal/dev/inbox", "authsvc/internal/text/jsonscan", "authsvc/internal/text", "authsvc/internal/text/mailtext", "authsvc/internal/protocol/oauth1", "authsvc/internal/protocol/oidc", "authsvc/internal/protocol/openapi", "authsvc/internal/protocol/openid2", "authsvc/internal/protocol/outbound", "authsvc/internal/text/pages", "authsvc/internal/seal/personaltoken", "authsvc/internal/text/profilepath", "authsvc/internal/seal", "authsvc/internal/seal/sessionshape", "authsvc/internal/seal/signingkeys", "authsvc/internal/text/strictjson", "authsvc/internal/protocol/upstream", "authsvc/internal/text/useragent", "authsvc/internal/protocol/weburl"} {
		for _, dep := range deps(t, leaf) {
			if dep == root {
				t.Errorf("%s imports authsvc: a leaf package must not", leaf)
			}
		}
	}
}

// TestBearerStandsAlone checks that a program that verifies tokens imports only the
// code to read keys.
func TestBearerStandsAlone(t *testing.T) {
	t.Parallel()
	for _, pkg := range list(t, "-f", `{{join .Imports "\n"}}`, "authsvc/bearer") {
		if first, _, _ := strings.Cut(pkg, "/"); pkg != "authsvc/internal/protocol/oidc" && pkg != "github.com/go-jose/go-jose/v4" && (first == "authsvc" || strings.Contains(first, ".")) {
			t.Errorf("authsvc/bearer imports %s", pkg)
		}
	}
	allowed := []string{"authsvc/bearer", "authsvc/internal/sql/stores", "authsvc/internal/text", "authsvc/internal/protocol/oidc", "authsvc/internal/protocol/outbound", "authsvc/internal/text/strictjson", "authsvc/internal/protocol/weburl"}
	for _, pkg := range deps(t, "authsvc/bearer") {
		if strings.HasPrefix(pkg, root) && !slices.Contains(allowed, pkg) {
			t.Errorf("authsvc/bearer depends on %s", pkg)
		}
	}
}

// TestTestingStaysInTests checks that only packages for tests, and tools of this
// repository, import testing, which adds flags and code to a program.
func TestTestingStaysInTests(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, line := range list(t, "-f", `{{.ImportPath}}{{range .Imports}},{{.}}{{end}}`, "./...") {
		imports := strings.Split(line, ",")
		pkg := imports[0]
		if slices.Contains([]string{"authsvc/authtest", "authsvc/adaptertest"}, pkg) || strings.HasPrefix(pkg, "authsvc/internal/test/") || strings.HasPrefix(pkg, "authsvc/internal/tools/") {
			seen++
			continue
		}
		if slices.Contains(imports, "testing") || slices.Contains(imports, "net/http/httptest") {
			t.Errorf("%s imports testing or net/http/httptest", pkg)
		}
	}
	if seen < 3 {
		t.Errorf("%d packages for tests", seen)
	}
}

func deps(t *testing.T, pkg string) []string { return list(t, "-deps", pkg) }

func list(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// TestEmbeddersModules checks the modules in the go.sum of a program with the engine,
// its providers, authtest and devidp. The go command counts the modules that their
// tests import; tests that need more belong in internal/test/engine.
func TestEmbeddersModules(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		root:                            "this one",
		"github.com/go-jose/go-jose/v4": "signatures",
		"golang.org/x/net":              "the public suffix list, HTML",
		"golang.org/x/sync":             "semaphores",
		"golang.org/x/text":             "Unicode of addresses",

		"github.com/google/go-cmp":    "differences in tests",
		"github.com/wneessen/go-mail": "mail, in the README's example",
		"go.yaml.in/yaml/v3":          "configurations of transcripts",
		"golang.org/x/crypto":         "of go-mail",
		"golang.org/x/tools":          "txtar, of transcripts",
	}
	unused := maps.Clone(allowed)
	for _, module := range list(t, "-deps", "-test", "-f", "{{with .Module}}{{.Path}}{{end}}", root, "authsvc/engine", "authsvc/provider", "authsvc/authtest", "authsvc/devidp") {
		if delete(unused, module); allowed[module] == "" {
			t.Errorf("tests of the engine or of its providers import %s: programs that embed them would need it", module)
			allowed[module] = "said once"
		}
	}
	for module := range unused {
		t.Errorf("no package imports %s any more", module)
	}
}

// TestRootIsWords keeps the root folder short, so that readers of the repository find
// the README at once.
func TestRootIsWords(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) > 30 {
		t.Errorf("%d Go files are listed before the README, want at most 30 (%v); the engine is in engine/", len(files), err)
	}
}

// TestExports limits how many names the two packages export that every embedder reads.
func TestExports(t *testing.T) {
	t.Parallel()
	for dir, most := range map[string]int{".": 150, "engine": 30} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		n := 0
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				n += exports(d)
			}
		}
		if n > most || n == 0 {
			t.Errorf("%s exports %d names, and may export %d", dir, n, most)
		}
		t.Logf("%s exports %d names", dir, n)
	}
}

// exports counts the exported names of a declaration, except methods.
func exports(d ast.Decl) (n int) {
	var names []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	for _, name := range names {
		if name.IsExported() {
			n++
		}
	}
	return n
}

// TestHouseRules checks the source against the rules of the layout.
func TestHouseRules(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		checkFile(t, set, path, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, set *token.FileSet, path string, f *ast.File) {
	t.Helper()
	if lines := set.File(f.Pos()).LineCount(); lines > 420 {
		t.Errorf("%s has %d lines: it probably holds more than one concern", path, lines)
	}
	inCmd := strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "bench/") || strings.HasPrefix(path, "examples/") || strings.HasPrefix(path, "internal/test/")
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && !inCmd {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "os" && (s.Sel.Name == "Getenv" || s.Sel.Name == "LookupEnv" || s.Sel.Name == "Environ") {
				t.Errorf("%s reads the environment: only cmd does", set.Position(n.Pos()))
			}
		}
		return true
	})
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				t.Errorf("%s: func init", set.Position(d.Pos()))
			}
			if lines := set.Position(d.End()).Line - set.Position(d.Pos()).Line; lines > 60 && !slices.Contains([]string{"english", "englishMails", "german", "germanMails", "entries", "steps"}, d.Name.Name) { // tables
				t.Errorf("%s: %s has %d lines", set.Position(d.Pos()), d.Name.Name, lines)
			}
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !inCmd {
				t.Errorf("%s: %s has no comment", set.Position(d.Pos()), d.Name.Name)
			}
		case *ast.GenDecl:
			checkDecl(t, set, d, inCmd)
		}
	}
}

func checkDecl(t *testing.T, set *token.FileSet, d *ast.GenDecl, inCmd bool) {
	t.Helper()
	for _, s := range d.Specs {
		if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil && !inCmd {
			t.Errorf("%s: %s has no comment", set.Position(ts.Pos()), ts.Name.Name)
		}
		if vs, ok := s.(*ast.ValueSpec); ok && vs.Names[0].IsExported() && d.Doc == nil && vs.Doc == nil && vs.Comment == nil && !inCmd {
			t.Errorf("%s: %s has no comment", set.Position(vs.Pos()), vs.Names[0].Name)
		}
	}
}

// exportedReceiver reports whether a method's type is exported; it is true for
// functions.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return !ok || id.IsExported()
}
