package authtest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/seal"
)

// ProviderID is the id of the built-in identity provider, by which sign-ins of
// this package are made: Session.Provider and Account.Provider.
const ProviderID = "authtest"

// A Service is an engine on a server of its own. Its methods may be called
// concurrently.
type Service struct {
	*engine.Service
	// URL is the origin of the server, such as http://127.0.0.1:40123, without a
	// slash at the end. The routes of the engine are below BaseURL.
	URL string
	// Mail has the mails of the engine.
	Mail *Mail

	config    authsvc.Config // that the engine is made from
	mux       *http.ServeMux
	server    *httptest.Server
	transport *http.Transport // to the server, whatever the host of URL
	idp       *idp.Server
}

// New returns a service that ends with the test. A configuration that the engine
// refuses ends the test.
//
// It has a store in memory, a new secret, no rate limits, and logs to the test.
// tune, which may be nil, changes that: it is the place for the Callbacks, the
// Session options and the Adapter of the program under test. Afterwards the
// built-in identity provider is added to the Providers, and Email providers get
// another Send, which delivers to Mail, so that no test sends mail to people; if
// there is none, and an Adapter, one is added.
//
// The URL may be any, https://app.example.com for instance: cookies are then
// those of that site, and clients of this package find the server by it. Leave
// it alone, and any client on this machine does.
func New(t testing.TB, tune func(*authsvc.Config)) *Service {
	t.Helper()
	mail, err := newMail()
	if err != nil {
		t.Fatalf("authtest: %v", err)
	}
	s := &Service{Mail: mail, mux: http.NewServeMux()}
	s.server = httptest.NewUnstartedServer(s.mux)
	t.Cleanup(func() { s.server.Close() })
	s.config = authsvc.Config{
		URL:       "http://" + s.server.Listener.Addr().String(),
		Secrets:   []string{seal.Token()},
		Adapter:   memory.New(),
		RateLimit: authsvc.RateLimit{Disabled: true},
		Logger:    slog.New(withoutLimits{slog.NewTextHandler(t.Output(), nil)}),
	}
	if tune != nil {
		tune(&s.config)
	}
	if err := s.addProviders(t); err != nil {
		t.Fatalf("authtest: %v", err)
	}
	if s.Service, err = engine.New(s.config); err != nil {
		t.Fatalf("authtest: %v", err)
	}
	t.Cleanup(func() { end(t, s.Service) })
	s.start(t)
	return s
}

// withoutLimits is a log that does not warn of the rate limits that New itself has
// turned off.
type withoutLimits struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h withoutLimits) Handle(ctx context.Context, r slog.Record) error {
	own := false
	r.Attrs(func(a slog.Attr) bool {
		own = a.Key == "field" && a.Value.String() == "RateLimit.Disabled"
		return !own
	})
	if own {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// end finishes what the engine has begun.
func end(t testing.TB, auth *engine.Service) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := auth.Close(ctx); err != nil {
		t.Errorf("authtest: %v", err)
	}
}

// addProviders adds the identity provider, and sees to the mails.
func (s *Service) addProviders(t testing.TB) error {
	client := idp.Client{ID: "app", Secret: seal.Token()}
	provider := &authsvc.OAuth{ID: ProviderID, Name: "Test", OpenID: true, Client: authsvc.Client{ID: client.ID, Secret: client.Secret}}
	provider.Issuer = "http://127.0.0.1" // for the check alone
	site, err := engine.NewOperator(authsvc.Config{URL: s.config.URL, DangerousInsecureURL: s.config.DangerousInsecureURL,
		Secrets: []string{seal.Token()}, Providers: []authsvc.Provider{provider}})
	if err != nil {
		return err
	}
	client.RedirectURIs = []string{site.BaseURL() + "/callback/" + ProviderID}
	if s.idp, err = idp.Listen(idp.Options{Clients: []idp.Client{client}, People: []idp.Person{}}); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := s.idp.Close(); err != nil {
			t.Errorf("authtest: %v", err)
		}
	})
	provider.Issuer = s.idp.Issuer()
	s.config.Providers = append(s.catchMail(), provider)
	if theirs := s.config.Outbound.DangerousTransport; theirs != nil {
		s.config.Outbound.DangerousTransport = beside{theirs, s.idp.Issuer()}
	}
	return nil
}

// catchMail returns the providers with all mail going to the box.
func (s *Service) catchMail() (all []authsvc.Provider) {
	mails := s.config.Adapter == nil // it cannot, without one
	for _, p := range s.config.Providers {
		if e, ok := p.(*authsvc.Email); ok {
			caught := *e
			caught.Send = s.Mail.send
			p, mails = &caught, true
		}
		all = append(all, p)
	}
	if !mails {
		all = append(all, &authsvc.Email{From: "Test <no-reply@app.test>", Send: s.Mail.send})
	}
	return all
}

// beside is a transport for all but the built-in identity provider.
type beside struct {
	http.RoundTripper
	issuer string
}

// RoundTrip makes a call.
func (b beside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme+"://"+r.URL.Host == b.issuer {
		return http.DefaultTransport.RoundTrip(r)
	}
	return b.RoundTripper.RoundTrip(r)
}

// start serves the engine under its URL.
func (s *Service) start(t testing.TB) {
	t.Helper()
	base, err := url.Parse(s.BaseURL())
	if err != nil {
		t.Fatalf("authtest: %v", err)
	}
	s.URL = base.Scheme + "://" + base.Host
	s.mux.Handle(base.Path, s.Service)
	s.mux.Handle(base.Path+"/", s.Service)
	if base.Scheme == "https" {
		s.server.StartTLS()
	} else {
		s.server.Start()
	}
	s.transport = transportTo(s.server, base)
	t.Cleanup(s.transport.CloseIdleConnections)
}

// Handle serves a handler of the program under test on the service's server.
// Patterns are those of [http.ServeMux]; the routes of the engine are there
// already.
func (s *Service) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }
