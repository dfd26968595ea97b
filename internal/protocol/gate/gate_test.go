package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc/internal/protocol/access"
)

func compiled(t *testing.T, h Host) *Site {
	t.Helper()
	h.Origin = "https://app.example.com"
	table, problems := Compile([]Host{h})
	if problems != nil {
		t.Fatal(problems)
	}
	s, origin := table.Find("app.example.com")
	if s == nil || origin != h.Origin {
		t.Fatal("the host is not found")
	}
	return s
}

func person(groups ...string) *Person {
	list := []any{}
	for _, g := range groups {
		list = append(list, g)
	}
	return &Person{Subject: access.Subject{UserID: "1", Claims: map[string]any{"groups": list}}, AgeSet: true, Age: time.Minute}
}

func asked(method, target string, who *Person) *Asked {
	return &Asked{Method: method, Target: target, Header: http.Header{}, Origin: "https://app.example.com", Subject: SubjectFunc(func() (*Person, error) { return who, nil })}
}

func ops() Allow {
	return Allow{AnyOf: []Condition{{Access: access.Condition{Groups: []string{"ops"}}}}}
}

// TestStrictestReading checks that a closed path stays closed in every spelling,
// whatever way the upstream reads it, and that open paths stay open.
func TestStrictestReading(t *testing.T) {
	t.Parallel()
	s := compiled(t, Host{Rules: []Rule{{"/admin/", ops()}, {"/public/", Allow{Anyone: true}}, {"/Upper/", ops()}, {"GET /form", Allow{}}, {"POST /form", ops()}}})
	for _, target := range []string{"/admin/x", "/admin/", "/admin", "/Admin/x", "/ADMIN/x", "/admin%2Fx", "/admin%2fx", "/%61dmin/x", "/%2561dmin/x", "/%25%36%31dmin/x", "/admin;a=b/x", "/admin;x/",
		"/public/../admin/x", "/public/%2e%2e/admin/", "/public/.%2e/admin/x", "/public/%252e%252e/admin/x", "/public/..%2fadmin/x", "/public/..%5cadmin/x", "/public/..;/admin/x", "/public/..;a=b/admin/x",
		"//admin/x", "///admin///x", "/./admin/x", "/public/..//admin/x", "/public//../admin/x", "/admin/..", "/admin/../public/x", "/admin%252Fx", "/admin?x", "/admin/?/../../public", "/public/%2e%2e;/admin/",
		"/x/%2e./admin/", "/upper/x", "/UPPER/x", "/Upper/x", "/%55pper/x", "/admin%5Cx", "/public%2f..%2fadmin%2fx", "/admin/%2e%2e%2fpublic/x"} {
		if d := s.Judge(t.Context(), asked("GET", target, person("dev"))); d.Verdict != Forbidden && d.Verdict != Malformed {
			t.Errorf("%s: %v for a user who may not", target, d.Verdict)
		}
		if d := s.Judge(t.Context(), asked("GET", target, nil)); d.Verdict != SignIn && d.Verdict != Malformed {
			t.Errorf("%s: %v without a session", target, d.Verdict)
		}
	}
	for target, want := range map[string]Verdict{"/public/x": Allowed, "/public/a%2Fb": Allowed, "/public/a;b=c/d": Allowed, "/public/a//b": Allowed, "/public/x?../../admin": Allowed, "/public/caf%C3%A9": Allowed,
		"/public/100%25": Allowed, "/adminx": SignIn, "/": SignIn, "/form": SignIn, "/public/%2e%2e/x": SignIn,
		"": Malformed, "admin": Malformed, "*": Malformed, "http://app.example.com/admin": Malformed, "/a b": Malformed, "/a\x00": Malformed, "/a\x7f": Malformed, "/a#b": Malformed, `/a\b`: Malformed,
		"/ä": Malformed, "/%": Malformed, "/%z1": Malformed, "/%1": Malformed, "/%00": Malformed, "/%2500": Malformed, "/" + strings.Repeat("a", 8<<10): Malformed, "/%" + strings.Repeat("25", 17) + "41": Malformed} {
		if d := s.Judge(t.Context(), asked("GET", target, nil)); d.Verdict != want {
			t.Errorf("%.40q: %v, want %v", target, d.Verdict, want)
		}
	}
}

