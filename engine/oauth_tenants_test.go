package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

const (
	tenantA = "11111111-1111-4111-8111-111111111111"
	tenantB = "22222222-2222-4222-8222-222222222222"
)

// tenants makes a service whose provider "op" stands for two tenants.
func tenants(t *testing.T, pairwise bool, tune func(*authsvc.Config, *authsvc.OAuth)) *arena.World {
	t.Helper()
	return arena.Start(t, func(c *authsvc.Config) {
		c.RateLimit.Disabled = true
		p := c.Providers[0].(*authsvc.OAuth)
		p.Endpoints.Discovery = p.Issuer + "/.well-known/openid-configuration"
		p.Issuer += "/{tenantid}/v2.0"
		if p.PairwiseSubject = pairwise; !pairwise {
			p.Tenants = []string{tenantA, tenantB}
		}
		c.Providers = c.Providers[:1]
		if tune != nil {
			tune(c, p)
		}
	})
}

// at makes ID tokens come from a tenant, about a person with an address there.
func at(w *arena.World, tenant string) idp.Fault {
	issuer := w.Config.Providers[0].(*authsvc.OAuth).Issuer
	return idp.Fault{
		Discovery: func(m map[string]any) {
			m["issuer"] = issuer
			delete(m, "authorization_response_iss_parameter_supported")
		},
		Callback: func(q url.Values) { q.Del("iss") },
		IDToken: func(c map[string]any) {
			c["iss"], c["tid"] = strings.Replace(issuer, "{tenantid}", tenant, 1), tenant
			c["email"] = tenant + "@app.test"
		},
	}
}

// enter signs in ada of a tenant and returns her user's id.
func enter(t *testing.T, w *arena.World, tenant string) string {
	t.Helper()
	w.OP.SetFault(at(w, tenant))
	b := w.Browser()
	if a := b.SignIn(w.OP, "ada"); a.Location() != arena.Origin {
		t.Fatalf("%d %s\n%s", a.StatusCode, a.Location(), w.Logs)
	}
	return w.Person(t, b)
}

// accountIDs returns the account ids of a user, joined.
func accountIDs(t *testing.T, w *arena.World, userID string) string {
	t.Helper()
	list, err := w.Store.ListAccounts(t.Context(), userID)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, a := range list {
		ids = append(ids, a.ProviderAccountID)
	}
	return strings.Join(ids, " ")
}

// TestSameSubjectInTwoTenants checks that people of two tenants with the same sub are
// two people.
func TestSameSubjectInTwoTenants(t *testing.T) {
	t.Parallel()
	for name, pairwise := range map[string]bool{"pairwise": true, "not pairwise": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := tenants(t, pairwise, nil)
			a, b := enter(t, w, tenantA), enter(t, w, tenantB)
			if a == b || enter(t, w, tenantA) != a || enter(t, w, tenantB) != b {
				t.Error("Ada of one tenant is Ada of another")
			}
			if got := accountIDs(t, w, a) + " " + accountIDs(t, w, b); got != tenantA+"/ada "+tenantB+"/ada" {
				t.Errorf("accounts %q", got)
			}
		})
	}
}

// TestAccountsStoredWithoutTenant checks that accounts stored under the sub alone are
// found where that is safe.
func TestAccountsStoredWithoutTenant(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pairwise bool
		profile  string // Fields.ID
		idToken  func(issuer string) string
		found    bool
	}{
		"pairwise":               {pairwise: true, idToken: func(string) string { return "" }, found: true},
		"pairwise, another id":   {pairwise: true, profile: "name|sub", idToken: func(string) string { return "" }},
		"of the same tenant":     {idToken: func(issuer string) string { return idTokenOf(issuer, tenantA) }, found: true},
		"of another tenant":      {idToken: func(issuer string) string { return idTokenOf(issuer, tenantB) }},
		"without an ID token":    {idToken: func(string) string { return "" }},
		"with an unreadable one": {idToken: func(string) string { return badSeal }},
		"with no claims":         {idToken: func(string) string { return "a.b.c" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := tenants(t, c.pairwise, func(_ *authsvc.Config, p *authsvc.OAuth) { p.Fields.ID = c.profile })
			id := "ada"
			if c.profile != "" {
				id = "Ada Lovelace"
			}
			u, err := w.Store.SignUp(t.Context(), authsvc.User{ID: "before"}, &authsvc.Account{ID: "a", Type: "oauth", Provider: "op", ProviderAccountID: id,
				IDToken: c.idToken(w.Config.Providers[0].(*authsvc.OAuth).Issuer), AccessToken: "at-before"}, nil, "", nil)

			if err != nil {
				t.Fatal(err)
			}
			got := enter(t, w, tenantA)
			if (got == u.ID) != c.found {
				t.Errorf("signed in as %s", got)
			}
			if now := accountIDs(t, w, "before"); now != id {
				t.Errorf("the account is now %q", now)
			}
			if list, err := w.Accounts(t.Context(), "before"); err != nil || (list[0].AccessToken != "at-before") != c.found {
				t.Errorf("tokens of the earlier account: %+v, %v", list, err)
			}
			if now := accountIDs(t, w, got); !c.found && now != tenantA+"/"+id {
				t.Errorf("the new account is %q", now)
			}
		})
	}
}

