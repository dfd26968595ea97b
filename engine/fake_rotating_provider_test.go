package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
)

// A rotator is an identity provider in memory that rotates refresh tokens. Each is valid
// once; using one again revokes them all.
type rotator struct {
	delay time.Duration // of an answer
	steps func()        // runs before an answer is returned

	mu      sync.Mutex
	n       int  // generation of the valid refresh token, "rt-N"
	ended   bool // a reuse has revoked all tokens
	status  int  // of every answer, if not 0
	asked   int
	revoked []string // "hint token"
	revokes int      // revocation requests
}

func (o *rotator) set(change func(*rotator)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

func (o *rotator) refreshes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

func (o *rotator) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, err
	}
	id, secret, _ := r.BasicAuth()
	status, body := http.StatusUnauthorized, `{"error":"invalid_client"}`
	if id == "odd-client" && secret == arena.ClientSecret {
		status, body = o.answer(r.URL.Path, form)
	}
	time.Sleep(o.delay)
	if o.steps != nil {
		o.steps()
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (o *rotator) answer(path string, form url.Values) (int, string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch path {
	case "/revoke":
		if o.revokes++; o.status != 0 {
			return o.status, ""
		}
		o.revoked = append(o.revoked, form.Get("token_type_hint")+" "+form.Get("token"))
		return http.StatusOK, ""
	case "/token":
		o.asked++
	default:
		return http.StatusNotFound, ""
	}
	switch {
	case o.status != 0:
		return o.status, `{"error":"temporarily_unavailable"}`
	case form.Get("grant_type") != "refresh_token" || len(form) != 2:
		return http.StatusBadRequest, `{"error":"invalid_request"}`
	case o.ended || form.Get("refresh_token") != fmt.Sprintf("rt-%d", o.n):
		o.ended = true
		return http.StatusBadRequest, `{"error":"invalid_grant"}`
	}
	o.n++
	return http.StatusOK, fmt.Sprintf(`{"access_token":"at-%d","refresh_token":"rt-%d","token_type":"Bearer","expires_in":3600}`, o.n, o.n)
}

// at runs a replica that has the rotator as its provider "odd".
func (o *rotator) at(t *testing.T, store adapter.Adapter, tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	return replica(t, store, func(c *authsvc.Config) {
		c.Providers = append(c.Providers, oddClient(func(p *authsvc.OAuth) { p.Endpoints.Revocation = "https://odd.test/revoke" }))
		c.Outbound.DangerousTransport = o
		if tune != nil {
			tune(c)
		}
	})
}

// unlinkOf returns the revocation that unlinking an account writes for a user.
func unlinkOf(userID string) *adapter.Revocation {
	return &adapter.Revocation{Key: "account:" + userID, UserID: userID, NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)}
}

// endOf returns the revocation that EndSessions writes for a user.
func endOf(userID string) *adapter.Revocation {
	return &adapter.Revocation{Key: "user:" + userID, UserID: userID, NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)}
}

// due stores a user "ada" and returns her account at "odd". Its access token expires
// in d.
func due(t *testing.T, store adapter.Adapter, d time.Duration) authsvc.Account {
	t.Helper()
	u, err := store.CreateUser(t.Context(), authsvc.User{ID: "ada", Name: "Ada"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := authsvc.Account{ID: "a1", UserID: u.ID, Type: "oauth", Provider: "odd", ProviderAccountID: "7",
		AccessToken: "at-0", RefreshToken: "rt-0", ExpiresAt: time.Now().Add(d).Unix(), TokenType: "Bearer", Scope: "x"}
	if a, err = store.LinkAccount(t.Context(), a, 0); err != nil {
		t.Fatal(err)
	}
	return a
}
