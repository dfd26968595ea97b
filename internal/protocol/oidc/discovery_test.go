package oidc

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"authsvc/internal/protocol/outbound"
)

func TestMetadata(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	op.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := op.document()
		doc["authorization_response_iss_parameter_supported"] = true
		writeJSON(w, doc)
	})
	client := op.client(t, func(c *Config) { c.UserInfoURL = op.URL + "/me" })
	if op.count("/.well-known/openid-configuration") != 0 {
		t.Fatal("New went to the network")
	}
	want := &Metadata{
		Issuer: op.URL, AuthorizationURL: op.URL + "/authorize", TokenURL: op.URL + "/token",
		UserInfoURL: op.URL + "/me", JWKSURL: op.URL + "/jwks", IssParameter: true,
	}
	for range 3 {
		got, err := client.Metadata(t.Context())
		wantError(t, err, "")
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Metadata{})); diff != "" {
			t.Fatal(diff)
		}
		got.TokenURL = "changed by the caller" // must not reach the cache
	}
	if n := op.count("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("%d fetches", n)
	}
}

func TestNoDiscoveryWhenAllIsConfigured(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t, func(c *Config) {
		c.AuthorizationURL, c.TokenURL, c.JWKSURL = op.URL+"/a", op.URL+"/t", op.URL+"/jwks"
	})
	md, err := client.Metadata(t.Context())
	wantError(t, err, "")
	if md.TokenURL != op.URL+"/t" || op.count("/.well-known/openid-configuration") != 0 {
		t.Errorf("%+v", md)
	}
}

func TestHostileMetadata(t *testing.T) {
	t.Parallel()
	remote := Config{Issuer: "https://idp.example", ClientID: "x", OpenID: true}
	local := Config{Issuer: "http://localhost:8080", ClientID: "x", OpenID: true}
	good := func(base string) map[string]any {
		return map[string]any{"issuer": base, "authorization_endpoint": base + "/a", "token_endpoint": base + "/t", "jwks_uri": base + "/k"}
	}
	tests := []struct {
		name   string
		config Config
		mod    func(map[string]any)
		want   string
	}{
		{"good", remote, func(map[string]any) {}, ""},
		{"good loopback", local, func(map[string]any) {}, ""},
		{"unknown members", remote, func(d map[string]any) { d["x"] = []int{1} }, ""},
		{"endpoints elsewhere", remote, func(d map[string]any) { d["token_endpoint"] = "https://api.example/t" }, ""},
		{"issuer slash", remote, func(d map[string]any) { d["issuer"] = "https://idp.example/" }, "issuer is not"},
		{"issuer case", remote, func(d map[string]any) { d["issuer"] = "https://IDP.example" }, "issuer is not"},
		{"issuer one character", remote, func(d map[string]any) { d["issuer"] = "https://idp.exampl" }, "issuer is not"},
		{"issuer missing", remote, func(d map[string]any) { delete(d, "issuer") }, "issuer is not"},
		{"issuer list", remote, func(d map[string]any) { d["issuer"] = []string{"https://idp.example"} }, "issuer is not"},
		{"http endpoint", remote, func(d map[string]any) { d["token_endpoint"] = "http://idp.example/t" }, "token_endpoint: only https"},
		{"http to our loopback", remote, func(d map[string]any) { d["jwks_uri"] = "http://127.0.0.1:8080/k" }, "jwks_uri: only https"},
		{"file", remote, func(d map[string]any) { d["jwks_uri"] = "file:///etc/passwd" }, "jwks_uri: only https"},
		{"javascript", remote, func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" }, "authorization_endpoint: only https"},
		{"user information", remote, func(d map[string]any) { d["authorization_endpoint"] = "https://idp.example@evil.example/" }, "user information"},
		{"fragment", remote, func(d map[string]any) { d["token_endpoint"] = "https://idp.example/t#x" }, "fragment"},
		{"no host", remote, func(d map[string]any) { d["token_endpoint"] = "https:///t" }, "only https"},
		{"number", remote, func(d map[string]any) { d["userinfo_endpoint"] = 1 }, "userinfo_endpoint: not a string"},
		{"no token endpoint", remote, func(d map[string]any) { delete(d, "token_endpoint") }, "token_endpoint: missing"},
		{"no keys", remote, func(d map[string]any) { delete(d, "jwks_uri") }, "jwks_uri: missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.config.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				doc := good(tt.config.Issuer)
				tt.mod(doc)
				return response(200, doc), nil
			})}
			client, err := New(tt.config)
			wantError(t, err, "")
			_, err = client.Metadata(t.Context())
			wantError(t, err, tt.want)
		})
	}
}

