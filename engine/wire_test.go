package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/exchange"
	"authsvc/internal/test/wire"
)

// TestWire plays testdata/wire against the embedded handler. The binary's tests play the
// same files. There the loader reads the configuration; here embedded reads only the
// few keys that vary.
func TestWire(t *testing.T) {
	t.Parallel()
	for name, parts := range wireTranscripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playEmbedded(t, parts["authsvc.yaml"], parts["transcript"], false)
		})
	}
}

// wireTranscripts returns the parts of each file in testdata/wire, by the file's name.
func wireTranscripts(t *testing.T) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("transcripts: %v, %v", files, err)
	}
	all := map[string]map[string]string{}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]string{}
		for _, f := range ar.Files {
			parts[f.Name] = string(f.Data)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txtar")] = parts
	}
	return all
}

// playEmbedded plays a transcript. If lenient is set, it does not compare the answers.
func playEmbedded(t *testing.T, config, transcript string, lenient bool) {
	t.Helper()
	const origin, trusted = wireOrigin, "http://localhost:1"
	config = strings.NewReplacer("{trusted}", trusted, "{origin}", origin).Replace(config)
	people := idp.DefaultPeople()
	for i := range people { // the service drops these: without https it keeps only pictures on this machine
		people[i].Picture = "http://pictures.example/" + people[i].Sub + ".png"
	}
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "wire-client-secret"}}, People: people})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	mails := arena.NewOutbox()
	c := embedded(t, config, op, mails)
	s, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	wire.Run(t, wire.World{
		Origin:  origin,
		Vars:    map[string]string{"origin": origin, "base": origin + "/api/auth", "host": strings.TrimPrefix(origin, "http://"), "issuer": op.Issuer(), "trusted": trusted},
		Lenient: lenient,
		Send: exchange.New(t, string(c.Compat)).Transport(func(r *http.Request) (*http.Response, error) {
			r.RemoteAddr = "127.0.0.1:4711"
			w := httptest.NewRecorder()
			if s.GatedHost(r.Host) >= 0 && !strings.HasPrefix(r.URL.Path, "/api/auth/") {
				s.Guard(nil).ServeHTTP(w, r)
			} else {
				s.ServeHTTP(w, r)
			}
			return w.Result(), nil
		}),
		Do: wireCommands(op, s, func(wanted func(testing.TB, authsvc.Message) string) (string, error) {
			return wanted(t, mails.Next(t)), nil
		}, func() string { return arena.Undo(mails.Notice(t)) }),
	}, transcript)
}

const wireOrigin = "http://localhost:3000"

