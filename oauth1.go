package authsvc

import "context"

// OAuth1 signs in with OAuth 1.0a (RFC 5849), signed by HMAC-SHA1. A service
// that does not confirm the callback, as version 1.0 did not, is refused: there
// an attacker could have somebody else approve the attacker's request.
//
// The stored account has the token as AccessToken, its secret as RefreshToken
// and "oauth1" as TokenType: one is of no use without the other, and both are
// sealed as those of other providers are. Neither expires.
type OAuth1 struct {
	ID     string // [a-z0-9_-]+, part of the routes and of stored accounts
	Name   string // for people
	Client Client // consumer key and secret

	RequestTokenURL  string // temporary credentials
	AuthorizationURL string // where people are sent
	AccessTokenURL   string // token credentials
	UserInfoURL      string // answers the profile, JSON, to a signed GET

	// Hosts are as in OAuth.
	Hosts []string
	// Headers are sent with every request. {client_id} in a value is the client
	// id.
	Headers map[string]string

	// Fields maps the profile to the user; token.user_id is of the answer that
	// brought the token.
	Fields Fields
	// TrustEmail and LinkVerifiedEmail are as in OAuth.
	TrustEmail        bool
	LinkVerifiedEmail bool

	// UserInfo replaces the profile request. The calls of x are signed if they
	// are WithToken, a form and the query included. It and MapProfile are as
	// in OAuth.
	UserInfo   func(ctx context.Context, x *Exchange) (Profile, error)
	MapProfile func(Profile) (User, error)

	Style Style
}
