package verify

import (
	"encoding/json"
	"os"
	"strings"

	"authsvc"
	"authsvc/internal/protocol/oauth1"
	"authsvc/internal/test/arena"
)

// oauth1Vectors come from an independent implementation in Python: odd characters in
// names, values and secrets, repeated parameters, ports.
func oauth1Vectors(t *T) (list []struct {
	Method       string
	URL          string
	Params       [][2]string
	ClientSecret string `json:"client_secret"`
	TokenSecret  string `json:"token_secret"`
	Base         string
	Signature    string
}) {
	t.Helper()
	text, err := os.ReadFile("testdata/oauth1.json")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list) < 200 {
		t.Fatalf("%d vectors, %v", len(list), err)
	}
	return list
}

// oauth101 also tests the example of RFC 5849 §3.4.1.1.
func oauth101(t *T) {
	const example = "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"
	base, err := oauth1.BaseString("POST", "http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b", []oauth1.Param{{Name: "c2"}, {Name: "a3", Value: "2 q"},
		{Name: "oauth_consumer_key", Value: "9djdj82h48djs9d2"}, {Name: "oauth_token", Value: "kkk9d7dh3k39sjv7"}, {Name: "oauth_signature_method", Value: "HMAC-SHA1"},
		{Name: "oauth_timestamp", Value: "137131201"}, {Name: "oauth_nonce", Value: "7d8f3e4a"}})
	if err != nil || base != example {
		t.Errorf("the example of the RFC: %s, %v", base, err)
	}
	vectors := oauth1Vectors(t)
	for _, v := range vectors {
		var params []oauth1.Param
		for _, p := range v.Params {
			params = append(params, oauth1.Param{Name: p[0], Value: p[1]})
		}
		base, err := oauth1.BaseString(v.Method, v.URL, params)
		if err != nil || base != v.Base {
			t.Errorf("%s:\n%s, want\n%s, %v", v.URL, base, v.Base, err)
		}
		if got := oauth1.Signature(base, v.ClientSecret, v.TokenSecret); got != v.Signature {
			t.Errorf("%s: signature %s, want %s", v.URL, got, v.Signature)
		}
	}
	t.Figure("%d vectors", len(vectors)+1)
}

// oauth108 signs unusual values in a whole flow; the provider verifies the
// signatures.
func oauth108(t *T) {
	for name, query := range map[string]string{
		"reserved": "a=~*+-._&b=%7E%2A%2B", "blanks": "a=b%20c&d=e+f", "UTF-8": "%C3%BC=%E6%97%A5%F0%9F%98%80", "empty": "a=&b&=c",
		"twice": "z=2&z=10&z=1&a=%2B&a=b%20c", "case of escapes": "a=%2b%2B&b=%c3%bc", "nothing": "",
	} {
		w := oauth1World(t, func(o *authsvc.OAuth1) {
			address, _, _ := strings.Cut(o.UserInfoURL, "?")
			u := arena.MustURL(t, address)
			u.Host = strings.ToUpper(u.Host)
			o.UserInfoURL = u.String() + "?" + query
		})
		if a := oauth1SignIn(w, w.Browser(), "grace"); a.Location() != arena.Origin {
			t.Errorf("%s: %s\n%s", name, a.Location(), w.Logs)
		}
	}
}
