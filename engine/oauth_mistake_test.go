package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// refusesTokens makes the token endpoint answer with a status and an error code. The
// description repeats the secret, as some providers' do.
func refusesTokens(status int, code string) func(*idp.Provider) {
	return func(p *idp.Provider) {
		p.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
			idp.EndpointToken: func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":%q,"error_description":"wrong: %s"}`, code, arena.ClientSecret)
				return true
			},
		}})
	}
}

// refusalLines returns the log lines about refused sign-ins.
func refusalLines(w *arena.World) (lines []string) {
	for line := range strings.Lines(w.Logs.String()) {
		if strings.Contains(line, "sign-in refused") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestOperatorMistakes checks that a provider's answer that only the operator can do
// something about is a warning with the field and the fix, and that other refusals are
// not.
func TestOperatorMistakes(t *testing.T) {
	t.Parallel()
	answers := func(words ...string) func(*idp.Provider) {
		return func(p *idp.Provider) {
			p.SetFault(idp.Fault{Callback: func(q url.Values) {
				q.Del("code")
				for i := 0; i+1 < len(words); i += 2 {
					q.Set(words[i], words[i+1])
				}
			}})
		}
	}
	fault := func(f idp.Fault) func(*idp.Provider) { return func(p *idp.Provider) { p.SetFault(f) } }
	callback := arena.Origin + "/api/auth/callback/op"
	for name, tt := range map[string]struct {
		fault func(*idp.Provider)
		tune  func(*authsvc.OAuth)
		field string // "": not a mistake of the operator
		level string // default: WARN with a field, else INFO
		cause string
		fix   string
	}{
		"client secret":             {fault: refusesTokens(401, "invalid_client"), field: "Client.Secret", cause: "the provider does not accept the client secret of op: token endpoint: refused with invalid_client, status 401", fix: "copy client id and client secret"},
		"client secret, GitHub":     {fault: refusesTokens(200, "incorrect_client_credentials"), field: "Client.Secret", cause: "the provider does not accept the client secret of op: ", fix: "copy"},
		"client secret, own code":   {fault: refusesTokens(401, "no such app"), field: "Client.Secret", cause: "the provider does not accept the client secret of op: token endpoint: refused with unrecognised, status 401", fix: "copy"},
		"public client":             {fault: refusesTokens(401, "invalid_client"), tune: func(o *authsvc.OAuth) { o.AuthMethod, o.Client.Secret = authsvc.AuthMethodNone, "" }, field: "AuthMethod", cause: "does not accept op as a public client", fix: "give the client secret"},
		"made secret":               {fault: refusesTokens(401, "invalid_client"), tune: madeSecret, field: "Client.ID", cause: "the client secret that is made for op", fix: "the clock"},
		"grant type":                {fault: refusesTokens(400, "unauthorized_client"), field: "Client.ID", cause: "does not allow op to sign people in by an authorization code", fix: "allow the authorization code flow"},
		"scope at the token":        {fault: refusesTokens(400, "invalid_scope"), field: "Scope", cause: "the provider does not accept the scope of op", fix: "scopes that the provider documents"},
		"callback URL at the token": {fault: refusesTokens(400, "redirect_uri_mismatch"), field: "URL", cause: "the provider does not accept the callback URL of op", fix: "register " + callback + " at the provider"},
		"code":                      {fault: refusesTokens(400, "invalid_grant"), cause: "token endpoint: refused with invalid_grant, status 400"},
		"code, 401":                 {fault: refusesTokens(401, "invalid_grant"), cause: "token endpoint: refused with invalid_grant, status 401"},
		"unavailable":               {fault: refusesTokens(503, "invalid_client"), level: "WARN", cause: "token endpoint: refused with invalid_client, status 503"},
		"down at the start":         {fault: fault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 503}}), level: "WARN", cause: "discovery: identity provider unavailable: status 503"},
		"client id":                 {fault: answers("error", "invalid_client"), field: "Client.ID", cause: `the provider does not accept the client id of op: the provider answered with error \"invalid_client\"`, fix: "copy it"},
		"scope":                     {fault: answers("error", "invalid_scope", "error_description", "no\nsuch\x1b[31m scope"), field: "Scope", cause: `the scope of op: the provider answered with error \"invalid_scope\", error_description \"no?such?[31m scope\"`, fix: "scopes"},
		"callback URL":              {fault: answers("error", "invalid_request", "error_description", "Invalid parameter: redirect_uri"), field: "URL", cause: "the callback URL of op", fix: "register " + callback},
		"response type":             {fault: answers("error", "unsupported_response_type"), field: "Client.ID", cause: "does not allow op", fix: "allow"},
		"another request":           {fault: answers("error", "invalid_request", "error_description", "state is missing"), cause: "the provider answered with error"},
		"the person refused":        {fault: answers("error", "access_denied", "error_description", "invalid_client"), cause: "the person or the provider refused"},
		"the operator denies":       {fault: answers("error", "invalid_scope"), tune: func(o *authsvc.OAuth) { o.DeniedErrors = []string{"invalid_scope"} }, cause: "the person or the provider refused"},
		"no document":               {fault: fault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 404}}), field: "Issuer", cause: `"the provider has no discovery document for op: discovery: status 404"`, fix: `fix="check that the issuer https://op.test is correct and that this machine can reach it"`},
		"misdirected document":      {fault: fault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 421}}), field: "Issuer", cause: "discovery: status 421", fix: "check that the issuer"},
		"no document there":         {fault: fault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 403}}), tune: func(o *authsvc.OAuth) { o.Endpoints.Discovery = "https://op.test/.well-known/openid-configuration" }, field: "Endpoints.Discovery", cause: "discovery: status 403", fix: "check that https://op.test/.well-known/openid-configuration is the address"},
		"too many documents":        {fault: fault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 429}}), level: "WARN", cause: "discovery: identity provider unavailable: status 429"},
		"issuer of the document":    {fault: fault(idp.Fault{Discovery: func(m map[string]any) { m["issuer"] = "https://op.test/" }}), field: "Issuer", cause: `the provider names another issuer than the configuration of op: discovery: issuer is not the configured one: it is \"https://op.test/\"`, fix: "exactly as the provider does"},
		"issuer of the answer":      {fault: fault(idp.Fault{Callback: func(q url.Values) { q.Set("iss", "https://other.test") }}), cause: "authorization response: iss names another provider"}, // anyone can write it
		"issuer of the token":       {fault: fault(idp.Fault{IDToken: func(c map[string]any) { c["iss"] = "https://other.test" }}), field: "Issuer", cause: "id token: not a token from this issuer for this client: iss is not the provider", fix: "exactly"},
		"another client":            {fault: fault(idp.Fault{IDToken: func(c map[string]any) { c["aud"] = "other" }}), field: "Client.ID", cause: "the ID token is for another client than op", fix: "copy"},
		"another nonce":             {fault: fault(idp.Fault{IDToken: func(c map[string]any) { c["nonce"] = "other" }}), cause: "nonce does not match this sign-in"},
		"keys":                      {fault: fault(idp.Fault{JWKS: func([]map[string]any) []map[string]any { return nil }}), field: "Issuer", cause: "the key set of op lacks the key of the ID token: id token: keys: no usable key", fix: "check that the issuer"},
		"keys elsewhere":            {fault: fault(idp.Fault{JWKS: otherKeys}), tune: func(o *authsvc.OAuth) { o.Endpoints.JWKS = "https://op.test/jwks" }, field: "Endpoints.JWKS", cause: "signature does not match any key of the provider", fix: "use the jwks_uri"},
		"algorithm":                 {tune: func(o *authsvc.OAuth) { o.SigningAlgs = []string{"RS256"} }, field: "SigningAlgs", cause: "signs ID tokens of op with an algorithm that is not accepted", fix: "add the algorithm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.EnterInMemory(t, func(c *authsvc.Config) {
				if o, ok := c.Providers[0].(*authsvc.OAuth); ok && tt.tune != nil {
					tt.tune(o)
				}
			})
			if tt.fault != nil {
				tt.fault(w.OP.Provider)
			}
			b := w.Browser()
			to := b.Begin("op")
			var pages []string
			if strings.HasPrefix(to, w.OP.Issuer()) {
				a := b.Get(b.Approve(w.OP, to, "ada"))
				pages = append(pages, a.Text, a.Location())
				to = a.Location()
			}
			pages = append(pages, b.Get(to).Text)
			lines := refusalLines(w)
			if len(lines) != 1 {
				t.Fatalf("%d lines about the refusal\n%s", len(lines), w.Logs)
			}
			level := cmp.Or(tt.level, "INFO")
			if tt.field != "" {
				level = "WARN"
			}
			for _, want := range []string{"level=" + level, tt.cause} {
				if !strings.Contains(lines[0], want) {
					t.Errorf("the line lacks %s\n%s", want, lines[0])
				}
			}
			if tt.field != "" && (!strings.Contains(lines[0], " field="+tt.field+" ") || !strings.Contains(lines[0], tt.fix)) || tt.field == "" && strings.Contains(lines[0], " fix=") {
				t.Errorf("the line lacks field %q and fix %q\n%s", tt.field, tt.fix, lines[0])
			}
			for _, text := range append(pages, w.Logs.String()) {
				if strings.Contains(text, arena.ClientSecret) {
					t.Errorf("the secret is in %s", text)
				}
			}
			for _, page := range pages {
				if strings.Contains(page, "invalid_") || strings.Contains(page, "such") || strings.Contains(page, "other.test") {
					t.Errorf("a page repeats the provider: %s", page)
				}
			}
			w.OP.SetFault(idp.Fault{})
			if tt.tune == nil && tt.field != "Issuer" && tt.cause != "keys" && !strings.HasPrefix(tt.cause, "discovery") { // a failed discovery is not repeated at once
				if a := w.Browser().SignIn(w.OP, "ada"); a.Location() != arena.Origin {
					t.Errorf("afterwards, a sign-in leads to %s", a.Location())
				}
			}
		})
	}
}

