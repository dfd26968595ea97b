package verify

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

func oauth206(t *T) {
	w := oauth2Pair(t, nil)
	seen := map[string]bool{}
	var verifiers []string
	w.OP.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
		idp.EndpointToken: func(_ http.ResponseWriter, r *http.Request) bool {
			verifiers = append(verifiers, r.PostFormValue("code_verifier"))
			return false
		}}})
	for range t.Scale("authorization requests at each of 3 providers", 20, 350, 350) {
		for _, id := range []string{"op", "op2", "plain"} {
			q := arena.MustURL(t, w.Browser().Begin(id)).Query()
			if c := q.Get("code_challenge"); q.Get("code_challenge_method") != "S256" || len(c) != 43 || seen[c] {
				t.Fatalf("%s: challenge %q %q", id, q.Get("code_challenge_method"), c)
			} else {
				seen[c] = true
			}
		}
	}
	for range 5 {
		w.Browser().SignIn(w.OP, "ada")
	}
	for _, v := range verifiers {
		if len(v) < 43 || len(v) > 128 || seen[v] {
			t.Errorf("verifier %q", v)
		}
		seen[v] = true
	}
	if len(verifiers) != 5 {
		t.Errorf("twin: %d sign-ins", len(verifiers))
	}
}

func oauth207(t *T) {
	for name, methods := range map[string]any{"none announced": nil, "plain announced": []string{"plain"}} {
		w := t.Enter(nil)
		w.OP.SetFault(idp.Fault{Discovery: func(m map[string]any) {
			if delete(m, "code_challenge_methods_supported"); methods != nil {
				m["code_challenge_methods_supported"] = methods
			}
		}})
		b := w.Browser()
		to := b.Post("/api/auth/signin/op").Location()
		if q := arena.MustURL(t, to).Query(); strings.HasPrefix(to, w.OP.Issuer()) && q.Get("code_challenge_method") != "S256" {
			t.Errorf("%s: %s", name, to)
		}
		if methods == nil {
			if a := b.Get(b.Approve(w.OP, to, "ada")); a.Location() != arena.Origin {
				t.Errorf("twin: %s", a.Location())
			}
		}
	}
}

func oauth209(t *T) {
	w := t.Enter(nil)
	var verifier string
	w.OP.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
		idp.EndpointToken: func(_ http.ResponseWriter, r *http.Request) bool {
			verifier = r.PostFormValue("code_verifier")
			return false
		}}})
	b := w.Browser()
	page := b.Get("/api/auth/signin")
	a := b.Post("/api/auth/signin/op")
	seen := page.Text + a.Text + a.Location() + fmt.Sprint(a.Header)
	for _, v := range b.Cookies {
		seen += v
		if raw, err := base64.RawURLEncoding.DecodeString(strings.Split(v, ".")[0]); err == nil {
			seen += string(raw)
		}
	}
	back := b.Approve(w.OP, a.Location(), "ada")
	a = b.Get(back)
	seen += back + a.Location() + a.Text + w.Logs.String()
	if verifier == "" || a.Location() != arena.Origin {
		t.Fatalf("twin: verifier %q, %s", verifier, a.Location())
	}
	if strings.Contains(seen, verifier) {
		t.Error("the verifier is seen outside of the sealed cookie")
	}
}

func oauth212(t *T) {
	w := oauth2Pair(t, nil)
	var mu sync.Mutex
	used := map[string]string{}
	record := func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		used[r.PostFormValue("code")] = r.PostFormValue("redirect_uri")
		return false
	}
	fault := idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointToken: record, idp.EndpointOAuth2Token: record}}
	w.OP.SetFault(fault)
	w.evil.SetFault(fault)
	for id, server := range map[string]*idp.Server{"op": w.OP, "op2": w.evil, "plain": w.OP} {
		b := w.Browser()
		to := b.Begin(id)
		if got := arena.MustURL(t, to).Query().Get("redirect_uri"); got != arena.Origin+"/api/auth/callback/"+id {
			t.Errorf("%s: redirect_uri %s", id, got)
		}
		back := b.Approve(server, to, map[string]string{"op": "grace", "op2": "x", "plain": "katherine"}[id])
		if a := b.Get(back); a.Location() != arena.Origin {
			t.Errorf("twin at %s: %s", id, a.Location())
		}
		if got := used[arena.MustURL(t, back).Query().Get("code")]; got != arena.Origin+"/api/auth/callback/"+id {
			t.Errorf("%s: redirect_uri %s at the token endpoint", id, got)
		}
	}
}

