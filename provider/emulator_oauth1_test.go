package provider_test

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc/provider"
)

// Values that a provider with OAuth 1.0a issues.
const (
	requestTokenGiven  = "request-token.of~the_test"
	requestSecretGiven = "request&secret/of=the+test"
	tokenSecretGiven   = "access&secret/of=the+test"
	verifierGiven      = "verifier.of~the_test"
)

// requestToken checks the request for temporary credentials and answers it.
func (e *emulator) requestToken(r *http.Request, body []byte) *reply {
	if e.called["request token"]++; e.called["request token"] > 1 || len(body) > 0 {
		e.t.Error("a second request for a token, or one with a body")
	}
	p := e.signed(r, "", "", "oauth_callback")
	if e.callback = p["oauth_callback"]; !strings.HasPrefix(e.callback, e.back+"?state=") {
		e.t.Errorf("oauth_callback is %s", e.callback)
	}
	s := e.rec.RequestToken
	if s.Answer != nil {
		return e.reply(s.Status, s.ContentType, s.Answer)
	}
	e.issued = append(e.issued, fmt.Sprintf("%s-%d", requestTokenGiven, len(e.issued)))
	form := url.Values{"oauth_token": {e.issuedLast()}, "oauth_token_secret": {requestSecretGiven}, "oauth_callback_confirmed": {"true"}}
	return &reply{http.StatusOK, cmp.Or(s.ContentType, "application/x-www-form-urlencoded"), []byte(form.Encode())}
}

func (e *emulator) issuedLast() string { return e.issued[len(e.issued)-1] }

// accessToken checks the request for token credentials and answers it.
func (e *emulator) accessToken(r *http.Request, body []byte) *reply {
	if e.called["token"]++; e.called["token"] > 1 || len(body) > 0 {
		e.t.Error("a second request for token credentials, or one with a body")
	}
	token := e.header1(r)["oauth_token"]
	if !slices.Contains(e.issued, token) {
		e.t.Errorf("oauth_token is %q", token)
	}
	if p := e.signed(r, token, requestSecretGiven, "oauth_verifier"); p["oauth_verifier"] != verifierGiven {
		e.t.Errorf("oauth_verifier is %q", p["oauth_verifier"])
	}
	return e.reply(e.rec.Token.Status, e.rec.Token.ContentType, e.rec.Token.Answer)
}

// signed checks the Authorization header (RFC 5849 §3.2) of a request without a form.
// It returns its parameters, which must include further.
func (e *emulator) signed(r *http.Request, token, secret string, further ...string) map[string]string {
	name := r.URL.Path
	p := e.header1(r)
	want := append([]string{"oauth_consumer_key", "oauth_nonce", "oauth_signature", "oauth_signature_method", "oauth_timestamp", "oauth_version"}, further...)
	if token != "" {
		want = append(want, "oauth_token")
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(p)); !slices.Equal(got, want) {
		e.t.Errorf("%s: protocol parameters %v, not %v", name, got, want)
	}
	at, err := strconv.ParseInt(p["oauth_timestamp"], 10, 64)
	if age := time.Since(time.Unix(at, 0)); err != nil || age < -time.Minute || age > time.Minute {
		e.t.Errorf("%s: timestamp %q", name, p["oauth_timestamp"])
	}
	if len(p["oauth_nonce"]) < 16 || e.nonces[p["oauth_nonce"]] {
		e.t.Errorf("%s: nonce %q is short, or came before", name, p["oauth_nonce"])
	}
	e.nonces[p["oauth_nonce"]] = true
	if p["oauth_consumer_key"] != clientID || p["oauth_signature_method"] != "HMAC-SHA1" || p["oauth_version"] != "1.0" || p["oauth_token"] != token {
		e.t.Errorf("%s: %v", name, p)
	}
	if got := signature1(r, p, secret); got != p["oauth_signature"] {
		e.t.Errorf("%s: signature %s, not %s", name, p["oauth_signature"], got)
	}
	return p
}

