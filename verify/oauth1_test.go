package verify

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var oauth1Checks = checks{
	"01": {title: "signature errors", once: true, run: oauth101},
	"02": {title: "downgrade to 1.0", run: oauth102},
	"03": {title: "no verifier", run: oauth103},
	"04": {title: "request-token fixation", run: oauth104},
	"05": {title: "callback replay", run: oauth105},
	"06": {title: "token-secret exposure", run: oauth106},
	"07": {title: "nonce and timestamp", once: true, run: oauth107},
	"08": {title: "encoding edges", once: true, run: oauth108},
	"09": {title: "method downgrade", once: true, run: oauth109},
	"10": {title: "hostile response", run: oauth110},
	"11": {title: "the person denies access", run: oauth111},
}

// oauth1World has a provider "old" with OAuth 1.0a.
func oauth1World(t *T, tune func(*authsvc.OAuth1)) *arena.World {
	t.Helper()
	return t.Enter(func(c *authsvc.Config) {
		op := c.Providers[0].(*authsvc.OAuth)
		o := &authsvc.OAuth1{ID: "old", Name: "Old", Client: op.Client,
			RequestTokenURL: op.Issuer + "/oauth1/initiate", AuthorizationURL: op.Issuer + "/oauth1/authorize",
			AccessTokenURL: op.Issuer + "/oauth1/token", UserInfoURL: op.Issuer + "/oauth1/user?a=b%20c&a=%2B",
			Fields: authsvc.Fields{ID: "token.user_id"}}
		if tune != nil {
			tune(o)
		}
		c.Providers = append(c.Providers, o)
	})
}

// oauth1SignIn runs the flow as the person sub.
func oauth1SignIn(w *arena.World, b *arena.Browser, sub string) *browser.Answer {
	return b.Get(b.Approve(w.OP, b.Begin("old"), sub))
}

// oauth1Cells changes the callback in each way. No changed callback may reach the
// provider.
func oauth1Cells(t *T, w *arena.World, cells map[string]func(q url.Values)) {
	t.Helper()
	for name, change := range cells {
		b := w.Browser()
		back := b.Approve(w.OP, b.Begin("old"), "grace")
		before := w.OP.Calls(idp.EndpointOAuth1Token)
		a := w.MustRefuse(t, func() *browser.Answer { return b.Get(query(t, back, change)) })
		if b.Email() != "" || w.OP.Calls(idp.EndpointOAuth1Token) != before || !strings.Contains(a.Location(), "error=OAuthCallback") {
			t.Errorf("%s: as %q, at %s", name, b.Email(), a.Location())
		}
	}
	if b := w.Browser(); oauth1SignIn(w, b, "grace").Location() != arena.Origin || b.Email() != "grace@example.com" {
		t.Errorf("twin: %q", b.Email())
	}
	t.Figure("%d callbacks", len(cells))
}

func oauth102(t *T) {
	w := oauth1World(t, nil)
	for name, body := range map[string]string{
		"missing": "oauth_token=t&oauth_token_secret=s", "false": "oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=false",
		"empty": "oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=", "upper case": "oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=TRUE",
		"twice": "oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=true&oauth_callback_confirmed=false",
	} {
		w.OP.SetFault(oauth1Says(idp.EndpointOAuth1Initiate, body))
		b := w.Browser()
		a := w.MustRefuse(t, func() *browser.Answer { return b.Post("/api/auth/signin/old") })
		if !strings.Contains(a.Location(), "error=OAuthSignin") {
			t.Errorf("%s: %s", name, a.Location())
		}
	}
	w.OP.SetFault(idp.Fault{})
	if b := w.Browser(); oauth1SignIn(w, b, "grace").Location() != arena.Origin {
		t.Error("twin: no sign-in")
	}
}

// oauth1Says makes an endpoint answer with body instead of the provider's answer.
func oauth1Says(e idp.Endpoint, body string) idp.Fault {
	return idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{e: func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/x-www-form-urlencoded")
		w.Write([]byte(body))
		return true
	}}}
}

func oauth103(t *T) {
	oauth1Cells(t, oauth1World(t, nil), map[string]func(q url.Values){
		"no verifier":    func(q url.Values) { q.Del("oauth_verifier") },
		"empty verifier": func(q url.Values) { q.Set("oauth_verifier", "") },
		"verifier twice": func(q url.Values) { q.Add("oauth_verifier", "x") },
		"verifier CRLF":  func(q url.Values) { q.Set("oauth_verifier", "x\r\nX: y") },
		"verifier 64 KB": func(q url.Values) { q.Set("oauth_verifier", strings.Repeat("v", 64<<10)) },
	})
}

