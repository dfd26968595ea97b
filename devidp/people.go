package devidp

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/seal"
)

// People returns the current people, in the order of the page.
func (d *Server) People() (all []Person) {
	for _, p := range d.idp.People() {
		all = append(all, Person{ID: p.Sub, Name: p.Name, Email: p.Email, EmailVerified: p.EmailVerified, Picture: p.Picture, Claims: p.Claims})
	}
	return all
}

// Attempt returns the sign-in attempt of a person who is not a user yet, for
// [engine.Operator.DryRunSignIn].
func (p Person) Attempt() authsvc.SignInAttempt {
	profile := map[string]any{}
	maps.Copy(profile, p.Claims)
	profile["sub"], profile["name"] = p.ID, p.Name
	if p.Email != "" {
		profile["email"], profile["email_verified"] = p.Email, p.EmailVerified
	}
	return authsvc.SignInAttempt{
		User:        authsvc.User{Name: p.Name, Email: p.Email, Image: p.Picture},
		EmailProved: p.EmailVerified && p.Email != "",
		Account:     authsvc.Account{Provider: ProviderID, ProviderAccountID: p.ID, Type: "oauth"},
		Profile:     profile, IsNewUser: true, Time: time.Now(),
		Client: authsvc.RequestClient{IP: netip.AddrFrom4([4]byte{127, 0, 0, 1})},
	}
}

// addToConditions adds the provider to each condition that names providers, because people in
// development come from no other provider.
func addToConditions(c *authsvc.Config) {
	c.SignIn.Allow = named(c.SignIn.Allow)
	c.Tokens.Audiences = slices.Clone(c.Tokens.Audiences)
	for i := range c.Tokens.Audiences {
		c.Tokens.Audiences[i].Allow = named(c.Tokens.Audiences[i].Allow)
	}
	c.Gate.Hosts = slices.Clone(c.Gate.Hosts)
	for i := range c.Gate.Hosts {
		h := &c.Gate.Hosts[i]
		h.Default.AnyOf = named(h.Default.AnyOf)
		h.Rules = slices.Clone(h.Rules)
		for j := range h.Rules {
			h.Rules[j].Allow.AnyOf = named(h.Rules[j].Allow.AnyOf)
		}
	}
}

// named returns the conditions with the provider added to those that name providers.
func named(conditions []authsvc.Condition) []authsvc.Condition {
	conditions = slices.Clone(conditions)
	for i, c := range conditions {
		if len(c.Providers) > 0 && !slices.Contains(c.Providers, ProviderID) {
			conditions[i].Providers = append(slices.Clone(c.Providers), ProviderID)
		}
	}
	return conditions
}

// addPeople adds a person for each sign-in condition that this provider can satisfy and
// that no current person meets. Otherwise, perhaps no person on the list could sign in.
func (d *Server) addPeople(c *authsvc.Config) {
	for _, condition := range c.SignIn.Allow {
		if len(condition.Providers) > 0 { // only this provider is here
			condition.Providers = []string{ProviderID}
		}
		judge, err := engine.NewOperator(authsvc.Config{URL: d.base, Secrets: []string{seal.Token()}, Providers: []authsvc.Provider{d.provider(d.origin)},
			Session: authsvc.SessionOptions{Claims: c.Session.Claims}, SignIn: authsvc.SignInRules{Allow: []authsvc.Condition{condition}}})
		if err != nil { // New reports it, with its place
			continue
		}
		may := func(p Person) bool { return judge.DryRunSignIn(context.Background(), p.Attempt()).Allowed }
		people := d.People()
		if slices.ContainsFunc(people, may) {
			continue
		}
		p := fitting(condition, c.Session.Claims, people)
		if !may(p) { // conditions on a user, a network or a claim path that is not plain
			continue
		}
		if _, err := d.idp.AddPerson(idp.Person{Name: p.Name, Email: p.Email, EmailVerified: p.EmailVerified, Claims: p.Claims}); err != nil {
			d.log.Warn("cannot add a person who meets a sign-in condition", "err", err)
		}
	}
}

// names are the names of added people.
var names = []string{"Emmy Noether", "Mary Jackson", "Sofia Kovalevskaya", "Dorothy Vaughan", "Maryam Mirzakhani", "Annie Easley"}

// fitting returns a person who meets a condition, as far as a provider can ensure that.
func fitting(c authsvc.Condition, paths map[string]string, people []Person) Person {
	taken := func(name string) bool {
		return slices.ContainsFunc(people, func(p Person) bool { return p.Name == name })
	}
	p := Person{Name: "Someone else", EmailVerified: true, Claims: map[string]any{}}
	if i := slices.IndexFunc(names, func(n string) bool { return !taken(n) }); i >= 0 {
		p.Name = names[i]
	}
	first, _, _ := strings.Cut(strings.ToLower(p.Name), " ")
	domain := "example.com"
	if len(c.Domains) > 0 {
		domain = strings.TrimPrefix(c.Domains[0], ".")
	}
	if p.Email = first + "@" + domain; len(c.Emails) > 0 {
		p.Email = c.Emails[0]
	}
	if len(c.Groups) > 0 {
		put(p.Claims, cmp.Or(paths["groups"], "groups"), []any{c.Groups[0]})
	}
	for name, values := range c.Claims {
		if len(values) > 0 {
			put(p.Claims, cmp.Or(paths[name], name), values[0])
		}
	}
	return p
}

// put sets the value at a path of plain names separated by dots.
func put(in map[string]any, path string, value any) {
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		next, ok := in[step].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[step] = next
		}
		in = next
	}
	in[steps[len(steps)-1]] = value
}
