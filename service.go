package authsvc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"authsvc/internal/access"
	"authsvc/internal/outbound"
	"authsvc/internal/pages"
	"authsvc/internal/sessionshape"
)

// A Service is a configured engine: an http.Handler for the routes below the
// path of Config.URL. It is safe for concurrent use and never changes.
type Service struct {
	publicURL
	dialect   *dialect
	log       *slog.Logger
	adapter   Adapter // noAdapter without storage
	callbacks Callbacks
	events    Events
	policy    policy
	origins   origins
	clock     storeClock

	flows         map[string]flow // by the id of their provider
	positions     map[string]int  // in Config.Providers, likewise
	views         []pages.Provider
	providersJSON []byte
	custom        Pages
	pages         *pages.Pages
	siteName      string
	hsts          []string // value of the header, nil: not sent

	names         cookieNames
	csrf          csrfTokens
	keys          keys
	sessions      sessions
	places        places // where they are read
	lifetime      lifetime
	customSession bool                // callbacks take part in GET session
	shape         *sessionshape.Shape // what sessions have besides; nil: nothing
	revoked       *revocations
	seen          *seenSessions
	tokens        tokenStorage
	signing       *signing
	audiences     []audience     // that tokens are issued for
	pats          personalTokens // how personal access tokens are
	issuer        []byte         // the metadata of the issuer of tokens
	refreshes     *refreshCalls

	gate         gated
	meters       *meters
	proxies      []netip.Prefix
	limits       limits
	linksPerHour int // to one mailbox, as the verify-request page says; -1: no limit
	bodies       *bodySlots
	mails        *mailQueue
	notices      notices
	auditQueue   *auditQueue // nil: audit events are not stored
	repeats      *repeats    // of audit events about refusals
	warned       warned

	background background
	closeIdle  func() // closes idle connections to identity providers
}

// A policy is what Config, the dialect and the storage together allow.
type policy struct {
	admit          func(identity) identity // adapts an identity to a service without storage
	linksAsked     bool                    // signed-in users may ask to link an identity
	linksSignedIn  bool                    // a sign-in while signed in links, without being asked
	linksFresh     bool                    // asking to link needs a fresh proof
	confirms       bool                    // people can be asked for a fresh proof of who they are
	asksAgain      bool                    // a way to sign in is one that asks whoever is signed in there
	account        bool                    // there is the account page
	edits          bool                    // where people may change their name
	addresses      mailer                  // how they change their address; nil: they cannot
	fresh          time.Duration           // how recent a fresh proof is
	deletes        bool                    // people may delete their account
	grace          time.Duration           // until that is done
	tenantIDs      bool                    // see dialect
	cancelsOnce    bool                    // an attempt that was cancelled is remembered as used
	mayPass        []access.Condition      // one has to hold; empty: all sign-ins may
	invitedOnly    bool                    // nobody becomes a user by signing in
	newDomains     []access.Condition      // who may become one; empty: everybody
	keepFirstProof bool
	showRefusal    bool
}

// origins are sets of scheme://host[:port].
type origins struct {
	redirect map[string]bool // where a callbackUrl may lead
	trusted  map[string]bool
	internal map[string]bool // without scheme: Host headers of Config.InternalHosts
}

// warned are the warnings that are logged once per process.
type warned struct{ chunks, proxy, stripped, slash, internal *sync.Once }

// publicURL is the address of the service, taken apart.
type publicURL struct {
	origin   string // scheme://host[:port]
	host     string // host[:port]
	basePath string // /api/auth
	base     string // origin + basePath
}

// New checks the configuration as a whole and starts the service's background
// work (mail queue, revocations, sweep), which Close ends. The error joins
// every mistake; ConfigErrors lists them.
func New(c Config) (*Service, error) { return newService(c, nil) }

// Check returns the mistakes that New would, joined, as far as they can be found
// without the store. It starts nothing and makes no network calls.
func (c Config) Check() error {
	_, err := Prepare(c)
	return err
}

// Prepare is New without the start: there is no background work, and the store
// is not used until a method is called. It is for programs that inspect a
// deployment or change its records; do not serve requests with it. The error is
// that of New.
func Prepare(c Config) (*Service, error) {
	s, b := compile(&c)
	if len(b.mistakes) > 0 {
		return nil, errors.Join(b.mistakes...)
	}
	return s, nil
}

// newService is New, or Reconfigure of the service before.
func newService(c Config, before *Service) (*Service, error) {
	s, b := compile(&c)
	if len(b.mistakes) > 0 {
		return nil, errors.Join(b.mistakes...)
	}
	if before != nil {
		if err := before.checkReconfigured(s); err != nil {
			return nil, err
		}
		s.inherit(before)
	}
	for i := range c.Gate.Hosts {
		s.gate.meters = append(s.gate.meters, s.meters.host(c.Gate.Hosts[i].Origin))
	}
	if err := s.openStore(); err != nil {
		return nil, err
	}
	for _, warn := range b.warnings {
		warn(s)
	}
	s.background.start(s.background.ctx)
	if before != nil {
		before.background.stopLogged.Do(func() {}) // it goes on as s
		s.recordKeys(s.background.ctx, s.signing.made)
		return s, nil
	}
	s.record(s.background.ctx, AuditEvent{Name: "service.started"})
	s.recordKeys(s.background.ctx, s.signing.made)
	return s, nil
}

// BaseURL returns the address of the routes, scheme://host[:port]/path:
// Config.URL without a default port, and with the default path if it has none.
func (s *Service) BaseURL() string { return s.base }

