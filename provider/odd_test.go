package provider_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/provider"
)

// TestReasons checks that recordings without a sign-in are refused for the intended
// reason, which is in the log.
func TestReasons(t *testing.T) {
	t.Parallel()
	for id, cases := range map[string]map[string]string{
		"deezer": {"denied": "deezer: authsvc: access denied", "wrong code": "not valid JSON"},
		"dingtalk": {
			"with a malformed authCode": "dingtalk: the code is missing or malformed",
			"the id of one app only":    "no usable id", "token error with 200": "access_token is missing",
		},
		"lark": {
			"token error with 200": "lark: the answer has code 20003", "token answer without code": "lark: the answer has no known code",
			"profile error with 200": "lark: the answer has code 20005",
		},
		"lastfm": {
			"the profile of another user": "lastfm: the profile does not match the session",
			"a session without a user":    "lastfm: the session names no user",
			"malformed token":             "lastfm: the token is missing or malformed", "no session key": "access_token is missing",
		},
		"naver": {"another result": "naver: the answer has resultcode 024", "no result": "naver: the answer has no known resultcode"},
		"vk": {
			"without device_id":                 "vk: device_id is missing",
			"another state in the token answer": "vk: the token answer has another state",
			"the profile of another user":       "vk: the profile does not match the token",
		},
		"wechat": {
			"the profile of another user": "wechat: the profile does not match the token", "token answer without openid": "no openid",
			"token error with 200": "wechat: the answer has errcode 40029", "profile error with 200": "wechat: the answer has errcode 40003",
		},
		"wecom": {
			"not of the company": "wecom: the person is not a member of the company", "another member": "wecom: the directory returns another member",
			"token error with 200": "wecom: the answer has errcode 40001", "code error with 200": "wecom: the answer has errcode 40029",
			"no errcode": "wecom: the answer has no known errcode",
		},
	} {
		all := recordings(t, id)
		for name, reason := range cases {
			t.Run(id+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := newAttempt(t, entry(t, id), all[name])
				a.start()
				if word := a.comeBack(nil); word == "" || a.stored != nil || !strings.Contains(a.log.String(), reason) {
					t.Errorf("%q, %+v; the log does not say %q:\n%s", word, a.stored, reason, a.log)
				}
			})
		}
	}
}

func entry(t *testing.T, id string) provider.Entry {
	t.Helper()
	e, ok := provider.Lookup(id)
	if !ok {
		t.Fatalf("no provider %s", id)
	}
	return e
}

// TestDenied checks that people who refuse consent, or are not permitted, are told so.
func TestDenied(t *testing.T) {
	t.Parallel()
	for id, name := range map[string]string{"deezer": "denied", "wecom": "not of the company"} {
		a := newAttempt(t, entry(t, id), recordings(t, id)[name])
		a.start()
		if word := a.comeBack(nil); word != "AccessDenied" {
			t.Errorf("%s: the page says %q", id, word)
		}
	}
}

// TestDeniedErrors checks that a provider's own words for "the person said no" are
// understood, but only for that provider.
func TestDeniedErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ id, word, page string }{
		{"apple", "user_cancelled_authorize", "AccessDenied"},
		{"linkedin", "user_cancelled_authorize", "AccessDenied"}, {"linkedin", "user_cancelled_login", "AccessDenied"},
		{"linkedin", "access_denied", "AccessDenied"}, {"linkedin", "unauthorized_scope_error", "OAuthCallback"},
		{"apple", "user_cancelled_login", "OAuthCallback"}, {"github", "user_cancelled_authorize", "OAuthCallback"},
	} {
		a := newAttempt(t, entry(t, tt.id), firstCase(t, tt.id))
		a.start()
		if page := a.comeBack(map[string]string{"code": "", "error": tt.word}); page != tt.page || a.stored != nil {
			t.Errorf("%s, %s: the page says %q", tt.id, tt.word, page)
		}
	}
}

// TestLastFMState checks that a token without the state of this browser is not
// redeemed. Such a token could sign another person in.
func TestLastFMState(t *testing.T) {
	t.Parallel()
	const token = "token=L8RHa5R4_pW5R0p-1842ada"
	for name, tt := range map[string]struct {
		query func(state string) string
		ok    bool
	}{
		"of this browser": {func(state string) string { return token + "&state=" + state }, true},
		"none":            {func(string) string { return token }, false},
		"empty":           {func(string) string { return token + "&state=" }, false},
		"foreign":         {func(string) string { return token + "&state=qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4" }, false},
		"twice":           {func(state string) string { return token + "&state=" + state + "&state=" + state }, false},
		"two tokens":      {func(state string) string { return token + "&token=other&state=" + state }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAttempt(t, entry(t, "lastfm"), recordings(t, "lastfm")["user"])
			a.start()
			back, err := url.Parse(a.asked.Get("cb"))
			if err != nil || len(back.Query()) != 1 || back.Query().Get("state") == "" {
				t.Fatalf("cb is %q: %v", a.asked.Get("cb"), err)
			}
			word := errorOf(t, a.do(http.MethodGet, back.Path+"?"+tt.query(back.Query().Get("state")), nil))
			if signedIn := a.stored != nil; signedIn != tt.ok || signedIn != (word == "") || signedIn != (a.called["token"] == 1) {
				t.Errorf("signed in %v, page %q, %d token requests\n%s", signedIn, word, a.called["token"], a.log)
			}
		})
	}
}

// TestWeComKeepsNoToken checks that the access token, which opens the company's
// directory, is not stored as if it belonged to the person.
func TestWeComKeepsNoToken(t *testing.T) {
	t.Parallel()
	for id, kept := range map[string]bool{"wecom": false, "wechat": true} {
		a := newAttempt(t, entry(t, id), recordings(t, id)["user"])
		a.start()
		if word := a.comeBack(nil); word != "" || (a.kept == tokenGiven) != kept {
			t.Errorf("%s: page %q; kept is %q", id, word, a.kept)
		}
	}
}

// TestWrongOptions checks that an invalid option is named, with the fix and without the
// value, and that a valid one is accepted.
func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ id, key, good, bad string }{
		{"lark", "domain", "feishu.cn", "evil.example"}, {"lark", "domain", "larksuite.com", "larksuite.com.evil.example"}, {"lark", "domain", "", "feishu.cn/"},
		{"wechat", "platform", "website", "app"}, {"wechat", "platform", "official_account", "OfficialAccount"}, {"wecom", "agent_id", "1000002", "1000002&appid=x"},
	} {
		client := authsvc.Client{ID: "client", Secret: "secret"}
		if _, err := entry(t, tt.id).New(client, map[string]string{tt.key: tt.good}); err != nil {
			t.Errorf("%s: %v", tt.id, err)
		}
		_, err := entry(t, tt.id).New(client, map[string]string{tt.key: tt.bad})
		var wrong *provider.OptionError
		if !errors.As(err, &wrong) || wrong.Key != tt.key || wrong.Fix == "" || strings.Contains(err.Error(), tt.bad) {
			t.Errorf("%s: %s %q: %v", tt.id, tt.key, tt.bad, err)
		}
	}
}