// TestClientsCauseNoWarning: a client without an attempt of its own, and a client that
// leaves before the provider answers, cause no warning.
func TestClientsCauseNoWarning(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*arena.World, *arena.Browser){
		"no state":      func(_ *arena.World, b *arena.Browser) { b.Get("/api/auth/callback/op?error=invalid_client") },
		"forged state":  func(_ *arena.World, b *arena.Browser) { b.Get("/api/auth/callback/op?error=invalid_client&state=a.b") },
		"another state": callsBack(func(_, other *arena.Browser, to string) { other.Get(to) }),
		"used state":    callsBack(func(b, _ *arena.Browser, to string) { b.Get(to + "&code=x"); b.Get(to) }),
		"left early": func(w *arena.World, b *arena.Browser) {
			to := b.Approve(w.OP, b.Begin("op"), "ada")
			ctx, leave := context.WithCancel(t.Context())
			w.OP.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
				idp.EndpointToken: func(_ http.ResponseWriter, r *http.Request) bool { leave(); <-r.Context().Done(); return true },
			}})
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.Abs(to), nil)
			if err != nil {
				t.Error(err)
			}
			b.Do(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.EnterInMemory(t, func(*authsvc.Config) {})
			run(w, w.Browser())
			lines := refusalLines(w)
			if len(lines) == 0 {
				t.Fatalf("no line about the refusal\n%s", w.Logs)
			}
			for _, line := range lines {
				if !strings.Contains(line, "level=INFO") || strings.Contains(line, " fix=") {
					t.Error(line)
				}
			}
		})
	}
}

// callsBack begins an attempt, and passes on the callback that reports invalid_client.
func callsBack(run func(b, other *arena.Browser, to string)) func(*arena.World, *arena.Browser) {
	return func(w *arena.World, b *arena.Browser) {
		state := arena.MustURL(w.T, b.Begin("op")).Query().Get("state")
		run(b, w.Browser(), "/api/auth/callback/op?error=invalid_client&state="+url.QueryEscape(state))
	}
}

// madeSecret is a provider whose client secret is made for each sign-in.
func madeSecret(o *authsvc.OAuth) {
	o.Client.Secret = ""
	o.Hooks.ClientSecret = func(authsvc.Client, time.Time) (string, time.Time, error) {
		return arena.ClientSecret, time.Time{}, nil
	}
}

// otherKeys returns the keys with another coordinate, so that they are of no key.
func otherKeys(keys []map[string]any) []map[string]any {
	var list []map[string]any
	for _, key := range keys {
		other := maps.Clone(key)
		other["kid"] = "other"
		list = append(list, other)
	}
	return list
}
