// Package bearer verifies the tokens that authsvc issues (POST token), in the programs
// that receive them. It needs no secret. It connects to authsvc only to read the public
// keys, and it does not import the engine.
package bearer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"authsvc/internal/protocol/oidc"
)

// Errors of [Verifier.Verify]. ErrUnavailable says nothing about the token.
var (
	ErrUnavailable = errors.New("bearer: cannot fetch the issuer's keys")
	ErrMalformed   = errors.New("bearer: not a token of this kind")
	ErrSignature   = errors.New("bearer: the signature does not match any key of the issuer")
	ErrIssuer      = errors.New("bearer: the token is from another issuer")
	ErrAudience    = errors.New("bearer: the token is for another audience")
	ErrExpired     = errors.New("bearer: the token has expired")
	ErrNotYet      = errors.New("bearer: the token is not valid yet: clocks differ")
)

// leeway applies to exp, nbf and iat.
const leeway = time.Minute

// maxToken is the length of the longest token that is read, in bytes. Tokens of authsvc
// have at most half of it.
const maxToken = 8 << 10

// Config says which tokens are accepted.
type Config struct {
	// Issuer is the address of authsvc with its path, such as
	// https://app.example.com/api/auth. It must equal the claim iss, byte for byte. It
	// must be https, or http to this machine.
	Issuer string
	// Audience is the id of this program in authsvc's tokens.audiences. It must equal
	// the claim aud, byte for byte.
	Audience string
	// HTTP fetches the keys. Nil: a client that follows no redirects, uses no proxy and
	// times out after 10 s.
	HTTP *http.Client
}

// A Verifier verifies tokens of one issuer for one audience. It is safe for
// concurrent use.
type Verifier struct {
	issuer, audience string
	keys             *oidc.IssuerKeys
}

// A Token holds the claims of a verified token.
type Token struct {
	Subject  string    // the user's id
	ID       string    // the token's id, jti
	Session  string    // the same in all tokens of a session; may be empty
	Provider string    // provider of the sign-in; may be empty
	Issued   time.Time // iat; zero if absent
	Expires  time.Time // exp
	AuthTime time.Time // when the user proved their identity; zero if absent
	SecondAt time.Time // when the user proved a second factor; zero if absent
	AMR      []string  // authentication methods (RFC 8176, and fed, email, app); nil: unknown
	ACR      string    // level of AMR: 1fa, 2fa or phr (a passkey); empty: unknown
	Actor    string    // who acts as the user (act.sub, RFC 8693 section 4.1); empty: the user
	// Claims holds all claims: string, [json.Number], bool, nil, []any and
	// map[string]any.
	Claims map[string]any
}

// Email returns the user's address if the token says that it was proved, else "".
func (t *Token) Email() string {
	if t.Claims["email_verified"] != true {
		return ""
	}
	return t.text("email")
}

func (t *Token) text(name string) string {
	s, _ := t.Claims[name].(string)
	return s
}

