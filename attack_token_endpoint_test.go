package authsvc_test

import (
	"testing"

	"authsvc/internal/idp"
)

func TestAttackSubjects(t *testing.T) {
	t.Parallel()
	for name, v := range map[string][2]any{"1 and \"1\"": {1, "1"}, "2^53+1": {"9007199254740993", "9007199254740992"}, "case": {"abc", "ABC"}, "accent": {"a", "ä"}, "trailing blank": {"abc", "abc "}} {
		t.Run("account-05 "+name, func(t *testing.T) {
			t.Parallel()
			w, _ := twoProviders(t)
			var people []string
			for _, x := range v {
				w.op.SetFault(idp.Fault{User: func(u map[string]any) { u["id"] = x; delete(u, "email") }})
				b := w.browser()
				if a := b.get(b.approve(w.op, b.begin("plain"), "katherine")); a.location() != origin {
					t.Fatalf("%v: %s\n%s", x, a.location(), w.logs)
				}
				people = append(people, w.person(t, b))
			}
			if same := people[0] == people[1]; same != (name == "1 and \"1\"") {
				t.Errorf("same person: %v", same)
			}
		})
	}
}
