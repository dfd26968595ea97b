package authsvc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"authsvc/internal/oauth1"
	"authsvc/internal/oidc"
	"authsvc/internal/outbound"
	"authsvc/internal/weburl"
)

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

// oauth1Flow is a compiled *OAuth1.
type oauth1Flow struct {
	OAuth1
	calls       *outbound.Client
	jwts        *oidc.JWTVerifier
	mapping     mapping
	headers     map[string]string
	redirectURI string
	wire        info
}

func (f *oauth1Flow) info() info { return f.wire }

// begin fetches temporary credentials (RFC 5849 §2.1) and sends the person to
// approve them (§2.2). The protocol has no state: ours is in the query of the
// callback. The secret of the temporary credentials waits in the sealed cookie.
func (f *oauth1Flow) begin(rq *request) outcome {
	defer rq.askProvider()()
	tx := &transaction{Provider: f.ID, Issuer: f.AccessTokenURL, RedirectURI: f.redirectURI, CallbackURL: rq.callbackURL()}
	if out := rq.linkIntent(tx); out != nil {
		return out
	}
	rq.makeState(tx)
	a, err := f.fetch(rq.ctx, f.RequestTokenURL, f.credentials("", ""), map[string]string{"oauth_callback": weburl.WithQuery(f.redirectURI, "state", tx.State)})
	if err == nil && !a.Confirmed {
		err = errors.New("oauth_callback_confirmed is missing: the service speaks OAuth 1.0, not 1.0a")
	}
	if err != nil {
		return fail(OAuthSignin, fmt.Errorf("request token: %w", err))
	}
	tx.Token, tx.TokenSecret = a.Token, a.Secret
	to, err := url.Parse(f.AuthorizationURL)
	if err != nil {
		return fail(OAuthSignin, fixedReason("authorization url: not a url"))
	}
	if err := rq.keepTx(tx); err != nil {
		return err
	}
	q := to.Query()
	q.Set("oauth_token", a.Token)
	to.RawQuery = q.Encode()
	return redirect{to: to.String()}
}

// complete judges what the person brought back and fetches the profile.
func (f *oauth1Flow) complete(rq *request) outcome {
	defer rq.askProvider()()
	switch {
	case rq.r.Method == http.MethodPost:
		return rq.notAllowed(&route{get: callback})
	case isPrefetch(rq.r.Header):
		return problem{status: http.StatusServiceUnavailable, text: "not to be prefetched"}
	}
	a, err := readOAuth1Answer(rq)
	if err != nil {
		rq.dropTx(a.state)
		return fail(OAuthCallback, err)
	}
	tx, refused := rq.finishTx(a.state, a.denied != "")
	if refused != nil {
		return refused
	}
	if err := f.judge(tx, a); err != nil {
		if errors.Is(err, ErrAccessDenied) {
			return fail(AccessDenied, err)
		}
		return fail(OAuthCallback, err)
	}
	id, err := f.identify(rq, tx, a.verifier)
	switch {
	case errors.Is(err, ErrAccessDenied):
		return fail(AccessDenied, err)
	case err != nil:
		return fail(OAuthCallback, err)
	}
	return id.of(tx)
}

// An oauth1Answer is what came back through the browser (RFC 5849 §2.2).
// denied, which the standard lacks, is the token of a request that was refused.
type oauth1Answer struct{ state, token, verifier, denied string }

func readOAuth1Answer(rq *request) (a oauth1Answer, err error) {
	for name, into := range map[string]*string{"state": &a.state, "oauth_token": &a.token, "oauth_verifier": &a.verifier, "denied": &a.denied} {
		v, twice := rq.answered(name)
		if twice {
			err = fmt.Errorf("parameter %s came twice", name)
		}
		*into = v
	}
	return a, err
}

// judge compares an answer with the attempt that its state belongs to.
func (f *oauth1Flow) judge(tx *transaction, a oauth1Answer) error {
	switch {
	case tx.Issuer != f.AccessTokenURL || tx.RedirectURI != f.redirectURI:
		return errors.New("the provider's address was changed since the attempt began")
	case a.denied != "" && (!sameSecret(a.denied, tx.Token) || a.verifier != ""):
		return errors.New("the refusal is not of this attempt")
	case a.denied != "":
		return fmt.Errorf("%w: the person said no", ErrAccessDenied)
	case a.token == "":
		return errors.New("no oauth_token")
	case !sameSecret(a.token, tx.Token):
		return errors.New("oauth_token is not that of this attempt")
	case !oauth1.Usable(a.verifier):
		return errors.New("no usable oauth_verifier")
	}
	return nil
}
