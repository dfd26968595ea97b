package oauth1

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestSignature checks the examples of RFC 5849 §1.2 and the one that Twitter
// documents.
func TestSignature(t *testing.T) {
	t.Parallel()
	const photos, clientSecret = "dpf43f3p2l4k3l03", "kd94hf93k423kf44"
	for name, c := range map[string]struct {
		method, url  string
		params       []Param
		secret, with string
		want         string
	}{
		"temporary credentials": {"POST", "https://photos.example.net/initiate", []Param{{"oauth_consumer_key", photos},
			{"oauth_signature_method", "HMAC-SHA1"}, {"oauth_timestamp", "137131200"}, {"oauth_nonce", "wIjqoS"},
			{"oauth_callback", "http://printer.example.com/ready"}}, clientSecret, "", "74KNZJeDHnMBp0EMJ9ZHt/XKycU="},
		"token credentials": {"POST", "https://photos.example.net/token", []Param{{"oauth_consumer_key", photos},
			{"oauth_token", "hh5s93j4hdidpola"}, {"oauth_signature_method", "HMAC-SHA1"}, {"oauth_timestamp", "137131201"},
			{"oauth_nonce", "walatlh"}, {"oauth_verifier", "hfdp7dh39dks9884"}}, clientSecret, "hdhd0244k9j7ao03", "gKgrFCywp7rO0OXSjdot/IHF7IU="},
		"resource": {"GET", "http://photos.example.net/photos?file=vacation.jpg&size=original", []Param{{"oauth_consumer_key", photos},
			{"oauth_token", "nnch734d00sl2jdk"}, {"oauth_signature_method", "HMAC-SHA1"}, {"oauth_timestamp", "137131202"},
			{"oauth_nonce", "chapoH"}}, clientSecret, "pfkkdhi9sl3r4s00", "MdpQcU8iPSUjWoN/UDMsK2sui9I="},
		"twitter": {"POST", "https://api.twitter.com/1.1/statuses/update.json?include_entities=true", []Param{
			{"oauth_consumer_key", "xvz1evFS4wEEPTGEFPHBog"}, {"oauth_nonce", "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg"},
			{"oauth_signature_method", "HMAC-SHA1"}, {"oauth_timestamp", "1318622958"},
			{"oauth_token", "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb"}, {"oauth_version", "1.0"},
			{"status", "Hello Ladies + Gentlemen, a signed OAuth request!"}},
			"kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw", "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE", "hCtSmYh+iHYCEqBWrE7C7hYmtUk="},
	} {
		base, err := BaseString(c.method, c.url, c.params)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := Signature(base, c.secret, c.with); got != c.want {
			t.Errorf("%s: signature %s, not %s; base string\n%s", name, got, c.want, base)
		}
	}
}

