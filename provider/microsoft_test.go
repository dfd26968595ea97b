package provider_test

import (
	"errors"
	"strings"
	"testing"

	"authsvc"
	"authsvc/provider"
)

// changed returns an entry whose providers have an operator's change applied.
func changed(t *testing.T, id string, change func(*authsvc.OAuth)) provider.Entry {
	t.Helper()
	e, ok := provider.Lookup(id)
	if !ok {
		t.Fatalf("no provider %s", id)
	}
	made := e.New
	e.New = func(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
		p, err := made(c, options)
		if o, ok := p.(*authsvc.OAuth); ok && err == nil {
			change(o)
		}
		return p, err
	}
	return e
}

// TestMicrosoftOptIn checks that only the claims about mail domains are trusted, and
// only if the operator opts in.
func TestMicrosoftOptIn(t *testing.T) {
	t.Parallel()
	edov := func(o *authsvc.OAuth) { o.Fields.EmailVerified = "xms_edov" }
	primary := func(o *authsvc.OAuth) { o.Fields.Email, o.TrustEmail = "verified_primary_email[0]", true }
	for name, one := range map[string]struct {
		change func(*authsvc.OAuth)
		claims map[string]any
		want   outcome
	}{
		"boolean":    {edov, map[string]any{"xms_edov": true}, outcome{Email: "ada@example.com", Verified: true}},
		"text":       {edov, map[string]any{"xms_edov": "1"}, outcome{Email: "ada@example.com", Verified: true}},
		"false":      {edov, map[string]any{"xms_edov": false}, outcome{Email: "ada@example.com"}},
		"text 0":     {edov, map[string]any{"xms_edov": "0"}, outcome{Email: "ada@example.com"}},
		"none":       {edov, map[string]any{"email_verified": true}, outcome{Email: "ada@example.com"}},
		"no address": {edov, map[string]any{"xms_edov": true, "email": nil}, outcome{}},
		"primary":    {primary, map[string]any{"verified_primary_email": []any{"ada@example.net"}}, outcome{Email: "ada@example.net", Verified: true}},
		"no primary": {primary, map[string]any{"verified_primary_email": []any{}}, outcome{}},
		"only email": {primary, nil, outcome{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := recordings(t, "microsoft-entra-id")["any directory"]
			for claim, v := range one.claims {
				rec.IDToken[claim] = v
			}
			a := newAttempt(t, changed(t, "microsoft-entra-id", one.change), rec)
			a.start()
			a.comeBack(nil)
			if a.stored == nil || a.stored.Email != one.want.Email || a.stored.Verified != one.want.Verified {
				t.Errorf("stored %+v, want %+v\n%s", a.stored, one.want, a.log)
			}
		})
	}
}

// TestMicrosoftTenants checks that, of many directories, only the listed ones are
// accepted.
func TestMicrosoftTenants(t *testing.T) {
	t.Parallel()
	const own = "aaaabbbb-0000-cccc-1111-dddd2222eeee"
	e := changed(t, "azure", func(o *authsvc.OAuth) { o.Tenants = []string{own} })
	for name, ok := range map[string]bool{"any directory": true, "another directory": false} {
		a := newAttempt(t, e, recordings(t, "microsoft-entra-id")[name])
		a.start()
		if word := a.comeBack(nil); (a.stored != nil) != ok || (word == "") != ok {
			t.Errorf("%s: %q, stored %+v", name, word, a.stored)
		}
	}
}

// TestMicrosoftOptions checks that a value that cannot be an issuer is refused, and
// that the error names the option.
func TestMicrosoftOptions(t *testing.T) {
	t.Parallel()
	const guid, place = "AAAABBBB-0000-cccc-1111-dddd2222eeee", "https://acme.b2clogin.com/acme.onmicrosoft.com/B2C_1_signin/v2.0"
	for _, one := range []struct {
		id      string
		options map[string]string
		key     string // the option that is refused; "": none
		issuer  string
	}{
		{"microsoft-entra-id", nil, "", "https://login.microsoftonline.com/{tenantid}/v2.0"},
		{"microsoft-entra-id", map[string]string{"tenant_id": guid}, "", "https://login.microsoftonline.com/aaaabbbb-0000-cccc-1111-dddd2222eeee/v2.0"},
		{"microsoft-entra-id", map[string]string{"tenant_id": "acme.onmicrosoft.com"}, "tenant_id", ""},
		{"microsoft-entra-id", map[string]string{"tenant_id": guid + "/"}, "tenant_id", ""},
		{"azure-ad", map[string]string{"tenant_id": "{tenantid}"}, "tenant_id", ""},
		{"azure-ad", map[string]string{"profile_photo_size": "4096"}, "profile_photo_size", ""},
		{"microsoft-entra-id", map[string]string{"profile_photo_size": "48", "authority": "https://login.example.com"}, "profile_photo_size", ""},
		{"microsoft-entra-id", map[string]string{"profile_photo_size": "48", "authority": "https://login.microsoftonline.us"}, "", "https://login.microsoftonline.us/{tenantid}/v2.0"},
		{"azure-ad-b2c", map[string]string{"issuer": place, "tenant_id": guid}, "", "https://acme.b2clogin.com/aaaabbbb-0000-cccc-1111-dddd2222eeee/v2.0/"},
		{"azure-ad-b2c", map[string]string{"issuer": place, "tenant_id": "acme"}, "tenant_id", ""},
		{"azure-ad-b2c", map[string]string{"issuer": strings.Replace(place, "https", "http", 1), "tenant_id": guid}, "issuer", ""},
		{"azure-ad-b2c", map[string]string{"issuer": place + "/.well-known/openid-configuration", "tenant_id": guid}, "issuer", ""},
		{"azure-ad-b2c", map[string]string{"issuer": "acme", "tenant_id": guid}, "issuer", ""},
	} {
		e, _ := provider.Lookup(one.id)
		p, err := e.New(authsvc.Client{ID: "x", Secret: "y"}, one.options)
		var wrong *provider.OptionError
		switch {
		case one.key == "" && err != nil:
			t.Errorf("%s %v: %v", one.id, one.options, err)
		case one.key == "":
			if got := p.(*authsvc.OAuth).Issuer; got != one.issuer {
				t.Errorf("%s %v: issuer %s", one.id, one.options, got)
			}
		case !errors.As(err, &wrong) || wrong.Key != one.key || p != nil:
			t.Errorf("%s %v: %v", one.id, one.options, err)
		}
	}
}

// TestDeniedAccounts checks that people whom the provider accepts but we refuse see
// that access was denied, not that an error occurred.
func TestDeniedAccounts(t *testing.T) {
	t.Parallel()
	for id, names := range map[string][]string{
		"microsoft-entra-id": {"organizations and a personal account"},
		"gitlab":             {"blocked", "locked"},
	} {
		e, _ := provider.Lookup(id)
		for _, name := range names {
			a := newAttempt(t, e, recordings(t, id)[name])
			a.start()
			if word := a.comeBack(nil); word != "AccessDenied" || a.stored != nil {
				t.Errorf("%s, %s: %q, stored %+v", id, name, word, a.stored)
			}
		}
	}
}
