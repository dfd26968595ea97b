package adaptertest

import (
	"errors"
	"reflect"
	"testing"

	"authsvc/adapter"
	"authsvc/adapter/memory"
)

// TestFaultyEveryMethod checks that every method can be made to fail, before and after
// it took effect, and otherwise works.
func TestFaultyEveryMethod(t *testing.T) {
	t.Parallel()
	methods := reflect.TypeFor[adapter.Adapter]()
	f := Faulty(memory.New())
	calls := everyCall(t.Context(), f, fixture{})
	if len(calls) != methods.NumMethod() {
		t.Fatalf("the suite calls %d methods, the contract has %d", len(calls), methods.NumMethod())
	}
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Faulty(memory.New())
			ann := signUp(t, f, "ann")
			putLink(t, f, ann.user.Email, "link")
			call := everyCall(t.Context(), f, ann)[name]

			f.FailBefore(1)
			if err := call(); !errors.Is(err, ErrFault) {
				t.Fatalf("before: got %v", err)
			}
			checkUnchanged(t, f, ann) // nothing was stored; the next calls pass
			f.FailBefore(2)
			ok(t, call())
			same(t, f.Calls(), []string{name})
		})
	}
}

func TestFaultyAfter(t *testing.T) {
	t.Parallel()
	f := Faulty(memory.New())
	f.FailAfter(2)
	newUser(t, f, "ann")
	u, err := f.CreateUser(t.Context(), adapter.User{ID: "bob"}, nil)
	if !errors.Is(err, ErrFault) {
		t.Fatalf("got %v", err)
	}
	same(t, u, adapter.User{})
	same(t, f.Calls(), []string{"CreateUser", "CreateUser"})
	u, err = f.GetUser(t.Context(), "bob") // the user was stored
	ok(t, err)
	same(t, u, adapter.User{ID: "bob"})
}

// TestFaultyPasses checks that without faults the wrapper passes the suite.
func TestFaultyPasses(t *testing.T) {
	t.Parallel()
	Run(t, func(*testing.T) adapter.Adapter { return Faulty(memory.New()) })
}
