package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestStoreys holds the order of the house: a storey has, of the others, those that
// were raised before it, and no room has another room.
func TestStoreys(t *testing.T) {
	t.Parallel()
	house := reflect.TypeFor[storeys]()
	floor := map[reflect.Type]int{}
	for i := range house.NumField() {
		floor[house.Field(i).Type] = i
	}
	for i := range house.NumField() {
		one := house.Field(i)
		for j := range one.Type.Elem().NumField() {
			has := one.Type.Elem().Field(j)
			at, storey := floor[has.Type]
			if storey && at >= i {
				t.Errorf("%s has %s, which stands above it", one.Name, has.Name)
			}
			if storey && strings.HasSuffix(one.Name, "Room") && strings.HasSuffix(has.Name, "Room") {
				t.Errorf("the room %s has the room %s", one.Name, has.Name)
			}
			if has.Type == reflect.TypeFor[*Service]() || has.Type == house {
				t.Errorf("%s has the whole house", one.Name)
			}
		}
	}
	if len(floor) < 16 {
		t.Errorf("%d storeys and rooms", len(floor))
	}
}

// Bounds of how many methods a type may have that everything could come to be a method of.
const (
	maxRequestMethods = 89
	maxServiceMethods = 40
)

// TestMethods: what a request can do belongs to the storeys and rooms.
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
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
					if id, ok := star.X.(*ast.Ident); ok {
						methods[id.Name]++
					}
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
}
