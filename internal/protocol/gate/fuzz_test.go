package gate

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// namers holds the ways in which programs read the name of a header.
var namers = map[string]func(string) string{
	"Go":  func(s string) string { return strings.ToLower(s) },
	"CGI": func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) },
	"PHP": func(s string) string {
		return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_", " ", "_", "[", "_").Replace(s))
	},
	"any": func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < 0x80 && alphanumeric(byte(r)) {
				return r | 0x20
			}
			return '_'
		}, s)
	},
}

// FuzzHeaderNames checks that, if a program confuses a name with one that clients must
// not send, this package detects it.
func FuzzHeaderNames(f *testing.F) {
	for _, name := range []string{"X-Auth-User-Id", "X.Auth.User.Id", "x_auth_user_id", "X-Forwarded-For", "X.Forwarded.For", "Forwarded", "X_Real_IP", "X-Original-URL", "x.host", "Proxy", "Accept", "X Auth User Id", "X[Auth-User-Id"} {
		f.Add(name)
	}
	forwarding := []string{"Forwarded", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return // no header has it
		}
		for how, read := range namers {
			same := func(other string) bool { return read(name) == read(other) }
			if same("X-Auth-User-Id") && !SameHeader(name, "X-Auth-User-Id") {
				t.Errorf("%s takes %q for the user", how, name)
			}
			if slices.ContainsFunc(forwarding, same) && !Forwarding(name) {
				t.Errorf("%s takes %q for where a request comes from", how, name)
			}
			if slices.ContainsFunc(misleading, same) && !Misleading(name) {
				t.Errorf("%s takes %q for a header that it obeys", how, name)
			}
			if PlainName(name) && same("X-Auth-User-Id") != strings.EqualFold(name, "X-Auth-User-Id") {
				t.Errorf("%s reads the plain name %q differently", how, name)
			}
		}
	})
}

// FuzzMethods checks that programs use only methods that are judged.
func FuzzMethods(f *testing.F) {
	f.Add("POST", "DELETE", "a=b")
	f.Add("POST", "delete, x", "_method=DELETE")
	f.Add("GET", " DELETE ,", "%5Fmethod=delete&_method=PUT")
	f.Add("delete", "", "")
	f.Add("POST", "DELETE;q=1", "_method=DEL%45TE;_method=x")
	f.Fuzz(func(t *testing.T, method, override, query string) {
		h := http.Header{"X-Http-Method-Override": {override}}
		judged, ok := methodsOf(method, overrides(h, "/x?"+query), nil)
		if !ok {
			return // it does not arrive
		}
		taken := map[string]string{"as it came": method, "in capitals": strings.ToUpper(method)}
		first, _, _ := strings.Cut(override, ",")
		taken["Express"] = strings.ToUpper(strings.TrimSpace(first))
		taken["Symfony"] = strings.ToUpper(override)
		values, _ := url.ParseQuery(query)
		for _, v := range values["_method"] {
			taken["by the query, "+v] = strings.ToUpper(v)
		}
		for how, m := range taken {
			if capitals(m) && len(m) <= maxMethod && !slices.Contains(judged, m) {
				t.Errorf("%q, override %q, query %q: a program that reads %s takes %q, and judged is %q", method, override, query, how, m, judged)
			}
		}
	})
}