// TestMethodOverrides checks that the method named by a header also counts.
func TestMethodOverrides(t *testing.T) {
	t.Parallel()
	s := compiled(t, Host{Rules: []Rule{{"GET /form", Allow{Anyone: true}}, {"POST /form", ops()}, {"/form", Allow{Nobody: true}}}})
	for name, tt := range map[string]struct {
		method string
		header http.Header
		want   Verdict
	}{
		"GET":                  {"GET", nil, Allowed},
		"HEAD is GET":          {"HEAD", nil, Allowed},
		"POST":                 {"POST", nil, SignIn},
		"other":                {"PUT", nil, Forbidden},
		"override":             {"GET", http.Header{"X-Http-Method-Override": {"POST"}}, SignIn},
		"small":                {"GET", http.Header{"X-Http-Method": {" post"}}, Forbidden},
		"second":               {"GET", http.Header{"X-Method-Override": {"GET", "POST"}}, SignIn},
		"underscores":          {"GET", http.Header{"X_http_method_override": {"POST"}}, SignIn},
		"of POST stays POST's": {"POST", http.Header{"X-Http-Method-Override": {"GET"}}, SignIn},
		"dots":                 {"GET", http.Header{"X.http.method.override": {"POST"}}, SignIn},
		"a comma":              {"GET", http.Header{"X-Http-Method-Override": {"POST,"}}, SignIn},
		"after a comma":        {"GET", http.Header{"X-Http-Method-Override": {"GET, POST"}}, SignIn},
		"another letter":       {"GET", http.Header{"X-Http-Method-Override": {"po\u017ft"}}, Forbidden},
		"too many":             {"GET", http.Header{"X-Http-Method": {"a", "b", "c", "d", "e"}}, Malformed},
		"no method":            {"G T", nil, Malformed},
		"a lower-case method":  {"get", nil, Malformed},
		"a mixed-case method":  {"Get", nil, Malformed},
		"an empty method":      {"", nil, Malformed},
		"another character":    {"M-SEARCH", nil, Malformed},
	} {
		a := asked(tt.method, "/form", nil)
		if tt.header != nil {
			a.Header = tt.header
		}
		if d := s.Judge(t.Context(), a); d.Verdict != tt.want {
			t.Errorf("%s: %v, want %v", name, d.Verdict, tt.want)
		}
	}
	for query, want := range map[string]Verdict{
		"": Allowed, "a=b": Allowed, "method=POST": Allowed, "_methods=POST": Allowed, "x_method=POST": Allowed, "_method=GET": Allowed, "_method_id=POST": Allowed, "-method-of-payment=POST": Allowed, "_method=" + strings.Repeat("x", 33): Allowed, "a=_method=POST": Allowed,
		"_method=POST": SignIn, "a=b&_method=POST": SignIn, "a;_method=POST": SignIn, "_method=get&_method=POST": Forbidden, "_METHOD=POST,": SignIn,
		"%5fm%65thod=P%4fST": SignIn, "[_method]=POST": SignIn, "_method[]=POST": SignIn, "_method[0]=POST": SignIn, ".method=POST": SignIn, "+_method=+POST": SignIn, "_method=%POST": SignIn,
	} {
		if d := s.Judge(t.Context(), asked("GET", "/form?"+query, nil)); d.Verdict != want {
			t.Errorf("%s: %v, want %v", query, d.Verdict, want)
		}
	}
}

// TestFinalSlash checks that a closed path is closed with and without a final slash,
// and that a rule for one path alone can open it.
func TestFinalSlash(t *testing.T) {
	t.Parallel()
	anyone, nobody := Allow{Anyone: true}, Allow{Nobody: true}
	for name, tt := range map[string]struct {
		otherwise Allow
		rules     []Rule
		want      map[string]Verdict
	}{
		"closed subtree": {anyone, []Rule{{"/a/", nobody}}, map[string]Verdict{"/a": Forbidden, "/a/": Forbidden, "/a/b": Forbidden, "/b": Allowed}},
		"closed path":    {anyone, []Rule{{"/a", nobody}}, map[string]Verdict{"/a": Forbidden, "/a/": Forbidden, "/a/b": Allowed}},
		"open path":      {nobody, []Rule{{"/a", anyone}}, map[string]Verdict{"/a": Allowed, "/a/": Forbidden}},
		"open subtree":   {nobody, []Rule{{"/a/", anyone}}, map[string]Verdict{"/a": Forbidden, "/a/": Allowed, "/a/b": Allowed}},
		"open home":      {nobody, []Rule{{"/{$}", anyone}}, map[string]Verdict{"/": Allowed, "/a": Forbidden, "//": Forbidden}},
		"open in closed": {anyone, []Rule{{"/a/", nobody}, {"/a/b", anyone}}, map[string]Verdict{"/a/b": Allowed, "/a/b/": Forbidden}},
		"closed in open": {nobody, []Rule{{"/a/", anyone}, {"/a/b", nobody}}, map[string]Verdict{"/a/b": Forbidden, "/a/b/": Forbidden, "/a/c": Allowed}},
		"subtree or one": {anyone, []Rule{{"/{x}", anyone}, {"/a/", nobody}}, map[string]Verdict{"/a": Forbidden, "/b": Allowed}},
		"Capitals":       {anyone, []Rule{{"/A/", nobody}}, map[string]Verdict{"/a": Forbidden, "/A": Forbidden, "/a/b": Forbidden}},
	} {
		s := compiled(t, Host{Default: tt.otherwise, Rules: tt.rules})
		for target, want := range tt.want {
			if d := s.Judge(t.Context(), asked("GET", target, nil)); d.Verdict != want {
				t.Errorf("%s: %s: %v, want %v", name, target, d.Verdict, want)
			}
		}
	}
}

