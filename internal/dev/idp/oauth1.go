package idp

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"authsvc/internal/protocol/oauth1"
)

// oauth1Path is the prefix of the endpoints of OAuth 1.0a: initiate, authorize, token
// and user. There is no page: [Provider.Approve] answers for authorize.
const oauth1Path = "/oauth1"

// clockSkew limits how far a timestamp may be off.
const clockSkew = 5 * time.Minute

// credentials are a token of OAuth 1.0a, temporary (RFC 5849 §2.1) or permanent.
type credentials struct {
	secret   string
	client   Client
	callback string
	verifier string // set once approved
	person   Person
	spent    atomic.Bool
}

// initiate serves temporary credentials.
func (p *Provider) initiate(w http.ResponseWriter, r *http.Request) {
	client, params, _, err := p.signedRequest(r, nil)
	callback := params["oauth_callback"]
	plain, _, _ := strings.Cut(callback, "?")
	if err == nil && !client.allows(plain) {
		err = errors.New("the application has not registered this callback")
	}
	if err != nil {
		oauth1Refuse(w, err)
		return
	}
	c := &credentials{client: client, callback: callback, secret: rand.Text()}
	writeForm(w, url.Values{"oauth_token": {p.temporary.put(c)}, "oauth_token_secret": {c.secret}, "oauth_callback_confirmed": {"true"}})
}

// approveOAuth1 is [Provider.Approve] for /oauth1/authorize.
func (p *Provider) approveOAuth1(params url.Values, sub string) (Answer, error) {
	token := params.Get("oauth_token")
	c, ok := p.temporary.get(token)
	if !ok || len(params["oauth_token"]) != 1 {
		return Answer{}, &pageError{message: "no such request", detail: token}
	}
	if sub == "" {
		return Answer{RedirectURI: c.callback, Params: url.Values{"denied": {token}}}, nil
	}
	person, ok := p.personBySub(sub)
	if !ok {
		return Answer{}, &pageError{message: "no such person", detail: sub}
	}
	approved := &credentials{client: c.client, callback: c.callback, secret: c.secret, person: person, verifier: rand.Text()}
	p.temporary.replace(token, approved)
	return Answer{RedirectURI: c.callback, Params: url.Values{"oauth_token": {token}, "oauth_verifier": {approved.verifier}}}, nil
}

// tokenOAuth1 serves token credentials (§2.3), once for each temporary token.
func (p *Provider) tokenOAuth1(w http.ResponseWriter, r *http.Request) {
	client, params, c, err := p.signedRequest(r, p.temporary)
	switch {
	case err != nil:
	case c.verifier == "" || subtle.ConstantTimeCompare([]byte(c.verifier), []byte(params["oauth_verifier"])) != 1:
		err = errors.New("the verifier is wrong")
	case c.spent.Swap(true):
		err = errors.New("the token was used before")
	}
	if err != nil {
		oauth1Refuse(w, err)
		return
	}
	kept := &credentials{client: client, secret: rand.Text(), person: c.person}
	writeForm(w, url.Values{"oauth_token": {p.permanent.put(kept)}, "oauth_token_secret": {kept.secret}, "user_id": {c.person.Sub}})
}

// userOAuth1 serves the profile.
func (p *Provider) userOAuth1(w http.ResponseWriter, r *http.Request) {
	_, _, c, err := p.signedRequest(r, p.permanent)
	if err != nil {
		oauth1Refuse(w, err)
		return
	}
	writeJSON(w, http.StatusOK, p.plainUser(c.person))
}

// signedRequest checks the signature of a request without a form (§3.2). from holds the
// token; it is nil for a request without a token.
func (p *Provider) signedRequest(r *http.Request, from *expiringStore[*credentials]) (client Client, params map[string]string, c *credentials, err error) {
	if params, err = oauth1Header(r.Header.Values("Authorization")); err != nil {
		return client, nil, nil, err
	}
	client, known := p.clients[params["oauth_consumer_key"]]
	tokenSecret := ""
	if from != nil {
		var ok bool
		if c, ok = from.get(params["oauth_token"]); !ok || c.client.ID != client.ID {
			return client, nil, nil, errors.New("the token is unknown")
		}
		tokenSecret = c.secret
	}
	at, err := strconv.ParseInt(params["oauth_timestamp"], 10, 64)
	age := time.Since(time.Unix(at, 0))
	switch {
	case !known || client.public() || err != nil || age > clockSkew || age < -clockSkew:
		return client, nil, nil, errors.New("the client is unknown, or its clock is wrong")
	case params["oauth_signature_method"] != "HMAC-SHA1" || params["oauth_version"] != "1.0":
		return client, nil, nil, errors.New("only HMAC-SHA1 of version 1.0 is supported")
	case from == nil && params["oauth_token"] != "":
		return client, nil, nil, errors.New("there is no token yet")
	}
	base, err := oauth1.BaseString(r.Method, p.origin1()+r.URL.RequestURI(), withoutSignature(params))
	if err != nil || subtle.ConstantTimeCompare([]byte(oauth1.Signature(base, client.Secret, tokenSecret)), []byte(params["oauth_signature"])) != 1 {
		return client, nil, nil, errors.New("the signature is wrong")
	}
	if params["oauth_nonce"] == "" || !p.nonces.claim(params["oauth_nonce"]) {
		return client, nil, nil, errors.New("the nonce is missing or was used before")
	}
	return client, params, c, nil
}

// origin1 returns the scheme and host of the issuer.
func (p *Provider) origin1() string { return strings.TrimSuffix(p.issuer, p.base) }

func withoutSignature(params map[string]string) []oauth1.Param {
	var list []oauth1.Param
	for name, v := range params {
		if name != "oauth_signature" {
			list = append(list, oauth1.Param{Name: name, Value: v})
		}
	}
	return list
}

// oauth1Header parses the Authorization header (§3.5.1).
func oauth1Header(headers []string) (map[string]string, error) {
	bad := errors.New("the OAuth header is missing or malformed")
	if len(headers) != 1 {
		return nil, bad
	}
	list, ok := strings.CutPrefix(headers[0], "OAuth ")
	if !ok {
		return nil, bad
	}
	params := map[string]string{}
	for _, one := range strings.Split(list, ",") {
		name, quoted, _ := strings.Cut(strings.TrimSpace(one), "=")
		value, err := url.PathUnescape(strings.Trim(quoted, `"`))
		if _, twice := params[name]; err != nil || twice || len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			return nil, bad
		}
		params[name] = value
	}
	return params, nil
}

func oauth1Refuse(w http.ResponseWriter, err error) {
	w.Header().Set("WWW-Authenticate", `OAuth realm="idp"`)
	http.Error(w, err.Error(), http.StatusUnauthorized)
}

// writeForm writes a response with a form-encoded body.
func writeForm(w http.ResponseWriter, v url.Values) {
	w.Header().Set("Content-Type", "application/x-www-form-urlencoded")
	w.Write([]byte(v.Encode()))
}

// oauth1Routes adds the endpoints.
func (p *Provider) oauth1Routes(add func(Endpoint, string, http.HandlerFunc)) {
	add(EndpointOAuth1Initiate, "POST "+oauth1Path+"/initiate", p.initiate)
	add(EndpointOAuth1Token, "POST "+oauth1Path+"/token", p.tokenOAuth1)
	add(EndpointOAuth1User, "GET "+oauth1Path+"/user", p.userOAuth1)
}
