package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"authsvc"
)

// leaves returns the paths to the fields of a struct, including nested ones.
func leaves(t reflect.Type, prefix string) (paths []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == reflect.TypeFor[authsvc.Config]().PkgPath() && f.Type != reflect.TypeFor[authsvc.Rate]() {
			paths = append(paths, leaves(f.Type, prefix+f.Name+".")...)
		} else {
			paths = append(paths, prefix+f.Name)
		}
	}
	return paths
}

// onlyGo lists the fields that only a program can set. A trailing dot includes all
// fields below.
var onlyGo = []string{"HSTS", "ShowRefusal", "Account.Edit", "RateLimit.Link", "RateLimit.BackchannelLogout", "RateLimit.Account",
	"Providers", "Logger", "Outbound.DangerousTransport", "Callbacks.", "Events.",
	"Providers[0].OpenID", "Providers[0].PairwiseSubject", "Providers[0].Hooks.", "Providers[0].UserInfo", "Providers[0].MapProfile", "Providers[0].Authorize", "SignIn.Allow[0].MaxAge", "SignIn.Allow[0].Tokens",
	"SignIn.Allow[0].When", "Tokens.Audiences[0].Allow[0].MaxAge", "Tokens.Audiences[0].Allow[0].When", "Tokens.Audiences[0].Allow[0].Tokens", "Gate.MaxRequests", "Gate.Hosts[0].Default.", "Gate.Hosts[0].Rules[0].Allow.Anyone", "Gate.Hosts[0].Rules[0].Allow.Nobody"}

// onlyKeys lists the keys of the program itself, and keys of fields that are built from
// several keys.
var onlyKeys = []string{"listen", "admin.listen", "stop_delay", "admin.allow_remote", "debug.listen", "session.store", "storage.prefix", "storage.migrate", "storage.naming", "storage.tables", "storage.columns", "storage.user_columns",
	"log.format", "log.level", "mail.templates", "providers[0].type", "providers[0].server", "providers[0].from", "providers[0].max_age", "providers[0].inbox_url",
	"providers[0].codes", "providers[0].sign_in", "providers[0].helo", "providers[0].insecure_no_tls", "rules.sign_in", "rules.claims", "rules.redirect", "hooks", "hooks[0].on",
	"hooks[0].url", "hooks[0].secret", "hooks[0].timeout", "providers[0].hook.url", "providers[0].hook.secret", "providers[0].hook.timeout", "gate.hosts[0].default"}

// TestKeyOf: each field of the engine that a configuration can set maps to its key.
func TestKeyOf(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, k := range Keys() {
		keys = append(keys, strings.ReplaceAll(k.Name, "[]", "[0]"))
	}
	paths := leaves(reflect.TypeFor[authsvc.Config](), "")
	paths = append(paths, leaves(reflect.TypeFor[authsvc.OAuth](), "Providers[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.OAuth1](), "Providers[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.Credentials](), "Providers[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.Field](), "Providers[0].Fields[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.Condition](), "SignIn.Allow[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.GateHost](), "Gate.Hosts[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.GateRule](), "Gate.Hosts[0].Rules[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.Condition](), "Gate.Hosts[0].Rules[0].Allow.AnyOf[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.Audience](), "Tokens.Audiences[0].")...)
	paths = append(paths, leaves(reflect.TypeFor[authsvc.Condition](), "Tokens.Audiences[0].Allow[0].")...)
	named := slices.Clone(onlyKeys)
	for _, path := range paths {
		only := func(p string) bool { return p == path || strings.HasSuffix(p, ".") && strings.HasPrefix(path, p) }
		key := keyOf(path)
		if !slices.Contains(keys, key) && !slices.ContainsFunc(onlyGo, only) {
			t.Errorf("%s: there is no key %s", path, key)
		}
		named = append(named, key)
	}
	for _, key := range keys {
		if !slices.Contains(named, key) {
			t.Errorf("%s is the key of no field", key)
		}
	}
}

// TestKeyOfElements: mistakes can also name elements of lists and whole providers.
func TestKeyOfElements(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{"Secrets[1]": "secret[1]", "AllowedRedirects[2]": "allowed_redirects[2]", "Providers[3]": "providers[3]",
		"Providers[12].Client.ID": "providers[12].client_id", "Providers[0].AuthorizationParams[max_age]": "providers[0].authorization_params.max_age",
		"Cookies": "cookies", "SignIn.Allow[2].Domains[1]": "sign_in.allow[2].domains[1]", "Providers[1].Send": "providers[1].server",
		"Gate.Hosts[1].Rules[2].Allow.AnyOf[3].Domains[4]": "gate.hosts[1].rules[2].allow[3].domains[4]", "Gate.Hosts[1].Default.AnyOf[0]": "gate.hosts[1].default[0]", "Gate.Headers.UserID[1]": "gate.headers.user_id[1]",
		"Tokens.Audiences[1].Claims[2]": "tokens.audiences[1].claims[2]", "Session.Expose.emailVerified": "session.expose.emailVerified", "Session.Claims.A.b[0]": "session.claims.A.b[0]"} {
		if got := keyOf(field); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}