// TestJudge checks conditions, ages and failures.
func TestJudge(t *testing.T) {
	t.Parallel()
	failing := errors.New("no")
	when := func(ok bool, err error) Condition {
		return Condition{When: func(context.Context, *Asked) (bool, error) { return ok, err }}
	}
	group := Condition{Access: access.Condition{Groups: []string{"ops"}}}
	fresh := Condition{MaxAge: time.Hour}
	freshOps := Condition{Access: group.Access, MaxAge: time.Second}
	old := person("ops")
	old.Age = 2 * time.Hour
	unknown := person("ops")
	unknown.AgeSet = false
	token := person("ops")
	token.Token, token.AgeSet = true, false
	tokens := Condition{Access: access.Condition{Users: []string{"1"}}, Tokens: true}
	for name, tt := range map[string]struct {
		allow Allow
		who   *Person
		want  Verdict
	}{
		"signed in":                   {Allow{}, person(), Allowed},
		"not signed in":               {Allow{}, nil, SignIn},
		"anyone":                      {Allow{Anyone: true}, nil, Allowed},
		"no one, signed in":           {Allow{Nobody: true}, person("ops"), Forbidden},
		"no one":                      {Allow{Nobody: true}, nil, Forbidden},
		"no one overrides anyone":     {Allow{Nobody: true, Anyone: true}, nil, Forbidden},
		"group":                       {Allow{AnyOf: []Condition{group}}, person("ops"), Allowed},
		"other group":                 {Allow{AnyOf: []Condition{group}}, person("dev"), Forbidden},
		"one of two":                  {Allow{AnyOf: []Condition{group, when(true, nil)}}, person("dev"), Allowed},
		"fresh":                       {Allow{AnyOf: []Condition{fresh}}, person(), Allowed},
		"stale":                       {Allow{AnyOf: []Condition{fresh}}, old, Stale},
		"age unknown":                 {Allow{AnyOf: []Condition{fresh}}, unknown, Stale},
		"stale, and no sign-in helps": {Allow{AnyOf: []Condition{freshOps}}, person("dev"), Forbidden},
		"stale or allowed":            {Allow{AnyOf: []Condition{freshOps, group}}, old, Allowed},
		"when fails":                  {Allow{AnyOf: []Condition{when(true, failing)}}, person(), Forbidden},
		"when fails, another holds":   {Allow{AnyOf: []Condition{when(false, failing), group}}, person("ops"), Allowed},
		"when is false":               {Allow{AnyOf: []Condition{when(false, nil)}}, person(), Forbidden},
		"a token":                     {Allow{AnyOf: []Condition{group, tokens}}, token, Allowed},
		"a token, all allowed":        {Allow{AnyOf: []Condition{{Tokens: true}}}, token, Allowed},
		"a person, where tokens may":  {Allow{AnyOf: []Condition{{Tokens: true}}}, person(), Allowed},
		"a token, of another user":    {Allow{AnyOf: []Condition{{Access: access.Condition{Users: []string{"2"}}, Tokens: true}}}, token, Forbidden},
		"a token, where people may":   {Allow{AnyOf: []Condition{group, when(true, nil)}}, token, Forbidden},
		"a token, signed in":          {Allow{}, token, Forbidden},
		"a token, anyone":             {Allow{Anyone: true}, token, Allowed},
		"a token that is fresh":       {Allow{AnyOf: []Condition{{MaxAge: time.Hour, Tokens: true}}}, token, Forbidden},
		"an empty condition":          {Allow{AnyOf: []Condition{{}}}, person("ops"), Forbidden},
	} {
		s := compiled(t, Host{Default: tt.allow})
		d := s.Judge(t.Context(), asked("GET", "/", tt.who))
		if d.Verdict != tt.want {
			t.Errorf("%s: %v, want %v", name, d.Verdict, tt.want)
		}
		if name == "when fails" && !errors.Is(d.Err, failing) {
			t.Errorf("%s: %v", name, d.Err)
		}
	}
	s := compiled(t, Host{Default: Allow{AnyOf: []Condition{freshOps, {MaxAge: time.Minute}}}, Rules: []Rule{{"/a/", Allow{AnyOf: []Condition{fresh}}}}})
	if d := s.Judge(t.Context(), asked("GET", "/a%2Fb", old)); d.Verdict != Stale || d.MaxAge != time.Minute {
		t.Errorf("two rules that require fresh sessions: %v, %v", d.Verdict, d.MaxAge)
	}
	away := asked("GET", "/", nil)
	away.Subject = SubjectFunc(func() (*Person, error) { return nil, failing })
	if d := compiled(t, Host{Default: Allow{Anyone: true}}).Judge(t.Context(), away); d.Verdict != Unjudged || !errors.Is(d.Err, failing) {
		t.Errorf("the store is away: %v", d)
	}
}

