package access

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

func networks(s ...string) (list []netip.Prefix) {
	for _, n := range s {
		list = append(list, netip.MustParsePrefix(n))
	}
	return list
}

// TestHolds checks that every condition holds for the subjects that it names and no
// others.
func TestHolds(t *testing.T) {
	t.Parallel()
	proved := func(address string) Subject { return Subject{Email: address, Proved: true} }
	claims := func(name string, v any) Subject { return Subject{Claims: map[string]any{name: v}} }
	from := func(ip string) Subject { return Subject{Client: netip.MustParseAddr(ip)} }
	for name, tt := range map[string]struct {
		c       Condition
		in, out []Subject
	}{
		"emails": {Condition{Emails: []string{" Ada@Example.com"}},
			[]Subject{proved("ada@example.com")},
			[]Subject{{Email: "ada@example.com"}, proved("eve@example.com"), proved("ada@example.com.evil.test"), proved("ada@example.co"), {Proved: true}, {}}},
		"domains": {Condition{Domains: []string{"Example.com"}},
			[]Subject{proved("ada@example.com"), proved("x@example.com")},
			[]Subject{{Email: "ada@example.com"}, proved("ada@sub.example.com"), proved("ada@notexample.com"), proved("ada@example.com.evil.test"), proved("example.com"), proved("a@evil.test@example.com"), proved("@"), {Proved: true}}},
		"domains below": {Condition{Domains: []string{".example.com"}},
			[]Subject{proved("ada@example.com"), proved("ada@sub.example.com"), proved("ada@a.b.example.com")},
			[]Subject{proved("ada@notexample.com"), proved("ada@example.com.evil.test"), {Email: "ada@sub.example.com"}, proved("ada@.com")}},
		"users":     {Condition{Users: []string{"1"}}, []Subject{{UserID: "1"}}, []Subject{{UserID: "11"}, {}}},
		"providers": {Condition{Providers: []string{"github"}}, []Subject{{Provider: "github"}}, []Subject{{Provider: "GitHub"}, {}}},
		"groups": {Condition{Groups: []string{"ops", "sre"}},
			[]Subject{claims("groups", []any{"dev", "sre"}), claims("groups", []string{"ops"}), claims("groups", "ops")},
			[]Subject{claims("groups", []any{"dev", "ops2"}), claims("groups", []any{}), claims("groups", nil), claims("group", "ops"), claims("groups", "ops,dev"),
				claims("groups", []any{[]any{"ops"}}), claims("groups", map[string]any{"ops": true}), {}}},
		"claims": {Condition{Claims: map[string][]string{"level": {"3", "true"}, "plan": {"pro"}}},
			[]Subject{{Claims: map[string]any{"level": json.Number("3"), "plan": "pro"}}, {Claims: map[string]any{"level": true, "plan": []any{"pro"}}}, {Claims: map[string]any{"level": 3.0, "plan": "pro"}}},
			[]Subject{claims("plan", "pro"), {Claims: map[string]any{"level": "4", "plan": "pro"}}, {Claims: map[string]any{"level": nil, "plan": "pro"}}, {}}},
		"networks": {Condition{Networks: networks("10.0.0.0/8", "2001:db8::/32")},
			[]Subject{from("10.1.2.3"), from("::ffff:10.1.2.3"), from("2001:db8::1")},
			[]Subject{from("11.1.2.3"), from("2001:db9::1"), {}}},
		"all must hold": {Condition{Domains: []string{"example.com"}, Providers: []string{"google"}},
			[]Subject{{Email: "ada@example.com", Proved: true, Provider: "google"}},
			[]Subject{proved("ada@example.com"), {Provider: "google"}, {Email: "ada@example.com", Provider: "google"}}},
	} {
		c, problems := Prepare(tt.c)
		if problems != nil {
			t.Errorf("%s: %v", name, problems)
		}
		for _, s := range tt.in {
			if !c.Holds(&s) {
				t.Errorf("%s does not hold for %+v", name, s)
			}
		}
		for _, s := range tt.out {
			if c.Holds(&s) {
				t.Errorf("%s holds for %+v", name, s)
			}
		}
	}
	if (&Condition{}).Holds(&Subject{UserID: "1", Proved: true, Email: "ada@example.com"}) {
		t.Error("an empty condition holds")
	}
}

// TestPrepare checks that all mistakes are reported at their places.
func TestPrepare(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Condition{
		" matches no one;": {},
		"Emails[1] is not an email address; Emails[2] is not an email address;":                                           {Emails: []string{"a@b.test", "*@b.test", ""}},
		"Domains[0] is not a domain; Domains[1] is not a domain; Domains[2] is not a domain; Domains[3] is not a domain;": {Domains: []string{"*.example.com", "com", "", "a@b.test"}},
		"Groups[0] is empty; Providers[0] is empty; Users[1] is empty;":                                                   {Groups: []string{""}, Providers: []string{""}, Users: []string{"1", ""}},
		"Claims has a claim without a name or a value;":                                                                   {Claims: map[string][]string{"a": {}}},
		"": {Domains: []string{"bücher.example", ".example.com"}},
	} {
		_, problems := Prepare(c)
		var got []string
		for _, p := range problems {
			if p.Fix == "" {
				t.Errorf("%v has no fix", p)
			}
			got = append(got, p.Field+" "+p.Problem+";")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%+v:\n got %q\nwant %q", c, s, want)
		}
	}
}