func (e *emulator) header1(r *http.Request) map[string]string {
	list, ok := strings.CutPrefix(r.Header.Get("Authorization"), "OAuth ")
	if !ok {
		e.t.Errorf("%s: no OAuth header", r.URL.Path)
	}
	p := map[string]string{}
	for _, one := range strings.Split(list, ", ") {
		name, quoted, _ := strings.Cut(one, "=")
		value, err := url.PathUnescape(strings.Trim(quoted, `"`))
		if _, twice := p[name]; err != nil || twice || len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			e.t.Errorf("%s: header %s", r.URL.Path, one)
		}
		p[name] = value
	}
	return p
}

// signature1 returns the expected signature of a request, computed differently from the
// engine.
func signature1(r *http.Request, p map[string]string, secret string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	all := r.URL.Query()
	for name, v := range p {
		if name != "oauth_signature" {
			all.Add(name, v)
		}
	}
	sorted := strings.ReplaceAll(all.Encode(), "+", "%20") // no name occurs twice
	base := r.Method + "&" + escape("https://"+r.URL.Host+r.URL.Path) + "&" + escape(sorted)
	mac := hmac.New(sha1.New, []byte(escape(clientSecret)+"&"+escape(secret)))
	mac.Write([]byte(base))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// wrongsOAuth1 returns the ways in which a sign-in through OAuth 1.0a can fail.
func wrongsOAuth1(provider.Entry) map[string]wrong {
	const word, begin = "OAuthCallback", "OAuthSignin"
	answered := func(step, body string) *fault {
		return &fault{step: step, status: http.StatusOK, contentType: "application/x-www-form-urlencoded", body: body}
	}
	list := map[string]wrong{
		"denied":           {callback: map[string]string{"oauth_token": "", "oauth_verifier": "", "denied": "{{request_token}}"}, word: "AccessDenied"},
		"foreign denied":   {callback: map[string]string{"oauth_token": "", "oauth_verifier": "", "denied": "another"}, word: word},
		"denied, approved": {callback: map[string]string{"denied": "{{request_token}}"}, word: word},
		"no token":         {callback: map[string]string{"oauth_token": ""}, word: word},
		"foreign token":    {callback: map[string]string{"oauth_token": "another"}, word: word},
		"no verifier":      {callback: map[string]string{"oauth_verifier": ""}, word: word},
		"long verifier":    {callback: map[string]string{"oauth_verifier": strings.Repeat("v", 513)}, word: word},
		"no state":         {callback: map[string]string{"state": "-"}, word: word},
		"no id":            {change: withoutID, word: word},
		"1.0":              {begin: true, fault: answered("request token", "oauth_token=a&oauth_token_secret=b"), word: begin},
		"not confirmed":    {begin: true, fault: answered("request token", "oauth_token=a&oauth_token_secret=b&oauth_callback_confirmed=false"), word: begin},
		"no secret":        {begin: true, fault: answered("request token", "oauth_token=a&oauth_callback_confirmed=true"), word: begin},
		"token twice":      {begin: true, fault: answered("request token", "oauth_token=a&oauth_token=b&oauth_token_secret=b&oauth_callback_confirmed=true"), word: begin},
		"large":            {begin: true, fault: answered("request token", "oauth_token=a&oauth_token_secret=b&oauth_callback_confirmed=true&x="+strings.Repeat("x", 1<<20)), word: begin},
		"token no secret":  {fault: answered("token", "oauth_token=a"), word: word},
		"token twice 2":    {fault: answered("token", "oauth_token=a&oauth_token_secret=b&oauth_token_secret=c"), word: word},
	}
	for name, w := range brokenSteps("request token") {
		w.begin, w.word = true, begin
		list[name] = w
	}
	maps.Copy(list, brokenSteps("token", "call"))
	return list
}
