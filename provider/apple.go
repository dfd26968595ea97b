package provider

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc"
)

// AppleOptions holds the data from which Apple's client secrets are made.
type AppleOptions struct {
	TeamID     string
	KeyID      string
	PrivateKey string // the content of the .p8 file of the key KeyID, in PEM; \n may stand for a line break
}

func appleEntry() Entry {
	return Entry{
		ID: "apple", Name: "Apple", Protocol: "oidc", Email: EmailClaim, NoSecret: true,
		Docs: "https://developer.apple.com/documentation/signinwithapplerestapi",
		Options: []Option{
			{Key: "team_id", Doc: "the Team ID of the developer account", Example: "A1B2C3D4E5", Required: true},
			{Key: "key_id", Doc: "the id of the key for Sign in with Apple", Example: "F6G7H8I9J0", Required: true},
			{Key: "private_key", Doc: "the content of the .p8 file of that key", Example: exampleKey, Required: true, Secret: true},
		},
		Notes: []string{
			"The client id is the Services ID; authsvc makes client secrets from the key.",
			"The callback URL must be https on a real host name, not localhost.",
			"Apple sends the name only when a person agrees for the first time. The email address may be a relay address of Apple.",
		},
		New: apple,
	}
}

// Apple signs in with an Apple account through OpenID Connect. c.ID is the Services ID.
// c.Secret is not used: the key signs fresh client secrets. The name comes through the
// browser, and only when the person agrees for the first time. It is the name the
// person wants to use; Apple has not checked it. The email address may be an Apple
// relay address. The callback is a POST.
//
// https://developer.apple.com/documentation/signinwithapplerestapi
func Apple(c authsvc.Client, options AppleOptions) (*authsvc.OAuth, error) {
	secrets, err := newAppleSecrets(options)
	if err != nil {
		return nil, err
	}
	return &authsvc.OAuth{
		ID: "apple", Name: "Apple", Client: authsvc.Client{ID: c.ID},
		OpenID:       true,
		Issuer:       "https://appleid.apple.com",
		Scope:        "openid name email",
		ResponseMode: "form_post", // required by Apple if there are scopes
		DeniedErrors: []string{"user_cancelled_authorize"},
		AuthMethod:   "client_secret_post",
		VerifiedText: true,
		Hooks: authsvc.Hooks{
			ClientSecret: secrets.sign,
			UserInfo:     appleProfile,
		},
		Style: authsvc.Style{Logo: "apple", Background: "#000000", Text: "#ffffff"},
	}, nil
}

func apple(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	o, err := Apple(c, AppleOptions{TeamID: options["team_id"], KeyID: options["key_id"], PrivateKey: options["private_key"]})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// appleProfile adds the name to the claims of the ID token. It ignores everything else
// that the browser says about the person.
func appleProfile(_ context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	var user struct {
		Name struct {
			First string `json:"firstName"`
			Last  string `json:"lastName"`
		} `json:"name"`
	}
	profile := maps.Clone(x.Claims)
	if json.Unmarshal([]byte(x.Callback("user")), &user) != nil {
		return profile, nil
	}
	if name := strings.TrimSpace(user.Name.First + " " + user.Name.Last); name != "" {
		profile["name"] = name
	}
	return profile, nil
}

// appleSecretLife is the lifetime of a client secret; Apple allows six months.
const appleSecretLife = time.Hour

// appleSecrets signs client secrets, which are JWTs.
type appleSecrets struct {
	teamID string
	signer jose.Signer
}

func newAppleSecrets(options AppleOptions) (*appleSecrets, error) {
	for _, o := range [][2]string{{"team_id", options.TeamID}, {"key_id", options.KeyID}, {"private_key", options.PrivateKey}} {
		if o[1] == "" {
			return nil, missing(o[0])
		}
	}
	key, ok := applePrivateKey(options.PrivateKey)
	if !ok {
		return nil, &OptionError{Key: "private_key", Problem: "is not PEM text of a private key on the curve P-256",
			Fix: "give the whole content of the .p8 file, from BEGIN PRIVATE KEY on"}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: options.KeyID}}, nil)
	if err != nil {
		return nil, &OptionError{Key: "private_key", Problem: "cannot sign", Fix: "make a new key in Apple's developer account"}
	}
	return &appleSecrets{options.TeamID, signer}, nil
}

// applePrivateKey parses a key in PKCS #8, the format that Apple issues.
func applePrivateKey(text string) (*ecdsa.PrivateKey, bool) {
	block, _ := pem.Decode([]byte(strings.ReplaceAll(text, `\n`, "\n")))
	if block == nil {
		return nil, false
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, false
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	return key, ok && key.Curve == elliptic.P256()
}

// sign implements OAuth.Hooks.ClientSecret.
func (s *appleSecrets) sign(c authsvc.Client, now time.Time) (string, time.Time, error) {
	expires := now.Add(appleSecretLife)
	claims, err := json.Marshal(map[string]any{"iss": s.teamID, "sub": c.ID, "aud": "https://appleid.apple.com",
		"iat": now.Unix(), "exp": expires.Unix()})
	if err != nil {
		return "", expires, err
	}
	signed, err := s.signer.Sign(claims)
	if err != nil {
		return "", expires, err
	}
	text, err := signed.CompactSerialize()
	return text, expires, err
}

// exampleKey has the right format but is not a secret: its private number is 1.
const exampleKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAGhRANCAARrF9Hy4SxCR/i85uVjpEDydwN9gS3r
M6D0oTlF2JjClk/jQuL+Gn+bjufrSnwPnhYrzjNXazFezsu2QGg3v1H1
-----END PRIVATE KEY-----
`
