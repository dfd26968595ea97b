package authsvc

import "context"

// OpenID2 signs in with OpenID Authentication 2.0 at one provider, as Steam
// speaks it: the provider chooses the identifier, there are no associations,
// and every assertion is verified with the provider itself (§11.4.2).
//
// The id of the account is what follows ClaimedIDPrefix in the identifier. The
// protocol gives out no tokens and vouches for no address.
type OpenID2 struct {
	ID   string // [a-z0-9_-]+, part of the routes and of stored accounts
	Name string // for people

	Endpoint string // where people are sent and assertions are verified
	// ClaimedIDPrefix begins every identifier of the provider, such as
	// "https://id.example/users/".
	ClaimedIDPrefix string
	// IDCharacters are those that may follow; default: the ten digits.
	IDCharacters string

	// Hosts are further hosts that UserInfo may call, as in OAuth.
	Hosts []string
	// Headers are sent with every request.
	Headers map[string]string
	// UserInfo fetches the profile. Claims of x are sub, the verified id, and
	// claimed_id; there is no token. Nil: they are the profile.
	UserInfo func(ctx context.Context, x *Exchange) (Profile, error)
	// Fields maps the profile to the user. What Fields.ID (default none) leads
	// to, and User.ID of MapProfile unless empty, must be the verified id.
	Fields     Fields
	MapProfile func(Profile) (User, error)

	Style Style
}