func oauth104(t *T) {
	w := oauth1World(t, nil)
	attacker := w.Browser()
	elsewhere := arena.MustURL(t, attacker.Approve(w.OP, attacker.Begin("old"), "ada")).Query()
	oauth1Cells(t, w, map[string]func(q url.Values){
		"no state": func(q url.Values) { q.Del("state") }, "state twice": func(q url.Values) { q.Add("state", q.Get("state")) },
		"state of other browser": func(q url.Values) { q.Set("state", elsewhere.Get("state")) },
		"flipped state":          func(q url.Values) { q.Set("state", flip(q.Get("state"), 0)) },
		"no token":               func(q url.Values) { q.Del("oauth_token") },
		"token twice":            func(q url.Values) { q.Add("oauth_token", q.Get("oauth_token")) },
		"token of other browser": func(q url.Values) {
			q.Set("oauth_token", elsewhere.Get("oauth_token"))
			q.Set("oauth_verifier", elsewhere.Get("oauth_verifier"))
		},
		"denied elsewhere": func(q url.Values) { q.Set("denied", elsewhere.Get("oauth_token")) },
		"denied as well":   func(q url.Values) { q.Set("denied", q.Get("oauth_token")) },
	})
	victim := w.Browser()
	victim.SignIn(w.OP, "grace")
	w.NoEffect(t, victim, func() *browser.Answer { return victim.Get("/api/auth/callback/old?" + elsewhere.Encode()) })
	b := w.Browser()
	back := b.Approve(w.OP, b.Begin("old"), "alan")
	w.MustRefuse(t, func() *browser.Answer { return b.Get(strings.Replace(back, "/callback/old", "/callback/op", 1)) })
	state := arena.MustURL(t, b.Begin("op")).Query().Get("state")
	w.MustRefuse(t, func() *browser.Answer { return b.Get(query(t, back, func(q url.Values) { q.Set("state", state) })) })
}

func oauth105(t *T) {
	w := oauth1World(t, nil)
	b := w.Browser()
	back := b.Approve(w.OP, b.Begin("old"), "grace")
	jar := b.Clone()
	if a := b.Get(back); a.Location() != arena.Origin || b.Email() != "grace@example.com" {
		t.Fatalf("twin: %s\n%s", a.Location(), w.Logs)
	}
	calls := w.OP.Calls(idp.EndpointOAuth1Token)
	w.MustRefuse(t, func() *browser.Answer { return b.Get(back) })
	w.MustRefuse(t, func() *browser.Answer { return jar.Get(back) })
	if w.OP.Calls(idp.EndpointOAuth1Token) != calls {
		t.Error("the provider was asked again")
	}
}

func oauth106(t *T) {
	w := oauth1World(t, nil)
	const secret = "temporary-secret-5f1c9e7a"
	w.OP.SetFault(oauth1Says(idp.EndpointOAuth1Initiate, "oauth_token=tmp&oauth_token_secret="+secret+"&oauth_callback_confirmed=true"))
	b := w.Browser()
	a := b.Post("/api/auth/signin/old")
	if !strings.Contains(a.Location(), "oauth_token=tmp") {
		t.Fatalf("twin: %s", a.Location())
	}
	state := arena.MustURL(t, arena.MustURL(t, a.Location()).Query().Get("oauth_callback")).Query().Get("state")
	end := b.Get("/api/auth/callback/old?oauth_token=tmp&oauth_verifier=v&state=" + url.QueryEscape(state))
	seen := []string{a.Location(), a.Text, end.Location(), end.Text, b.Get(end.Location()).Text, w.Logs.String()}
	for _, v := range b.Cookies {
		seen = append(seen, v)
	}
	for _, s := range seen {
		for _, secret := range []string{secret, arena.ClientSecret} {
			if strings.Contains(s, secret) {
				t.Errorf("a secret is in %.100s", s)
			}
		}
	}
}

