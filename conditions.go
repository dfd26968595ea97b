package authsvc

import (
	"errors"
	"fmt"
	"net/netip"

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
	// Networks are those of the client's address; see Config.TrustedProxies.
	Networks []netip.Prefix
}

// errNotAllowed: no condition of SignInRules.Allow holds.
var errNotAllowed = errors.New("no condition of SignIn.Allow holds")

// checkConditions compiles the conditions of a sign-in.
func checkConditions(b *builder, s *Service) {
	for i, c := range b.config.SignIn.Allow {
		compiled, problems := access.Prepare(access.Condition{Emails: c.Emails, Domains: c.Domains, Users: c.Users, Providers: c.Providers, Networks: c.Networks})
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
		s.policy.mayPass = append(s.policy.mayPass, compiled)
	}
}

// mayPass reports whether a condition holds for a sign-in. An address counts if it
// is proved, which a mailed link does by being redeemed.
func (rq *request) mayPass(a SignInAttempt, proved bool) bool {
	if len(rq.policy.mayPass) == 0 {
		return true
	}
	who := access.Subject{UserID: a.User.ID, Email: a.User.Email, Proved: proved || !a.User.EmailVerified.IsZero(),
		Provider: a.Account.Provider, Client: rq.clientIP()}
	for i := range rq.policy.mayPass {
		if rq.policy.mayPass[i].Holds(&who) {
			return true
		}
	}
	return false
}
