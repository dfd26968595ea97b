package authtest

import (
	"context"
	"log"
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

// ProviderID is the id of the built-in identity provider, which makes the sign-ins of
// this package. It appears as Session.Provider and Account.Provider.
const ProviderID = "authtest"

// A Service is an engine on a server of its own. Its methods are safe for concurrent
// use.
type Service struct {
	*engine.Service
	// URL is the origin of the server, such as http://127.0.0.1:40123, without a slash
	// at the end. The routes of the engine are below BaseURL.
	URL string
	// Mail holds the mails of the engine.
	Mail *Mail

	config    authsvc.Config // configuration of the engine
	mux       *http.ServeMux
	server    *httptest.Server
	transport *http.Transport // connects to the server, whatever the host of URL
	idp       *idp.Server
}

// New returns a service that ends with the test. If the engine refuses the
// configuration, the test fails at once.
//
// The service has a store in memory, a new secret and no rate limits. It and its server
// log to the output of the test, which is shown only if the test fails or with -v. tune, which may be nil, can change the configuration: set the Callbacks, the
// Session options and the Adapter of the program under test there. Afterwards New adds
// the built-in identity provider to the Providers and replaces the Send of Email
// providers by one that delivers to Mail, so that no test sends mail to people. If
// there is an Adapter but no Email provider, New adds one.
//
// The URL can be any URL, such as https://app.example.com: cookies then belong to that
// site, and clients of this package find the server by it. If you leave the URL
// unchanged, every client on this machine finds the server.
func New(t testing.TB, tune func(*authsvc.Config)) *Service {
	t.Helper()
	mail, err := newMail()
	if err != nil {
		t.Fatalf("authtest: %v", err)
	}
	s := &Service{Mail: mail, mux: http.NewServeMux()}
	s.server = httptest.NewUnstartedServer(s.mux)
	s.server.Config.ErrorLog = log.New(t.Output(), "authtest: ", 0) // by default, standard error
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

// withoutLimits drops the warning about the rate limits that New itself turns off.
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

// end closes the engine.
func end(t testing.TB, auth *engine.Service) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := auth.Close(ctx); err != nil {
		t.Errorf("authtest: %v", err)
	}
}

// addProviders adds the identity provider and redirects mail to the box.
func (s *Service) addProviders(t testing.TB) error {
	client := idp.Client{ID: "app", Secret: seal.Token()}
	provider := &authsvc.OAuth{ID: ProviderID, Name: "Test", OpenID: true, Client: authsvc.Client{ID: client.ID, Secret: client.Secret}}
	provider.Issuer = "http://127.0.0.1" // only for the configuration check
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
	mails := s.config.Adapter == nil // without an Adapter there is no email sign-in
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

// beside is a transport for all requests except to the built-in identity provider.
type beside struct {
	http.RoundTripper
	issuer string
}

// RoundTrip implements [http.RoundTripper].
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

// Handle serves a handler of the program under test on the service's server. pattern is
// as in [http.ServeMux]. The engine's routes are already registered.
func (s *Service) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }
