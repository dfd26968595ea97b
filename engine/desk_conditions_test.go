package engine_test

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// TestConditions checks that people for whom no condition holds stay out, whatever way
// in they try, and that the others come in. The provider has not verified alan's
// address.
func TestConditions(t *testing.T) {
	t.Parallel()
	domain := authsvc.Condition{Domains: []string{"example.com"}}
	for name, tt := range map[string]struct {
		allow   []authsvc.Condition
		in, out string // names of people at the provider, and addresses for links
	}{
		"no conditions":    {nil, "ada alan eve@other.test", ""},
		"domain":           {[]authsvc.Condition{domain}, "ada grace new@example.com", "alan eve@other.test ada@example.com.evil.test ada@sub.example.com"},
		"domain and below": {[]authsvc.Condition{{Domains: []string{".example.com"}}}, "ada ada@sub.example.com", "alan eve@notexample.com"},
		"address":          {[]authsvc.Condition{{Emails: []string{"Ada@example.com"}}}, "ada ada@example.com", "grace grace@example.com"},
		"provider":         {[]authsvc.Condition{{Providers: []string{"op"}}}, "ada alan", "eve@other.test"},
		"both must hold":   {[]authsvc.Condition{{Domains: domain.Domains, Providers: []string{"email"}}}, "ada@example.com", "ada eve@other.test"},
		"one must hold":    {[]authsvc.Condition{{Providers: []string{"email"}}, domain}, "ada eve@other.test", "alan"},
		"network":          {[]authsvc.Condition{{Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}}}, "ada", ""},
		"another network":  {[]authsvc.Condition{{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}, "", "ada eve@other.test"},
		"unknown user id":  {[]authsvc.Condition{{Users: []string{"4711"}}}, "", "ada eve@other.test"},
	} {
		for _, compat := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
			for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
				asked, links := 0, 0
				w := arena.EnterInMemory(t, func(c *authsvc.Config) {
					c.SignIn.Allow, c.Compat, c.Session.Strategy = tt.allow, compat, strategy
					c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { asked++; return "", nil }
				})
				at := name + ", " + string(compat) + ", " + string(strategy)
				for _, who := range strings.Fields(tt.in) {
					if b := w.Browser(); !strings.Contains(who, "@") {
						if a := b.SignIn(w.OP, who); b.Session()["user"] == nil {
							t.Errorf("%s: %s cannot sign in: %s", at, who, a.Location())
						}
					} else if b.SignInByMail(w, who); b.Email() != who {
						t.Errorf("%s: %s cannot sign in", at, who)
					} else {
						links++
					}
				}
				asked = 0
				for _, who := range strings.Fields(tt.out) {
					b := w.Browser()
					if !strings.Contains(who, "@") {
						if a := b.SignIn(w.OP, who); !strings.Contains(a.Location(), "error=AccessDenied") || b.Session()["user"] != nil {
							t.Errorf("%s: %s can sign in: %s", at, who, a.Location())
						}
					} else if a := b.Post("/api/auth/signin/email", "email", who); !strings.Contains(a.Location(), "/verify-request") {
						t.Errorf("%s: the answer to %s reveals something: %s", at, who, a.Location())
					}
				}
				if err := w.Close(t.Context()); err != nil || w.Mail.Count() != links {
					t.Errorf("%s: %d mails went out, want %d: %v", at, w.Mail.Count(), links, err)
				}
				if asked != 0 {
					t.Errorf("%s: the callback was asked about %d people who may not sign in", at, asked)
				}
			}
		}
	}
}

// TestConditionsOnClaims checks that groups and other claims count as in the provider's
// profile. A link has none.
func TestConditionsOnClaims(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		profile any // its groups
		c       authsvc.Condition
		in      bool
	}{
		"in a group":       {[]any{"dev", "ops"}, authsvc.Condition{Groups: []string{"ops"}}, true},
		"a group as text":  {"ops", authsvc.Condition{Groups: []string{"ops"}}, true},
		"in another":       {[]any{"dev"}, authsvc.Condition{Groups: []string{"ops"}}, false},
		"in none":          {nil, authsvc.Condition{Groups: []string{"ops"}}, false},
		"a number":         {7, authsvc.Condition{Claims: map[string][]string{"groups": {"7"}}}, true},
		"another number":   {70, authsvc.Condition{Claims: map[string][]string{"groups": {"7"}}}, false},
		"and another name": {[]any{"ops"}, authsvc.Condition{Groups: []string{"ops"}, Claims: map[string][]string{"plan": {"pro"}}}, false},
	} {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Session.Claims = map[string]string{"groups": "groups", "plan": "plan"}
			c.SignIn.Allow = []authsvc.Condition{tt.c}
		})
		add := func(c map[string]any) { c["groups"] = tt.profile }
		w.OP.SetFault(idp.Fault{IDToken: add, UserInfo: add})
		if a := w.Browser().SignIn(w.OP, "ada"); (a.Location() == arena.Origin) != tt.in {
			t.Errorf("%s: %s", name, a.Location())
		}
		b := w.Browser()
		b.Post("/api/auth/signin/email", "email", "ada@example.com")
		if err := w.Close(t.Context()); err != nil || w.Mail.Count() != 0 {
			t.Errorf("%s: %d links without claims, %v", name, w.Mail.Count(), err)
		}
	}
}

