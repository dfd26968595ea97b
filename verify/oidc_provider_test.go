package verify

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

func oidc15(t *T) {
	edit := func(f func(map[string]any)) idp.Fault { return idp.Fault{UserInfo: f} }
	w := oidcWorld(t, nil)
	for name, fault := range map[string]idp.Fault{
		"other":   edit(func(c map[string]any) { c["sub"] = "grace"; c["email"] = "grace@example.com" }),
		"missing": edit(func(c map[string]any) { delete(c, "sub") }), "case": edit(func(c map[string]any) { c["sub"] = "ADA" }),
		"empty": edit(func(c map[string]any) { c["sub"] = "" }), "number": edit(func(c map[string]any) { c["sub"] = 7 }),
		"list": edit(func(c map[string]any) { c["sub"] = []string{"ada"} }), "blank": edit(func(c map[string]any) { c["sub"] = "ada " }),
	} {
		oidcRefused(t, w, name, fault)
	}
	oidcAccepted(t, w, "twin", idp.Fault{})
}

// oidcRecord records the requests to an endpoint, with parsed forms.
func oidcRecord(e idp.Endpoint, into *[]*http.Request) map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool {
	var mu sync.Mutex
	return map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{e: func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		r.ParseForm()
		*into = append(*into, r)
		return false
	}}
}

func oidc16(t *T) {
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		var asked []*http.Request
		lean := oidcClaim("email", nil, "name", nil, "picture", nil, "email_verified", nil)
		lean.Intercept = oidcRecord(idp.EndpointUserInfo, &asked)
		b := oidcAccepted(t, w, "claims by userinfo only", lean)
		if user, _ := b.Session()["user"].(map[string]any); user["name"] != "Ada Lovelace" {
			t.Errorf("%v", user)
		}
		if len(asked) != 1 {
			t.Fatalf("%d userinfo requests", len(asked))
		}
		r := asked[0]
		if r.Method != http.MethodGet || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") || r.URL.RawQuery != "" || len(r.PostForm) != 0 {
			t.Errorf("%s %s %v", r.Method, r.URL, r.PostForm)
		}
		oidcRefused(t, w, "twin: it is really asked", idp.Fault{IDToken: lean.IDToken, Status: map[idp.Endpoint]int{idp.EndpointUserInfo: 401}})
	})
}

// oidcUnusable checks a sign-in at a provider whose metadata must be refused.
func oidcUnusable(t *T, w *arena.World, name string, fault idp.Fault) {
	t.Helper()
	w.OP.SetFault(fault)
	defer w.OP.SetFault(idp.Fault{})
	a := w.MustRefuse(t, func() *browser.Answer { return w.Browser().Post("/api/auth/signin/op") })
	if !strings.Contains(a.Location(), "error=OAuthSignin") || t.Failed() {
		t.Fatalf("%s: %d %s\n%s", name, a.StatusCode, a.Location(), w.Logs)
	}
	if b := w.Browser(); b.SignInByMail(w, "someone@app.test").Location() != arena.Origin {
		t.Errorf("%s: another way in fails", name)
	}
	time.Sleep(6 * time.Second) // failed fetches are not repeated for five seconds
}

func oidc18(t *T) {
	issuer := func(change func(string) any) idp.Fault {
		return idp.Fault{Discovery: func(m map[string]any) { m["issuer"] = change(m["issuer"].(string)) }}
	}
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		for name, fault := range map[string]idp.Fault{
			"another":       issuer(func(string) any { return "https://evil.test" }),
			"slash":         issuer(func(s string) any { return s + "/" }),
			"one character": issuer(func(s string) any { return s[:len(s)-1] + "s" }),
			"cut":           issuer(func(s string) any { return s[:len(s)-1] }),
			"case":          issuer(func(s string) any { return strings.ToUpper(s) }),
			"http":          issuer(func(s string) any { return strings.Replace(s, "https", "http", 1) }),
			"port":          issuer(func(s string) any { return s + ":443" }),
			"list":          issuer(func(s string) any { return []string{s} }),
			"empty":         issuer(func(string) any { return "" }),
			"missing":       {Discovery: func(m map[string]any) { delete(m, "issuer") }},
		} {
			oidcUnusable(t, w, name, fault)
		}
		oidcAccepted(t, w, "twin", idp.Fault{})
	})
}

