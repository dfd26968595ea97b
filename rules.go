package authsvc

import (
	"context"
	"net/netip"
	"time"
)

// SignInRules say who may sign in.
type SignInRules struct {
	// Allow are conditions of which one has to hold. Empty: everybody may. A
	// refusal is AccessDenied, before the SignIn callback is asked; links are
	// not mailed to addresses that would be refused.
	Allow []Condition
}

// SignUpPolicy says whether people who are no users yet may come.
type SignUpPolicy string

// The policies.
const (
	SignUpOpen    SignUpPolicy = "open"    // whoever may sign in becomes a user
	SignUpInvited SignUpPolicy = "invited" // only who is a user already
)

// SignUpRules say who may become a user by signing in. Who is one is not asked. A
// refusal is AccessDenied, after the SignIn callback and before the CreateUser
// callback; links are not mailed to addresses that would be refused, and the answer
// does not tell. Whom [Credentials] let in are people of the application's, and not
// asked about. They need an Adapter.
type SignUpRules struct {
	// Policy is "open" (default) or "invited".
	Policy SignUpPolicy
	// Domains are those of addresses that are known to be the person's, of which a
	// new user has to have one. Written as in Condition. Empty: any, and none.
	Domains []string
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
	// ago, and is asked to sign in again if not; see [authsvc/engine.Service.RequireFresh].
	MaxAge time.Duration
	// Tokens, of the gate only: personal access tokens for the host may pass, too;
	// see [PersonalTokenRequest]. Of their users Emails, Domains and Users count, of
	// their requests Networks and When.
	Tokens bool
	// When, of the gate only, is asked if all else holds. An error or a panic
	// refuses. It is called at every request, and has to be quick. The path is as it
	// came, with its escapes.
	When func(context.Context, AccessRequest) (bool, error)
}

// An AccessRequest is what Audience.When decides about.
type AccessRequest struct {
	Session *Session
	Method  string
	Host    string
	Path    string
	Client  RequestClient
	Time    time.Time // by the clock of the store
}
