package provider_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"authsvc/internal/test/browser"
	"authsvc/provider"
)

// oldProtocols returns the providers whose protocol has no state of its own.
func oldProtocols() []string { return []string{"twitter-legacy", "steam"} }

func attemptAt(t *testing.T, id string) *attempt {
	t.Helper()
	e, ok := provider.Lookup(id)
	if !ok {
		t.Fatalf("%s is not in the table", id)
	}
	return newAttempt(t, e, firstCase(t, id))
}

// clone returns another browser with the same cookies.
func clone(t *testing.T, b *browser.Browser) *browser.Browser {
	t.Helper()
	other, err := b.Clone()
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// address sets last to the URL to which the provider would send the person, who does
// not follow it.
func (a *attempt) address() {
	a.t.Helper()
	person := a.browser
	a.browser = person.Fresh()
	a.comeBack(nil)
	a.browser = person
}

// mixed returns an answer with the state of another attempt.
func mixed(t *testing.T, answer, other string) string {
	t.Helper()
	var parts [2]*url.URL
	for i, s := range []string{answer, other} {
		var err error
		if parts[i], err = url.Parse(s); err != nil {
			t.Fatal(err)
		}
	}
	v := parts[0].Query()
	v.Set("state", parts[1].Query().Get("state"))
	return parts[0].Path + "?" + v.Encode()
}

// TestOnce checks that a callback URL is valid once, even with the earlier cookies.
func TestOnce(t *testing.T) {
	t.Parallel()
	for _, id := range oldProtocols() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			a := attemptAt(t, id)
			a.start()
			before := clone(t, a.browser)
			if word := a.comeBack(nil); word != "" || a.stored == nil {
				t.Fatalf("twin: %s\n%s", word, a.log)
			}
			a.stored = nil
			after := a.browser
			for _, b := range []*browser.Browser{before, after} {
				a.browser = b
				if word := errorOf(t, a.do(http.MethodGet, a.last, nil)); word != "OAuthCallback" || a.stored != nil {
					t.Errorf("again: %q, %v", word, a.stored)
				}
			}
			if a.called["token"] != 1 {
				t.Errorf("%d calls of the provider", a.called["token"])
			}
		})
	}
}

// TestForeignBrowser checks that one person's callback signs in no one in another
// browser, whether it has its own attempt or none.
func TestForeignBrowser(t *testing.T) {
	t.Parallel()
	for _, id := range oldProtocols() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			a := attemptAt(t, id)
			a.start()
			a.address()
			mine, back := a.browser, a.last
			a.browser = mine.Fresh()
			if word := errorOf(t, a.do(http.MethodGet, back, nil)); word != "OAuthCallback" || a.stored != nil || a.called["token"] != 0 {
				t.Errorf("without an attempt: %q, %v", word, a.stored)
			}
			a.called = map[string]int{}
			a.start() // of the other browser
			a.address()
			for name, address := range map[string]string{"of the other": back, "mixed": mixed(t, back, a.last)} {
				if word := errorOf(t, a.do(http.MethodGet, address, nil)); word != "OAuthCallback" || a.stored != nil || a.called["token"] != 0 {
					t.Errorf("with its own attempt, %s: %q, %v", name, word, a.stored)
				}
			}
			a.browser, a.called = mine, map[string]int{}
			if word := errorOf(t, a.do(http.MethodGet, back, nil)); word != "" || a.stored == nil {
				t.Errorf("twin: %q\n%s", word, a.log)
			}
		})
	}
}

