package arena

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"authsvc"
	"authsvc/internal/dev/idp"
)

// A Wire carries requests to hosts without a network, so that a synctest bubble can
// fake time. It refuses connections to unknown hosts.
type Wire map[string]http.Handler

// RoundTrip implements [http.RoundTripper]. A handler that panics drops the
// connection.
func (m Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	h := m[r.URL.Host]
	if h == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	in := r.Clone(r.Context())
	if in.Host, in.RequestURI = r.URL.Host, r.URL.RequestURI(); in.Body == nil {
		in.Body = http.NoBody
	}
	done := make(chan *http.Response, 1)
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, in)
		done <- rec.Result()
	}()
	select {
	case a := <-done:
		if a == nil {
			return nil, io.ErrUnexpectedEOF
		}
		return a, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// EnterInMemory works like Enter, but without a network, for synctest bubbles. The
// provider "op" is https://op.test on a [Wire]; tune finds the Wire as
// Outbound.DangerousTransport.
func EnterInMemory(t testing.TB, tune func(*authsvc.Config)) *World {
	t.Helper()
	op, err := idp.New(idp.Options{Issuer: "https://op.test", Alg: "ES256",
		Clients: []idp.Client{{ID: "app", Secret: ClientSecret, RedirectURIs: RedirectURIs()}}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.OP = &idp.Server{Provider: op}
	w.Config.Outbound.DangerousTransport = Wire{"op.test": op}
	w.Config.Providers = []authsvc.Provider{
		&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: ClientSecret}},
		&authsvc.Email{From: "Acme <no-reply@app.test>", Send: w.Mail.Send},
		&authsvc.Credentials{Authorize: onlyAda},
	}
	w.run(func(c *authsvc.Config) { w.count(c, tune) })
	return w
}
