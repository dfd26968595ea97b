package engine_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestInsecureIssuer: with the permission, a sign-in at an issuer by http succeeds, and
// the log warns of it. Every call stays at the host of the issuer.
func TestInsecureIssuer(t *testing.T) {
	t.Parallel()
	const issuer = "http://odd.test:8080"
	o := newOdd(map[string]string{
		"odd.test:8080/.well-known/openid-configuration": fmt.Sprintf(`{"issuer":%q,"authorization_endpoint":"%[1]s/authorize","token_endpoint":"%[1]s/token","userinfo_endpoint":"%[1]s/me"}`, issuer),
		"odd.test:8080/token":                            newOdd(nil).answers["odd.test/token"], "odd.test:8080/me": newOdd(nil).answers["api.odd.test/me"],
	})
	w := startOdd(t, o, func(p *authsvc.OAuth) {
		p.Issuer, p.DangerousInsecureIssuer, p.Endpoints = issuer, true, authsvc.Endpoints{UserInfo: issuer + "/me"}
	})
	logs := w.Logs
	if user := oddUser(w); user["name"] != "Ada" || len(o.hosts()) != 1 {
		t.Errorf("%v, asked %v: %s", user, o.hosts(), logs.String())
	}
	if !strings.Contains(logs.String(), "a provider is called by http") || !strings.Contains(logs.String(), "issuer="+issuer) {
		t.Errorf("no warning: %s", logs.String())
	}
}

// TestInsecureIssuerElsewhere: the permission covers no other host or port that the
// metadata names.
func TestInsecureIssuerElsewhere(t *testing.T) {
	t.Parallel()
	const issuer = "http://odd.test:8080"
	metadata := func(token string) string {
		return fmt.Sprintf(`{"issuer":%q,"authorization_endpoint":"%s/authorize","token_endpoint":%q,"jwks_uri":"%s/jwks"}`, issuer, issuer, token, issuer)
	}
	for token, want := range map[string]string{
		issuer + "/token": "", "http://ODD.test:8080/token": "", "https://other.test/token": "",
		"http://odd.test/token": "token_endpoint: only https", "http://other.test:8080/token": "token_endpoint: only https",
		"http://127.0.0.1/token": "token_endpoint: only https", "http://localhost:8080/token": "token_endpoint: only https",
	} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			o := newOdd(map[string]string{"odd.test:8080/.well-known/openid-configuration": metadata(token), "odd.test:8080/jwks": `{"keys":[]}`})
			logs := &arena.LogBuffer{}
			s, err := engine.NewOperator(oddConfig(o, &authsvc.OAuth{ID: "odd", OpenID: true, Issuer: issuer, DangerousInsecureIssuer: true, Client: authsvc.Client{ID: "a", Secret: "b"}}, logs))
			if err != nil {
				t.Fatal(err)
			}
			err = s.CheckProviders(t.Context())["odd"]
			if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// TestOutboundOptions: mistakes in the ways to the providers.
func TestOutboundOptions(t *testing.T) {
	t.Parallel()
	const plain = "http://keycloak.test:8080"
	for name, c := range map[string]struct {
		out      authsvc.Outbound
		issuer   string
		userinfo string
		insecure bool
		want     []string // fields
	}{
		"nothing":          {},
		"proxy":            {out: authsvc.Outbound{Proxy: "http://ann:s3cret@proxy.test:3128", NoProxy: []string{"keycloak.test", "*.corp.test", "10.0.0.1:8443"}}},
		"no port":          {out: authsvc.Outbound{Proxy: "http://ann:s3cret@proxy.test"}, want: []string{"Outbound.Proxy"}},
		"no proxy":         {out: authsvc.Outbound{Proxy: "socks5://ann:s3cret@proxy.test:1080"}, want: []string{"Outbound.Proxy"}},
		"a slash":          {out: authsvc.Outbound{Proxy: "http://s3cret/more@proxy.test:3128"}, want: []string{"Outbound.Proxy"}},
		"not a port":       {out: authsvc.Outbound{Proxy: "http://proxy.test:3128", NoProxy: []string{"keycloak.test:99999"}}, want: []string{"Outbound.NoProxy"}},
		"two ways":         {out: authsvc.Outbound{Proxy: "http://proxy.test:3128", DangerousTransport: http.DefaultTransport}, want: []string{"Outbound.Proxy"}},
		"nothing to avoid": {out: authsvc.Outbound{NoProxy: []string{"keycloak.test"}}, want: []string{"Outbound.NoProxy"}},
		"not a host":       {out: authsvc.Outbound{Proxy: "http://proxy.test:3128", NoProxy: []string{"https://keycloak.test"}}, want: []string{"Outbound.NoProxy"}},
		"http, permitted":  {issuer: plain, insecure: true},
		"http":             {issuer: plain, want: []string{"Providers[0].Issuer"}},
		"http, both":       {issuer: plain, userinfo: plain + "/me", want: []string{"Providers[0].Issuer"}},
		"http elsewhere":   {issuer: plain, userinfo: "http://other.test/me", insecure: true, want: []string{"Providers[0].Endpoints.UserInfo"}},
		"http here":        {issuer: "http://localhost:8080"},
		"https, permitted": {issuer: "https://keycloak.test", insecure: true, want: []string{"Providers[0].DangerousInsecureIssuer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer := c.issuer
			if issuer == "" {
				issuer = "https://op.test"
			}
			_, err := engine.NewOperator(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Outbound: c.out,
				Providers: []authsvc.Provider{&authsvc.OAuth{ID: "op", OpenID: true, Issuer: issuer, DangerousInsecureIssuer: c.insecure, Client: authsvc.Client{ID: "a", Secret: "b"},
					Endpoints: authsvc.Endpoints{UserInfo: c.userinfo}}}})
			var fields []string
			for _, e := range authsvc.ConfigErrors(err) {
				fields = append(fields, e.Field)
			}
			if !slices.Equal(fields, c.want) || strings.Contains(fmt.Sprint(err), "s3cret") {
				t.Errorf("%q, want %q: %v", fields, c.want, err)
			}
			for _, printed := range []string{fmt.Sprintf("%v %+v %#v %s", c.out, c.out, c.out, c.out), fmt.Sprint(slog.AnyValue(c.out).Resolve())} {
				if strings.Contains(printed, "s3cret") {
					t.Errorf("prints %s", printed)
				}
			}
		})
	}
}
