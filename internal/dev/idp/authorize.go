package idp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Values of response_mode.
const (
	modeQuery    = "query"
	modeFormPost = "form_post"
)

// authRequest is a checked authorization request (OpenID Connect Core §3.1.2.1,
// RFC 6749 §4.1.1).
type authRequest struct {
	face        face
	params      url.Values // as received, for the page to repeat
	client      Client
	redirectURI string
	state       string
	mode        string

	scopes    []string
	nonce     string
	challenge string // S256, or empty
	silent    bool   // prompt=none
	loginHint string
}

// oauthError is an error with a code of the protocol. The authorization endpoint sends
// it back to the client.
type oauthError struct {
	code        string
	description string // for developers; ASCII without quotes (RFC 6749 §4.1.2.1)
}

func (e *oauthError) Error() string { return e.code + ": " + e.description }

func invalidRequest(description string) *oauthError {
	return &oauthError{code: "invalid_request", description: description}
}

// pageError is an error that must stay on this server, because the redirect URI may not
// belong to the client (RFC 6749 §4.1.2.1).
type pageError struct {
	message string // a sentence for the page
	detail  string // the offending value, if it helps
}

func (e *pageError) Error() string {
	if e.detail == "" {
		return e.message
	}
	return fmt.Sprintf("%s (received %q)", e.message, e.detail)
}

// authorize serves the authorization endpoint. It shows the people. With prompt=none,
// it answers for the person that login_hint names.
func (p *Provider) authorize(f face) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		params := r.URL.Query()
		if r.Method == http.MethodPost {
			if err := r.ParseForm(); err != nil {
				p.showError(w, bodyStatus(err), &pageError{message: "The form could not be read."})
				return
			}
			params = r.PostForm
		}
		req, err := p.readAuthRequest(f, params)
		switch {
		case err != nil:
			p.refuse(w, req, err)
		case req.silent:
			p.answerSilently(w, req)
		default:
			p.showPicker(w, http.StatusOK, req, newcomer{})
		}
	}
}

// answerSilently serves prompt=none (OpenID Connect Core §3.1.2.6).
func (p *Provider) answerSilently(w http.ResponseWriter, req *authRequest) {
	person, ok := p.personByHint(req.loginHint)
	if !ok {
		p.refuse(w, req, &oauthError{"login_required", "prompt=none requires a login_hint, the sub or the email address of a person"})
		return
	}
	p.send(w, p.approve(req, person))
}

// refuse answers a request that failed: on a page, or at the client.
func (p *Provider) refuse(w http.ResponseWriter, req *authRequest, err error) {
	var protocol *oauthError
	if errors.As(err, &protocol) {
		p.send(w, p.deny(req, protocol))
		return
	}
	var local *pageError
	if !errors.As(err, &local) {
		local = &pageError{message: "Something went wrong."}
	}
	p.showError(w, http.StatusBadRequest, local)
}

// readAuthRequest checks an authorization request. If it returns a *pageError, the
// request is nil. If it returns an *oauthError, the request says where to send the
// error.
func (p *Provider) readAuthRequest(f face, params url.Values) (*authRequest, error) {
	if len(params.Encode()) > maxQuery {
		return nil, &pageError{message: "The request is too long."}
	}
	if len(params["client_id"]) > 1 || len(params["redirect_uri"]) > 1 {
		return nil, &pageError{message: "client_id and redirect_uri must be given only once."}
	}
	client, ok := p.clients[params.Get("client_id")]
	if !ok {
		return nil, &pageError{"No application with this client_id is registered here.", params.Get("client_id")}
	}
	redirectURI := params.Get("redirect_uri")
	if !client.allows(redirectURI) {
		return nil, &pageError{"The application has not registered this redirect_uri. It must match exactly.", redirectURI}
	}
	req := &authRequest{
		face: f, params: params, client: client, redirectURI: redirectURI, mode: modeQuery,
		nonce: params.Get("nonce"), challenge: params.Get("code_challenge"), loginHint: params.Get("login_hint"),
	}
	// A state given twice cannot be echoed, because it is unclear which one is meant.
	if len(params["state"]) == 1 {
		req.state = params.Get("state")
	}
	if len(params["response_mode"]) == 1 && params.Get("response_mode") == modeFormPost {
		req.mode = modeFormPost
	}
	return req, req.check()
}

// check performs the checks whose errors go to the client. Repeated parameters come
// first, because they make the others ambiguous.
func (req *authRequest) check() error {
	for name, values := range req.params {
		if len(values) > 1 && name != "resource" { // RFC 8707 §2 lets this one repeat
			return invalidRequest("a parameter is given more than once")
		}
	}
	for _, check := range []func() *oauthError{req.checkKind, req.checkScope, req.checkPKCE, req.checkPrompt} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (req *authRequest) checkKind() *oauthError {
	switch {
	case req.params.Has("request"):
		return &oauthError{"request_not_supported", "request objects are not supported"}
	case req.params.Has("request_uri"):
		return &oauthError{"request_uri_not_supported", "request objects are not supported"}
	case req.params.Get("response_type") == "":
		return invalidRequest("response_type is missing")
	case req.params.Get("response_type") != "code":
		return &oauthError{"unsupported_response_type", "response_type must be code"}
	}
	if mode := req.params.Get("response_mode"); mode != "" && mode != modeQuery && mode != modeFormPost {
		return invalidRequest("response_mode must be query or form_post")
	}
	return nil
}

// checkScope keeps the known scopes and ignores others (OpenID Connect Core §3.1.2.1).
func (req *authRequest) checkScope() *oauthError {
	for scope := range strings.FieldsSeq(req.params.Get("scope")) {
		known := scope == "profile" || scope == "email" || scope == "openid" && req.face.openid
		if known && !slices.Contains(req.scopes, scope) {
			req.scopes = append(req.scopes, scope)
		}
	}
	return nil
}

// checkPKCE checks the challenge (RFC 7636 §4.3). It refuses the method plain. It also
// refuses a public client without PKCE, which could prove nothing (RFC 9700 §2.1.1).
func (req *authRequest) checkPKCE() *oauthError {
	method := req.params.Get("code_challenge_method")
	switch {
	case req.challenge == "" && method != "":
		return invalidRequest("code_challenge is missing")
	case req.challenge == "" && req.client.public():
		return invalidRequest("a public client must send a code_challenge")
	case req.challenge != "" && method != "S256":
		return invalidRequest("code_challenge_method must be S256")
	case req.challenge != "" && len(req.challenge) != 43:
		return invalidRequest("code_challenge is not the Base64url form of a SHA-256 hash")
	}
	return nil
}

// checkPrompt checks prompt and max_age. The provider has no sessions: a person signs
// in again each time, which satisfies every max_age.
func (req *authRequest) checkPrompt() *oauthError {
	prompts := strings.Fields(req.params.Get("prompt"))
	req.silent = slices.Contains(prompts, "none")
	if req.silent && len(prompts) > 1 {
		return invalidRequest("prompt=none must not be combined with another prompt")
	}
	if raw := req.params.Get("max_age"); raw != "" {
		if age, err := strconv.Atoi(raw); err != nil || age < 0 {
			return invalidRequest("max_age is not a number of seconds")
		}
	}
	return nil
}
