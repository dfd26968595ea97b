package authsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestOddRequests: each data field in the request that it is about.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tune  func(*authsvc.OAuth)
		where string
		want  func(r *http.Request) bool
	}{
		"token params": {func(p *authsvc.OAuth) { p.TokenParams = map[string]string{"audience": "api"} }, "odd.test/token",
			func(r *http.Request) bool {
				return r.Form.Get("audience") == "api" && r.Form.Get("code") == "the-code" && r.Form.Get("code_verifier") != ""
			}},
		"client id": {func(p *authsvc.OAuth) { p.ClientIDParam, p.AuthMethod = "client_key", "client_secret_post" }, "odd.test/token",
			func(r *http.Request) bool {
				return r.Form.Get("client_key") == "odd-client" && !r.Form.Has("client_id") && r.Form.Get("client_secret") == arena.ClientSecret
			}},
		"header": {func(p *authsvc.OAuth) { p.Headers = map[string]string{"Client-Id": "<{client_id}>"} }, "odd.test/token",
			func(r *http.Request) bool { return r.Header.Get("Client-Id") == "<odd-client>" }},
		"userinfo header": {func(p *authsvc.OAuth) {
			p.Headers, p.UserInfo.Headers = map[string]string{"V": "1"}, map[string]string{"Client-Id": "{client_id}"}
		},
			"api.odd.test/me", func(r *http.Request) bool {
				return r.Header.Get("Client-Id") == "odd-client" && r.Header.Get("V") == "1" && r.Header.Get("Authorization") == "Bearer the-token"
			}},
		"query": {func(p *authsvc.OAuth) {
			p.UserInfo.Auth, p.Endpoints.UserInfo = "query:oauth_token", "https://api.odd.test/me?v=2"
		}, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.URL.RawQuery == "oauth_token=the-token&v=2" && r.Header.Get("Authorization") == ""
			}},
		"bare header": {func(p *authsvc.OAuth) { p.UserInfo.Auth = "header:x-access-token" }, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.Header.Get("X-Access-Token") == "the-token" && r.Header.Get("Authorization") == ""
			}},
		"scheme": {func(p *authsvc.OAuth) { p.UserInfo.Auth = "header:Authorization OAuth" }, "api.odd.test/me",
			func(r *http.Request) bool { return r.Header.Get("Authorization") == "OAuth the-token" }},
		"post json": {func(p *authsvc.OAuth) { p.UserInfo.Method, p.UserInfo.Body = "POST", `{"query":"{me{id}}"}` }, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.Method == "POST" && r.Header.Get("Content-Type") == "application/json" && r.PostForm.Get("raw") == `{"query":"{me{id}}"}`
			}},
		"post form": {func(p *authsvc.OAuth) { p.UserInfo.Method, p.UserInfo.Body = "POST", "a=b" }, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" && r.Form.Get("a") == "b"
			}},
		"post nothing": {func(p *authsvc.OAuth) { p.UserInfo.Method = "POST" }, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.Method == "POST" && r.ContentLength == 0 && r.Header.Get("Content-Type") == ""
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOdd(nil)
			w := startOdd(t, o, tt.tune)
			if oddUser(w) == nil {
				t.Fatalf("%s", w.Logs)
			}
			if r := o.request(tt.where); r == nil || !tt.want(r) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestOddExchange: a provider that takes JSON, answers in a shape of its own and
// keeps the id in the token answer.
func TestOddExchange(t *testing.T) {
	t.Parallel()
	o := newOdd(map[string]string{
		"odd.test/gettoken":   `{"code":0,"data":{"accessToken":"odd-token","openid":9007199254740993,"expires":60}}`,
		"api.odd.test/emails": `[{"email":"old@odd.test","primary":false},{"email":"ada@odd.test","primary":true,"verified":"true"}]`,
	})
	w := startOdd(t, o, func(p *authsvc.OAuth) {
		p.Fields = authsvc.Fields{ID: "token.openid", Email: "emails[primary=true].email", EmailVerified: "emails[primary=true].verified"}
		p.VerifiedText = true
		p.Hooks.ExchangeCode = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			v, err := x.Do(ctx, authsvc.APIRequest{URL: "https://odd.test/gettoken", JSON: map[string]string{"code": x.Code, "secret": x.Client.Secret, "verifier": x.Verifier},
				Header: map[string]string{"Authorization": "Basic eA=="}})
			answer, _ := v.(map[string]any)
			return answer, err
		}
		p.Hooks.ConformTokens = func(a authsvc.Profile) (authsvc.Profile, error) {
			if a.Text("code") != "0" {
				return nil, errors.New("the provider answered with code " + a.Text("code"))
			}
			return authsvc.Profile{"access_token": a.Text("data.accessToken"), "token_type": "bearer", "expires_in": a.Text("data.expires"),
				"openid": a.Text("data.openid")}, nil
		}
		p.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			profile, err := x.UserInfo(ctx)
			if err != nil {
				return nil, err
			}
			profile["emails"], err = x.Get(ctx, "https://api.odd.test/emails")
			return profile, err
		}
	})
	b := w.Browser()
	signInOdd(w, b)
	if b.Email() != "ada@odd.test" {
		t.Fatalf("%v %s", b.Session(), w.Logs)
	}
	u, err := w.Store.GetUserByAccount(t.Context(), "odd", "9007199254740993")
	if err != nil || u.Name != "Ada" || u.EmailVerified.IsZero() {
		t.Errorf("%+v, %v", u, err)
	}
	accounts, err := w.Accounts(t.Context(), u.ID)
	if err != nil || len(accounts) != 1 || accounts[0].AccessToken != "odd-token" || accounts[0].ExpiresAt == 0 {
		t.Errorf("%+v, %v", accounts, err)
	}
	var sent map[string]string
	r := o.request("odd.test/gettoken")
	if err := json.Unmarshal([]byte(r.PostForm.Get("raw")), &sent); err != nil || sent["code"] != "the-code" || sent["secret"] != arena.ClientSecret || sent["verifier"] == "" ||
		r.Header.Get("Authorization") != "Basic eA==" {
		t.Errorf("%v %v", sent, r.Header)
	}
	if got := o.request("api.odd.test/emails").Header.Get("Authorization"); got != "Bearer odd-token" {
		t.Error(got)
	}
	o.answers["odd.test/gettoken"] = `{"code":40029}`
	if oddUser(w) != nil || !strings.Contains(w.Logs.String(), "code 40029") {
		t.Errorf("an error with status 200 is accepted: %s", w.Logs)
	}
}

