package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// A provider answers the requests of a sign-in: one token request each, and one
// request for the key.
type provider struct {
	issuer string
	client *http.Client
	key    func() (*ecdsa.PublicKey, error)
}

func newProvider(issuer string) *provider {
	p := &provider{issuer: issuer, client: &http.Client{Transport: &http.Transport{MaxIdleConns: 100, MaxIdleConnsPerHost: 100}}}
	p.key = sync.OnceValues(p.fetchKey)
	return p
}

// fetchKey fetches the provider's first P-256 key.
func (p *provider) fetchKey() (*ecdsa.PublicKey, error) {
	res, err := p.client.Get(p.issuer + "/jwks")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var set struct{ Keys []struct{ X, Y string } }
	if err := json.NewDecoder(res.Body).Decode(&set); err != nil {
		return nil, err
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("the provider has no key")
	}
	x, err1 := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
	y, err2 := base64.RawURLEncoding.DecodeString(set.Keys[0].Y)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
}

// An idToken holds the provider's claims about a person.
type idToken struct{ Sub, Name, Email string }

// exchange redeems a code for an ID token and verifies it (ES256).
func (p *provider) exchange(ctx context.Context, code string) (person idToken, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.issuer+"/token", strings.NewReader(url.Values{"grant_type": {"authorization_code"}, "code": {code}}.Encode()))
	if err != nil {
		return person, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("app", "secret")
	res, err := p.client.Do(r)
	if err != nil {
		return person, err
	}
	defer res.Body.Close()
	var answer struct {
		IDToken string `json:"id_token"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		return person, fmt.Errorf("the provider answers %s, %v", res.Status, err)
	}
	claims, err := p.verified(answer.IDToken)
	if err != nil {
		return person, err
	}
	err = json.Unmarshal(claims, &person)
	return person, err
}

// verified returns the claims of a token after it has verified the provider's
// signature.
func (p *provider) verified(token string) ([]byte, error) {
	part := strings.Split(token, ".")
	if len(part) != 3 {
		return nil, errors.New("no ID token")
	}
	claims, err1 := base64.RawURLEncoding.DecodeString(part[1])
	signature, err2 := base64.RawURLEncoding.DecodeString(part[2])
	key, err3 := p.key()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(part[0] + "." + part[1]))
	if len(signature) != 64 || !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return nil, errors.New("an ID token with a wrong signature")
	}
	return claims, nil
}