// texts returns a claim that is a list of strings, and nil for any other.
func (t *Token) texts(name string) (texts []string) {
	list, _ := t.Claims[name].([]any)
	for _, one := range list {
		s, ok := one.(string)
		if !ok {
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// New returns a verifier, or an error that says what is wrong with c. It makes no
// network calls, so a program can start while the issuer is down.
func New(c Config) (*Verifier, error) {
	if c.Audience == "" {
		return nil, errors.New("bearer: Audience is missing")
	}
	keys, err := oidc.NewIssuerKeys(c.Issuer, c.HTTP)
	if err != nil {
		return nil, fmt.Errorf("bearer: %w", err)
	}
	return &Verifier{issuer: c.Issuer, audience: c.Audience, keys: keys}, nil
}

// Verify checks that raw is a compact JWS (RFC 7515) from the issuer for the audience
// and is valid now (RFC 7519, RFC 8725), and returns its claims. A duplicate claim is
// an error. Keys are cached for an hour or, while the issuer is down, for a day. They
// are fetched again for a token that names an unknown key, at most every 30 s. Times
// have a leeway of a minute.
func (v *Verifier) Verify(ctx context.Context, raw string) (*Token, error) {
	if len(raw) > maxToken {
		return nil, fmt.Errorf("%w: it is too long", ErrMalformed)
	}
	claims, err := v.keys.Verify(ctx, raw)
	switch {
	case errors.Is(err, oidc.ErrKeys):
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, oidc.ErrSignature):
		return nil, ErrSignature
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	case claims["iss"] != v.issuer:
		return nil, ErrIssuer
	case claims["aud"] != v.audience:
		return nil, ErrAudience
	}
	t := &Token{Claims: claims}
	if t.Subject = t.text("sub"); t.Subject == "" {
		return nil, fmt.Errorf("%w: sub is missing", ErrMalformed)
	}
	t.ID, t.Session, t.Provider, t.ACR = t.text("jti"), t.text("sid"), t.text("idp"), t.text("acr")
	t.AMR = t.texts("amr")
	if act, ok := t.Claims["act"].(map[string]any); ok {
		t.Actor, _ = act["sub"].(string)
	}
	if err := t.times(time.Now()); err != nil {
		return nil, err
	}
	return t, nil
}

// times reads and checks the claims that are times (RFC 7519 section 4.1).
func (t *Token) times(now time.Time) error {
	var notBefore time.Time
	for name, into := range map[string]*time.Time{"exp": &t.Expires, "iat": &t.Issued, "nbf": &notBefore, "auth_time": &t.AuthTime, "second_at": &t.SecondAt} {
		v, there := t.Claims[name]
		if !there && name != "exp" {
			continue
		}
		n, _ := v.(json.Number)
		seconds, err := n.Float64()
		if err != nil || seconds < 0 || seconds > 1<<40 {
			return fmt.Errorf("%w: %s is missing or not a time", ErrMalformed, name)
		}
		*into = time.Unix(int64(seconds), 0)
	}
	switch {
	case !now.Before(t.Expires.Add(leeway)):
		return ErrExpired
	case now.Add(leeway).Before(notBefore), now.Add(leeway).Before(t.Issued):
		return ErrNotYet
	}
	return nil
}

type contextKey struct{}

// FromContext returns the token of a request that [Verifier.Require] passed on, nil for
// any other request.
func FromContext(ctx context.Context) *Token {
	t, _ := ctx.Value(contextKey{}).(*Token)
	return t
}

// Require passes requests with a valid token in the Authorization header to next, which
// gets the token from [FromContext]. Others get 401 with WWW-Authenticate
// (RFC 6750 section 3), or 503 while the keys are not available. Tokens in cookies,
// forms and addresses are ignored.
func (v *Verifier) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, ok := fromHeader(r.Header)
		if !ok {
			refuse(w, http.StatusUnauthorized, `Bearer`, "a token is required")
			return
		}
		t, err := v.Verify(r.Context(), raw)
		switch {
		case errors.Is(err, ErrUnavailable):
			w.Header().Set("Retry-After", "5")
			refuse(w, http.StatusServiceUnavailable, "", "cannot verify tokens at present")
		case err != nil:
			refuse(w, http.StatusUnauthorized, `Bearer error="invalid_token", error_description="`+description(err)+`"`, "the token is not accepted")
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, t)))
		}
	})
}

// fromHeader returns the token of the Authorization header, of which there must be
// exactly one (RFC 6750 section 2.1).
func fromHeader(h http.Header) (raw string, ok bool) {
	lines := h["Authorization"]
	if len(lines) != 1 {
		return "", false
	}
	scheme, raw, _ := strings.Cut(lines[0], " ")
	raw = strings.TrimSpace(raw)
	return raw, strings.EqualFold(scheme, "Bearer") && raw != ""
}

// description returns a fixed text for err, which quotes nothing.
func description(err error) string {
	for _, known := range []error{ErrSignature, ErrIssuer, ErrAudience, ErrExpired, ErrNotYet} {
		if errors.Is(err, known) {
			return strings.TrimPrefix(known.Error(), "bearer: ")
		}
	}
	return strings.TrimPrefix(ErrMalformed.Error(), "bearer: ")
}

func refuse(w http.ResponseWriter, status int, challenge, text string) {
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}
