package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"authsvc"
	"authsvc/internal/protocol/outbound"
	"authsvc/internal/text/pages"
)

// A Service is a configured engine: an http.Handler for the routes below the
// path of Config.URL. It is safe for concurrent use and never changes.
type Service struct {
	People
	Keys
	start     func() // starts the background work
	closeIdle func() // closes idle connections to identity providers
}

// origins holds sets of origins: scheme://host[:port].
type origins struct {
	redirect map[string]bool // where a callbackUrl may lead
	trusted  map[string]bool
	internal map[string]bool // without scheme: Host headers of Config.InternalHosts
}

// warned holds one Once for each warning that is logged once per process.
type warned struct{ chunks, proxy, proxyKey, stripped, slash, internal, shared, reserved, plain *sync.Once }

func newWarned() warned {
	return warned{&sync.Once{}, &sync.Once{}, &sync.Once{}, &sync.Once{}, &sync.Once{}, &sync.Once{}, &sync.Once{}, &sync.Once{}, &sync.Once{}}
}

// publicURL holds the parts of the service's address.
type publicURL struct {
	origin   string // scheme://host[:port]
	host     string // host[:port]
	basePath string // /api/auth
	base     string // origin + basePath
}

// New checks the whole configuration and starts the service's background work (mail
// queue, revocations, sweep), which Close ends. The error joins every mistake;
// ConfigErrors lists them.
func New(c authsvc.Config) (*Service, error) { return newService(c, nil) }

// Check validates c as New does, as far as possible without the store. The error joins
// every mistake. Check starts nothing and makes no network calls.
func Check(c authsvc.Config) error {
	_, err := NewOperator(c)
	return err
}

// newService is New or, if before is not nil, its Reconfigure.
func newService(c authsvc.Config, before *Service) (*Service, error) {
	s, b := compile(&c)
	if len(b.mistakes) > 0 {
		return nil, errors.Join(b.mistakes...)
	}
	if before != nil {
		if err := before.checkReconfigured(&s.storeys); err != nil {
			return nil, err
		}
		s.inherit(before)
	}
	if err := s.openStore(); err != nil {
		return nil, err
	}
	for i := range c.Gate.Hosts { // last, when nothing can fail any more: before shares the meters
		s.gateRoom.meters = append(s.gateRoom.meters, s.gateRoom.allMeters.host(c.Gate.Hosts[i].Origin))
	}
	for _, warn := range b.warnings {
		warn(s.common.Log)
	}
	s.start()
	if before != nil {
		before.auditor.LeaveOut() // s continues it
		s.issuer.recordKeys(s.fleet.Life(), s.issuer.signing.made)
		return s, nil
	}
	s.auditor.Record(s.fleet.Life(), authsvc.AuditEvent{Name: "service.started"})
	s.issuer.recordKeys(s.fleet.Life(), s.issuer.signing.made)
	return s, nil
}

// ServeHTTP serves the HTTP interface below the path of Config.URL, and answers 404 for
// everything else.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rq := s.site.newRequest(r)
	if rt, rest := s.gateRoom.checkRoute(r); rt != nil {
		s.gateRoom.answerCheck(rq, w, rt, rest)
		return
	}
	rq.r = s.site.forwarded(r)
	rq.respond(w, rq.act())
}

// RefuseHost answers a request for a host that the program does not serve with 421. If
// a browser on this machine used another name of this machine, such as 127.0.0.1 for
// localhost, or if a browser used http and another port of the host of an https URL, the
// answer is a page that links to the origin of URL.
func (s *Service) RefuseHost(w http.ResponseWriter, r *http.Request) {
	rq := s.site.newRequest(r)
	rq.respond(w, otherHost(rq))
}

// BaseURL returns the address of the routes, scheme://host[:port]/path. This is
// Config.URL without a default port, and with the default path if it has none.
func (s *Service) BaseURL() string { return s.site.base }

// StyleURL returns the address of the built-in style sheet, with the theme, for pages
// of your own; docs/manual/pages.md lists the classes for them. The address changes with
// the content.
func (s *Service) StyleURL() string { return s.site.base + "/" + s.site.pages.StylePath }