func oidc19(t *T) {
	set := func(name string, v any) idp.Fault {
		return idp.Fault{Discovery: func(m map[string]any) {
			if m[name] = v; v == nil {
				delete(m, name)
			}
		}}
	}
	raw := func(body string) idp.Fault {
		return idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointDiscovery: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(body))
			return true
		}}}
	}
	endpoints := `"authorization_endpoint":"https://op.test/authorize","token_endpoint":"https://op.test/token","jwks_uri":"https://op.test/jwks"`
	refused := map[string]idp.Fault{
		"10 MB": set("x", strings.Repeat("x", 10<<20)), "depth bomb": raw(`{"issuer":"https://op.test",` + endpoints + `,"x":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}"),
		"issuer twice": raw(`{"issuer":"https://evil.test","issuer":"https://op.test",` + endpoints + "}"), "list": raw(`[{"issuer":"https://op.test"}]`), "more behind": raw(`{"issuer":"https://op.test",` + endpoints + "}{}"),
		"token missing": set("token_endpoint", nil), "authorization missing": set("authorization_endpoint", nil), "keys missing": set("jwks_uri", nil), "number": set("token_endpoint", 7),
	}
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"} {
		for _, to := range []string{"http://op.test/x", "http://evil.test/x", "http://127.0.0.1/x", "file:///etc/passwd", "javascript:alert(1)", "//evil.test/x", "https:///x", "https://user:password@op.test/x", ""} {
			refused[name+" "+to] = set(name, to)
		}
	}
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		for name, fault := range refused {
			oidcUnusable(t, w, name, fault)
		}
		t.Figure("%d documents", len(refused))
		oidcAccepted(t, w, "twin: the same document by hand", raw(`{"issuer":"https://op.test",`+endpoints+`,"userinfo_endpoint":"https://op.test/userinfo"}`))
	})
	oidcMixed(t)
}

// oidcMixed uses an attacker's provider whose metadata names endpoints of the honest
// one. The honest provider's code must not reach the attacker's token endpoint, no
// sign-in may succeed, and neither provider may learn the other's secret.
func oidcMixed(t *T) {
	for name, cell := range map[string]struct{ names []string }{
		"authorization of the honest": {[]string{"authorization_endpoint"}},
		"token of the honest":         {[]string{"token_endpoint"}},
		"all but the issuer":          {[]string{"authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"}},
		"keys of the honest":          {[]string{"jwks_uri"}},
		"none, the twin":              {nil},
	} {
		oidcBubble(t, func(t *T) {
			const secret = "secret-at-the-evil-one-37f2"
			evil, err := idp.New(idp.Options{Issuer: "https://evil.test", Alg: "ES256",
				Clients: []idp.Client{{ID: "app", Secret: secret, RedirectURIs: []string{arena.Origin + "/api/auth/callback/op2"}}}})
			if err != nil {
				t.Fatal(err)
			}
			w := oidcOffline(t, func(c *authsvc.Config) {
				c.Outbound.DangerousTransport.(arena.Wire)["evil.test"] = evil
				p := *oidcProvider(c)
				p.ID, p.Issuer, p.Client.Secret = "op2", "https://evil.test", secret
				c.Providers = append(c.Providers, &p)
			})
			var posted []*http.Request
			evil.SetFault(idp.Fault{Intercept: oidcRecord(idp.EndpointToken, &posted), Discovery: func(m map[string]any) {
				for _, endpoint := range cell.names {
					m[endpoint] = strings.Replace(m[endpoint].(string), "evil.test", "op.test", 1)
				}
			}})
			b := w.Browser()
			to := b.Begin("op2")
			at := evil
			if strings.HasPrefix(to, "https://op.test/") {
				at = w.OP.Provider
			}
			answer, err := at.Approve(to, "ada")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			a := b.Get(answer.URL())
			if in := b.Email() != ""; in != (cell.names == nil) {
				t.Errorf("%s: signed in %v, %s\n%s", name, in, a.Location(), w.Logs)
			}
			for _, r := range posted {
				if at != evil && r.PostForm.Get("code") == answer.Params.Get("code") {
					t.Errorf("%s: the honest provider's code came to the evil token endpoint", name)
				}
			}
		})
	}
}

func oidc23(t *T) {
	const odd = "a:b%c d+ü"
	for name, c := range map[string]struct {
		method string
		edit   func(map[string]any)
		basic  bool
	}{
		"default": {"", nil, true}, "announced": {"", func(m map[string]any) { m["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"} }, true},
		"both announced": {"", func(m map[string]any) {
			m["token_endpoint_auth_methods_supported"] = []string{"client_secret_post", "client_secret_basic"}
		}, true},
		"nothing announced": {"", func(m map[string]any) { delete(m, "token_endpoint_auth_methods_supported") }, true},
		"post by name":      {"client_secret_post", nil, false},
	} {
		oidcBubble(t, func(t *T) {
			w := oidcOffline(t, func(c2 *authsvc.Config) { oidcProvider(c2).AuthMethod = authsvc.AuthMethod(c.method) })
			var asked []*http.Request
			oidcAccepted(t, w, name, idp.Fault{Discovery: c.edit, Intercept: oidcRecord(idp.EndpointToken, &asked)})
			r := asked[0]
			id, secret, basic := r.BasicAuth()
			if basic != c.basic || r.PostForm.Has("client_secret") == c.basic || basic && (id != "app" || secret != arena.ClientSecret) || r.URL.RawQuery != "" {
				t.Errorf("%s: basic %v, %q, form %v, query %q", name, basic, id, r.PostForm.Has("client_secret"), r.URL.RawQuery)
			}
		})
	}
	oidcBubble(t, func(t *T) { // each part is encoded before a colon joins them
		w := oidcOffline(t, func(c *authsvc.Config) { oidcProvider(c).Client.Secret = odd })
		var asked []*http.Request
		w.OP.SetFault(idp.Fault{Intercept: oidcRecord(idp.EndpointToken, &asked)})
		w.MustRefuseLate(t, func() *browser.Answer { b := w.Browser(); return b.SignIn(w.OP, "ada") })
		if _, secret, _ := asked[0].BasicAuth(); secret != "a%3Ab%25c+d%2B%C3%BC" {
			t.Errorf("%q", secret)
		}
	})
}

// oidc24 checks max_age, which the engine enforces. acr is only a wish in the request
// (OpenID Connect Core 1.0, section 5.5.1.1): the application's signIn callback sees
// the claim and decides whether it is enough.
func oidc24(t *T) {
	ago := func(d time.Duration) idp.Fault { return oidcClaim("auth_time", time.Now().Add(-d).Unix()) }
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, func(c *authsvc.Config) { oidcProvider(c).AuthorizationParams = map[string]string{"max_age": "300"} })
		if to := w.Browser().Begin("op"); !strings.Contains(to, "max_age=300") {
			t.Errorf("max_age is not sent: %s", to)
		}
		if to := arena.MustURL(t, w.Browser().Post("/api/auth/signin/op?max_age=86400").Location()); to.Query().Get("max_age") != "300" {
			t.Errorf("the browser overrules the configuration: %s", to)
		}
		oidcCells(t, w, map[string]idp.Fault{
			"missing": oidcClaim("auth_time", nil), "text": oidcClaim("auth_time", "now"), "too old": ago(361 * time.Second), "to come": ago(-61 * time.Second), "zero": oidcClaim("auth_time", 0),
		}, map[string]idp.Fault{"within max_age and leeway": ago(360 * time.Second)})
	})
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, func(c *authsvc.Config) {
			oidcProvider(c).AuthorizationParams = map[string]string{"acr_values": "high"}
			c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
				if a.Account.Provider == "op" && a.Profile["acr"] != "high" {
					return "", errors.New("acr is too low")
				}
				return "", nil
			}
		})
		for _, acr := range []any{nil, "low", 0, []string{"high"}} {
			w.OP.SetFault(oidcClaim("acr", acr))
			a := w.MustRefuseLate(t, func() *browser.Answer { return w.Browser().SignIn(w.OP, "ada") })
			if !strings.Contains(a.Location(), "error=AccessDenied") {
				t.Errorf("acr %v: %s", acr, a.Location())
			}
		}
		oidcAccepted(t, w, "acr high", oidcClaim("acr", "high"))
	})
}

func oidc25(t *T) {
	const mine, other = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	for name, tenants := range map[string][]string{"any tenant": nil, "one tenant": {mine}} {
		t.Run(name, func(t *T) {
			w := oidcWorld(t, func(c *authsvc.Config) {
				p := oidcProvider(c)
				p.Endpoints.Discovery, p.Tenants = p.Issuer+"/.well-known/openid-configuration", tenants
				p.Issuer += "/{tenantid}/v2.0"
				p.PairwiseSubject = tenants == nil
			})
			of := func(iss, tid any) idp.Fault {
				return idp.Fault{
					Discovery: func(m map[string]any) {
						m["issuer"] = w.OP.Issuer() + "/{tenantid}/v2.0"
						delete(m, "authorization_response_iss_parameter_supported")
					},
					Callback: func(q url.Values) { q.Del("iss") },
					IDToken: func(c map[string]any) {
						if s, ok := iss.(string); ok {
							c["iss"] = w.OP.Issuer() + s
						}
						if c["tid"] = tid; tid == nil {
							delete(c, "tid")
						}
					},
				}
			}
			good := of("/"+mine+"/v2.0", mine)
			w.OP.SetFault(good)
			w.Browser().Begin("op") // the metadata is fetched from here on
			refused := map[string]idp.Fault{
				"tid of another": of("/"+mine+"/v2.0", other), "iss of another": of("/"+other+"/v2.0", mine), "no tid": of("/"+mine+"/v2.0", nil), "tid list": of("/"+mine+"/v2.0", []string{mine}),
				"the template itself": of("/{tenantid}/v2.0", "{tenantid}"), "no tenant": of("//v2.0", ""), "path": of("/"+other+"/../"+mine+"/v2.0", other+"/../"+mine),
				"no template": of("", mine), "another host": {}, "escaped": of("/%7Btenantid%7D/v2.0", "%7Btenantid%7D"),
				"longer": of("/"+mine+"/v2.0/x", mine), "case": of("/"+strings.ToUpper(mine)+"/V2.0", strings.ToUpper(mine)),
			}
			if tenants != nil {
				refused["tenant not allowed"] = of("/"+other+"/v2.0", other)
			}
			forged := good
			forged.TokenAnswer = func(a map[string]any) { // another tenant's payload under a signature of ours
				parts := strings.Split(a["id_token"].(string), ".")
				a["id_token"] = parts[0] + "." + oidcPart(map[string]any{"iss": w.OP.Issuer() + "/" + mine + "/v2.0", "tid": mine, "sub": "ada", "aud": "app",
					"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}) + "." + parts[2]
			}
			refused["tid forged, not signed"] = forged
			for name, f := range refused {
				f.Callback, f.Discovery = good.Callback, good.Discovery
				oidcRefused(t, w, name, f)
			}
			if n := w.OP.Calls(idp.EndpointJWKS); n > 2 {
				t.Errorf("keys are fetched %d times", n)
			}
			oidcAccepted(t, w, "twin", good)
			if tenants == nil {
				second := of("/"+other+"/v2.0", other)
				second.IDToken = func(c map[string]any) {
					c["iss"], c["tid"] = w.OP.Issuer()+"/"+other+"/v2.0", other
					c["sub"], c["email"] = "ada of "+other, "ada@other.test"
				}
				second.UserInfo = func(c map[string]any) { c["sub"] = "ada of " + other }
				w.OP.SetFault(second)
				b := w.Browser()
				if a := b.SignIn(w.OP, "ada"); b.Email() != "ada@other.test" {
					t.Errorf("another tenant, if any may: %d %s, %q", a.StatusCode, a.Location(), b.Email())
				}
			}
		})
	}
}

func oidc26(t *T) {
	var visits atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		w.Write([]byte(`{"email":"evil@evil.test","email_verified":true}`))
	}))
	defer elsewhere.Close()
	sources := func(c map[string]any) {
		delete(c, "email")
		delete(c, "email_verified")
		c["_claim_names"] = map[string]any{"email": "far", "email_verified": "near"}
		c["_claim_sources"] = map[string]any{"far": map[string]any{"endpoint": elsewhere.URL, "access_token": "x"},
			"near": map[string]any{"JWT": oidcSign(map[string]any{"alg": "none"}, map[string]any{"email": "evil@evil.test", "email_verified": true}, nil)}}
	}
	w := oidcWorld(t, nil)
	for name, f := range map[string]idp.Fault{"in the ID token": {IDToken: sources, UserInfo: func(c map[string]any) { delete(c, "email"); delete(c, "email_verified") }},
		"in userinfo": {IDToken: func(c map[string]any) { delete(c, "email"); delete(c, "email_verified") }, UserInfo: sources}} {
		w.OP.SetFault(f)
		b := w.Browser()
		if a := b.SignIn(w.OP, "alan"); a.Location() != arena.Origin || b.Email() != "" {
			t.Errorf("%s: %s, %q", name, a.Location(), b.Email())
		}
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("fetched %d times", n)
	}
	oidcAccepted(t, w, "twin: plain claims count", idp.Fault{})
}

func oidc27(t *T) {
	w := oidcWorld(t, nil)
	answer := func(make func(claims map[string]any) string) idp.Fault {
		return idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointUserInfo: func(rw http.ResponseWriter, _ *http.Request) bool {
			rw.Header().Set("Content-Type", "application/jwt")
			rw.Write([]byte(make(map[string]any{"iss": w.OP.Issuer(), "aud": "app", "sub": "ada", "email": "ada@example.com"})))
			return true
		}}}
	}
	signed := func(pairs ...any) idp.Fault {
		return answer(func(c map[string]any) string {
			oidcClaim(pairs...).IDToken(c)
			return oidcMade(w.OP.Sign("JWT", c))
		})
	}
	for name, f := range map[string]idp.Fault{
		"bad signature": answer(func(c map[string]any) string { s := oidcMade(w.OP.Sign("JWT", c)); return flip(s, len(s)-10) }),
		"alg none":      answer(func(c map[string]any) string { return oidcSign(map[string]any{"alg": "none"}, c, nil) }),
		"another key": answer(func(c map[string]any) string {
			return oidcSign(map[string]any{"alg": "ES256"}, c, oidcES256())
		}),
		"wrong aud": signed("aud", "other"), "wrong iss": signed("iss", "https://evil.test"), "other sub": signed("sub", "grace"), "expired": signed("exp", 1),
	} {
		oidcRefused(t, w, name, f)
	}
	oidcAccepted(t, w, "twin", signed())
}
