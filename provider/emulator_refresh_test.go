package provider_test

import (
	"maps"
	"net/http"
	"strings"
)

// laterAnswer serves a person who is signed in: refresh and revocation only.
func (e *emulator) laterAnswer(r *http.Request, body []byte) (step string, a *reply) {
	plain := *r.URL
	plain.RawQuery = ""
	if s := e.rec.Refresh; s != nil && plain.String() == s.URL {
		return "refresh", e.refreshed(r, body)
	}
	if s := e.rec.Revoke; s != nil && r.URL.String() == s.URL {
		return "revoke", e.revoked(r, body)
	}
	return "", nil
}

// refreshed checks the request for new tokens and answers it.
func (e *emulator) refreshed(r *http.Request, body []byte) *reply {
	s := e.rec.Refresh
	e.called["refresh"]++
	got := e.clientParams(r, "refresh", &s.tokenStep, body, map[string]string{"grant_type": "refresh_token", "refresh_token": e.refresh})
	if got["state"] != "" && e.asked.Get("state") == got["state"] {
		e.t.Error("refresh: a state that was used before")
	}
	e.asked.Set("state", got["state"])
	e.access = tokenGiven + "-renewed"
	if s.Rotated != "" {
		e.refresh = s.Rotated
	}
	if s.Answer != nil {
		return e.reply(s.Status, s.ContentType, s.Answer)
	}
	return e.json(map[string]any{"access_token": "{{access_token}}", "token_type": "Bearer", "expires_in": 3600})
}

// revoked checks the revocation of the issued tokens and answers it.
func (e *emulator) revoked(r *http.Request, body []byte) *reply {
	token, hint := e.refresh, "refresh_token"
	if e.called["revoke"]++; e.called["revoke"] > 1 {
		token, hint = e.access, "access_token"
	}
	e.clientParams(r, "revoke", e.rec.Revoke, body, map[string]string{"token": token, "token_type_hint": hint})
	return e.json(map[string]any{"status": "success"})
}

// clientParams checks a client's request and returns its parameters, which must be want
// and the client's id and secret. The secret must not be in a header or the URL.
func (e *emulator) clientParams(r *http.Request, what string, s *tokenStep, body []byte, want map[string]string) map[string]string {
	if method := map[bool]string{true: http.MethodGet, false: http.MethodPost}[s.Encoding == "query"]; r.Method != method {
		e.t.Errorf("%s: %s", what, r.Method)
	}
	if r.Header.Get("Authorization") != "" || strings.Contains(r.URL.RawQuery, clientSecret) {
		e.t.Errorf("%s: an Authorization header, or the secret in the address", what)
	}
	e.header(r, what, s.Headers)
	want = maps.Clone(want)
	want["client_id"], want["client_secret"] = clientID, clientSecret
	got := e.params(r, s.Encoding, body)
	e.compare(what, e.expected(want, s.Params, s.Drop), maps.Clone(got))
	return got
}
