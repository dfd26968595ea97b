package engine

import (
	"fmt"
	"maps"
	"slices"

	"authsvc"
	"authsvc/internal/protocol/access"
	"authsvc/internal/text"
)

// checkSignUp compiles the rules for who may become a user.
func checkSignUp(b *builder, s *desk) {
	o := b.config.SignUp
	switch o.Policy {
	case "", authsvc.SignUpOpen:
	case authsvc.SignUpInvited:
		s.invitedOnly = true
		b.needStorage("invited_without_storage", "SignUp.Policy", "is invited, but without storage there are no users", "set Adapter, or say in SignIn.Allow who may sign in")
	default:
		b.fail("SignUp.Policy", fmt.Sprintf("%q is not known", text.Printable(string(o.Policy), 30)), "use open or invited")
	}
	if len(o.Domains) == 0 {
		return
	}
	compiled, problems := access.Prepare(access.Condition{Domains: o.Domains})
	for _, p := range problems {
		b.fail("SignUp."+p.Field, p.Problem, p.Fix)
	}
	s.newDomains = []access.Condition{compiled}
	b.needStorage("domains_without_storage", "SignUp.Domains", "are set, but without storage no users are created", "set Adapter, or name the domains in SignIn.Allow")
	if s.invitedOnly {
		b.fail("SignUp.Domains", "are set, but with the policy invited, new users cannot sign up", "leave them out, or use the policy open", "SignUp.Policy")
	}
}

// maySignUp checks a sign-in attempt against the rules for who may become a user.
func (dk *desk) maySignUp(rq *request, a authsvc.SignInAttempt) error {
	if dk.invitedOnly {
		return errNotInvited
	}
	if !anyHolds(dk.newDomains, &access.Subject{Email: a.User.Email, Proved: a.EmailProved}) {
		return errForeignDomain
	}
	return nil
}

// checkConditions compiles the conditions for signing in and for each audience.
func checkConditions(b *builder, s *Service) {
	s.desk.allowed = b.conditions(s.desk, "SignIn.Allow", b.config.SignIn.Allow, false)
	for i, a := range b.config.Tokens.Audiences {
		s.issuer.audiences[i].allow = b.conditions(s.desk, fmt.Sprintf("Tokens.Audiences[%d].Allow", i), a.Allow, b.config.Callbacks.Claims != nil)
	}
}

// conditions compiles all; list is the name of their field in Config, for errors. If
// anyClaim is true, the conditions may use claims that SessionOptions.Claims does not
// name.
func (b *builder) conditions(s *desk, list string, all []authsvc.Condition, anyClaim bool) []access.Condition {
	var made []access.Condition
	for i, c := range all {
		at := fmt.Sprintf("%s[%d]", list, i)
		if c.MaxAge != 0 {
			b.fail(at+".MaxAge", "applies only to the gate", "leave it out")
		}
		if c.Tokens {
			b.fail(at+".Tokens", "applies only to the gate", "leave it out")
		}
		if c.When != nil {
			b.fail(at+".When", "applies only to the gate", "use a callback, or Audience.When")
		}
		made = append(made, b.condition(s, c, at, anyClaim))
	}
	return made
}

// condition compiles the parts of a condition that concern the person.
func (b *builder) condition(s *desk, c authsvc.Condition, at string, anyClaim bool) access.Condition {
	compiled, problems := access.Prepare(accessOf(c))
	for _, p := range problems {
		field := at
		if p.Field != "" {
			field += "." + p.Field
		}
		b.fail(field, p.Problem, p.Fix)
	}
	for j, id := range c.Providers {
		if s.site.flows[id] == nil && id != "" {
			b.fail(fmt.Sprintf("%s.Providers[%d]", at, j), fmt.Sprintf("%q is not the id of a configured provider", text.Printable(id, 40)),
				"correct it, or add the provider", "Providers")
		}
	}
	if !anyClaim {
		b.checkClaims(at, c)
	}
	return compiled
}

// checkClaims reports claims of a condition that no sign-in has.
func (b *builder) checkClaims(at string, c authsvc.Condition) {
	names := slices.Sorted(maps.Keys(c.Claims))
	if len(c.Groups) > 0 {
		names = append(names, "groups")
	}
	for _, name := range names {
		if _, known := b.config.Session.Claims[name]; !known && name != "" {
			b.fail(at, fmt.Sprintf("requires the claim %q, which no sign-in has", text.Printable(name, 40)),
				"add it to the session's claims, with its place in the profile", "Session.Claims")
		}
	}
}

// mayPass returns an error unless a condition holds for a sign-in with these claims. An
// email address counts only if it is proved; opening a mailed link proves it.
func (dk *desk) mayPass(rq *request, a authsvc.SignInAttempt, claims map[string]any) error {
	who := &access.Subject{UserID: a.User.ID, Email: a.User.Email, Proved: a.EmailProved, Provider: a.Account.Provider,
		Claims: claims, Client: a.Client.IP}
	if anyHolds(dk.allowed, who) {
		return nil
	}
	return notAllowedError{misshapen(dk.allowed, who)}
}
