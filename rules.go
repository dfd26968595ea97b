package authsvc

import (
	"context"
	"net/netip"
	"time"
)

// SignInRules say who may sign in.
type SignInRules struct {
	// Allow lists conditions; a sign-in must meet at least one. Empty: everyone may
	// sign in. A refusal is AccessDenied, before the SignIn callback is called. Links
	// are not mailed to addresses that would be refused.
	Allow []Condition
}

// SignUpPolicy says whether new people may become users.
type SignUpPolicy string

// The policies.
const (
	SignUpOpen    SignUpPolicy = "open"    // everyone who may sign in becomes a user
	SignUpInvited SignUpPolicy = "invited" // only existing users may sign in
)

// SignUpRules say who may become a user by signing in. Existing users are not checked.
// A refusal is AccessDenied, after the SignIn callback and before the CreateUser
// callback. Links are not mailed to addresses that would be refused, and the answer
// does not reveal it. Users who sign in with [Credentials] are managed by the application
// and are not checked. The rules need an Adapter.
type SignUpRules struct {
	// Policy is "open" (default) or "invited".
	Policy SignUpPolicy
	// Domains lists domains, written as in Condition. A new user must have an address
	// in one of them that is known to belong to the person. Empty: any address, or
	// none.
	Domains []string
}

// A Condition is met if, for each field that is set, at least one entry matches (in
// Claims, every entry). A Condition without fields is a mistake.
type Condition struct {
	// Emails and Domains match addresses that are known to belong to the person: proved
	// by a mailed link, or asserted as verified by a trusted provider
	// (User.EmailVerified). The domain ".example.com" is example.com and every domain
	// below it; "example.com" is only itself.
	Emails  []string
	Domains []string
	// Users lists ids of users.
	Users []string
	// Providers lists ids of providers, such as "github".
	Providers []string
	// Groups lists values of the claim "groups". Claims maps the names of other claims
	// to values, as text; each of these claims must have one of the values listed for it.
	// The claims come from the provider's profile (see SessionOptions.Claims): a
	// sign-in without a profile, such as by a link, has none.
	Groups []string
	Claims map[string][]string
	// Networks match the client's address; see Config.TrustedProxies.
	Networks []netip.Prefix
	// MaxAge, only for the gate, is how long ago the user may have proved their
	// identity. After that the user must sign in again; see
	// [authsvc/engine.Service.RequireFresh].
	MaxAge time.Duration
	// Tokens, only for the gate, also lets tokens for the host pass: personal access
	// tokens (see [PersonalTokenRequest]), and tokens of POST token if the host's origin
	// is the ID of an [Audience]. Emails, Domains and Users are then checked
	// against the token's user; Networks and When are checked against the request.
	Tokens bool
	// When, only for the gate, is called if everything else matches. An error or panic
	// refuses. It is called for every request and must be quick. The path is unchanged,
	// with its escapes.
	When func(context.Context, AccessRequest) (bool, error)
}

// An AccessRequest is the argument of Audience.When and Condition.When.
type AccessRequest struct {
	Session *Session
	Method  string
	Host    string
	Path    string
	Client  RequestClient
	Time    time.Time // by the store's clock
}