// TestWorkers checks that no script of a service worker comes from below the path where
// people sign in, since it could read their credentials.
func TestWorkers(t *testing.T) {
	t.Parallel()
	s := compiled(t, Host{Rules: []Rule{{"/", Allow{Anyone: true}}}})
	for target, want := range map[string]Verdict{
		"/sw.js": Allowed, "/api/sw.js": Allowed, "/api/authors/sw.js": Allowed, "/api/auth/sw.js": Forbidden, "/api/auth/x/sw.js?v=1": Forbidden,
		"/API/auth/sw.js": Forbidden, "/x/../api/auth/sw.js": Forbidden, "/api%2Fauth%2fsw.js": Forbidden,
	} {
		a := asked("GET", target, nil)
		a.Own = "/api/auth"
		if d := s.Judge(t.Context(), a); d.Verdict != Allowed {
			t.Errorf("%s, no worker: %v", target, d.Verdict)
		}
		a.Header.Set("Service-Worker", "script")
		if d := s.Judge(t.Context(), a); d.Verdict != want {
			t.Errorf("%s: %v, want %v", target, d.Verdict, want)
		}
	}
}

// TestWebSocketOrigins checks that pages of other sites cannot open a WebSocket with
// the user's cookies.
func TestWebSocketOrigins(t *testing.T) {
	t.Parallel()
	s := compiled(t, Host{Default: Allow{Anyone: true}})
	for name, tt := range map[string]struct {
		header http.Header
		want   Verdict
	}{
		"own":          {http.Header{"Upgrade": {"websocket"}, "Origin": {"https://app.example.com"}}, Allowed},
		"configured":   {http.Header{"Upgrade": {"websocket"}, "Origin": {"https://www.example.com"}}, Allowed},
		"no browser":   {http.Header{"Upgrade": {"websocket"}}, Allowed},
		"no WebSocket": {http.Header{"Origin": {"https://evil.example"}}, Allowed},
		"other":        {http.Header{"Upgrade": {"websocket"}, "Origin": {"https://evil.example"}}, Forbidden},
		"other scheme": {http.Header{"Upgrade": {"WebSocket"}, "Origin": {"http://app.example.com"}}, Forbidden},
		"null":         {http.Header{"Upgrade": {"websocket"}, "Origin": {"null"}}, Forbidden},
		"no Upgrade":   {http.Header{"Sec-Websocket-Version": {"13"}, "Origin": {"https://evil.example"}}, Forbidden},
		"two":          {http.Header{"Upgrade": {"websocket"}, "Origin": {"https://app.example.com", "https://evil.example"}}, Forbidden},
	} {
		a := asked("GET", "/", nil)
		a.Header, a.WebSocketOrigins = tt.header, []string{"https://www.example.com"}
		if d := s.Judge(t.Context(), a); d.Verdict != tt.want {
			t.Errorf("%s: %v, want %v", name, d.Verdict, tt.want)
		}
	}
}

