package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"authsvc/engine/internal/fleet"
)

// TestStoreys holds the order of the house: a storey has, of the others, those that
// were raised before it, and no room has another room.
func TestStoreys(t *testing.T) {
	t.Parallel()
	h := raise(&fleet.Given{})
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
				t.Errorf("%s has %s, which stands above it", one, has)
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

// Bounds of how many methods a type may have that everything could come to be a method of.
const (
	maxRequestMethods = 60
	maxServiceMethods = 40
)

// beginnings are how the names of files begin that have the methods of a storey or room.
var beginnings = map[string]string{"site": "site_", "keeper": "session_", "mailing": "mailing_", "vault": "vault_", "issuer": "issuer_", "desk": "desk_",
	"oauthRoom": "oauth", "emailRoom": "email_", "credentialsRoom": "credentials", "accountRoom": "account_", "tokenRoom": "token_", "gateRoom": "gate_"}

// TestMethods: what a request can do belongs to the storeys and rooms, and the name of
// a file says to which its methods belong.
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
		}
	}
	for name, most := range map[string]int{"request": maxRequestMethods, "Service": maxServiceMethods} {
		if n := methods[name]; n > most || n == 0 {
			t.Errorf("%s has %d methods, and may have %d", name, n, most)
		}
		t.Logf("%s has %d methods", name, methods[name])
	}
	for name := range beginnings {
		if methods[name] == 0 {
			t.Errorf("%s has no methods", name)
		}
	}
}

// receiver names the type that a declaration is a method of; "": it is none.
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