// describeProviders makes the answer of GET providers and the providers' part of the
// sign-in page, in the order of the configuration.
func (h *storeys) describeProviders(order []flow) {
	var b strings.Builder
	b.WriteByte('{')
	for _, f := range order {
		in := f.info()
		if in.hidden {
			continue
		}
		entry, err := json.Marshal(struct {
			ID          string `json:"id"`
			Name        string `json:"name"`
			Type        string `json:"type"`
			SigninURL   string `json:"signinUrl"`
			CallbackURL string `json:"callbackUrl"`
		}{in.id, in.name, in.kind, h.site.base + "/signin/" + in.id, h.site.base + "/callback/" + in.id})
		if err != nil { // strings always marshal
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + in.id + `":`)
		b.Write(entry)
		action := h.site.base + "/signin/" + in.id
		if in.form == "fields" {
			action = h.site.base + "/callback/" + in.id
		}
		view := pages.Provider{ID: in.id, Name: in.name, Kind: in.kind, Form: in.form, Action: action, Style: pages.Style(in.style), Forgot: h.site.absolute(in.forgotURL)}
		for _, f := range in.fields {
			view.Fields = append(view.Fields, pages.Field(f))
		}
		h.site.views = append(h.site.views, view)
		h.desk.reauthenticates = h.desk.reauthenticates || in.asks()
	}
	h.site.views = pages.Distinct(h.site.views)
	b.WriteByte('}')
	h.desk.providersJSON = []byte(b.String())
}

// newHTTPClient checks Config.Outbound and returns the HTTP client for identity
// providers.
func newHTTPClient(b *builder) *http.Client {
	o := &b.config.Outbound
	proxy, err := outbound.ParseProxy(o.Proxy, o.NoProxy)
	if err != nil {
		b.fail("Outbound.Proxy", err.Error(), "write http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with special characters as %XX")
	}
	if o.Proxy != "" && o.DangerousTransport != nil {
		b.fail("Outbound.Proxy", "has no effect, because DangerousTransport makes all calls", "remove one of them", "Outbound.DangerousTransport")
	}
	if len(o.NoProxy) > 0 && o.Proxy == "" {
		b.fail("Outbound.NoProxy", "has no effect without a proxy", "remove it, or set the proxy", "Outbound.Proxy")
	}
	if err := outbound.CheckHosts(o.NoProxy); err != nil {
		b.fail("Outbound.NoProxy", err.Error(), "write names such as keycloak.internal, with :port for that port only, or *.example.com")
	}
	return outbound.NewHTTPClient(outbound.HTTPOptions{AllowNetworks: o.AllowNetworks, Proxy: proxy, Transport: o.DangerousTransport})
}

// Reconfigure returns a service with another configuration on the same store, which
// takes over from s. It continues the counts of rate limits and, without a store, the
// record of used codes and states. Both services answer until the caller has sent the
// last request to s and calls its Close. If Reconfigure returns an error, as [New]
// does, s is unchanged. A change of Session.Strategy is refused, since it would sign
// everyone out: it needs a restart.
func (s *Service) Reconfigure(c authsvc.Config) (*Service, error) { return newService(c, s) }

// checkReconfigured refuses changes that need a restart.
func (h *storeys) checkReconfigured(next *storeys) error {
	if h.keeper.sessions.refersToUser() == next.keeper.sessions.refersToUser() {
		return nil
	}
	return &authsvc.ConfigError{Field: "Session.Strategy", Problem: "cannot be changed while the service runs: it would end all sessions",
		Fix: "restart the service, or change it back"}
}

// inherit takes over the state that the earlier service does not keep in the store.
func (s *Service) inherit(before *Service) {
	s.limits.Inherit(before.limits)
	s.credentialsRoom.queue = before.credentialsRoom.queue
	s.common.InheritStorage(before.common)
	if s.keeper.revoked.enabled == before.keeper.revoked.enabled && s.keeper.revoked.accept == before.keeper.revoked.accept {
		s.keeper.revoked = before.keeper.revoked // a sign-out on one ends the session on both
	}
	s.site.bodies, s.gateRoom.allMeters, s.tokenRoom.issued = before.site.bodies, before.gateRoom.allMeters, before.tokenRoom.issued
	s.site.warned, s.site.answered = before.site.warned, before.site.answered
	s.auditor.ContinueCounts(before.auditor)
}

// String names the service without showing its configuration.
func (s *Service) String() string { return "authsvc at " + s.site.base }

// Format implements [fmt.Formatter] for all verbs.
func (s *Service) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (s *Service) LogValue() slog.Value { return slog.StringValue(s.String()) }

// ConfigurationChanged records in the audit log that the program now uses another
// configuration or, with an error, that it could not change to it. The audit event does
// not contain the error, which may quote the configuration: log the error.
func (s *Service) ConfigurationChanged(ctx context.Context, err error) {
	if err != nil {
		s.auditor.Record(ctx, authsvc.AuditEvent{Name: "configuration.change_failed", Reason: "the log says why"})
		return
	}
	s.auditor.Record(ctx, authsvc.AuditEvent{Name: "configuration.changed"})
}
