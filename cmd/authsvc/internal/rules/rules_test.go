package rules

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"authsvc"
)

func attempt() *Variables {
	return OfAttempt(&authsvc.SignInAttempt{
		User: authsvc.User{ID: "1", Name: "Ada", Email: "ada@example.com"}, EmailProved: true, IsNewUser: true,
		Account: authsvc.Account{Provider: "github", Type: "oauth", ProviderAccountID: "7", AccessToken: "secret"},
		Profile: authsvc.Profile{"plan": "pro", "groups": []any{"ops", "dev"}, "level": 3, "staff": true, "odd": "yes"},
		Client:  authsvc.RequestClient{IP: netip.MustParseAddr("10.1.2.3"), Agent: "test"},
		Time:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	})
}

// TestHolds: results of sign-in expressions.
func TestHolds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`true`:  true,
		`false`: false,
		`user.email_verified && !(account.provider == "github" && new_user)`: false,
		`user.id == "1" && user.name == "Ada" && user.image == ""`:           true,
		`account.type == "oauth" && account.id == "7"`:                       true,
		`domain(user.email) == "example.com"`:                                true,
		`domain("x") == "" && domain("a@b@C.test") == "c.test"`:              true,
		`"ops" in profile.groups && profile.groups.exists(g, g == "dev")`:    true,
		`sets.contains(["ops", "dev", "all"], profile.groups)`:               true,
		`sets.contains(["ops"], profile.groups)`:                             false,
		`sets.intersects(["x", "ops"], profile.groups)`:                      true,
		`sets.intersects(profile.groups, ["x"]) || sets.intersects([], [])`:  false,
		`sets.equivalent(["dev", "ops", "ops"], profile.groups)`:             true,
		`sets.equivalent(["dev", "ops", "all"], profile.groups)`:             false,
		`profile.level >= 3 && profile.staff`:                                true,
		`profile.staff`:                                                      true,
		`has(profile.missing)`:                                               false,
		`profile.plan.upperAscii() == "PRO"`:                                 true,
		`user.email.matches("^ada@")`:                                        true,
		`network("10.0.0.0/8").contains(client.ip)`:                          true,
		`network("10.1.2.3").contains(client.ip)`:                            true,
		`network("192.0.2.0/24").contains(client.ip)`:                        false,
		`network("10.0.0.0/8").contains("nonsense")`:                         false,
		`client.ip in network("10.0.0.0/8")`:                                 true,
		`client.ip in network("192.0.2.0/24")`:                               false,
		`"nonsense" in network("10.0.0.0/8")`:                                false,
		`client.ip in ["10.1.2.3"] && "10.1.2.3" in {"10.1.2.3": 1}`:         true,
		`client.agent == "test" && !link_request`:                            true,
		`now > timestamp("2026-01-01T00:00:00Z") && now.getHours() == 3`:     true,
	} {
		rule, problems := Compile(SignIn, text)
		if problems != nil {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		if got, err := rule.Holds(attempt()); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestOtherKinds: expressions about redirects, and about users with a session.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	rule, problems := Compile(Redirect, `to.scheme == "https" && to.host.endsWith(".preview.example.com") && to.port == "443" && to.path.startsWith("/in")`)
	if problems != nil {
		t.Fatal(problems)
	}
	for address, want := range map[string]bool{"https://a.preview.example.com/in": true, "https://a.preview.example.com:443/in?x": true,
		"https://a.preview.example.com:8443/in": false, "http://a.preview.example.com/in": false, "https://preview.example.com/in": false} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rule.Holds(OfAddress(u)); got != want || err != nil {
			t.Errorf("%s: %v, %v", address, got, err)
		}
	}
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	rule, problems = Compile(When, `user.email_verified && "ops" in session.claims.groups && now - session.auth_time < duration("1h") && session.provider == "op" && request.method == "POST" && request.host == "h" && request.path == "/p" && client.ip == ""`)
	if problems != nil {
		t.Fatal(problems)
	}
	for ago, want := range map[time.Duration]bool{time.Minute: true, 2 * time.Hour: false} {
		v := &Variables{User: User{EmailVerified: true}, Session: Session{AuthTime: now.Add(-ago), Provider: "op", Claims: map[string]any{"groups": []any{"ops"}}},
			Request: Request{"POST", "h", "/p"}, Now: now}
		if got, err := rule.Holds(v); got != want || err != nil {
			t.Errorf("%v ago: %v, %v", ago, got, err)
		}
	}
	v := OfAccess(&authsvc.AccessRequest{Session: &authsvc.Session{EmailVerified: true}})
	if got, _ := rule.Holds(v); got {
		t.Errorf("a session without claims: %v", got)
	}
}

