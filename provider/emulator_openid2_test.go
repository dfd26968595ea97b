package provider_test

import (
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc/provider"
)

const (
	openIDNamespace = "http://specs.openid.net/auth/2.0"
	openIDSigned    = "signed,op_endpoint,claimed_id,identity,return_to,response_nonce,assoc_handle"
)

// authenticate checks the authentication request of OpenID 2.0 (§9.1).
func (a *attempt) authenticate(got map[string]string) {
	a.t.Helper()
	if to := got["openid.return_to"]; !strings.HasPrefix(to, a.back+"?state=") {
		a.t.Errorf("return_to is %s", to)
	}
	a.compare("authentication request", map[string]string{
		"openid.ns": openIDNamespace, "openid.mode": "checkid_setup", "openid.realm": origin, "openid.return_to": anything,
		"openid.claimed_id": openIDNamespace + "/identifier_select", "openid.identity": openIDNamespace + "/identifier_select",
	}, got)
}

// assertion returns the provider's positive assertion (§10.1), except the identifiers,
// which are in the recording.
func (e *emulator) assertion() map[string]string {
	given := map[string]string{
		"openid.ns": openIDNamespace, "openid.mode": "id_res", "openid.op_endpoint": e.rec.Authorize.URL, "openid.return_to": e.asked.Get("openid.return_to"),
		"openid.response_nonce": time.Now().UTC().Format("2006-01-02T15:04:05Z") + "/=+" + rand.Text(), "openid.assoc_handle": "1234567890",
		"openid.signed": openIDSigned, "openid.sig": "c2lnbmF0dXJl+/=",
	}
	maps.Copy(given, e.rec.Callback)
	e.asserted = append(e.asserted, given)
	return maps.Clone(given)
}

// verification answers check_authentication (§11.4.2): true for an assertion of this
// provider, once.
func (e *emulator) verification(r *http.Request, body []byte) *reply {
	e.called["token"]++
	if r.Header.Get("Authorization") != "" {
		e.t.Error("check_authentication: an Authorization header")
	}
	answer := "ns:" + openIDNamespace + "\nis_valid:false\n"
	got := e.params(r, "form", body)
	if got["openid.mode"] != "check_authentication" {
		e.t.Errorf("check_authentication: openid.mode is %q", got["openid.mode"])
	}
	got["openid.mode"] = "id_res"
	if e.called["token"] == 1 && slices.ContainsFunc(e.asserted, func(a map[string]string) bool { return maps.Equal(a, got) }) {
		answer = "ns:" + openIDNamespace + "\nis_valid:true\n"
	}
	return &reply{http.StatusOK, "text/plain;charset=utf-8", []byte(answer)}
}

// wrongsOpenID2 returns the ways in which a sign-in through OpenID 2.0 can fail.
func wrongsOpenID2(e provider.Entry) map[string]wrong {
	const word = "OAuthCallback"
	changed := func(pairs ...string) wrong {
		w := wrong{word: word, callback: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			w.callback["openid."+pairs[i]] = pairs[i+1]
		}
		return w
	}
	identifier := func(id string) wrong { return changed("claimed_id", id, "identity", id) }
	nonce := func(d time.Duration) wrong {
		return changed("response_nonce", time.Now().Add(d).UTC().Format("2006-01-02T15:04:05Z")+rand.Text())
	}
	answered := func(body string) wrong {
		return wrong{word: word, fault: &fault{step: "token", status: http.StatusOK, contentType: "text/plain", body: body}}
	}
	const prefix = "https://steamcommunity.com/openid/id/"
	list := map[string]wrong{ // from a provider that confirms only its own assertions
		"denied":                 {callback: map[string]string{"openid.mode": "cancel"}, word: "AccessDenied"},
		"setup needed":           changed("mode", "setup_needed"),
		"error":                  changed("mode", "error"),
		"no namespace":           changed("ns", ""),
		"OpenID 1":               changed("ns", "http://openid.net/signon/1.1"),
		"another endpoint":       changed("op_endpoint", "https://evil.example/openid/login"),
		"no endpoint":            changed("op_endpoint", ""),
		"another return_to":      changed("return_to", origin+"/api/auth/callback/"+e.ID+"?state=x"),
		"return_to without":      changed("return_to", origin+"/api/auth/callback/"+e.ID),
		"another provider":       identifier("https://evil.example/openid/id/76561197960435530"),
		"suffix of the host":     identifier("https://steamcommunity.com.evil.example/openid/id/76561197960435530"),
		"no TLS":                 identifier("http://steamcommunity.com/openid/id/76561197960435530"),
		"no digits":              identifier(prefix + "76561197960435530/x"),
		"no user":                identifier(prefix),
		"dots":                   identifier(prefix + "../id/1"),
		"another identity":       changed("identity", prefix+"76561197960435531"),
		"another user":           identifier(prefix + "76561197960435531"),
		"no identity":            identifier(""),
		"no signature":           changed("sig", ""),
		"another signature":      changed("sig", "AAAA"),
		"no handle":              changed("assoc_handle", ""),
		"claimed_id not signed":  changed("signed", strings.Replace(openIDSigned, "claimed_id,", "", 1)),
		"endpoint not signed":    changed("signed", strings.Replace(openIDSigned, "op_endpoint,", "", 1)),
		"return_to not signed":   changed("signed", strings.Replace(openIDSigned, "return_to,", "", 1)),
		"nonce not signed":       changed("signed", strings.Replace(openIDSigned, "response_nonce,", "", 1)),
		"signed what is missing": changed("signed", openIDSigned+",email"),
		"no nonce":               changed("response_nonce", ""),
		"malformed nonce":        changed("response_nonce", "yesterday, or so it seems"),
		"old nonce":              nonce(-6 * time.Minute),
		"future nonce":           nonce(6 * time.Minute),
		"no state":               {callback: map[string]string{"state": "-"}, word: word},
		"no id":                  {change: withoutID, word: word},
		"not valid":              answered("ns:" + openIDNamespace + "\nis_valid:false\n"),
		"valid and not":          answered("is_valid:true\nis_valid:false\n"),
		"nearly valid":           answered("is_valid: true\n"),
		"valid for OpenID 1":     answered("ns:http://openid.net/signon/1.1\nis_valid:true\n"),
	}
	// The checks of the engine apply even if the provider would confirm the assertion.
	for name, w := range list {
		if w.fault == nil && w.callback != nil && w.word == word && !slices.Contains([]string{"another signature", "another user", "no state"}, name) {
			w.fault = answered("ns:" + openIDNamespace + "\nis_valid:true\n").fault
			list[name+", confirmed"] = w
		}
	}
	maps.Copy(list, brokenSteps("token", "call"))
	return list
}