// CheckProviders fetches the metadata of all providers that publish it (OpenID
// Connect Discovery 1.0, RFC 8414), concurrently. It returns one entry for each
// of them, by id: the error, or nil.
func (s *Service) CheckProviders(ctx context.Context) map[string]error {
	type checker interface{ check(context.Context) error }
	var mu sync.Mutex
	var all sync.WaitGroup
	found := map[string]error{}
	for id, f := range s.flows {
		if f, can := f.(checker); can {
			all.Go(func() {
				err := f.check(ctx)
				mu.Lock()
				defer mu.Unlock()
				found[id] = err
			})
		}
	}
	all.Wait()
	return found
}

// StyleURL returns the address of the built-in pages' style sheet, theme
// included, for pages of your own. The address changes with the content.
func (s *Service) StyleURL() string { return s.base + "/" + s.pages.StylePath }

// absolute resolves a configured page against the origin.
func (s *Service) absolute(page string) string {
	if strings.HasPrefix(page, "/") {
		return s.origin + page
	}
	return page
}

func (s *Service) providerName(id string) string {
	if f := s.flows[id]; f != nil {
		return f.info().name
	}
	return id
}

// linkDigests returns the forms in which the token of an e-mail link may be
// stored: first that of new links, then those of older secrets.
func (s *Service) linkDigests(token string, now time.Time) []string {
	var list []string
	for _, mac := range s.keys.links {
		list = append(list, b64(mac.Sum(token)))
	}
	if s.oldKeys(now) {
		for _, mac := range s.keys.oldLinks {
			list = append(list, b64(mac.Sum(token)))
		}
	}
	for _, secret := range s.keys.hashSecrets {
		list = append(list, hashHex(token, secret))
	}
	return list
}

// describeProviders makes the answer of GET providers and the views of the
// sign-in page, in the order of the configuration.
func (s *Service) describeProviders(order []flow) {
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
		}{in.id, in.name, in.kind, s.base + "/signin/" + in.id, s.base + "/callback/" + in.id})
		if err != nil { // strings always marshal
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + in.id + `":`)
		b.Write(entry)
		action := s.base + "/signin/" + in.id
		if in.form == "fields" {
			action = s.base + "/callback/" + in.id
		}
		view := pages.Provider{ID: in.id, Name: in.name, Kind: in.kind, Form: in.form, Action: action, Style: pages.Style(in.style), Forgot: s.absolute(in.forgotURL)}
		for _, f := range in.fields {
			view.Fields = append(view.Fields, pages.Field(f))
		}
		s.views = append(s.views, view)
		s.policy.asksAgain = s.policy.asksAgain || in.asks()
	}
	s.views = pages.Distinct(s.views)
	b.WriteByte('}')
	s.providersJSON = []byte(b.String())
}

// newHTTPClient returns the HTTP client for identity providers.
func newHTTPClient(c *Config) *http.Client {
	return outbound.NewHTTPClient(outbound.HTTPOptions{AllowNetworks: c.Outbound.AllowNetworks, Transport: c.Outbound.DangerousTransport})
}

// Reconfigure returns a service with another configuration on the same store,
// which takes over from s: it goes on with the counts of rate limits and,
// without a store, the codes and states that were used. Both services answer
// until the caller has sent the last request to s and calls its Close. The
// error is that of [New]; s is then unchanged. A change of Session.Strategy is
// refused: it would sign everybody out, and takes a restart.
func (s *Service) Reconfigure(c Config) (*Service, error) { return newService(c, s) }

// checkReconfigured refuses changes that take a restart.
func (s *Service) checkReconfigured(next *Service) error {
	if s.sessions.refersToUser() == next.sessions.refersToUser() {
		return nil
	}
	return &ConfigError{Field: "Session.Strategy", Problem: "cannot be changed while the service runs: it would end all sessions",
		Fix: "restart the service, or change it back"}
}

// inherit takes over the state of the service before that is not in the store.
func (s *Service) inherit(before *Service) {
	for _, l := range []struct{ to, from *limiter }{
		{s.limits.signIn, before.limits.signIn},
		{s.limits.mailbox, before.limits.mailbox},
		{s.limits.mailTotal, before.limits.mailTotal},
		{s.limits.mailClient, before.limits.mailClient},
		{s.limits.mailNetwork, before.limits.mailNetwork},
		{s.limits.mailReserved, before.limits.mailReserved},
		{s.limits.credentials, before.limits.credentials},
		{s.limits.link, before.limits.link},
		{s.limits.backchannel, before.limits.backchannel},
		{s.limits.token, before.limits.token},
		{s.limits.account, before.limits.account},
		{s.limits.notices, before.limits.notices},
		{s.limits.personal, before.limits.personal},
	} {
		if l.to != nil && l.from != nil {
			l.to.counts = l.from.counts
		}
	}
	s.limits.queue = before.limits.queue
	s.mails.waiting = before.mails.waiting
	s.inheritStorage(before)
	if s.revoked.enabled == before.revoked.enabled && s.revoked.accept == before.revoked.accept {
		s.revoked = before.revoked // a sign-out on one ends the session on both
	}
	s.bodies, s.meters = before.bodies, before.meters
	s.keys.oldEnd = before.keys.oldEnd
	s.warned = before.warned
}

// String names the service without showing its configuration.
func (s *Service) String() string { return "authsvc at " + s.base }

// Format implements [fmt.Formatter] for all verbs.
func (s *Service) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (s *Service) LogValue() slog.Value { return slog.StringValue(s.String()) }