// TestMap: claims have the types of JSON.
func TestMap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]any{
		`{"tier": profile.plan == "pro" ? "gold" : "basic"}`:    {"tier": "gold"},
		`{"n": 3, "list": [1, "two", null], "in": {"x": true}}`: {"n": 3.0, "list": []any{1.0, "two", nil}, "in": map[string]any{"x": true}},
		`{"since": now}`: {"since": "2026-01-02T03:04:05Z"},
		`{"groups": profile.groups.filter(g, g != "dev")}`: {"groups": []any{"ops"}},
		`{}`: {},
	} {
		rule, problems := Compile(Claims, text)
		if problems != nil {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		if got, err := rule.Map(attempt()); !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	rule, _ := Compile(Claims, `profile.plan`)
	if got, err := rule.Map(attempt()); err == nil {
		t.Errorf("text as claims: %v", got)
	}
}

// TestProblems: mistakes are found at compile time, with their place.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind Kind
		text string
		want string // Line:Column and part of the message
	}{
		{SignIn, `user.emial == "x"`, "1:5 undefined field 'emial'"},
		{SignIn, "user.email_verified &&\n  acount.provider == \"x\"", "2:3 undeclared reference to 'acount'"},
		{SignIn, `user.email +`, "1:13 Syntax error"},
		{SignIn, `user.email`, "1:1 is string, not true or false"},
		{SignIn, `{"a": 1}`, "1:1 is map(string, int), not true or false"},
		{SignIn, `user.email == 1`, "1:12 found no matching overload"},
		{SignIn, `user.email.matches("(")`, "1:20 invalid matches argument"},
		{SignIn, `network("10.0.0.1/8").contains(client.ip)`, "1:9 not a network"},
		{When, `1 in network("10.0.0.0/8")`, "1:3 found no matching overload for '@in'"},
		{SignIn, `now > timestamp("yesterday")`, "1:17 invalid timestamp argument"},
		{SignIn, `session.provider == "x"`, "1:1 undeclared reference to 'session'"},
		{SignIn, `account.access_token == ""`, "1:8 undefined field"},
		{Claims, `true`, "1:1 is bool, not a map"},
		{Claims, `{1: 2}`, "1:1 is map(int, int), not a map"},
		{Redirect, `user.email == ""`, "1:1 undeclared reference to 'user'"},
		{When, `profile.x`, "1:1 undeclared reference to 'profile'"},
		{SignIn, ``, "1:1 Syntax error"},
		{SignIn, strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), "recursion limit"},
		{SignIn, strings.Repeat(" ", 17<<10) + "true", "size exceeds"},
		{SignIn, `[` + strings.Repeat(`0,1,2,3,4,5,6,7,8,9,`, 5) + `1].map(a, [` + strings.Repeat(`0,1,2,3,4,5,6,7,8,9,`, 5) + `1].map(b, [` + strings.Repeat(`0,1,2,3,4,5,6,7,8,9,`, 5) + `1].map(c, a + b + c))).size() > 0`, "costs"},
	} {
		rule, problems := Compile(tt.kind, tt.text)
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Message))
		}
		if all := strings.Join(got, "; "); rule != nil || !strings.Contains(all, tt.want) {
			t.Errorf("%.60s: %s, want %s", tt.text, all, tt.want)
		}
	}
}