func oauth218(t *T) {
	w := oauth2Pair(t, func(c *authsvc.Config) { c.ProviderTokens = "plain" })
	if s := arena.MustURL(t, w.Browser().Begin("op")).Query().Get("scope"); s != "openid profile email" && s != "openid email profile" {
		t.Errorf("scope %q", s)
	}
	for _, granted := range []string{"openid", "openid email profile admin"} {
		w.OP.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) { a["scope"] = granted }})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		accounts, err := w.Store.ListAccounts(t.Context(), w.Person(t, b))
		if err != nil || len(accounts) != 1 || accounts[0].Scope != granted {
			t.Errorf("granted %q, recorded %+v, %v", granted, accounts, err)
		}
	}
}

func oauth219(t *T) {
	const id, secret = "a:p%p+ ü", "s:e%c+r et ü and more"
	for _, method := range []string{"client_secret_basic", "client_secret_post"} {
		w := oauth2Pair(t, func(c *authsvc.Config) {
			p := c.Providers[len(c.Providers)-1].(*authsvc.OAuth)
			p.Client, p.AuthMethod = authsvc.Client{ID: id, Secret: secret}, authsvc.AuthMethod(method)
		})
		var basic, form, address string
		w.OP.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
			idp.EndpointOAuth2Authorize: func(http.ResponseWriter, *http.Request) bool { return false },
			idp.EndpointOAuth2Token: func(rw http.ResponseWriter, r *http.Request) bool {
				r.ParseForm()
				basic, form, address = r.Header.Get("Authorization"), r.PostForm.Get("client_secret"), r.URL.RequestURI()
				rw.WriteHeader(http.StatusUnauthorized)
				return true
			}}})
		b := w.Browser()
		q := arena.MustURL(t, b.Begin("plain")).Query()
		if q.Get("client_id") != id {
			t.Errorf("client_id %q", q.Get("client_id"))
		}
		w.MustRefuseLate(t, func() *browser.Answer {
			return b.Get("/api/auth/callback/plain?code=c0de&state=" + url.QueryEscape(q.Get("state")))
		})
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))
		if method == "client_secret_basic" && (basic != want || form != "") || method == "client_secret_post" && (form != secret || basic != "") {
			t.Errorf("%s: Authorization %q, client_secret %q", method, basic, form)
		}
		for _, where := range []string{address, w.Logs.String(), b.Get("/api/auth/error").Text} {
			if strings.Contains(where, secret) || strings.Contains(where, url.QueryEscape(secret)) {
				t.Errorf("%s: the secret is in %.100s", method, where)
			}
		}
	}
}

// oauth2Lies signs in at the plain provider with each fault. Sign-ins with good ones
// must succeed, with bad ones fail, and without a fault succeed again.
func oauth2Lies(t *T, bad, good map[string]idp.Fault) {
	t.Helper()
	w := oauth2Pair(t, nil)
	sign := func() *browser.Answer {
		b := w.Browser()
		return b.Get(b.Approve(w.OP, b.Begin("plain"), "katherine"))
	}
	for name, fault := range bad {
		w.OP.SetFault(fault)
		a := w.MustRefuseLate(t, sign)
		page := w.Browser().Get(a.Location())
		if seen := page.Text + a.Location(); strings.Contains(seen, arena.ClientSecret) || strings.Contains(seen, "<script>alert") || strings.Contains(w.Logs.String(), arena.ClientSecret) {
			t.Errorf("%s: the answer of the provider is repeated", name)
		}
	}
	for name, fault := range good {
		w.OP.SetFault(fault)
		if a := sign(); a.Location() != arena.Origin {
			t.Errorf("twin, %s: %s\n%s", name, a.Location(), w.Logs)
		}
	}
	w.OP.SetFault(idp.Fault{})
	if a := sign(); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
	t.Figure("%d answers refused, %d taken", len(bad), len(good)+1)
}

func answers(name string, v any) idp.Fault {
	return idp.Fault{TokenAnswer: func(a map[string]any) {
		if v == nil {
			delete(a, name)
		} else {
			a[name] = v
		}
	}}
}

