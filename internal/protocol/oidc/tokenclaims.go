package oidc

import (
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/text/strictjson"
)

const (
	leeway      = 60 * time.Second // for clocks that differ
	maxTokenAge = 24 * time.Hour   // since iat
	maxSub      = 255              // bytes, OpenID Connect Core 1.0, section 2
	lastSecond  = 253402300799     // end of the year 9999
)

// claimsCheck checks the claims of one token with a valid signature.
type claimsCheck struct {
	client *Client
	claims Claims
	alg    jose.SignatureAlgorithm
	want   IDTokenCheck
	now    time.Time
}

func (c *claimsCheck) run() error {
	for _, step := range []func() error{
		c.kind, c.issuer, c.audience, c.subject, c.times, c.authTime, c.nonce, c.accessTokenHash, c.forms,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// kind refuses logout tokens that do not identify themselves by typ (OpenID Connect
// Back-Channel Logout 1.0, section 2.4).
func (c *claimsCheck) kind() error {
	if _, ok := c.claims["events"]; ok {
		return errors.New("the token is of another kind")
	}
	return nil
}

func (c *claimsCheck) issuer() error {
	iss, _ := c.claims["iss"].(string)
	tenant, ok := c.client.matchIssuer(iss)
	if !ok {
		return &Mismatch{"issuer", fmt.Errorf("%w: iss is not the provider: %s", ErrMisaddressed, c.client.otherIssuer(c.claims["iss"]))}
	}
	if c.client.cfg.multiTenant() && c.claims["tid"] != tenant {
		return errors.New("iss and tid name different tenants")
	}
	return nil
}

// audience requires that aud contains our client ID. If azp is present or there are
// several audiences, azp must also be our client ID.
func (c *claimsCheck) audience() error {
	id := c.client.cfg.ClientID
	all := audiences(c.claims)
	for _, a := range all {
		if _, ok := a.(string); !ok {
			return errors.New("aud is not a string or a list of strings")
		}
	}
	if !slices.Contains(all, any(id)) {
		return &Mismatch{"client id", fmt.Errorf("%w: aud is not this client", ErrMisaddressed)}
	}
	azp, present := c.claims["azp"]
	if (present || len(all) > 1) && azp != id {
		return errors.New("azp is not this client")
	}
	return nil
}

func (c *claimsCheck) subject() error {
	sub, _ := c.claims["sub"].(string)
	// Unpaired surrogates decode to U+FFFD, so different IDs would become equal.
	if sub == "" || len(sub) > maxSub || strings.ContainsFunc(sub, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\uFFFD' }) {
		return errors.New("sub is missing, too long or not plain text")
	}
	return nil
}

func (c *claimsCheck) times() error {
	exp, err := c.date("exp")
	if err != nil {
		return err
	}
	if !c.now.Before(exp.Add(leeway)) {
		return expired(c.now.Sub(exp))
	}
	iat, err := c.date("iat")
	if err != nil {
		return err
	}
	if iat.After(c.now.Add(leeway)) {
		return fmt.Errorf("issued %v in the future: clocks differ", seconds(iat.Sub(c.now)))
	}
	if c.now.Sub(iat) > maxTokenAge {
		return fmt.Errorf("issued too long ago: %v by the clock of this machine", seconds(c.now.Sub(iat)))
	}
	if c.claims["nbf"] == nil {
		return nil
	}
	nbf, err := c.date("nbf")
	if err != nil {
		return err
	}
	if nbf.After(c.now.Add(leeway)) {
		return fmt.Errorf("not valid yet, only in %v: clocks differ", seconds(nbf.Sub(c.now)))
	}
	return nil
}

// expired says how long ago a token expired, to point the reader of the log to the
// clock.
func expired(ago time.Duration) error {
	return fmt.Errorf("expired %v ago by the clock of this machine", seconds(ago))
}

func seconds(d time.Duration) time.Duration { return d.Round(time.Second) }

func (c *claimsCheck) authTime() error {
	if c.want.MaxAge <= 0 {
		return nil
	}
	at, err := c.date("auth_time")
	if err != nil {
		return err
	}
	if at.After(c.now.Add(leeway)) {
		return errors.New("auth_time is in the future: clocks differ")
	}
	if c.now.Sub(at) > c.want.MaxAge+leeway {
		return errors.New("the user signed in at the provider too long ago")
	}
	return nil
}

func (c *claimsCheck) nonce() error {
	nonce, present := c.claims["nonce"]
	if c.want.Nonce == "" && !present || c.want.Refreshed {
		return nil
	}
	got, _ := nonce.(string)
	if c.want.Nonce == "" || subtle.ConstantTimeCompare([]byte(got), []byte(c.want.Nonce)) != 1 {
		return errors.New("nonce does not match this sign-in")
	}
	return nil
}

// accessTokenHash compares at_hash, the left half of the access token's hash (OpenID
// Connect Core 1.0, section 3.1.3.6).
func (c *claimsCheck) accessTokenHash() error {
	claim, present := c.claims["at_hash"]
	if !present || c.want.AccessToken == "" {
		return nil
	}
	got, _ := claim.(string)
	sum := tokenHash(c.alg, c.want.AccessToken)
	half := base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
	if subtle.ConstantTimeCompare([]byte(got), []byte(half)) != 1 {
		return errors.New("at_hash does not match this access token")
	}
	return nil
}

var errForm = errors.New("a claim has the wrong type or value")

// forms checks the form of claims that are not used: a nonce or at_hash without a value
// to compare with, and the sources of aggregated and distributed claims (OpenID Connect
// Core 1.0, section 5.6.2), which are not fetched.
func (c *claimsCheck) forms() error {
	for _, name := range []string{"nonce", "at_hash"} {
		if !textOrNull(c.claims[name]) {
			return errForm
		}
	}
	names, ok := objectOrNull(c.claims["_claim_names"])
	sources, ok2 := objectOrNull(c.claims["_claim_sources"])
	if !ok || !ok2 {
		return errForm
	}
	for _, source := range sources {
		members, ok := objectOrNull(source)
		if !ok || !textOrNull(members["endpoint"]) || !textOrNull(members["access_token"]) {
			return errForm
		}
	}
	for _, name := range names {
		source, _ := name.(string)
		if _, ok := sources[source]; source == "" || !ok {
			return errForm
		}
	}
	return nil
}

func textOrNull(v any) bool {
	_, ok := v.(string)
	return ok || v == nil
}

func objectOrNull(v any) (map[string]any, bool) {
	object, ok := v.(map[string]any)
	return object, ok || v == nil
}

// tokenHash hashes with the hash function of the signature algorithm.
func tokenHash(alg jose.SignatureAlgorithm, token string) []byte {
	switch alg {
	case jose.RS384, jose.PS384, jose.ES384, jose.HS384:
		sum := sha512.Sum384([]byte(token))
		return sum[:]
	case jose.RS512, jose.PS512, jose.ES512, jose.HS512, jose.EdDSA:
		sum := sha512.Sum512([]byte(token))
		return sum[:]
	}
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// date reads a NumericDate (RFC 7519, section 2) and drops fractions of a second.
func (c *claimsCheck) date(name string) (time.Time, error) {
	n, ok := c.claims[name].(json.Number)
	if !ok {
		return time.Time{}, errors.New(name + " is missing or not a number")
	}
	digits, _ := strictjson.Decimal(n)
	digits, _, _ = strings.Cut(digits, ".")
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seconds < 0 || seconds > lastSecond {
		return time.Time{}, errors.New(name + " is not a plausible time")
	}
	return time.Unix(seconds, 0), nil
}

// AuthTime returns when the user authenticated at the provider, or zero if the token
// does not say so.
func (c Claims) AuthTime() time.Time {
	at, err := (&claimsCheck{claims: c}).date("auth_time")
	if err != nil || at.Unix() == 0 {
		return time.Time{}
	}
	return at
}

// audiences returns the values of aud, which is one value or a list.
func audiences(claims Claims) []any {
	if list, ok := claims["aud"].([]any); ok {
		return list
	}
	return []any{claims["aud"]}
}

// optionalTimes checks exp, iat and nbf if they are present.
func (c *claimsCheck) optionalTimes() error {
	for _, name := range []string{"exp", "iat", "nbf"} {
		if c.claims[name] == nil {
			continue
		}
		at, err := c.date(name)
		switch {
		case err != nil:
			return err
		case name == "exp" && !c.now.Before(at.Add(leeway)):
			return expired(c.now.Sub(at))
		case name != "exp" && at.After(c.now.Add(leeway)):
			return errors.New("not valid yet: clocks differ")
		}
	}
	return nil
}
