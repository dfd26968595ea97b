package engine

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/outbound"
)

// explain finds out whether an error of the provider is a mistake in the configuration,
// and returns it as one. It returns other errors unchanged.
func (f *oauthFlow) explain(err error) error {
	if err == nil || errors.Is(err, errDenied) || errors.Is(err, outbound.ErrUnavailable) {
		return err
	}
	var token *oidc.TokenError
	var spoken *providerRefusal
	var mismatch *oidc.Mismatch
	var m *operatorMistake
	switch {
	case errors.Is(err, oidc.ErrAssertionAlg):
		m = &operatorMistake{"the provider does not accept the algorithm of the private key of " + f.ID, "Client.PrivateKey", "use a private key for one of the algorithms that the provider announces", nil}
	case errors.As(err, &token):
		code := token.Code
		if token.Status == http.StatusUnauthorized && !slices.Contains(knownCodes, code) { // RFC 6749 section 5.2 has 401 for invalid_client alone
			code = "invalid_client"
		}
		m = f.mistakeOf(code, "", f.clientMistake)
	case errors.As(err, &spoken):
		m = f.mistakeOf(spoken.code, spoken.description, f.unknownClient)
	case errors.As(err, &mismatch):
		m = f.mismatched(mismatch.Part)
	}
	if m == nil {
		return err
	}
	m.err = err
	return m
}

// knownCodes lists the error codes of RFC 6749 section 5.2, except invalid_client, and
// of GitHub, that may come with status 401.
var knownCodes = []string{"invalid_request", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "redirect_uri_mismatch", "invalid_redirect_uri", "bad_verification_code", "bad_refresh_token"}

// mistakeOf returns the mistake that an error code of OAuth 2 reports, or nil. client
// returns the mistake for invalid_client, which depends on the endpoint.
func (f *oauthFlow) mistakeOf(code, description string, client func() *operatorMistake) *operatorMistake {
	if description = strings.ToLower(description); code == "invalid_request" {
		switch {
		case strings.Contains(description, "redirect"), strings.Contains(description, "callback"):
			code = "redirect_uri_mismatch"
		case strings.Contains(description, "scope"):
			code = "invalid_scope"
		case strings.Contains(description, "client"):
			code = "invalid_client"
		}
	}
	switch code {
	case "invalid_client", "incorrect_client_credentials":
		return client()
	case "unauthorized_client", "unsupported_grant_type", "unsupported_response_type":
		return &operatorMistake{"the provider does not allow " + f.ID + " to sign people in by an authorization code", "Client.ID",
			"allow the authorization code flow in the settings of the application at the provider, or use the client id of an application that has it", nil}
	case "invalid_scope":
		return &operatorMistake{"the provider does not accept the scope of " + f.ID, "Scope", "use scopes that the provider documents and that it allows the application", nil}
	case "redirect_uri_mismatch", "invalid_redirect_uri":
		return &operatorMistake{"the provider does not accept the callback URL of " + f.ID, "URL", "register " + f.redirectURI + " at the provider, exactly as written here", nil}
	}
	return nil
}

// unknownClient returns the mistake if the authorization endpoint refuses the client,
// which has not authenticated itself there.
func (f *oauthFlow) unknownClient() *operatorMistake {
	return &operatorMistake{"the provider does not accept the client id of " + f.ID, "Client.ID", "copy it from the application that you registered at the provider", nil}
}

// clientMistake returns the mistake if the token endpoint refuses the client.
func (f *oauthFlow) clientMistake() *operatorMistake {
	switch {
	case f.AuthMethod == authsvc.PrivateKeyJWT:
		return &operatorMistake{"the provider does not accept the signature of " + f.ID, "Client.PrivateKey",
			"register the public half of the key at the provider; check the client id, the key id and the audience of the assertion, too", nil}
	case f.AuthMethod == authsvc.AuthMethodNone:
		return &operatorMistake{"the provider does not accept " + f.ID + " as a public client", "AuthMethod",
			"register a public client at the provider, or give the client secret and leave out the method", nil}
	case f.Hooks.ClientSecret != nil:
		return &operatorMistake{"the provider does not accept the client secret that is made for " + f.ID, "Client.ID",
			"check the client id, the key and the other values from which it is made, and the clock of this machine", nil}
	}
	return &operatorMistake{"the provider does not accept the client secret of " + f.ID, "Client.Secret",
		"copy client id and client secret from the same application at the provider; if they are right, the provider may expect another authentication method", nil}
}

// mismatched returns the mistake for an answer that contradicts a part of the
// configuration, which package oidc names.
func (f *oauthFlow) mismatched(part string) *operatorMistake {
	m := &operatorMistake{field: oauthFields[part]}
	switch part {
	case "issuer":
		m.problem, m.fix = "the provider names another issuer than the configuration of "+f.ID, "if it is the provider that you mean, write the issuer exactly as the provider does"
	case "discovery url":
		m.problem, m.fix = "the provider has no discovery document for "+f.ID, "check that "+f.Endpoints.Discovery+" is the address of the provider's discovery document"
		if f.Endpoints.Discovery == "" {
			m.field, m.fix = "Issuer", f.checkIssuer()
		}
	case "client id":
		m.problem, m.fix = "the ID token is for another client than "+f.ID, "copy the client id from the application that you registered at the provider"
	case "client secret":
		m.problem, m.fix = "the client secret of "+f.ID+" is not the key that signed the ID token", "copy it from the application that you registered at the provider"
	case "algs":
		m.problem, m.fix = "the provider signs ID tokens of "+f.ID+" with an algorithm that is not accepted", "add the algorithm that the provider documents"
	case "jwks url":
		m.problem, m.fix = "the key set of "+f.ID+" lacks the key of the ID token", "use the jwks_uri of the provider's discovery document"
		if f.Endpoints.JWKS == "" {
			m.field, m.fix = "Issuer", "check that the issuer is that of the provider, whose discovery document names the key set"
		}
	default:
		return nil
	}
	return m
}

// checkIssuer returns the fix if there is no discovery document, for whatever reason.
func (f *oauthFlow) checkIssuer() string {
	return "check that the issuer " + f.Issuer + " is correct and that this machine can reach it"
}

// explain is like oauthFlow.explain, for the request of temporary credentials. Its
// signature is refused with 401 (RFC 5849 section 3.2).
func (f *oauth1Flow) explain(err error) error {
	var refusal *outbound.Refusal
	if !errors.As(err, &refusal) || refusal.Status != http.StatusUnauthorized {
		return err
	}
	return &operatorMistake{"the provider does not accept the consumer key or the consumer secret of " + f.ID, "Client.Secret",
		"copy both from the same application at the provider; if they are right, check the clock of this machine and that the provider knows " + f.redirectURI, err}
}
