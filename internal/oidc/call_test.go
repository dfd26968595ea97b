package oidc

import (
	"errors"
	"strings"
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

// TestRefusal: a status of 400 to 499 has its answer beside it, and nothing of
// it in the text; what may pass has not.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   any
		no     bool // it is no Refusal
	}{
		"JSON":    {400, `{"error":"spent"}`, map[string]any{"error": "spent"}, false},
		"form":    {401, "error=spent", map[string]any{"error": "spent"}, false},
		"HTML":    {403, "<p>spent</p>", nil, false},
		"busy":    {429, `{"error":"spent"}`, nil, true},
		"down":    {503, `{"error":"spent"}`, nil, true},
		"success": {204, "", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newProvider(t)
			o.on("/api", reply(c.status, "", c.body))
			_, err := o.party(t).Call(t.Context(), Call{URL: o.URL + "/api"})
			var got *Refusal
			if errors.As(err, &got) == c.no || (err == nil) != (c.status == 204) {
				t.Fatalf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "spent") {
				t.Errorf("%v repeats the answer", err)
			}
			if got != nil && (got.Status != c.status || !cmp.Equal(c.want, got.Answer)) {
				t.Errorf("%+v", got)
			}
		})
	}
}