// embedded returns the configuration that the varying keys of config describe.
func embedded(t *testing.T, config string, op *idp.Server, mails *arena.Outbox) authsvc.Config {
	t.Helper()
	var y struct {
		Compat         authsvc.Compat
		Session        struct{ Strategy string }
		TrustedOrigins []string `yaml:"trusted_origins"`
		Pages          struct {
			SignIn        string `yaml:"sign_in"`
			SignOut       string `yaml:"sign_out"`
			Error         string `yaml:"error"`
			VerifyRequest string `yaml:"verify_request"`
		}
		RateLimit struct {
			SignIn   string `yaml:"sign_in"`
			Token    string
			Personal string `yaml:"personal_token"`
		} `yaml:"rate_limit"`
		PersonalTokens struct{ Enabled bool } `yaml:"personal_tokens"`
		TrustedProxies []netip.Prefix         `yaml:"trusted_proxies"`
		Gate           wireGate
		Account        struct {
			Delete      bool
			ChangeEmail *bool `yaml:"change_email"`
		}
		Tokens struct {
			Audiences []struct {
				ID     string
				Alg    authsvc.SigningAlg
				Typ    string
				TTL    time.Duration
				Claims []string
				Allow  []struct{ Users []string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(config), &y); err != nil {
		t.Fatal(err)
	}
	c := authsvc.Config{
		URL: wireOrigin, Secrets: []string{"wire-7Hn2Kq9vXc4mZ8rT1uW5yB3eG6jL0pS"}, Adapter: memory.New(),
		Logger: slog.New(slog.DiscardHandler), Compat: y.Compat, Session: authsvc.SessionOptions{Strategy: authsvc.Strategy(y.Session.Strategy)}, TrustedOrigins: y.TrustedOrigins,
		Pages: authsvc.Pages{SignIn: y.Pages.SignIn, SignOut: y.Pages.SignOut, Error: y.Pages.Error, VerifyRequest: y.Pages.VerifyRequest},
		Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: "wire-client-secret"}},
			&authsvc.Email{From: "Acme <no-reply@app.example>", Send: mails.Send},
		},
	}
	for _, a := range y.Tokens.Audiences {
		one := authsvc.Audience{ID: a.ID, Alg: a.Alg, Typ: a.Typ, TTL: a.TTL, Claims: a.Claims}
		for _, allow := range a.Allow {
			one.Allow = append(one.Allow, authsvc.Condition{Users: allow.Users})
		}
		c.Tokens.Audiences = append(c.Tokens.Audiences, one)
	}
	if y.RateLimit.Token == "5/h" {
		c.RateLimit.Token = authsvc.Rate{N: 5, Per: time.Hour}
	}
	c.PersonalTokens.Enabled, c.Account.Delete, c.Account.ChangeEmail = y.PersonalTokens.Enabled, y.Account.Delete, y.Account.ChangeEmail
	if y.RateLimit.Personal == "2/h" {
		c.RateLimit.PersonalToken = authsvc.Rate{N: 2, Per: time.Hour}
	}
	if strings.Contains(config, "logout_at_provider: true") {
		o := c.Providers[0].(*authsvc.OAuth)
		o.LogoutAtProvider, o.Endpoints.EndSession = true, op.Issuer()+"/end"
	}
	if strings.Contains(config, "initiate_login: true") {
		c.Providers[0].(*authsvc.OAuth).InitiateLogin = true
	}
	c.Gate, c.TrustedProxies = y.Gate.gate(t), y.TrustedProxies
	if strings.Contains(config, "type: oauth2") {
		c.Providers = append(c.Providers, &authsvc.OAuth{ID: "plain", Name: "Plain", Client: authsvc.Client{ID: "app", Secret: "wire-client-secret"},
			Endpoints: authsvc.Endpoints{
				Authorization: op.Issuer() + "/oauth2/authorize",
				Token:         op.Issuer() + "/oauth2/token",
				UserInfo:      op.Issuer() + "/oauth2/user",
			},
			Scope: "profile email", Fields: authsvc.Fields{ID: "id", Name: "name|login", Email: "email", Image: "avatar_url"}})
	}
	if strings.Contains(config, "type: oauth1") {
		c.Providers = append(c.Providers, &authsvc.OAuth1{ID: "old", Name: "Old", Client: authsvc.Client{ID: "app", Secret: "wire-client-secret"},
			RequestTokenURL: op.Issuer() + "/oauth1/initiate", AuthorizationURL: op.Issuer() + "/oauth1/authorize",
			AccessTokenURL: op.Issuer() + "/oauth1/token", UserInfoURL: op.Issuer() + "/oauth1/user?verbose=1",
			Fields: authsvc.Fields{ID: "token.user_id"}})
	}
	if y.RateLimit.SignIn == "2/h" {
		c.RateLimit.SignIn = authsvc.Rate{N: 2, Per: 3600e9}
	}
	return c
}

// A wireGate holds the settings below gate that transcripts use.
type wireGate struct {
	Headers struct{ Assertion []string }
	Hosts   []struct {
		Origin, Upstream string
		Rules            []struct {
			Match string
			Allow yaml.Node // a word, or {tokens: true}
		}
	}
}

func (y *wireGate) gate(t *testing.T) (g authsvc.Gate) {
	t.Helper()
	g.Headers.Assertion = y.Headers.Assertion
	for _, host := range y.Hosts {
		h := authsvc.GateHost{Origin: host.Origin, Upstream: host.Upstream}
		for _, rule := range host.Rules {
			var allow authsvc.Allow
			switch word := rule.Allow.Value; {
			case rule.Allow.Kind == yaml.MappingNode:
				var one struct{ Tokens bool }
				if err := rule.Allow.Decode(&one); err != nil || !one.Tokens {
					t.Fatalf("allow of %s: %v", rule.Match, err)
				}
				allow.AnyOf = []authsvc.Condition{{Tokens: true}}
			default:
				allow = authsvc.Allow{Anyone: word == "anyone", Nobody: word == "nobody"}
			}
			h.Rules = append(h.Rules, authsvc.GateRule{Match: rule.Match, Allow: allow})
		}
		g.Hosts = append(g.Hosts, h)
	}
	return g
}

// wireCommands returns a function that runs the commands of a transcript.
func wireCommands(op *idp.Server, s *engine.Service, mail func(wanted func(testing.TB, authsvc.Message) string) (string, error), undo func() string) func([]string) (string, error) {
	return func(args []string) (string, error) {
		switch {
		case args[0] == "approve" && len(args) == 3:
			a, err := op.Approve(args[1], strings.Trim(args[2], "-"))
			return a.URL(), err
		case args[0] == "mail":
			return mail(arena.Link)
		case args[0] == "undo":
			return undo(), nil
		case args[0] == "code":
			return mail(func(_ testing.TB, m authsvc.Message) string { return arena.Code(m) })
		case args[0] == "logout" && len(args) == 2:
			return op.LogoutToken("app", args[1])
		case args[0] == "token" && len(args) == 4:
			token, _, err := s.CreatePersonalToken(context.Background(), args[1],
				authsvc.PersonalTokenRequest{Name: "wire", Hosts: args[2:3], Audiences: args[3:]})
			return token, err
		case args[0] == "form" && len(args) == 2:
			u, err := url.Parse(args[1])
			return u.RawQuery, err
		}
		return "", fmt.Errorf("unknown command %q", args)
	}
}