// TestVerifiedText: texts count where that is said only, and only these two.
func TestVerifiedText(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][2]bool{
		`true`: {true, true}, `"true"`: {false, true}, `"1"`: {false, true}, `1`: {false, false}, `"yes"`: {false, false}, `"TRUE"`: {false, false},
		`false`: {false, false}, `null`: {false, false}, `[true]`: {false, false},
	} {
		for i, text := range []bool{false, true} {
			o := newOdd(map[string]string{"api.odd.test/me": `{"id":7,"email":"ada@odd.test","email_verified":` + value + `}`})
			w := startOdd(t, o, func(p *authsvc.OAuth) { p.VerifiedText = text })
			oddUser(w)
			u, err := w.Store.GetUserByAccount(t.Context(), "odd", "7")
			if err != nil || u.EmailVerified.IsZero() == want[i] {
				t.Errorf("%s, VerifiedText %v: %v %v", value, text, u.EmailVerified, err)
			}
		}
	}
}

// TestMintedSecret: a secret is made once for many sign-ins, and anew before it
// expires; a failure is tried again by the next.
func TestMintedSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		var broken atomic.Bool
		o := newOdd(nil)
		p := oddClient(func(p *authsvc.OAuth) {
			p.Client.Secret, p.AuthMethod = "", "client_secret_post"
			p.Hooks.ClientSecret = func(c authsvc.Client, now time.Time) (string, time.Time, error) {
				time.Sleep(time.Second) // others come meanwhile
				if broken.Load() {
					return "", time.Time{}, errors.New("no key")
				}
				return fmt.Sprint(c.ID, "-", made.Add(1)), now.Add(time.Hour), nil
			}
		})
		w := &arena.World{T: t, Logs: &arena.LogBuffer{}}
		w.Config = oddConfig(o, p, w.Logs)
		var err error
		if w.Service, err = authsvc.New(w.Config); err != nil {
			t.Fatal(err)
		}
		defer w.Close(context.Background())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if oddUser(w) == nil {
					t.Error("refused")
				}
			})
		}
		all.Wait()
		secret := func() string { return o.request("odd.test/token").Form.Get("client_secret") }
		if made.Load() != 1 || secret() != "odd-client-1" {
			t.Errorf("%d made, %q used", made.Load(), secret())
		}
		time.Sleep(54 * time.Minute)
		if oddUser(w); made.Load() != 1 {
			t.Error("made anew while good")
		}
		time.Sleep(90 * time.Second) // under five minutes are left
		if oddUser(w); secret() != "odd-client-2" {
			t.Errorf("%q is used shortly before it expires", secret())
		}
		time.Sleep(2 * time.Hour)
		broken.Store(true)
		if oddUser(w) != nil {
			t.Error("signed in without a secret")
		}
		broken.Store(false)
		if oddUser(w) == nil || secret() != "odd-client-3" {
			t.Errorf("%q after a failure", secret())
		}
	})
}

