package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"authsvc/engine/internal/fleet"
)

// TestStoreys checks the order of the storeys: a storey has only storeys that were
// raised before it, and no room has another room.
func TestStoreys(t *testing.T) {
	t.Parallel()
	h := newStoreys(&fleet.Common{})
	floor := map[reflect.Type]int{}
	for i, p := range h.parts {
		floor[reflect.TypeOf(p.of)] = i
	}
	house := reflect.TypeFor[storeys]()
	isRoom := func(t reflect.Type) bool { return strings.HasSuffix(t.Elem().Name(), "Room") }
	for i, p := range h.parts {
		one := reflect.TypeOf(p.of)
		for j := range one.Elem().NumField() {
			has := one.Elem().Field(j).Type
			at, storey := floor[has]
			if storey && at >= i {
				t.Errorf("%s has %s, which is a storey above it", one, has)
			}
			if storey && isRoom(one) && isRoom(has) {
				t.Errorf("the room %s has the room %s", one, has)
			}
			if has == reflect.TypeFor[*Service]() || has == house || has == reflect.TypeFor[*storeys]() {
				t.Errorf("%s has the whole house", one)
			}
		}
	}
	for i := range house.NumField() {
		f := house.Field(i)
		if _, known := floor[f.Type]; !known && f.Type.Kind() == reflect.Pointer && f.Type.Elem().PkgPath() == house.PkgPath() {
			t.Errorf("%s is a storey or a room that is not in parts", f.Name)
		}
	}
	if len(floor) < 12 {
		t.Errorf("%d storeys and rooms", len(floor))
	}
}

// TestRoutesOnce: no part takes the route of another.
func TestRoutesOnce(t *testing.T) {
	t.Parallel()
	h := newStoreys(&fleet.Common{})
	of := map[string]any{}
	for _, p := range h.parts {
		if p.routes == nil {
			continue
		}
		for path := range p.routes() {
			if first, taken := of[path]; taken {
				t.Errorf("%q is a route of %T and of %T", path, first, p.of)
			}
			of[path] = p.of
		}
	}
	if len(of) < 20 || len(of) != len(h.allRoutes()) {
		t.Errorf("%d routes", len(of))
	}
}

// Largest numbers of methods of types to which nearly every method could be added.
const (
	maxRequestMethods = 60
	maxServiceMethods = 40
)

// beginnings lists how the names of files begin that have the methods of a storey or
// room. Methods that use all storeys are in other files.
var beginnings = map[string]string{"site": "site_", "keeper": "session_", "mailing": "mailing_", "vault": "vault_", "issuer": "issuer_", "desk": "desk_",
	"oauthRoom": "oauth", "emailRoom": "email_", "credentialsRoom": "credentials", "accountRoom": "account_", "tokenRoom": "token_", "gateRoom": "gate_", "personalRoom": "personal_", "Operator": "operator"}

var seeAll = []string{"Operator", "Service", "People", "storeys"}

// TestMethods: the methods of requests belong to the storeys and rooms, and the name of
// a file says whose methods it has.
func TestMethods(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			of := receiver(d)
			methods[of]++
			if begin, ok := beginnings[of]; ok && !strings.HasPrefix(name, begin) {
				t.Errorf("%s has a method of %s, which belong to files %s….go", name, of, begin)
			}
			for storey, begin := range beginnings {
				if slices.Contains(seeAll, of) && storey != "Operator" && strings.HasPrefix(name, begin) {
					t.Errorf("%s has a method of %s, which sees the whole house", name, of)
				}
			}
		}
	}
	for name, most := range map[string]int{"request": maxRequestMethods, "Service": maxServiceMethods} {
		if n := methods[name]; n > most || n == 0 {
			t.Errorf("%s has %d methods, and may have %d", name, n, most)
		}
		t.Logf("%s has %d methods", name, methods[name])
	}
	h := newStoreys(&fleet.Common{})
	for _, p := range h.parts {
		if name := reflect.TypeOf(p.of).Elem().Name(); beginnings[name] == "" {
			t.Errorf("beginnings does not say how the names of the files of %s begin", name)
		}
	}
	for name := range beginnings {
		if methods[name] == 0 {
			t.Errorf("%s has no methods", name)
		}
	}
}

// TestHinges: only the files listed here know the modes, or ask whether there is a
// store.
func TestHinges(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for question, of := range map[string]struct {
		word  *regexp.Regexp
		files []string
	}{
		"which dialect": {regexp.MustCompile(`\b(CompatNone|NextAuthV4|AuthJSV5)\b`), []string{"site_dialect.go", "config_check.go"}},
		"a store":       {regexp.MustCompile(`\bAdapter [!=]= nil|\bAdapter; a [!=]= nil`), []string{"builder.go", "mailing_notice.go"}},
	} {
		for _, name := range files {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			asks := of.word.Match(raw) && !strings.HasSuffix(name, "_test.go")
			if asks && !slices.Contains(of.files, name) {
				t.Errorf("%s asks for %s; that is asked once", name, question)
			}
		}
	}
}

// receiver returns the type of a method, "" if the declaration is not a method.
func receiver(d ast.Decl) string {
	fn, ok := d.(*ast.FuncDecl)
	if !ok || fn.Recv == nil {
		return ""
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// TestNamesGoDown: the order also holds for names that are neither methods nor fields.
// A file of a storey uses no function, type or constant of a file of a higher storey,
// and a file of a room uses none of another room's.
func TestNamesGoDown(t *testing.T) {
	t.Parallel()
	h := newStoreys(&fleet.Common{})
	level := func(file string) (floor int, room string) {
		for i, p := range h.parts {
			name := reflect.TypeOf(p.of).Elem().Name()
			switch isRoom := strings.HasSuffix(name, "Room"); {
			case !strings.HasPrefix(file, beginnings[name]):
				continue
			case isRoom:
				return len(h.parts), name
			default:
				return i, ""
			}
		}
		return -1, ""
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, declared := map[string]*ast.File{}, map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
		for _, d := range f.Decls {
			for _, id := range declares(d) {
				declared[id] = name
			}
		}
	}
	seen := 0
	for name, f := range files {
		floor, room := level(name)
		for _, id := range f.Unresolved {
			of, known := declared[id.Name]
			if to, other := level(of); floor >= 0 && known && (to > floor || room != other && to == floor && other != "") {
				t.Errorf("%s uses %s of %s", name, id.Name, of)
			} else if known && floor >= 0 && to >= 0 {
				seen++
			}
		}
	}
	if seen < 500 {
		t.Errorf("%d uses", seen)
	}
}

// declares returns the names that a declaration adds to the package.
func declares(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}