func oauth109(t *T) {
	w := oauth1World(t, nil)
	var methods []string
	record := func(rw http.ResponseWriter, r *http.Request) bool {
		_, rest, _ := strings.Cut(r.Header.Get("Authorization"), `oauth_signature_method="`)
		method, _, _ := strings.Cut(rest, `"`)
		methods = append(methods, method)
		rw.Header().Set("WWW-Authenticate", `OAuth oauth_signature_method="PLAINTEXT"`)
		if len(methods) == 1 {
			rw.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	}
	intercept := map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{}
	for _, e := range []idp.Endpoint{idp.EndpointOAuth1Initiate, idp.EndpointOAuth1Token, idp.EndpointOAuth1User} {
		intercept[e] = record
	}
	w.OP.SetFault(idp.Fault{Intercept: intercept})
	b := w.Browser()
	w.MustRefuse(t, func() *browser.Answer { return b.Post("/api/auth/signin/old") })
	if a := oauth1SignIn(w, b, "grace"); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
	if len(methods) < 4 || slices.ContainsFunc(methods, func(m string) bool { return m != "HMAC-SHA1" && m != "HMAC-SHA256" }) {
		t.Errorf("signed by %v", methods)
	}
}

func oauth110(t *T) {
	w := oauth1World(t, nil)
	for e, word := range map[idp.Endpoint]string{idp.EndpointOAuth1Initiate: "OAuthSignin", idp.EndpointOAuth1Token: "OAuthCallback"} {
		for name, body := range map[string]string{
			"token twice": "oauth_token=a&oauth_token=b&oauth_token_secret=s&oauth_callback_confirmed=true", "no secret": "oauth_token=a&oauth_callback_confirmed=true",
			"no token": "oauth_token_secret=s&oauth_callback_confirmed=true", "1 MB": strings.Repeat("x=1&", 300_000), "HTML": "<html><script>alert(1)</script>", "empty": "",
			"JSON": `{"oauth_token":"a"}`, "bad escapes": "oauth_token=%zz&oauth_token_secret=s&oauth_callback_confirmed=true",
		} {
			b := w.Browser()
			w.OP.SetFault(idp.Fault{})
			to := ""
			if e == idp.EndpointOAuth1Token {
				back := b.Approve(w.OP, b.Begin("old"), "grace")
				w.OP.SetFault(oauth1Says(e, body))
				to = w.MustRefuse(t, func() *browser.Answer { return b.Get(back) }).Location()
			} else {
				w.OP.SetFault(oauth1Says(e, body))
				to = w.MustRefuse(t, func() *browser.Answer { return b.Post("/api/auth/signin/old") }).Location()
			}
			if !strings.Contains(to, "error="+word) || b.Email() != "" {
				t.Errorf("%s at %s: %s", name, e, to)
			}
		}
	}
	w.OP.SetFault(idp.Fault{})
	if b := w.Browser(); oauth1SignIn(w, b, "grace").Location() != arena.Origin {
		t.Error("twin: no sign-in")
	}
}

func oauth111(t *T) {
	w := oauth1World(t, nil)
	b := w.Browser()
	denied := b.Approve(w.OP, b.Begin("old"), "")
	if a := w.MustRefuse(t, func() *browser.Answer { return b.Get(denied) }); !strings.Contains(a.Location(), "error=AccessDenied") {
		t.Errorf("%s", a.Location())
	}
	if a := w.MustRefuse(t, func() *browser.Answer { return b.Get(denied) }); !strings.Contains(a.Location(), "error=OAuthCallback") {
		t.Errorf("again: %s", a.Location())
	}
	if a := oauth1SignIn(w, b, "grace"); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
}

func oauth107(t *T) {
	w := oauth1World(t, nil)
	nonces := map[string]bool{}
	w.OP.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
		idp.EndpointOAuth1Initiate: func(rw http.ResponseWriter, r *http.Request) bool {
			_, rest, _ := strings.Cut(r.Header.Get("Authorization"), `oauth_nonce="`)
			nonce, _, _ := strings.Cut(rest, `"`)
			if len(nonce) < 20 || nonces[nonce] {
				t.Errorf("nonce %q", nonce)
			}
			nonces[nonce] = true
			rw.WriteHeader(http.StatusUnauthorized)
			rw.Write([]byte("oauth_problem=timestamp_refused"))
			return true
		}}})
	b := w.Browser()
	token := b.CSRF()
	n := t.Scale("nonces", 100, 2_000, 1_000_000)
	for range n {
		a := b.Form("/api/auth/signin/old", url.Values{"csrfToken": {token}})
		if !strings.Contains(a.Location(), "error=OAuthSignin") {
			t.Fatalf("a clock that is refused: %d %s", a.StatusCode, a.Location())
		}
	}
	if len(nonces) != n {
		t.Errorf("%d nonces", len(nonces))
	}
	w.OP.SetFault(idp.Fault{})
	if a := oauth1SignIn(w, w.Browser(), "grace"); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
}
