package authsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"authsvc/internal/idp"
)

func TestAttackTokenEndpoint(t *testing.T) {
	t.Parallel()
	set := func(name string, v any) idp.Fault {
		return idp.Fault{TokenAnswer: func(a map[string]any) {
			if v == nil {
				delete(a, name)
			} else {
				a[name] = v
			}
		}}
	}
	id := func(v any) idp.Fault { return idp.Fault{User: func(u map[string]any) { u["id"] = v }} }
	refused := map[string]idp.Fault{
		"oauth2-21 no access_token": set("access_token", nil), "oauth2-21 no type": set("token_type", nil), "oauth2-21 mac": set("token_type", "mac"),
		"oauth2-21 negative": set("expires_in", -1), "oauth2-21 huge": set("expires_in", 1e99), "oauth2-21 number": set("access_token", 7),
		"oauth2-21 500": {Status: map[idp.Endpoint]int{idp.EndpointOAuth2Token: 500}}, "oauth2-21 empty 200": {Status: map[idp.Endpoint]int{idp.EndpointOAuth2Token: 200}},
		"oauth2-22 hostile error": set("error", "<script>"+clientSecret), "userinfo 500": {Status: map[idp.Endpoint]int{idp.EndpointOAuth2User: 500}},
		"oauth2-23 null": id(nil), "oauth2-23 empty": id(""), "oauth2-23 list": id([]any{}), "oauth2-23 true": id(true), "oauth2-23 object": id(map[string]any{}), "oauth2-23 long": id(strings.Repeat("x", 300)),
	}
	for name, fault := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := twoProviders(t)
			w.op.SetFault(fault)
			b := w.browser()
			back := b.approve(w.op, b.begin("plain"), "katherine")
			a := w.mustRefuseLate(t, func() *answer { return b.get(back) })
			if page := b.get(a.location()); strings.Contains(page.body+page.location()+w.logs.String(), clientSecret) || strings.Contains(page.body, "<script>") {
				t.Error("the answer of the provider is repeated")
			}
			w.op.SetFault(idp.Fault{})
			if a := b.get(b.approve(w.op, b.begin("plain"), "katherine")); a.location() != origin {
				t.Errorf("twin: %s", a.location())
			}
		})
	}
	for name, v := range map[string][2]any{"1 and \"1\"": {1, "1"}, "2^53+1": {"9007199254740993", "9007199254740992"}, "case": {"abc", "ABC"}, "accent": {"a", "ä"}, "trailing blank": {"abc", "abc "}} {
		t.Run("oauth2-23 account-05 "+name, func(t *testing.T) {
			t.Parallel()
			w, _ := twoProviders(t)
			var people []string
			for _, x := range v {
				w.op.SetFault(idp.Fault{User: func(u map[string]any) { u["id"] = x; delete(u, "email") }})
				b := w.browser()
				if a := b.get(b.approve(w.op, b.begin("plain"), "katherine")); a.location() != origin {
					t.Fatalf("%v: %s\n%s", x, a.location(), w.logs)
				}
				people = append(people, w.person(t, b))
			}
			if same := people[0] == people[1]; same != (name == "1 and \"1\"") {
				t.Errorf("same person: %v", same)
			}
		})
	}
}

func TestAttackBearer(t *testing.T) {
	t.Parallel()
	w, _ := twoProviders(t)
	var seen []string
	record := func(e idp.Endpoint) func(http.ResponseWriter, *http.Request) bool {
		return func(_ http.ResponseWriter, r *http.Request) bool {
			seen = append(seen, fmt.Sprint(e, " ", r.URL.RequestURI(), " ", strings.SplitN(r.Header.Get("Authorization"), " ", 2)[0]))
			return false
		}
	}
	t.Run("oauth2-19 oauth2-25 credentials in headers only", func(t *testing.T) {
		w.op.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
			idp.EndpointOAuth2Token: record(idp.EndpointOAuth2Token), idp.EndpointOAuth2User: record(idp.EndpointOAuth2User)}})
		b := w.browser()
		if a := b.get(b.approve(w.op, b.begin("plain"), "katherine")); a.location() != origin {
			t.Fatalf("%s", a.location())
		}
		if got := fmt.Sprint(seen); got != "[oauth2/token /oauth2/token Basic oauth2/user /oauth2/user Bearer]" {
			t.Errorf("%s", got)
		}
	})
}
