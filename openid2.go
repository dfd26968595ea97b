package authsvc

import "context"

// OpenID2 signs in with OpenID Authentication 2.0 at one provider, as Steam implements
// it: the provider chooses the identifier, there are no associations, and every
// assertion is verified with the provider itself (§11.4.2).
//
// The id of the account is the part of the identifier after ClaimedIDPrefix. The
// protocol issues no tokens and verifies no email address.
type OpenID2 struct {
	ID   string // [a-z0-9_-]+, part of the routes and of stored accounts
	Name string // display name

	Endpoint string // where users are sent and assertions are verified
	// ClaimedIDPrefix begins every identifier of the provider, such as
	// "https://id.example/users/".
	ClaimedIDPrefix string
	// IDCharacters lists the characters that may follow; default: the ten digits.
	IDCharacters string

	// Hosts are further hosts that UserInfo may call, as in OAuth.
	Hosts []string
	// Headers are sent with every request.
	Headers map[string]string
	// UserInfo fetches the profile. x.Claims holds sub, the verified id, and
	// claimed_id; there is no token. Nil: these claims are the profile.
	UserInfo func(ctx context.Context, x *Exchange) (Profile, error)
	// Fields maps the profile to the user. The value of Fields.ID (default none), and
	// User.ID of MapProfile unless empty, must be the verified id.
	Fields     Fields
	MapProfile func(Profile) (User, error)

	Style Style
}
