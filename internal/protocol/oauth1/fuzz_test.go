package oauth1

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// FuzzAnswer checks that an answer is refused or has one usable token and secret, and
// that no error quotes it.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{"oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=true", "oauth_token=t&oauth_token=u&oauth_token_secret=s", "oauth_token=%zz", "oauth_token=t;oauth_token_secret=s",
		"oauth_token=t%0a&oauth_token_secret=s", "a=%ff", "<html>", `{"oauth_token":"t"}`, " oauth_token=t&oauth_token_secret=s\n", "oauth_token[]=t&oauth_token_secret=s"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		a, err := ParseAnswer([]byte(body))
		if err != nil {
			if strings.Contains(body, "=") && strings.Contains(err.Error(), body) || a.Token != "" || a.Secret != "" {
				t.Fatalf("%+v beside %q", a, err)
			}
			return
		}
		values, err := url.ParseQuery(strings.TrimSpace(body))
		if err != nil || len(values["oauth_token"]) != 1 || len(values["oauth_token_secret"]) != 1 || len(values) != len(a.Fields) {
			t.Fatalf("%q gives %+v", body, a)
		}
		if !Usable(a.Token) || !Usable(a.Secret) || a.Token != values.Get("oauth_token") || a.Confirmed && values.Get("oauth_callback_confirmed") != "true" {
			t.Fatalf("%q gives %+v", body, a)
		}
	})
}

// FuzzAuthorization checks that a signature verifies only for the signed request, and
// that the header can be read in only one way.
func FuzzAuthorization(f *testing.F) {
	for _, v := range []string{"", "a", "é", "a b", "a+b", "%31", "a=b&c", "\"", "\r\n", ","} {
		f.Add("POST", "https://api.test/1/user?x="+url.QueryEscape(v), v, v, "secret")
	}
	f.Add("get", "HTTP://EXAMPLE.test:80/r%20v/X?id=123", "b5", "=%3D", "j49sk3j29djd")
	f.Fuzz(func(t *testing.T, method, address, name, v, secret string) {
		c := Credentials{ClientID: "app", ClientSecret: secret, Token: "token", TokenSecret: "ts"}
		r := Request{Method: method, URL: address, Form: url.Values{name: {v}}}
		at := time.Unix(1_700_000_000, 0)
		header, err := c.Authorization(r, "nonce", at)
		if err != nil {
			return
		}
		if strings.ContainsAny(header, "\r\n\x00") || strings.Count(header, `oauth_signature="`) != 1 || strings.Count(header, `"`) != 2*strings.Count(header, `="`) {
			t.Fatalf("header %q", header)
		}
		if again, _ := c.Authorization(r, "nonce", at); again != header {
			t.Fatalf("%q and %q", header, again)
		}
		for what, other := range map[string]func() (string, error){
			"value": func() (string, error) {
				return c.Authorization(Request{method, address, url.Values{name: {v + "x"}}, nil}, "nonce", at)
			},
			"method": func() (string, error) {
				return c.Authorization(Request{method + "X", address, r.Form, nil}, "nonce", at)
			},
			"secret": func() (string, error) {
				d := c
				d.ClientSecret += "x"
				return d.Authorization(r, "nonce", at)
			},
			"field": func() (string, error) {
				return c.Authorization(Request{method, address, url.Values{name: {v}, name + "x": {v}}, nil}, "nonce", at)
			},
		} {
			if changed, err := other(); err != nil || changed == header {
				t.Fatalf("another %s has the same signature: %q, %v", what, changed, err)
			}
		}
	})
}