// TestTwice checks that a parameter that occurs twice, even with the same value, is
// refused.
func TestTwice(t *testing.T) {
	t.Parallel()
	for id, names := range map[string][]string{
		"twitter-legacy": {"state", "oauth_token", "oauth_verifier"},
		"steam": {"state", "openid.ns", "openid.mode", "openid.op_endpoint", "openid.claimed_id", "openid.identity", "openid.return_to",
			"openid.response_nonce", "openid.assoc_handle", "openid.signed", "openid.sig"},
	} {
		for _, name := range names {
			t.Run(id+" "+name, func(t *testing.T) {
				t.Parallel()
				a := attemptAt(t, id)
				a.start()
				person := a.browser
				a.address()
				u, err := url.Parse(a.last)
				if err != nil {
					t.Fatal(err)
				}
				doubled := a.last + "&" + url.Values{name: u.Query()[name]}.Encode()
				a.browser = clone(t, person)
				if word := errorOf(t, a.do(http.MethodGet, doubled, nil)); word != "OAuthCallback" || a.stored != nil || a.called["token"] != 0 {
					t.Errorf("%q, %v", word, a.stored)
				}
				a.browser = person
				if word := errorOf(t, a.do(http.MethodGet, a.last, nil)); word != "" || a.stored == nil {
					t.Errorf("twin: %q\n%s", word, a.log)
				}
			})
		}
	}
}

// TestMethods checks that neither a POST nor a prefetch completes a sign-in.
func TestMethods(t *testing.T) {
	t.Parallel()
	for _, id := range oldProtocols() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			a := attemptAt(t, id)
			a.start()
			a.address()
			path, query, _ := strings.Cut(a.last, "?")
			v, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			if resp := a.do(http.MethodPost, path, v); resp.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("POST: %d", resp.StatusCode)
			}
			a.header = http.Header{"Sec-Purpose": {"prefetch"}}
			if resp := a.do(http.MethodGet, a.last, nil); resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("prefetch: %d", resp.StatusCode)
			}
			a.header = nil
			if a.stored != nil || a.called["token"] != 0 {
				t.Error("finished")
			}
			if word := errorOf(t, a.do(http.MethodGet, a.last, nil)); word != "" || a.stored == nil {
				t.Errorf("twin: %q\n%s", word, a.log)
			}
		})
	}
}

// TestNonce checks that an OpenID 2.0 assertion is valid for one attempt, even if the
// provider would confirm it for another.
func TestNonce(t *testing.T) {
	t.Parallel()
	a := attemptAt(t, "steam")
	a.start()
	if word := a.comeBack(nil); word != "" {
		t.Fatalf("twin: %q\n%s", word, a.log)
	}
	nonce := a.asserted[0]["openid.response_nonce"]
	for name, change := range map[string]map[string]string{"same": {"openid.response_nonce": nonce}, "another": {"openid.response_nonce": nonce + "x"}} {
		a.stored, a.called = nil, map[string]int{}
		a.start()
		a.rec.Callback = maps.Clone(a.rec.Callback)
		maps.Copy(a.rec.Callback, change)
		word := a.comeBack(nil)
		if got := word == ""; got != (name == "another") || got != (a.stored != nil) {
			t.Errorf("%s nonce: %q, %v\n%s", name, word, a.stored, a.log)
		}
	}
}

// TestTokensKept checks that OAuth 1.0a tokens are stored in the account, and that the
// secret of the temporary credentials is nowhere in plain text.
func TestTokensKept(t *testing.T) {
	t.Parallel()
	a := attemptAt(t, "twitter-legacy")
	a.start()
	u, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range a.browser.Client.Jar.Cookies(u) {
		if strings.Contains(c.Value, requestSecretGiven) || strings.Contains(c.Value, requestTokenGiven) {
			t.Errorf("cookie %s is readable", c.Name)
		}
	}
	if word := a.comeBack(nil); word != "" {
		t.Fatal(word)
	}
	accounts, err := a.service.Accounts(t.Context(), a.userID)
	if err != nil || len(accounts) != 1 {
		t.Fatalf("%v, %v", accounts, err)
	}
	if got := accounts[0]; got.AccessToken != tokenGiven || got.RefreshToken != tokenSecretGiven || got.TokenType != "oauth1" || got.Type != "oauth" {
		t.Errorf("%+v", got)
	}
}