// says makes the token endpoint answer with body instead of the provider's answer.
func says(status int, contentType, body string) idp.Fault {
	return idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
		idp.EndpointOAuth2Token: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}}}
}

func oauth221(t *T) {
	oauth2Lies(t, map[string]idp.Fault{
		"no access_token": answers("access_token", nil), "no type": answers("token_type", nil), "mac": answers("token_type", "mac"),
		"negative": answers("expires_in", -1), "huge": answers("expires_in", 1e99), "number": answers("access_token", 7), "empty token": answers("access_token", ""),
		"500": {Status: map[idp.Endpoint]int{idp.EndpointOAuth2Token: 500}}, "empty 200": {Status: map[idp.Endpoint]int{idp.EndpointOAuth2Token: 200}},
		"twice": says(200, "application/json", `{"access_token":"a","access_token":"b","token_type":"bearer"}`),
		"HTML":  says(200, "text/html", `<html><script>alert(1)</script>`), "list": says(200, "application/json", `[]`), "half": says(200, "application/json", `{"access_token":"a",`),
	}, map[string]idp.Fault{"BEARER": answers("token_type", "BEARER"), "expires_in as text": answers("expires_in", "3600"), "no expires_in": answers("expires_in", nil)})
}

func oauth222(t *T) {
	oauth2Lies(t, map[string]idp.Fault{
		"markup":      says(400, "application/json", `{"error":"invalid_grant","error_description":"<script>alert(1)</script>"}`),
		"the secret":  says(400, "application/json", `{"error":"invalid_client","error_description":"`+arena.ClientSecret+`"}`),
		"in a 200":    answers("error", "<script>alert(1)</script>"+arena.ClientSecret),
		"error_uri":   says(400, "application/json", `{"error":"x","error_uri":"javascript:alert(1)"}`),
		"a long word": says(400, "application/json", `{"error":"`+strings.Repeat("x", 10_000)+`"}`),
	}, nil)
}

func oauth223(t *T) {
	id := func(v any) idp.Fault { return idp.Fault{User: func(u map[string]any) { u["id"] = v }} }
	oauth2Lies(t, map[string]idp.Fault{"null": id(nil), "empty": id(""), "list": id([]any{}), "true": id(true), "object": id(map[string]any{}), "long": id(strings.Repeat("x", 300))}, nil)
	for name, v := range map[string][2]any{`1 and "1"`: {1, "1"}, "2^53+1": {"9007199254740993", "9007199254740992"}, "case": {"abc", "ABC"}, "accent": {"a", "ä"}, "trailing blank": {"abc", "abc "}} {
		w := oauth2Pair(t, nil)
		var people []string
		for _, x := range v {
			w.OP.SetFault(idp.Fault{User: func(u map[string]any) { u["id"] = x; delete(u, "email") }})
			b := w.Browser()
			if a := b.Get(b.Approve(w.OP, b.Begin("plain"), "katherine")); a.Location() != arena.Origin {
				t.Fatalf("%v: %s\n%s", x, a.Location(), w.Logs)
			}
			people = append(people, w.Person(t, b))
		}
		if same := people[0] == people[1]; same != (name == `1 and "1"`) {
			t.Errorf("%s: same person: %v", name, same)
		}
	}
}

func oauth225(t *T) {
	w := oauth2Pair(t, nil)
	var seen []string
	record := func(e idp.Endpoint) func(http.ResponseWriter, *http.Request) bool {
		return func(_ http.ResponseWriter, r *http.Request) bool {
			scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			seen = append(seen, fmt.Sprint(e, " ", r.Method, " ", r.URL.RequestURI(), " ", scheme))
			return false
		}
	}
	w.OP.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
		idp.EndpointOAuth2Token: record(idp.EndpointOAuth2Token), idp.EndpointOAuth2User: record(idp.EndpointOAuth2User)}})
	b := w.Browser()
	if a := b.Get(b.Approve(w.OP, b.Begin("plain"), "katherine")); a.Location() != arena.Origin {
		t.Fatalf("twin: %s", a.Location())
	}
	if got := fmt.Sprint(seen); got != "[oauth2/token POST /oauth2/token Basic oauth2/user GET /oauth2/user Bearer]" {
		t.Errorf("%s", got)
	}
}