// TestConditionsAtRedemption checks that a link mailed earlier does not pass conditions
// added since.
func TestConditionsAtRedemption(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.Post("/api/auth/signin/email", "email", "eve@other.test")
	link := arena.Link(t, w.Mail.Next(t))
	config := w.Config
	config.SignIn.Allow = []authsvc.Condition{{Domains: []string{"example.com"}}}
	next, err := w.Service.Reconfigure(config)
	if err != nil {
		t.Fatal(err)
	}
	w.Service = next
	if a := b.Get(link); !strings.Contains(a.Location(), "error=AccessDenied") || b.Email() != "" {
		t.Errorf("%s, as %q", a.Location(), b.Email())
	}
}

// TestConditionsOfAnotherAddress checks that a provider which vouches for a person's
// current address proves nothing about the address that the user signed up with.
func TestConditionsOfAnotherAddress(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	w.Browser().SignIn(w.OP, "alan") // alan@example.com, not verified
	moved := func(c map[string]any) { c["email"], c["email_verified"] = "alan@other.test", true }
	w.OP.SetFault(idp.Fault{IDToken: moved, UserInfo: moved})
	w.Config.SignIn.Allow = []authsvc.Condition{{Domains: []string{"example.com"}}}
	next, err := w.Service.Reconfigure(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	w.Service = next
	if a := w.Browser().SignIn(w.OP, "alan"); !strings.Contains(a.Location(), "error=AccessDenied") {
		t.Errorf("an unproved address: %s", a.Location())
	}
	w.OP.SetFault(idp.Fault{})
	verified := func(c map[string]any) { c["email_verified"] = true }
	w.OP.SetFault(idp.Fault{IDToken: verified, UserInfo: verified})
	if a := w.Browser().SignIn(w.OP, "alan"); a.Location() != arena.Origin {
		t.Errorf("an address that the provider verified: %s", a.Location())
	}
}

// TestConditionMistakes checks that an empty condition, which would admit no one or
// everyone, is refused with its place.
func TestConditionMistakes(t *testing.T) {
	t.Parallel()
	err := engine.Check(authsvc.Config{
		URL: "https://app.test", Secrets: []string{strings.Repeat("0123456789abcdef", 3)}, Providers: []authsvc.Provider{&authsvc.Email{ID: "email"}},
		SignIn: authsvc.SignInRules{Allow: []authsvc.Condition{{}, {Emails: []string{"*@example.com"}}, {Domains: []string{"*.example.com"}, Providers: []string{"email", "emial", ""}}, {Groups: []string{"ops"}}}},
	})
	var got []string
	for _, e := range authsvc.ConfigErrors(err) {
		if strings.HasPrefix(e.Field, "SignIn") {
			got = append(got, e.Field)
		}
	}
	if want := "SignIn.Allow[0] SignIn.Allow[1].Emails[0] SignIn.Allow[2].Domains[0] SignIn.Allow[2].Providers[2] SignIn.Allow[2].Providers[1] SignIn.Allow[3]"; strings.Join(got, " ") != want {
		t.Errorf("%v: %v", got, err)
	}
}

// TestClaimShapes checks that a path makes a list of roles of every usual shape, so that
// conditions count them. Without such a path, the audit event says which claim has which
// shape.
func TestClaimShapes(t *testing.T) {
	t.Parallel()
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	byName := object("ops", object("org", "1"), "dev", object("org", "1"))
	listed := []any{object("name", "dev"), object("name", "ops")}
	clients := object("app", object("roles", []any{"ops"}), "account", object("roles", []any{"view"}))
	for name, tt := range map[string]struct {
		roles  any
		path   string
		reason string // of the refusal; "": the person is in
	}{
		"keys of an object":         {byName, "roles[keys]", ""},
		"keys, another role":        {object("dev", 1), "roles[keys]", "by the sign-in conditions"},
		"an object itself":          {byName, "roles", `by the sign-in conditions: the claim "groups" is an object, not a list of texts`},
		"keys below":                {object("a", object("dev", 1), "b", object("ops", 1)), "roles[][keys]", ""},
		"list of objects":           {listed, "roles[].name", ""},
		"list of objects, other":    {listed, "roles[].id", "by the sign-in conditions"},
		"list of objects itself":    {listed, "roles", `by the sign-in conditions: the claim "groups" is a list of objects, not a list of texts`},
		"a list of lists":           {[]any{[]any{"ops"}}, "roles", `by the sign-in conditions: the claim "groups" is a list of lists, not a list of texts`},
		"a list of lists, joined":   {[]any{[]any{"ops"}}, "roles[]", ""},
		"of every client":           {clients, "roles[].roles", ""},
		"of one client":             {clients, "roles.app.roles", ""},
		"of another client":         {clients, "roles.account.roles", "by the sign-in conditions"},
		"text with separators":      {"dev, ops", `roles[split ","]`, ""},
		"another separator":         {"dev; ops", `roles[split ","]`, "by the sign-in conditions"},
		"text with separators, raw": {"dev, ops", "roles", `by the sign-in conditions: the claim "groups" is one text with separators, not a list of texts`},
		"words, raw":                {"dev ops", "roles", `by the sign-in conditions: the claim "groups" is one text with separators, not a list of texts`},
		"a name of two words":       {"dev staff", "roles", "by the sign-in conditions"},
		"one text":                  {"ops", "roles", ""},
		"one other text":            {"dev", "roles", "by the sign-in conditions"},
		"no roles":                  {nil, "roles[keys]", "by the sign-in conditions"},
		"alternatives":              {listed, "roles[keys]|roles[].name", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var last authsvc.AuditEvent
			w := arena.EnterInMemory(t, func(c *authsvc.Config) {
				c.Session.Claims = map[string]string{"groups": tt.path}
				c.SignIn.Allow = []authsvc.Condition{{Users: []string{"none"}}, {Groups: []string{"ops"}}}
				c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { last = e }
			})
			w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["roles"] = tt.roles }})
			b := w.Browser()
			in := b.SignIn(w.OP, "ada").Location() == arena.Origin
			if in != (tt.reason == "") || in && last.Name != "sign_in.succeeded" || !in && (last.Name != "sign_in.refused" || last.Reason != tt.reason) {
				t.Errorf("in %v, %+v", in, last)
			}
		})
	}
}