// idTokenOf returns a verified ID token as stored.
func idTokenOf(issuer, tenant string) string {
	raw, err := json.Marshal(map[string]string{"iss": strings.Replace(issuer, "{tenantid}", tenant, 1), "tid": tenant, "sub": "ada"})
	if err != nil {
		panic(err)
	}
	return "e30." + base64.RawURLEncoding.EncodeToString(raw) + ".e30"
}

// TestPairwiseSubjectWithoutTenant checks that a pairwise subject stays alone where
// others read it, and that either form is found.
func TestPairwiseSubjectWithoutTenant(t *testing.T) {
	t.Parallel()
	single := func(c *authsvc.Config, p *authsvc.OAuth) {
		p.Issuer = strings.Replace(p.Issuer, "{tenantid}", tenantA, 1)
	}
	for name, c := range map[string]struct {
		pairwise bool
		tune     func(*authsvc.Config, *authsvc.OAuth)
		want     string
		other    string // also found; "": nothing
	}{
		"mode none":                  {true, nil, tenantA + "/ada", "ada"},
		"next-auth-v4":               {true, func(c *authsvc.Config, _ *authsvc.OAuth) { c.Compat = authsvc.NextAuthV4 }, "ada", tenantA + "/ada"},
		"authjs-v5":                  {true, func(c *authsvc.Config, _ *authsvc.OAuth) { c.Compat = authsvc.AuthJSV5 }, "ada", tenantA + "/ada"},
		"next-auth-v4, not pairwise": {false, func(c *authsvc.Config, _ *authsvc.OAuth) { c.Compat = authsvc.NextAuthV4 }, tenantA + "/ada", ""},
		"one tenant":                 {true, single, "ada", tenantA + "/ada"},
		"one tenant, not pairwise":   {false, single, "ada", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := tenants(t, c.pairwise, c.tune)
			if got := accountIDs(t, w, enter(t, w, tenantA)); got != c.want {
				t.Errorf("new account %q, want %q", got, c.want)
			}
			if c.other == "" {
				return
			}
			w = tenants(t, c.pairwise, c.tune)
			_, err := w.Store.SignUp(t.Context(), authsvc.User{ID: "before"}, &authsvc.Account{ID: "a", Type: "oauth", Provider: "op", ProviderAccountID: c.other}, nil, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := enter(t, w, tenantA); got != "before" {
				t.Errorf("%q is not found", c.other)
			}
		})
	}
	for name, c := range map[string]struct {
		pairwise bool
		want     string
	}{"without storage": {true, "ada"}, "without storage, not pairwise": {false, tenantA + "/ada"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			who := make(chan string, 1)
			w := tenants(t, c.pairwise, func(config *authsvc.Config, _ *authsvc.OAuth) {
				config.Adapter = nil
				config.Events.SignIn = func(_ context.Context, e authsvc.SignInEvent) { who <- e.User.ID }
			})
			w.OP.SetFault(at(w, tenantA))
			w.Browser().SignIn(w.OP, "ada")
			if got := <-who; got != c.want {
				t.Errorf("user %q, want %q", got, c.want)
			}
		})
	}
}

// TestTenantWithLongID checks the length limit of ids, which includes the tenant before
// them.
func TestTenantWithLongID(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{255 - len(tenantA) - 1: true, 255 - len(tenantA): false} {
		w := tenants(t, true, nil)
		f := at(w, tenantA)
		token := f.IDToken
		f.IDToken = func(c map[string]any) { token(c); c["sub"] = strings.Repeat("s", n) }
		w.OP.SetFault(f)
		if a := w.Browser().SignIn(w.OP, "ada"); (a.Location() == arena.Origin) != ok {
			t.Errorf("%d bytes: %s", n, a.Location())
		}
	}
}

