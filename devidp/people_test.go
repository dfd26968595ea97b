package devidp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/devidp"
)

// TestPeopleWhoMay: a person is added for each sign-in condition that the provider can
// satisfy, and no one for others.
func TestPeopleWhoMay(t *testing.T) {
	t.Parallel()
	claims := map[string]string{"groups": "realm.roles", "plan": "plan", "odd": "a|b"}
	for name, test := range map[string]struct {
		allow []authsvc.Condition
		want  []devidp.Person // the added people
	}{
		"none":                  {nil, nil},
		"a person fits already": {[]authsvc.Condition{{Domains: []string{"example.com"}}, {Emails: []string{"ada@example.com"}}, {Providers: []string{"github"}}}, nil},
		"a domain":              {[]authsvc.Condition{{Domains: []string{".acme.example"}}}, []devidp.Person{{Name: "Emmy Noether", Email: "emmy@acme.example", EmailVerified: true}}},
		"an address":            {[]authsvc.Condition{{Emails: []string{"boss@acme.example"}}}, []devidp.Person{{Name: "Emmy Noether", Email: "boss@acme.example", EmailVerified: true}}},
		"an unproved address":   {[]authsvc.Condition{{Emails: []string{"alan@example.com"}}}, []devidp.Person{{Name: "Emmy Noether", Email: "alan@example.com", EmailVerified: true}}},
		"claims": {[]authsvc.Condition{{Groups: []string{"ops"}, Providers: []string{"github"}}, {Claims: map[string][]string{"plan": {"pro", "max"}}}},
			[]devidp.Person{{Name: "Emmy Noether", Email: "emmy@example.com", EmailVerified: true, Claims: map[string]any{"realm": map[string]any{"roles": []any{"ops"}}}},
				{Name: "Mary Jackson", Email: "mary@example.com", EmailVerified: true, Claims: map[string]any{"plan": "pro"}}}},
		"two that one person fits":       {[]authsvc.Condition{{Domains: []string{"acme.example"}}, {Emails: []string{"emmy@acme.example"}}}, []devidp.Person{{Name: "Emmy Noether", Email: "emmy@acme.example", EmailVerified: true}}},
		"conditions that it cannot meet": {[]authsvc.Condition{{Users: []string{"7"}}, {Claims: map[string][]string{"odd": {"x"}}}, {Domains: []string{"*"}}, {}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := authsvc.Config{URL: "http://localhost:3000", Session: authsvc.SessionOptions{Claims: claims}, SignIn: authsvc.SignInRules{Allow: test.allow}}
			d, err := devidp.Start(&c, devidp.Options{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close() //nolint:errcheck // the test ends
			got := d.People()[4:]
			for i := range got {
				if got[i].ID == "" {
					t.Errorf("%s has no id", got[i].Name)
				}
				if got[i].ID = ""; len(got[i].Claims) == 0 {
					got[i].Claims = nil
				}
			}
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := d.Add(&c); err != nil || len(d.People()) != 4+len(test.want) {
				t.Errorf("again: %v, %d people", err, len(d.People()))
			}
		})
	}
}

// TestStandsIn: conditions that name a provider also match people of this one. The
// caller's conditions are unchanged.
func TestStandsIn(t *testing.T) {
	t.Parallel()
	only := []authsvc.Condition{{Providers: []string{"github"}, Groups: []string{"ops"}}, {Domains: []string{"acme.example"}}}
	var added authsvc.Config
	b, _, _ := run(t, devidp.Options{}, func(c *authsvc.Config) {
		c.Providers = []authsvc.Provider{&authsvc.OAuth{ID: "github", Name: "GitHub", OpenID: true, Issuer: "https://id.example", Client: authsvc.Client{ID: "a", Secret: "b"}}}
		c.Session.Claims = map[string]string{"groups": "groups"}
		c.SignIn.Allow = only
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Allow: only}}
		c.Gate.Hosts = []authsvc.GateHost{{Origin: c.URL, Default: authsvc.Allow{AnyOf: only}, Rules: []authsvc.GateRule{{Match: "/x", Allow: authsvc.Allow{AnyOf: only}}}}}
		c.TrustedProxies = nil
		added = *c
	})
	if diff := cmp.Diff([]string{"github"}, added.SignIn.Allow[0].Providers); diff != "" {
		t.Errorf("the caller's: %s", diff)
	}
	page, err := b.Post("/api/auth/signin/dev", "callbackUrl", "/")
	if page := must(t, page, err); !strings.Contains(page.Text, "{&#34;groups&#34;:[&#34;ops&#34;]}") {
		t.Errorf("the claims are not on the page: %s", page.Text)
	}
	if choose(t, b, page, "Emmy Noether"); email(t, b) != "emmy@example.com" {
		t.Errorf("by groups of a provider: signed in as %q", email(t, b))
	}
	other := b.Fresh()
	page, err = other.Post("/api/auth/signin/dev", "callbackUrl", "/")
	if a := choose(t, other, must(t, page, err), "Ada Lovelace"); email(t, other) != "" || !strings.Contains(a.Request.URL.RawQuery, "AccessDenied") {
		t.Errorf("a person who may not: signed in as %q, at %s", email(t, other), a.Request.URL)
	}
	c := authsvc.Config{URL: "http://localhost:3000", Tokens: authsvc.TokenOptions{Audiences: added.Tokens.Audiences}, Gate: added.Gate}
	d, err := devidp.Start(&c, devidp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // the test ends
	for where, conditions := range map[string][]authsvc.Condition{"audience": c.Tokens.Audiences[0].Allow, "default": c.Gate.Hosts[0].Default.AnyOf, "rule": c.Gate.Hosts[0].Rules[0].Allow.AnyOf} {
		if !slices.Equal(conditions[0].Providers, []string{"github", devidp.ProviderID}) || conditions[1].Providers != nil {
			t.Errorf("%s: %v", where, conditions)
		}
	}
	if len(added.Gate.Hosts[0].Default.AnyOf[0].Providers) != 1 || len(added.Tokens.Audiences[0].Allow[0].Providers) != 1 {
		t.Error("the caller's conditions were changed")
	}
}
