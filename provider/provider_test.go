package provider_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"authsvc/provider"
)

// TestSignIn runs a whole sign-in for every case of every provider, with an emulator
// that accepts only the requests in the recording.
func TestSignIn(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		for name, rec := range recordings(t, e.ID) {
			t.Run(e.ID+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := newAttempt(t, e, rec)
				a.start()
				word := a.comeBack(nil)
				if diff := cmp.Diff(rec.Want, a.stored); diff != "" {
					t.Errorf("user (-want +got):\n%s\n%s", diff, a.log)
				}
				if (rec.Want == nil) != (word != "") {
					t.Errorf("the page says %q", word)
				}
				a.complete()
				a.secretless()
			})
		}
	}
}

// complete checks that every call of the recording was made.
func (a *attempt) complete() {
	a.t.Helper()
	if a.rec.Want == nil {
		return
	}
	if a.rec.Token.URL != "" && a.called["token"] != 1 {
		a.t.Errorf("%d token requests", a.called["token"])
	}
	for name, c := range a.rec.Calls {
		if a.called[name] == 0 && !c.Optional {
			a.t.Errorf("%s did not come", name)
		}
	}
}

// secretless checks that the log contains no secret.
func (a *attempt) secretless() {
	a.t.Helper()
	log := a.log.String()
	secrets := append([]string{clientSecret, codeGiven, a.access, a.idToken, requestTokenGiven, requestSecretGiven, tokenSecretGiven, verifierGiven}, a.secrets...)
	for _, secret := range secrets {
		if secret != "" && strings.Contains(log, secret) {
			a.t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
}

// TestRefusals checks that, whatever goes wrong, no one is signed in, the page has the
// right error word and the log has no secret. TestSignIn covers success.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // retries wait for a while
				a := newAttempt(t, e, firstCase(t, e.ID))
				for name, w := range wrongs(e, a.rec) {
					a.again(t, firstCase(t, e.ID))
					if a.refused(w); t.Failed() {
						t.Fatalf("that was with: %s", name)
					}
				}
			})
		})
	}
}

// refused checks that no one is signed in when w goes wrong.
func (a *attempt) refused(w wrong) {
	a.t.Helper()
	if w.change != nil {
		w.change(a.rec)
	}
	a.fail = w.fault
	word := ""
	if w.begin {
		word = a.begin().Query().Get("error")
	} else {
		a.start()
		word = a.comeBack(w.callback)
	}
	if a.stored != nil {
		a.t.Errorf("signed in as %+v", *a.stored)
	}
	if word != w.word {
		a.t.Errorf("the page says %q, not %q\n%s", word, w.word, a.log)
	}
	a.secretless()
}

// firstCase returns the first case, by name, in which a person signs in.
func firstCase(t *testing.T, id string) *recording {
	t.Helper()
	all := recordings(t, id)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Want != nil {
			return all[name]
		}
	}
	t.Fatalf("%s: no case signs in", id)
	return nil
}

// A wrong is one way in which a sign-in can fail.
type wrong struct {
	fault    *fault
	callback map[string]string
	change   func(*recording)
	begin    bool // the sign-in does not reach the provider's page
	word     string
}

// wrongs returns the possible failures of a provider, by name.
func wrongs(e provider.Entry, rec *recording) map[string]wrong {
	switch rec.Protocol {
	case "oauth1":
		return wrongsOAuth1(e)
	case "openid2":
		return wrongsOpenID2(e)
	}
	const oauth = "OAuthCallback"
	list := map[string]wrong{
		"denied":      {callback: map[string]string{"code": "", "error": "access_denied"}, word: "AccessDenied"},
		"other error": {callback: map[string]string{"code": "", "error": "temporarily_unavailable"}, word: oauth},
		"no code":     {callback: withoutCode(rec), word: oauth},
		"no id":       {change: withoutID, word: oauth},
	}
	steps := []string{"token"}
	if len(rec.Calls) > 0 {
		steps = append(steps, "call")
	}
	maps.Copy(list, brokenSteps(steps...))
	list["expired code"] = wrong{word: oauth, fault: &fault{step: "token", status: http.StatusBadRequest,
		contentType: "application/json", body: `{"error": "invalid_grant", "error_description": "the code has expired"}`}}
	list["error with 200"] = wrong{word: oauth, fault: &fault{step: "token", status: http.StatusOK,
		contentType: "application/json", body: `{"error": "bad_verification_code"}`}}
	if rec.IDToken != nil {
		maps.Copy(list, wrongIDTokens(oauth))
	}
	return list
}

// brokenSteps returns the ways in which a response can be invalid.
func brokenSteps(steps ...string) map[string]wrong {
	list := map[string]wrong{}
	for _, step := range steps {
		for name, f := range map[string]fault{
			"500":           {status: http.StatusInternalServerError, contentType: "text/plain", body: "oops"},
			"429":           {status: http.StatusTooManyRequests, contentType: "application/json", body: `{"message": "slow down"}`},
			"401":           {status: http.StatusUnauthorized, contentType: "application/json", body: `{"error": "invalid_client"}`},
			"HTML":          {status: http.StatusOK, contentType: "text/html", body: "<!doctype html><title>Maintenance</title>"},
			"half JSON":     {status: http.StatusOK, contentType: "application/json", body: `{"id": 1, "access_tok`},
			"empty":         {status: http.StatusOK, contentType: "application/json"},
			"list":          {status: http.StatusOK, contentType: "application/json", body: `[]`},
			"no connection": {broken: true},
		} {
			f.step = step
			list[step+" "+name] = wrong{fault: &f, word: "OAuthCallback"}
		}
	}
	return list
}

// withoutCode empties the code, or the provider's replacement for it.
func withoutCode(rec *recording) map[string]string {
	empty := map[string]string{"code": ""}
	if code, other := rec.Callback["code"]; other && code == "" {
		for name := range rec.Callback {
			empty[name] = ""
		}
	}
	return empty
}

// withoutID empties everything that could contain the id.
func withoutID(rec *recording) {
	for _, c := range rec.Calls {
		c.Answer, c.JWT = []byte(`{}`), nil
	}
	delete(rec.IDToken, "sub")
	if claims, ok := rec.AccessToken.(map[string]any); ok {
		delete(claims, "sub")
	}
}

func wrongIDTokens(word string) map[string]wrong {
	claim := func(name string, v any) wrong {
		return wrong{word: word, change: func(rec *recording) { rec.IDToken[name] = v }}
	}
	return map[string]wrong{
		"foreign issuer":   claim("iss", "https://evil.example"),
		"foreign audience": claim("aud", "somebody-else"),
		"expired ID token": claim("exp", "now-3600"),
		"forged ID token":  {word: word, change: func(rec *recording) { rec.Forged = true }},
		"iss parameter":    {word: word, callback: map[string]string{"iss": "https://evil.example"}},
	}
}