// TestMintedSecretRefused: what cannot be a secret is none.
func TestMintedSecretRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		secret  string
		expires time.Duration
		ok      bool
	}{
		"good": {"s", time.Hour, true}, "for one use": {"s", 0, true}, "empty": {"", time.Hour, false}, "expired": {"s", -time.Second, false}, "lines": {"a\r\nb", time.Hour, false},
	} {
		w := startOdd(t, newOdd(nil), func(p *authsvc.OAuth) {
			p.Client.Secret = ""
			p.Hooks.ClientSecret = func(_ authsvc.Client, now time.Time) (string, time.Time, error) {
				if tt.expires == 0 {
					return tt.secret, time.Time{}, nil
				}
				return tt.secret, now.Add(tt.expires), nil
			}
		})
		if got := oddUser(w) != nil; got != tt.ok {
			t.Errorf("%s: signed in %v", name, got)
		}
	}
}

func TestFieldPaths(t *testing.T) {
	t.Parallel()
	var p authsvc.Profile
	dec := json.NewDecoder(strings.NewReader(`{
		"id": 9007199254740993, "zero": 0, "big": 1e30, "yes": true, "empty": "", "null": null, "first": "Ada", "last": "Lovelace",
		"https://x.example/uid": "u", "cognito:username": "c", "display-name": "d", "a\"b": "q",
		"user": {"emails": [{"value": "a@x"}, {"value": "b@x"}], "0": "zero"},
		"emails": [{"email": "1@x", "primary": false, "n": 1, "kind": "work"}, "odd", {"email": "2@x", "primary": true, "n": "2", "kind": "home"}, {"email": "3@x", "primary": true, "verified": true, "n": 2}],
		"token": {"x": "in the profile"}}`))
	dec.UseNumber()
	if err := dec.Decode(&p); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	want := map[string]string{
		"id": "9007199254740993", "zero": "0", "big": "", "yes": "", "null": "", "empty|first": "Ada", "nobody | first": "Ada", "emails": "", "user": "",
		`"https://x.example/uid"`: "u", "cognito:username": "c", "display-name": "d", `"a\"b"`: "q",
		"user.emails[1].value": "b@x", "user.emails.1.value": "b@x", "user.emails[2].value": "", "user.0": "zero", "user[0]": "", "first.x": "", "first[0]": "",
		"emails[primary=true].email": "2@x", "emails[primary=false].email": "1@x", "emails[primary=true&verified=true].email": "3@x",
		"emails[n=2].email": "3@x", `emails[n="2"].email`: "2@x", "emails[n=1].email": "1@x", "emails[kind=home].email": "2@x", `emails[kind="work"].email`: "1@x",
		`emails[primary="true"].email`: "", "emails[kind=none].email": "", "user[primary=true].email": "", "emails[absent=false].email": "",
		"{first} {last}": "Ada Lovelace", "{first} {empty} {last}": "Ada Lovelace", "{empty} {last}": "Lovelace", "{empty} {null}": "", "{empty} {null}|first": "Ada",
		"https://x.example/{id}/{first}.png": "https://x.example/9007199254740993/Ada.png", "https://x.example/{id}/{empty}.png": "", "https://x.example/{id}/{empty|first}.png": "https://x.example/9007199254740993/Ada.png",
		"{user.emails[0].value}": "a@x", `"token".x`: "in the profile", "token.x": "",
		// No paths at all.
		"": "", ".": "", "a..b": "", "a.": "", "[0]": "", "a[": "", "a[-1]": "", "a[01]": "", "a[x]": "", "a[x=]": "", "a[=x]": "", "a]": "", "{": "", "}": "", "{}": "", "{first}}": "", "{{first}}": "",
		`"first`: "", `""`: "", "first|": "", "|first": "", "a b": "", "https://x.example/uid": "", "first x": "", strings.Repeat("a", 2000): "", strings.Repeat("a.", 40) + "a": "",
	}
	for path := range want {
		got[path] = p.Text(path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzFieldPath: no path and no profile panics, and alternatives are of one kind.
func FuzzFieldPath(f *testing.F) {
	for _, path := range []string{"sub", "a.b[0].c", "list[primary=true&n=1].email", `"https://x/y"|token.id`, "{a} {b|c}", `{"a\\"[x="y"]}`, "https://x/{id}.png"} {
		f.Add(path, `{"sub":1,"a":{"b":[{"c":"d"}]},"list":[{"primary":true,"n":1,"email":"e"}]}`)
	}
	f.Fuzz(func(t *testing.T, path, profile string) {
		var p authsvc.Profile
		dec := json.NewDecoder(strings.NewReader(profile))
		dec.UseNumber()
		if dec.Decode(&p) != nil {
			p = nil
		}
		text := p.Text(path)
		if text != "" && p.Text(path+"|"+path) != text {
			t.Errorf("%q: %q, and with itself as alternative %q", path, text, p.Text(path+"|"+path))
		}
	})
}
