package oidc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCall(t *testing.T) {
	t.Parallel()
	op, other := newProvider(t), newProvider(t)
	for _, o := range []*provider{op, other} {
		o.on("/emails", reply(200, "application/json", `[{"email":"a@b.example","primary":true}]`))
		o.on("/object", reply(200, "application/json", `{"id":9007199254740993}`))
	}
	p := op.party(t)
	v, err := p.Call(t.Context(), Call{URL: op.URL + "/emails", Token: "at", Header: map[string]string{"Accept": "application/vnd.x+json"}})
	wantError(t, err, "")
	if diff := cmp.Diff([]any{map[string]any{"email": "a@b.example", "primary": true}}, v); diff != "" {
		t.Error(diff)
	}
	if r := op.request("/emails"); r.Header.Get("Accept") != "application/vnd.x+json" || r.Header.Get("Authorization") != "Bearer at" {
		t.Error(r.Header)
	}
	v, err = p.Call(t.Context(), Call{URL: op.URL + "/object", Token: "at"})
	wantError(t, err, "")
	if id, _ := Claims(v.(map[string]any)).String("id"); id != "9007199254740993" {
		t.Error(v)
	}
	for url, want := range map[string]string{
		other.URL + "/emails":       "does not name this host",
		"http://api.example/emails": "only https",
		op.URL + "/missing":         "status 404",
	} {
		_, err = p.Call(t.Context(), Call{URL: url, Token: "at"})
		wantError(t, err, want)
	}
	for _, name := range []string{"Cookie", "host", "Content-Length", "Proxy-Authorization", "authorization"} {
		_, err = p.Call(t.Context(), Call{URL: op.URL + "/emails", Token: "at", Header: map[string]string{name: "x"}})
		wantError(t, err, "cannot be set")
	}
	if other.count("/emails") != 0 {
		t.Error("the token went to a host that the configuration does not name")
	}
}