// TestFailures: an evaluation that fails decides nothing, in limited time.
func TestFailures(t *testing.T) {
	t.Parallel()
	groups := make([]any, 1000)
	for i := range groups {
		groups[i] = fmt.Sprintf("group %d", i)
	}
	for text, profile := range map[string]authsvc.Profile{
		`profile.missing == "x"`:                    {},
		`profile.odd`:                               {"odd": "yes"},
		`profile.list[3]`:                           {"list": []any{true}},
		`int(profile.text) > 1`:                     {"text": "x"},
		`network(profile.text).contains(client.ip)`: {"text": "x"},
		`profile.groups.all(a, profile.groups.all(b, profile.groups.all(c, a != "x" || b == c)))`: {"groups": groups},
		`profile.text == "x"`: {"text": strings.Repeat("x", MaxProfile)},
		`profile.groups.map(g, profile.groups.map(h, g + h)).size() > 0`:                                      {"groups": groups},
		`profile.text.split("").map(c, profile.text.split("").map(d, profile.text.replace(c, d))).size() > 0`: {"text": strings.Repeat("ab", 1000)},
	} {
		rule, problems := Compile(SignIn, text)
		if problems != nil {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		v := attempt()
		v.Profile = profile
		if got, err := rule.Holds(v); got || err == nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	rule, _ := Compile(SignIn, `user.email_verified`)
	v := attempt()
	v.Profile = authsvc.Profile{"text": strings.Repeat("x", MaxProfile)}
	if got, err := rule.Holds(v); !got || err != nil {
		t.Errorf("an expression that leaves a large profile alone: %v, %v", got, err)
	}
	if _, err := PlainProfile(v.Profile); !errors.Is(err, ErrProfileTooLarge) {
		t.Error(err)
	}
	if p, err := PlainProfile(nil); p == nil || len(p) != 0 || err != nil {
		t.Errorf("no profile: %v, %v", p, err)
	}
}

// TestSetsOfLongLists: lists that cost more than the limit are not compared.
func TestSetsOfLongLists(t *testing.T) {
	t.Parallel()
	list := func(n int) (all []any) {
		for range n {
			all = append(all, "a")
		}
		return all
	}
	v := attempt()
	v.Profile = authsvc.Profile{"long": list(MaxProfile / 5), "some": list(100)}
	for _, f := range []string{"contains", "intersects", "equivalent"} {
		for args, want := range map[string]bool{"profile.long, profile.long": false, "profile.some, profile.long": false, "profile.some, profile.some": true} {
			rule, problems := Compile(SignIn, "sets."+f+"("+args+")")
			if problems != nil {
				t.Fatal(problems)
			}
			if got, err := rule.Holds(v); got != want || (err == nil) != want {
				t.Errorf("%s of %s: %v, %v", f, args, got, err)
			}
		}
	}
	compared := bounded(func(traits.Lister, traits.Lister) ref.Val { return types.True }) // CEL itself only reports that it cost too much
	of := func(n int) ref.Val { return types.DefaultTypeAdapter.NativeToValue(list(n)) }
	for _, n := range [][2]int{{CostLimit, 2}, {2, CostLimit}, {200, 101}, {MaxProfile / 5, MaxProfile / 5}} {
		if v := compared(of(n[0]), of(n[1])); !types.IsError(v) {
			t.Errorf("lists of %v were compared", n)
		}
	}
	for _, n := range [][2]int{{0, CostLimit}, {CostLimit, 0}, {CostLimit, 1}, {100, 200}} {
		if v := compared(of(n[0]), of(n[1])); v != types.True {
			t.Errorf("lists of %v: %v", n, v)
		}
	}
	rule, _ := Compile(SignIn, "sets.contains([1], profile.text)")
	v.Profile = authsvc.Profile{"text": "a"}
	if got, err := rule.Holds(v); got || err == nil {
		t.Errorf("of no list: %v, %v", got, err)
	}
}

// TestCompileTogether: an unknown name is compiled beside expressions that open a
// scope, in a new environment.
func TestCompileTogether(t *testing.T) {
	t.Parallel()
	for range 5 {
		var e environment
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				text := `profile.groups.exists(g, g == "x") && profile.groups.all(g, g != "y")`
				if i%2 == 0 {
					text = `usr.email == "x"`
				}
				if _, problems := e.compile(SignIn, text); (problems != nil) != (i%2 == 0) {
					t.Errorf("%s: %v", text, problems)
				}
			})
		}
		all.Wait()
	}
}

func BenchmarkHolds(b *testing.B) {
	rule, _ := Compile(SignIn, `user.email_verified && "ops" in profile.groups`)
	v := attempt()
	for b.Loop() {
		if ok, err := rule.Holds(v); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
