package authsvc

import "context"

// OAuth1 signs in with OAuth 1.0a (RFC 5849), signed by HMAC-SHA1. It refuses a service
// that does not confirm the callback, as version 1.0 did not: an attacker could make
// another person approve the attacker's request there.
//
// The stored account has the token as AccessToken, its secret as RefreshToken and
// "oauth1" as TokenType. Token and secret are useless without each other, and both are
// sealed like the tokens of other providers. Neither expires.
type OAuth1 struct {
	ID     string // [a-z0-9_-]+, part of the routes and of stored accounts
	Name   string // display name
	Client Client // consumer key and secret

	RequestTokenURL  string // temporary credentials
	AuthorizationURL string // where users are sent
	AccessTokenURL   string // token credentials
	UserInfoURL      string // returns the profile, as JSON, to a signed GET

	// Hosts are as in OAuth.
	Hosts []string
	// Headers are sent with every request. {client_id} in a value is the client
	// id.
	Headers map[string]string

	// Fields maps the profile to the user; token.user_id refers to the access token
	// response.
	Fields Fields
	// TrustEmail and LinkVerifiedEmail are as in OAuth.
	TrustEmail        bool
	LinkVerifiedEmail bool

	// UserInfo replaces the profile request. Calls of x with WithToken are signed,
	// including their form and query. UserInfo and MapProfile are as in OAuth.
	UserInfo   func(ctx context.Context, x *Exchange) (Profile, error)
	MapProfile func(Profile) (User, error)

	Style Style
}