// TestBackchannelLogoutOfTenant checks that back-channel logout ends the sessions of
// the person in that tenant.
func TestBackchannelLogoutOfTenant(t *testing.T) {
	t.Parallel()
	w := tenants(t, false, nil)
	browsers := map[string]*arena.Browser{}
	for _, tenant := range []string{tenantA, tenantB} {
		w.OP.SetFault(at(w, tenant))
		browsers[tenant] = w.Browser()
		browsers[tenant].SignIn(w.OP, "ada")
	}
	claims := map[string]any{}
	at(w, tenantA).IDToken(claims)
	delete(claims, "email")
	if a := postLogoutToken(w, t, "op", url.Values{"logout_token": {logoutToken(w, t, "ada", claims)}}); a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, w.Logs)
	}
	if browsers[tenantA].Email() != "" {
		t.Error("she is still signed in")
	}
	if browsers[tenantB].Email() == "" {
		t.Error("twin: ada of the other tenant was signed out")
	}
}

// TestRefreshOfAnotherTenant checks that the ID token of a refresh must be of the same
// tenant.
func TestRefreshOfAnotherTenant(t *testing.T) {
	t.Parallel()
	for tenant, want := range map[string]string{tenantA: "at-1", tenantB: ""} {
		w := tenants(t, false, nil)
		f := at(w, tenantA)
		f.TokenAnswer = func(a map[string]any) { a["refresh_token"] = "rt-0" }
		f.Intercept = map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
			idp.EndpointToken: func(rw http.ResponseWriter, r *http.Request) bool {
				if r.ParseForm(); r.PostForm.Get("grant_type") != "refresh_token" {
					return false
				}
				now := time.Now()
				claims := map[string]any{"aud": "app", "sub": "ada", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
				at(w, tenant).IDToken(claims)
				raw, err := w.OP.Sign("JWT", maps.Clone(claims))
				if err != nil {
					t.Error(err)
				}
				rw.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(rw, `{"access_token":"at-1","token_type":"Bearer","expires_in":3600,"id_token":%q}`, raw)
				return true
			},
		}
		w.OP.SetFault(f)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		stored, err := w.Store.ListAccounts(t.Context(), w.Person(t, b))
		if err != nil || len(stored) != 1 {
			t.Fatal(stored, err)
		}
		stored[0].ExpiresAt = 1
		if err := w.Store.RefreshAccount(t.Context(), stored[0], 0); err != nil {
			t.Fatal(err)
		}
		got, err := w.AccessToken(t.Context(), stored[0].UserID, "op", nil)
		if got != want || (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(), "another user") {
			t.Errorf("%s: %q, %v", tenant, got, err)
		}
	}
}

// TestMultiTenantIssuerNeedsTenants checks that an issuer that stands for any tenant is
// refused at start, unless no tenant can issue the subjects of another.
func TestMultiTenantIssuerNeedsTenants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tune func(*authsvc.OAuth)
		key  string
		says string
	}{
		"any tenant":              {func(*authsvc.OAuth) {}, "Tenants", "is missing"},
		"named":                   {func(o *authsvc.OAuth) { o.Tenants = []string{tenantA} }, "", ""},
		"pairwise":                {func(o *authsvc.OAuth) { o.PairwiseSubject = true }, "", ""},
		"one issuer":              {func(o *authsvc.OAuth) { o.Issuer = "https://op.test/" + tenantA }, "", ""},
		"without an ID token":     {func(o *authsvc.OAuth) { o.OpenID, o.Tenants = false, []string{tenantA} }, "Issuer", "ID token"},
		"plain OAuth, one issuer": {func(o *authsvc.OAuth) { o.OpenID, o.Issuer = false, "https://op.test" }, "", ""},
	} {
		o := &authsvc.OAuth{ID: "op", OpenID: true, Issuer: "https://op.test/{tenantid}", Client: authsvc.Client{ID: "app", Secret: "s"},
			Endpoints: authsvc.Endpoints{
				Authorization: "https://op.test/a",
				Token:         "https://op.test/t",
				UserInfo:      "https://op.test/u",
				JWKS:          "https://op.test/k",
			}}
		c.tune(o)
		s, err := engine.New(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: memory.New(), Providers: []authsvc.Provider{o}})
		if s != nil {
			t.Cleanup(func() { s.Close(t.Context()) })
		}
		list := authsvc.ConfigErrors(err)
		if c.key == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if len(list) != 1 || list[0].Field != "Providers[0]."+c.key || !strings.Contains(list[0].Problem, c.says) || list[0].Fix == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
