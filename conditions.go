package authsvc

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

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
}

// errNotAllowed: no condition of SignInRules.Allow holds.
var errNotAllowed = errors.New("no condition of SignIn.Allow holds")

// checkConditions compiles the conditions of a sign-in.
func checkConditions(b *builder, s *Service) {
	for i, c := range b.config.SignIn.Allow {
		compiled, problems := access.Prepare(access.Condition{Emails: c.Emails, Domains: c.Domains, Users: c.Users, Providers: c.Providers,
			Groups: c.Groups, Claims: c.Claims, Networks: c.Networks})
		for _, p := range problems {
			field := fmt.Sprintf("SignIn.Allow[%d]", i)
			if p.Field != "" {
				field += "." + p.Field
			}
			b.fail(field, p.Problem, p.Fix)
		}
		for j, id := range c.Providers {
			if s.flows[id] == nil && id != "" {
				b.fail(fmt.Sprintf("SignIn.Allow[%d].Providers[%d]", i, j), fmt.Sprintf("%q is not the id of a provider of this configuration", printable(id, 40)),
					"correct it, or add the provider", "Providers")
			}
		}
		b.checkClaims(i, c)
		s.policy.mayPass = append(s.policy.mayPass, compiled)
	}
}

// checkClaims records claims of a condition that no sign-in has.
func (b *builder) checkClaims(i int, c Condition) {
	names := slices.Sorted(maps.Keys(c.Claims))
	if len(c.Groups) > 0 {
		names = append(names, "groups")
	}
	for _, name := range names {
		if _, known := b.config.Session.Claims[name]; !known && name != "" {
			b.fail(fmt.Sprintf("SignIn.Allow[%d]", i), fmt.Sprintf("asks for the claim %q, which no sign-in has", printable(name, 40)),
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
