package provider_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
)

// matches reports whether a request is the call of that name. The query may be in any
// order; an access token in it is checked later.
func (e *emulator) matches(r *http.Request, name string, c *call) bool {
	method, address, _ := strings.Cut(string(e.fill([]byte(name))), " ")
	want, err := url.Parse(address)
	if err != nil {
		e.t.Errorf("recording: %s: %v", name, err)
		return false
	}
	got := r.URL.Query()
	if param, ok := strings.CutPrefix(c.Auth, "query:"); ok {
		got.Del(param)
	}
	return r.Method == method && r.URL.Scheme == want.Scheme && r.URL.Host == want.Host &&
		r.URL.EscapedPath() == want.EscapedPath() && got.Encode() == want.Query().Encode()
}

// call checks a request and answers it. Only a GET that meets a fault may be repeated;
// it may come three times.
func (e *emulator) call(r *http.Request, name string, c *call, body []byte) *reply {
	most := 1
	if e.fail != nil && r.Method == http.MethodGet && c.Auth != "none" && c.Auth != "oauth1" {
		most = 3
	}
	if e.called[name]++; e.called[name] > most {
		e.t.Errorf("%s came twice", name)
	}
	e.header(r, name, c.Headers)
	e.authorized(r, name, c.Auth)
	e.body(r, name, c, body)
	if c.JWT != nil {
		return &reply{http.StatusOK, "application/jwt", []byte(e.signBy(c.Forged, c.JWT))}
	}
	return e.reply(c.Status, c.ContentType, c.Answer)
}

// authorized checks that the access token is sent in the right place, and nowhere else.
func (e *emulator) authorized(r *http.Request, name, auth string) {
	header, want := "Authorization", "Bearer "+e.token()
	query, inQuery := strings.CutPrefix(auth, "query:")
	custom, inHeader := strings.CutPrefix(auth, "header:")
	switch {
	case auth == "oauth1":
		e.signed(r, e.token(), tokenSecretGiven)
		return
	case auth == "none":
		want = ""
	case inQuery:
		want = ""
		if got := r.URL.Query()[query]; len(got) != 1 || got[0] != e.token() {
			e.t.Errorf("%s: query %s is %q", name, query, got)
		}
	case inHeader:
		named, scheme, _ := strings.Cut(custom, " ")
		header, want = named, strings.TrimLeft(scheme+" "+e.token(), " ")
	}
	if got := r.Header.Get(header); got != want {
		e.t.Errorf("%s: header %s is %q, not %q", name, header, got, want)
	}
	if header != "Authorization" && r.Header.Get("Authorization") != "" {
		e.t.Errorf("%s: an Authorization header as well", name)
	}
}

func (e *emulator) body(r *http.Request, name string, c *call, body []byte) {
	switch {
	case c.Form != nil:
		e.compare(name, e.expected(map[string]string{}, c.Form, nil), e.params(r, "form", body))
	case c.JSON != nil:
		var want, got any
		if err := json.Unmarshal(e.fill(c.JSON), &want); err != nil {
			e.t.Errorf("recording: %s: %v", name, err)
		}
		if err := json.Unmarshal(body, &got); err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			e.t.Errorf("%s: no JSON (%s): %v", name, r.Header.Get("Content-Type"), err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			e.t.Errorf("%s (-recording +request):\n%s", name, diff)
		}
	case len(body) > 0:
		e.t.Errorf("%s: a body", name)
	}
}

// reply creates a response. A text is sent unchanged, anything else as JSON.
func (e *emulator) reply(status int, contentType string, answer json.RawMessage) *reply {
	a := &reply{cmp.Or(status, http.StatusOK), cmp.Or(contentType, "application/json"), answer}
	var text string
	if json.Unmarshal(answer, &text) == nil {
		a.body = []byte(text)
	}
	a.body = e.fill(a.body)
	return a
}

// fill replaces the placeholders in double braces.
func (e *emulator) fill(text []byte) []byte {
	s := strings.NewReplacer("{{client_id}}", clientID, "{{client_secret}}", clientSecret, "{{code}}", codeGiven,
		"{{redirect_uri}}", e.back, "{{token_secret}}", url.QueryEscape(tokenSecretGiven)).Replace(string(text))
	if strings.Contains(s, "{{request_token}}") {
		s = strings.ReplaceAll(s, "{{request_token}}", e.issuedLast())
	}
	if strings.Contains(s, "{{access_token}}") {
		s = strings.ReplaceAll(s, "{{access_token}}", e.token())
	}
	s = strings.ReplaceAll(s, "{{state}}", e.asked.Get("state"))
	s = strings.ReplaceAll(s, "{{refresh_token}}", e.refresh)
	if strings.Contains(s, "{{id_token}}") {
		s = strings.ReplaceAll(s, "{{id_token}}", e.identity())
	}
	return []byte(s)
}

// token returns the access token, signed if it is a JWT.
func (e *emulator) token() string {
	if e.access != "" {
		return e.access
	}
	e.access = tokenGiven
	switch v := e.rec.AccessToken.(type) {
	case string:
		e.access = v
	case map[string]any:
		e.access = e.signBy(e.rec.Forged, v)
	}
	return e.access
}

// digest returns the S256 challenge of a verifier (RFC 7636 §4.2).
func digest(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
