package authsvc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"authsvc/internal/access"
)

// SignInRules say who may sign in.
type SignInRules struct {
	// Allow are conditions of which one has to hold. Empty: everybody may. A
	// refusal is AccessDenied, before the SignIn callback is asked; links are
	// not mailed to addresses that would be refused.
	Allow []Condition
}

// A Condition holds if everything that it names holds: of each field that is set,
// one entry. One that names nothing is a mistake.
type Condition struct {
	// Emails and Domains are those of addresses that are known to be the
	// person's: proved by a mailed link, or asserted as verified by a provider
	// whose word counts (User.EmailVerified). The domain ".example.com" is
	// example.com and every domain below it, "example.com" that one alone.
	Emails  []string
	Domains []string
	// Users are ids of users.
	Users []string
	// Providers are ids of providers, such as "github".
	Providers []string
	// Groups are those of the claim "groups", and Claims name others and their
	// values, as text, of which one has to be there. The claims are those that
	// SessionOptions.Claims takes from the provider's profile: a sign-in without a
	// profile, such as by a link, has none.
	Groups []string
	Claims map[string][]string
	// Networks are those of the client's address; see Config.TrustedProxies.
	Networks []netip.Prefix
	// MaxAge, of the gate only: the person proved who they are at most that long
	// ago, and is asked to sign in again if not; see [Service.RequireFresh].
	MaxAge time.Duration
	// When, of the gate only, is asked if all else holds. An error or a panic
	// refuses. It is called at every request, and has to be quick.
	When func(context.Context, Access) (bool, error)
}

// errNotAllowed: no condition of SignInRules.Allow holds.
var errNotAllowed = errors.New("no condition of SignIn.Allow holds")

// checkConditions compiles the conditions of a sign-in.
func checkConditions(b *builder, s *Service) {
	for i, c := range b.config.SignIn.Allow {
		at := fmt.Sprintf("SignIn.Allow[%d]", i)
		if c.MaxAge != 0 {
			b.fail(at+".MaxAge", "is for the gate: every sign-in is a new one", "leave it out")
		}
		if c.When != nil {
			b.fail(at+".When", "is for the gate", "use the callback SignIn")
		}
		s.policy.mayPass = append(s.policy.mayPass, b.condition(s, c, at))
	}
}

// accessOf is what of a condition is about the person.
func accessOf(c Condition) access.Condition {
	return access.Condition{Emails: c.Emails, Domains: c.Domains, Users: c.Users, Providers: c.Providers,
		Groups: c.Groups, Claims: c.Claims, Networks: c.Networks}
}

// condition compiles what of a condition is about the person.
func (b *builder) condition(s *Service, c Condition, at string) access.Condition {
	compiled, problems := access.Prepare(accessOf(c))
	for _, p := range problems {
		field := at
		if p.Field != "" {
			field += "." + p.Field
		}
		b.fail(field, p.Problem, p.Fix)
	}
	for j, id := range c.Providers {
		if s.flows[id] == nil && id != "" {
			b.fail(fmt.Sprintf("%s.Providers[%d]", at, j), fmt.Sprintf("%q is not the id of a provider of this configuration", printable(id, 40)),
				"correct it, or add the provider", "Providers")
		}
	}
	b.checkClaims(at, c)
	return compiled
}

// checkClaims records claims of a condition that no sign-in has.
func (b *builder) checkClaims(at string, c Condition) {
	names := slices.Sorted(maps.Keys(c.Claims))
	if len(c.Groups) > 0 {
		names = append(names, "groups")
	}
	for _, name := range names {
		if _, known := b.config.Session.Claims[name]; !known && name != "" && b.config.Callbacks.Claims == nil {
			b.fail(at, fmt.Sprintf("asks for the claim %q, which no sign-in has", printable(name, 40)),
				"name in Session.Claims where a profile has it", "Session.Claims")
		}
	}
}

// mayPass reports whether a condition holds for a sign-in. An address counts if it
// is proved, which a mailed link does by being redeemed.
func (rq *request) mayPass(a SignInAttempt, who access.Subject) bool {
	if len(rq.policy.mayPass) == 0 {
		return true
	}
	who.UserID, who.Email, who.Provider, who.Client = a.User.ID, a.User.Email, a.Account.Provider, rq.clientIP()
	who.Proved = who.Proved || !a.User.EmailVerified.IsZero()
	for i := range rq.policy.mayPass {
		if rq.policy.mayPass[i].Holds(&who) {
			return true
		}
	}
	return false
}