// TestBaseString checks the example of RFC 5849 §3.4.1.1, and addresses of §3.4.1.2.
func TestBaseString(t *testing.T) {
	t.Parallel()
	form, err := url.ParseQuery("c2&a3=2+q")
	if err != nil {
		t.Fatal(err)
	}
	got, err := BaseString("post", "http://example.com/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b", append(Params(form),
		Param{"oauth_consumer_key", "9djdj82h48djs9d2"}, Param{"oauth_token", "kkk9d7dh3k39sjv7"},
		Param{"oauth_signature_method", "HMAC-SHA1"}, Param{"oauth_timestamp", "137131201"}, Param{"oauth_nonce", "7d8f3e4a"}))
	const want = "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26" +
		"oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26" +
		"oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"
	if err != nil || got != want {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	for address, want := range map[string]string{
		"http://EXAMPLE.COM:80/r%20v/X?id=123": "http://example.com/r%20v/X",
		"https://www.example.net:8080/?q=1":    "https://www.example.net:8080/",
		"https://example.net:443":              "https://example.net/",
		"http://example.net:443/x":             "http://example.net:443/x",
		"HTTPS://example.net/a%2Fb":            "https://example.net/a%2Fb",
		"ftp://example.net/":                   "",
		"/relative":                            "",
		"https://user@example.net/":            "",
		"https://example.net/?a=%zz":           "",
		"https://example.net/?a=1;b=2":         "",
	} {
		base, err := BaseString("GET", address, nil)
		if (want == "") != (err != nil) {
			t.Errorf("%s: %v", address, err)
		}
		if want != "" && !strings.HasPrefix(base, "GET&"+Escape(want)+"&") {
			t.Errorf("%s: %s", address, base)
		}
	}
}

// TestAuthorization checks that the header has every protocol parameter once, and that
// the signature changes with everything that it covers.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	c := Credentials{"key", "secret", "token", "token secret"}
	r := Request{Method: "POST", URL: "https://api.example/x?a=1", Form: url.Values{"b": {"2"}}, Protocol: map[string]string{"oauth_verifier": `v"1`}}
	at := time.Unix(1318622958, 0)
	header := func(c Credentials, r Request, nonce string, at time.Time) string {
		h, err := c.Authorization(r, nonce, at)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	plain := header(c, r, "n", at)
	want := `OAuth oauth_consumer_key="key", oauth_nonce="n", oauth_signature="`
	if !strings.HasPrefix(plain, want) || !strings.HasSuffix(plain, `", oauth_signature_method="HMAC-SHA1", oauth_timestamp="1318622958", oauth_token="token", oauth_verifier="v%221", oauth_version="1.0"`) {
		t.Errorf("%s", plain)
	}
	if again := header(c, r, "n", at); again != plain {
		t.Errorf("not the same twice: %s", again)
	}
	signature := func(h string) string { return h[len(want) : len(want)+20] }
	other := map[string]string{}
	change := func(name string, c Credentials, r Request, nonce string, at time.Time) {
		other[name] = signature(header(c, r, nonce, at))
	}
	c2 := c
	c2.ClientSecret = "x"
	change("client secret", c2, r, "n", at)
	c2 = c
	c2.TokenSecret = "x"
	change("token secret", c2, r, "n", at)
	c2 = c
	c2.Token = "tokem"
	change("token", c2, r, "n", at)
	r2 := r
	r2.Method = "GET"
	change("method", c, r2, "n", at)
	r2 = r
	r2.URL = "https://api.example/x?a=2"
	change("query", c, r2, "n", at)
	r2 = r
	r2.Form = url.Values{"b": {"3"}}
	change("form", c, r2, "n", at)
	change("nonce", c, r, "m", at)
	change("time", c, r, "n", at.Add(time.Second))
	for name, s := range other {
		if s == signature(plain) {
			t.Errorf("the signature does not cover the %s", name)
		}
	}
	if _, err := c.Authorization(Request{Method: "GET", URL: "nowhere"}, "n", at); err == nil {
		t.Error("an address without host is signed")
	}
}

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	a, err := ParseAnswer([]byte("oauth_token=t%2B1&oauth_token_secret=s&oauth_callback_confirmed=true&user_id=38895958\n"))
	if err != nil || a.Token != "t+1" || a.Secret != "s" || !a.Confirmed || a.Fields["user_id"] != "38895958" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = ParseAnswer([]byte("oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=TRUE")); err != nil || a.Confirmed {
		t.Errorf("%+v, %v", a, err)
	}
	for name, body := range map[string]string{
		"empty": "", "JSON": `{"oauth_token":"t","oauth_token_secret":"s"}`, "HTML": "<html>", "no secret": "oauth_token=t", "no token": "oauth_token_secret=s",
		"token twice": "oauth_token=t&oauth_token=u&oauth_token_secret=s", "other twice": "oauth_token=t&oauth_token_secret=s&a=1&a=1",
		"bad escape": "oauth_token=%zz&oauth_token_secret=s", "semicolon": "oauth_token=t;oauth_token_secret=s", "line break": "oauth_token=t%0a&oauth_token_secret=s",
		"not UTF-8": "oauth_token=t&oauth_token_secret=s&a=%ff", "long": "oauth_token_secret=s&oauth_token=" + strings.Repeat("t", 513),
	} {
		if a, err := ParseAnswer([]byte(body)); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// FuzzNormalise checks that normalisation loses nothing, does not depend on the order
// of its input, and produces only characters that need no further encoding.
func FuzzNormalise(f *testing.F) {
	for _, seed := range [][4]string{{"a", "1", "b", "2"}, {"a", "2", "a", "1"}, {"", "", "", ""}, {"a=", "&", "a", "=&"}, {"é", "\x00", "+", " "}, {"a", "%31", "a%", "~"}} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2 string) {
		got := Normalise([]Param{{n1, v1}, {n2, v2}})
		if other := Normalise([]Param{{n2, v2}, {n1, v1}}); other != got {
			t.Fatalf("%q and %q", got, other)
		}
		if strings.Count(got, "&") != 1 || strings.Count(got, "=") != 2 || !utf8.ValidString(got) || strings.ContainsAny(got, "+ \"\r\n") {
			t.Fatalf("%q", got)
		}
		back, err := url.ParseQuery(got)
		if err != nil {
			t.Fatal(err)
		}
		want := url.Values{}
		want.Add(n1, v1)
		want.Add(n2, v2)
		if len(back) != len(want) {
			t.Fatalf("%q became %q", want, back)
		}
		for _, p := range Params(want) {
			if !slices.Contains(back[p.Name], p.Value) {
				t.Fatalf("%q became %q", want, back)
			}
		}
	})
}