// TestClaimShapeElsewhere checks that the audit events of tokens and of the gate name
// the shape of a claim, too, but not if another condition lets the person pass.
func TestClaimShapeElsewhere(t *testing.T) {
	t.Parallel()
	const shape = `: the claim "groups" is an object, not a list of texts`
	for name, tt := range map[string]struct {
		allow       []authsvc.Condition
		token, gate string
		in          bool
	}{
		"odd shape":          {allow: []authsvc.Condition{{Groups: []string{"ops"}}}, token: "by the conditions of the audience" + shape, gate: "no condition matches" + shape},
		"other condition":    {allow: []authsvc.Condition{{Groups: []string{"ops"}}, {Providers: []string{"op"}}}, in: true},
		"claim that matches": {allow: []authsvc.Condition{{Claims: map[string][]string{"plan": {"of, two"}}, Users: []string{"none"}}}, token: "by the conditions of the audience", gate: "no condition matches"},
		"other claim":        {allow: []authsvc.Condition{{Claims: map[string][]string{"team": {"pro"}}}}, token: "by the conditions of the audience", gate: "no condition matches"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var last authsvc.AuditEvent
			w := arena.EnterInMemory(t, func(c *authsvc.Config) {
				c.Session.Claims = map[string]string{"groups": "roles", "plan": "plan", "team": "name"}
				c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Allow: tt.allow}}
				c.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin, Rules: []authsvc.GateRule{{Match: "/in/", Allow: authsvc.Allow{AnyOf: tt.allow}}}}}
				c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { last = e }
			})
			w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["roles"], c["plan"] = map[string]any{"ops": 1}, "of, two" }})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			last = authsvc.AuditEvent{}
			if a := b.Post("/api/auth/token", "audience", "api"); (a.StatusCode == 200) != tt.in || last.Reason != tt.token {
				t.Errorf("POST token: %d, %+v", a.StatusCode, last)
			}
			last = authsvc.AuditEvent{}
			gated := b.Clone()
			gated.H = w.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
			if a := gated.Get("/in/"); (a.StatusCode == http.StatusNoContent) != tt.in || last.Reason != tt.gate {
				t.Errorf("gate: %d, %+v", a.StatusCode, last)
			}
		})
	}
}
