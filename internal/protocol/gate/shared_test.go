package gate

import "testing"

// TestSharedPatterns checks that hosts with the same patterns share their index and keep
// their own answers, and that each of them reports its own mistakes.
func TestSharedPatterns(t *testing.T) {
	t.Parallel()
	host := func(name string, allow Allow, patterns ...string) Host {
		h := Host{Origin: "https://" + name + ".example", Default: Allow{Nobody: true}}
		for _, p := range patterns {
			h.Rules = append(h.Rules, Rule{Match: p, Allow: allow})
		}
		return h
	}
	table, problems := Compile([]Host{host("one", Allow{Anyone: true}, "/a/", "/b/"), host("two", Allow{}, "/a/", "/b/"), host("three", Allow{Anyone: true}, "/a/"), host("four", Allow{Anyone: true}, "/a", "//b/")})
	if len(problems) != 1 || problems[0].Field != "Hosts[3].Rules[1].Match" {
		t.Fatal(problems)
	}
	site := func(name string) *Site { s, _ := table.Find(name + ".example"); return s }
	if site("one").index != site("two").index || site("one").index == site("three").index {
		t.Error("only hosts with the same patterns must share their index")
	}
	for name, want := range map[string]Verdict{"one": Allowed, "two": SignIn, "three": Forbidden} {
		d, readings := site(name).Explain(t.Context(), &Asked{Method: "GET", Target: "/b/", Subject: SubjectFunc(func() (*Person, error) { return nil, nil })})
		rule := 1
		if name == "three" {
			rule = -1
		}
		if d.Verdict != want || len(readings) != 1 || readings[0].Rule != rule {
			t.Errorf("%s: %v %+v", name, d, readings)
		}
	}
	_, problems = Compile([]Host{host("one", Allow{}, "/a/", "x"), host("two", Allow{}, "/a/", "x")})
	if len(problems) != 2 || problems[0].Field != "Hosts[0].Rules[1].Match" || problems[1].Field != "Hosts[1].Rules[1].Match" {
		t.Errorf("the same mistake at two hosts: %v", problems)
	}
}