func TestBrokenDiscovery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		h      func(op *provider) http.HandlerFunc
		want   string
		passes bool // matches outbound.ErrUnavailable
	}{
		{"html", func(*provider) http.HandlerFunc { return reply(200, "text/html", "<html>") }, "not valid JSON", false},
		{"empty", func(*provider) http.HandlerFunc { return reply(200, "application/json", "") }, "not valid JSON", false},
		{"truncated", func(*provider) http.HandlerFunc { return reply(200, "application/json", `{"issuer":`) }, "not valid JSON", false},
		{"huge", func(*provider) http.HandlerFunc {
			return reply(200, "application/json", `{"x":"`+strings.Repeat("x", 10<<20)+`"}`)
		}, "too large", false},
		{"bomb", func(*provider) http.HandlerFunc {
			return reply(200, "application/json", strings.Repeat(`{"a":`, 1000)+strings.Repeat("}", 1000))
		}, "not valid JSON", false},
		{"not found", func(*provider) http.HandlerFunc { return reply(404, "text/plain", "x") }, "status 404", false},
		{"down", func(*provider) http.HandlerFunc { return reply(503, "text/plain", "x") }, "status 503", true},
		{"too many", func(*provider) http.HandlerFunc { return reply(429, "text/plain", "x") }, "status 429", true},
		{"redirect", func(op *provider) http.HandlerFunc {
			return http.RedirectHandler(op.URL+"/real", http.StatusFound).ServeHTTP
		}, "redirect refused", false},
		{"reset", func(*provider) http.HandlerFunc {
			return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}, "unavailable", true},
		{"cut short", func(*provider) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				w.Write([]byte("{"))
			}
		}, "unavailable", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			op := newProvider(t)
			op.on("/.well-known/openid-configuration", tt.h(op))
			op.on("/real", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, op.document()) })
			client := op.client(t)
			_, err := client.AuthorizationURL(t.Context(), AuthRequest{RedirectURI: "https://app.example/cb"})
			wantError(t, err, tt.want)
			if errors.Is(err, outbound.ErrUnavailable) != tt.passes {
				t.Errorf("ErrUnavailable: %v", err)
			}
			if n := op.count("/real"); n != 0 {
				t.Errorf("redirect was followed")
			}
		})
	}
}

// TestLearntHostIsNotTrusted checks that a host that only the provider named must not
// be in an internal network, even though the provider itself is.
func TestLearntHostIsNotTrusted(t *testing.T) {
	t.Parallel()
	inner := newProvider(t)
	op := newProvider(t)
	op.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := op.document()
		doc["userinfo_endpoint"] = inner.URL + "/userinfo"
		writeJSON(w, doc)
	})
	for _, o := range []*provider{op, inner} {
		o.on("/userinfo", reply(200, "application/json", `{"sub":"user-1"}`))
	}
	_, err := op.client(t).UserInfo(t.Context(), &Tokens{AccessToken: "token"}, "user-1")
	wantError(t, err, "address is not allowed")
	if n := inner.count("/userinfo"); n != 0 {
		t.Error("the request arrived")
	}
	_, err = op.client(t, func(c *Config) { c.UserInfoURL = inner.URL + "/userinfo" }).UserInfo(t.Context(), &Tokens{AccessToken: "token"}, "user-1")
	wantError(t, err, "")
}

// TestMetadataOfLogout checks that endpoints that signing in does not need are used if
// they are valid, and are otherwise not a reason to refuse the document.
func TestMetadataOfLogout(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	announce := func(v any) {
		op.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
			doc := op.document()
			doc["revocation_endpoint"], doc["end_session_endpoint"], doc["backchannel_logout_supported"] = v, v, v == op.URL+"/x"
			writeJSON(w, doc)
		})
	}
	for _, tt := range []struct{ announced, want any }{{op.URL + "/x", op.URL + "/x"}, {"http://evil.example/x", ""}, {"javascript:x", ""}, {7, ""}, {nil, ""}} {
		announce(tt.announced)
		md, err := op.client(t).Metadata(t.Context())
		wantError(t, err, "")
		if md.RevocationURL != tt.want || md.EndSessionURL != tt.want || md.BackchannelLogout != (tt.want != "") {
			t.Errorf("%v: %+v", tt.announced, md)
		}
	}
	announce(op.URL + "/x")
	md, err := op.client(t, func(c *Config) { c.RevocationURL, c.EndSessionURL = op.URL+"/r", op.URL+"/e" }).Metadata(t.Context())
	wantError(t, err, "")
	if md.RevocationURL != op.URL+"/r" || md.EndSessionURL != op.URL+"/e" {
		t.Errorf("configured: %+v", md)
	}
}