// TestHosts checks that a Host header finds its own host only.
func TestHosts(t *testing.T) {
	t.Parallel()
	table, problems := Compile([]Host{{Origin: "https://one.example.com"}, {Origin: "http://Two.example.com:8080/"}, {Origin: "https://*.apps.example.com"}, {Origin: "https://x.apps.example.com"},
		{Origin: "http://[::1]:3000"}, {Origin: "http://plain.example.com"}})
	if problems != nil {
		t.Fatal(problems)
	}
	for host, want := range map[string]string{
		"one.example.com": "https://one.example.com", "ONE.example.com": "https://one.example.com", "one.example.com:443": "https://one.example.com",
		"two.example.com:8080": "http://two.example.com:8080", "plain.example.com:80": "http://plain.example.com", "[::1]:3000": "http://[::1]:3000",
		"a.apps.example.com": "https://a.apps.example.com", "A-1.apps.example.com:443": "https://a-1.apps.example.com", "x.apps.example.com": "https://x.apps.example.com",
		"": "", "one.example.com.": "", "one.example.com:8443": "", "one.example.com:80": "", "two.example.com": "", "apps.example.com": "", ".apps.example.com": "", "a.b.apps.example.com": "", "-.apps.example.com": "",
		"a_b.apps.example.com": "", "a/.apps.example.com": "", "a@.apps.example.com": "", "%61.apps.example.com": "", "one.example.com,evil.example": "", "x.apps.example.com:8443": "", "evil.example": "", "plain.example.com:443": "",
	} {
		if s, got := table.Find(host); got != want || (s != nil) != (want != "") {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
	for origin, want := range map[string]bool{"https://one.example.com": true, "https://a.apps.example.com": true, "http://one.example.com": false, "http://a.apps.example.com": false, "https://evil.example": false, "": false} {
		if got := table.Has(origin); got != want {
			t.Errorf("%q: %v", origin, got)
		}
	}
}

// TestCompileProblems checks that every mistake is reported at its place.
func TestCompileProblems(t *testing.T) {
	t.Parallel()
	many := make([]Rule, MaxRules+1)
	for i := range many {
		many[i].Match = fmt.Sprintf("/%d", i)
	}
	_, problems := Compile([]Host{{Origin: "https://a.example.com", Rules: []Rule{{Match: "/a/{x}"}, {Match: "/{x}/b"}, {Match: "nothing"}, {Match: "/Case"}, {Match: "/case"}, {Match: "/a/{y}"}}},
		{Origin: "ftp://b.example"}, {Origin: "https://c.example/path"}, {Origin: "https://*.com"}, {Origin: "https://a.*.com"}, {Origin: "*"}, {Origin: ""}, {Origin: "http://a.example.com:443"}, {Origin: "https://a.example.com:443"},
		{Origin: "https://d.example", Rules: many}})
	var got []string
	for _, p := range problems {
		if p.Fix == "" || p.Problem == "" {
			t.Errorf("%+v", p)
		}
		got = append(got, p.Field)
	}
	want := "Hosts[0].Rules[1].Match Hosts[0].Rules[2].Match Hosts[0].Rules[4].Match Hosts[0].Rules[5].Match Hosts[1].Origin Hosts[2].Origin Hosts[3].Origin Hosts[4].Origin Hosts[5].Origin Hosts[6].Origin Hosts[7].Origin Hosts[8].Origin Hosts[9].Rules"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("\n got %s\nwant %s", s, want)
	}
	if !strings.Contains(problems[0].Problem, "/a/{x}") || !strings.Contains(problems[0].Problem, "/{x}/b") {
		t.Errorf("the message must name both patterns: %s", problems[0].Problem)
	}
	hosts := make([]Host, MaxHosts+1)
	for i := range hosts {
		hosts[i].Origin = fmt.Sprintf("https://h%d.example", i)
	}
	if _, problems := Compile(hosts); len(problems) != 1 {
		t.Errorf("too many hosts: %v", problems)
	}
	if _, problems := Compile(hosts[1:]); problems != nil {
		t.Errorf("500 hosts: %v", problems)
	}
}

// TestRulesComparedWithFew checks that a rule is only compared with rules that may
// match the same path, and that clashes among wildcards are also found.
func TestRulesComparedWithFew(t *testing.T) {
	t.Parallel()
	for _, n := range []int{MaxRules / 10, MaxRules} {
		before, compared := firsts{literal: map[string][]int{}}, 0
		for i := range n {
			folder := fmt.Sprintf("folder%d", i)
			for range before.near(folder) {
				compared++
			}
			before.add(i, folder)
		}
		before.add(n, "") // {any}
		for range before.near("folder0") {
			compared++
		}
		for range before.near("") {
			compared++
		}
		if want := 2 + n + 1; compared != want {
			t.Errorf("%d rules: %d comparisons, want %d", n, compared, want)
		}
	}
	for _, tt := range []struct {
		rules   []string
		clashes bool
	}{
		{[]string{"/a/", "/b/", "/c/", "/{x}/", "/"}, false},
		{[]string{"/Admin/", "/b/", "/admin/"}, true},
		{[]string{"/{x}/b", "/c", "/a/{y}"}, true},
		{[]string{"/a/{y}", "/c", "/{x}/b"}, true},
		{[]string{"/{$}", "/a", "/{$}"}, true},
	} {
		h := Host{Origin: "https://a.example"}
		for _, match := range tt.rules {
			h.Rules = append(h.Rules, Rule{Match: match})
		}
		if _, problems := Compile([]Host{h}); (len(problems) == 1) != tt.clashes || len(problems) > 1 {
			t.Errorf("%q: %v", tt.rules, problems)
		}
	}
}

func TestSameHeader(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"X-Auth-Email", "x-auth-email", "X_Auth_Email", "X-AUTH_EMAIL", "X.Auth.Email", "x!auth~email"} {
		if !SameHeader(name, "X-Auth-Email") {
			t.Errorf("%s differs", name)
		}
	}
	if SameHeader("X-Auth-Emails", "X-Auth-Email") || SameHeader("XAuth-Email", "X-Auth-Email") {
		t.Error("other headers are the same")
	}
}

func TestHeaderNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]bool{ // plain, forwarding, misleading
		"X-Api-Key": {true, false, false}, "x-api-key2": {true, false, false}, "": {}, "X_Api_Key": {}, "X.Api.Key": {}, "X Api": {}, "Ä": {},
		"X-Forwarded-For": {true, true, false}, "x.forwarded.user": {false, true, false}, "X_Real_Ip": {false, true, false}, "Forwarded": {true, true, false}, "X-Forwarded": {true, false, false},
		"X-Original-Url": {true, false, true}, "x_rewrite_url": {false, false, true}, "X.Original.Host": {false, false, true}, "X-Host": {true, false, true}, "Proxy": {true, false, true}, "Proxy-Authorization": {true, false, false},
	} {
		if got := [3]bool{PlainName(name), Forwarding(name), Misleading(name)}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	websocket := func(change ...string) http.Header {
		h := http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
		for i := 0; i+1 < len(change); i += 2 {
			if h.Del(change[i]); change[i+1] != "" {
				h[change[i]] = strings.Split(change[i+1], "|")
			}
		}
		return h
	}
	for name, tt := range map[string]struct {
		method string
		header http.Header
		want   string
	}{
		"a WebSocket":     {"GET", websocket(), "websocket"},
		"in upper case":   {"GET", websocket("Upgrade", "WebSocket", "Connection", "UPGRADE"), "websocket"},
		"listed":          {"POST", websocket("Upgrade", "Raw/1"), "raw/1"},
		"none":            {"GET", http.Header{}, ""},
		"by POST":         {"POST", websocket(), ""},
		"h2c":             {"GET", websocket("Upgrade", "h2c", "Connection", "Upgrade, HTTP2-Settings"), ""},
		"two":             {"GET", websocket("Upgrade", "websocket, h2c"), ""},
		"two lines":       {"GET", websocket("Upgrade", "websocket|h2c"), ""},
		"another version": {"GET", websocket("Sec-Websocket-Version", "8"), ""},
		"two versions":    {"GET", websocket("Sec-Websocket-Version", "13|8"), ""},
		"no version":      {"GET", websocket("Sec-Websocket-Version", ""), ""},
		"no key":          {"GET", websocket("Sec-Websocket-Key", ""), ""},
		"two keys":        {"GET", websocket("Sec-Websocket-Key", "dGhlIHNhbXBsZSBub25jZQ==|dGhlIHNhbXBsZSBub25jZQ=="), ""},
		"a short key":     {"GET", websocket("Sec-Websocket-Key", "dGhlIHNhbXBsZQ=="), ""},
		"no key at all":   {"GET", websocket("Sec-Websocket-Key", "x"), ""},
	} {
		if got := Upgrade(tt.method, tt.header, []string{"raw/1", "websocket"}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
