package idp

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Answer is an authorization response (RFC 6749 §4.1.2, RFC 9207).
type Answer struct {
	// RedirectURI is the target of the response, as the client gave it.
	RedirectURI string
	// Params are code, state and iss, or error, error_description, state and iss.
	Params url.Values
	// FormPost sends Params in the body of a POST (OAuth 2.0 Form Post Response Mode)
	// instead of the query.
	FormPost bool
}

// URL returns the redirect URI with the parameters of the answer in its query. It keeps
// an existing query of the redirect URI unchanged (RFC 6749 §3.1.2).
func (a Answer) URL() string {
	sep := "?"
	if strings.Contains(a.RedirectURI, "?") {
		sep = "&"
	}
	return a.RedirectURI + sep + a.Params.Encode()
}

// grant is the data behind a code, and later behind an access token.
type grant struct {
	client      Client
	redirectURI string
	challenge   string
	nonce       string
	scopes      []string
	person      Person
	authTime    time.Time

	spent   atomic.Bool // the code has been presented
	revoked atomic.Bool // the code was presented again, so the tokens are no longer trusted
}

// approve signs a person in by issuing a code.
func (p *Provider) approve(req *authRequest, person Person) Answer {
	code := p.codes.put(&grant{
		client: req.client, redirectURI: req.redirectURI, challenge: req.challenge,
		nonce: req.nonce, scopes: req.scopes, person: person, authTime: time.Now(),
	})
	return p.answer(req, url.Values{"code": {code}})
}

// deny answers the client with an error instead of a code.
func (p *Provider) deny(req *authRequest, err *oauthError) Answer {
	return p.answer(req, url.Values{"error": {err.code}, "error_description": {err.description}})
}

func (p *Provider) answer(req *authRequest, params url.Values) Answer {
	if req.state != "" {
		params.Set("state", req.state)
	}
	if req.face.openid {
		params.Set("iss", p.issuer)
	}
	if edit := p.fault().Callback; edit != nil {
		edit(params)
	}
	return Answer{RedirectURI: req.redirectURI, Params: params, FormPost: req.mode == modeFormPost}
}

// send delivers an answer through the browser. Status 303 makes the next request a GET,
// regardless of the method of this one (RFC 9700 §4.12).
func (p *Provider) send(w http.ResponseWriter, a Answer) {
	if a.FormPost {
		p.pages.showFormPost(w, a)
		return
	}
	w.Header().Set("Location", a.URL())
	w.WriteHeader(http.StatusSeeOther)
}

// Approve answers an authorization request without its page, as if the person with this
// sub had clicked. An empty sub clicks Cancel. If the request would end on an error
// page, Approve returns an error. If it would be refused at the client, the Answer has
// an error parameter.
func (p *Provider) Approve(authorizationURL, sub string) (Answer, error) {
	if query, ok := strings.CutPrefix(authorizationURL, p.issuer+oauth1Path+"/authorize?"); ok {
		params, err := url.ParseQuery(query)
		if err != nil {
			return Answer{}, &pageError{message: "malformed query"}
		}
		return p.approveOAuth1(params, sub)
	}
	f, params, err := p.splitAuthorizationURL(authorizationURL)
	if err != nil {
		return Answer{}, err
	}
	req, err := p.readAuthRequest(f, params)
	if protocol, ok := asOAuthError(err); ok {
		return p.deny(req, protocol), nil
	}
	if err != nil {
		return Answer{}, err
	}
	if sub == "" {
		return p.deny(req, errCancelled), nil
	}
	person, ok := p.personBySub(sub)
	if !ok {
		return Answer{}, &pageError{message: "no such person", detail: sub}
	}
	return p.approve(req, person), nil
}

// splitAuthorizationURL returns the face and the parameters of a URL.
func (p *Provider) splitAuthorizationURL(raw string) (face, url.Values, error) {
	for _, f := range []face{openidFace, plainFace} {
		query, ok := strings.CutPrefix(raw, p.issuer+f.prefix+"/authorize?")
		if !ok {
			continue
		}
		params, err := url.ParseQuery(query)
		if err != nil {
			return face{}, nil, &pageError{message: "malformed query"}
		}
		return f, params, nil
	}
	return face{}, nil, &pageError{message: "not an authorization URL of this provider"}
}
