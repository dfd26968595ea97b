package authsvc

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"authsvc/internal/outbound"
	"authsvc/internal/pages"
	"authsvc/internal/seal"
)

// A Service is a configured engine: an http.Handler for the routes below the
// path of Config.URL. It is safe for concurrent use and never changes.
type Service struct {
	publicURL
	compat         Compat
	log            *slog.Logger
	adapter        Adapter
	callbacks      Callbacks
	events         Events
	custom         Pages
	pages          *pages.Pages
	siteName       string
	names          cookieNames
	lifetime       lifetime
	sessions       sessions
	csrf           csrfTokens
	flows          map[string]flow
	views          []pages.Provider
	providersJSON  []byte
	emptySession   []byte
	customSession  bool // callbacks take part in GET session
	keepFirstProof bool
	showRefusal    bool
	hsts           []string // value of the header, nil: not sent
	vault          vault
	secrets        []string

	redirectOrigins map[string]bool // where a callbackUrl may lead
	trustedOrigins  map[string]bool
	proxies         []netip.Prefix
	limits          limits
	linksPerHour    int // to one mailbox, as the verify-request page says; -1: no limit

	stateMAC *seal.MAC
	linkMACs []*seal.MAC // one a secret; none in compat modes
	// Before keys were bound to the URL; see oldKeys.
	oldCSRF     csrfTokens
	oldLinkMACs []*seal.MAC
	oldKeysEnd  time.Time
	txSeal      *seal.Sealer
	emailSeal   *seal.Sealer
	knownSeal   *seal.Sealer
	mailSeal    *seal.Sealer

	revoked   *revocations
	once      *onceSet
	mails     *mailQueue
	bodies    *bodies
	chunkOnce *sync.Once
	proxyOnce *sync.Once

	clock   storeClock
	flights *flights // refreshes of tokens
	trail   *trail   // nil: audit events are not stored
	repeats *repeats // of audit events about refusals

	life     context.Context // of background work; stop ends it
	stop     context.CancelFunc
	sending  context.Context // of mails in hand, which outlive life; giveBack ends it
	giveBack context.CancelFunc
	working  sync.WaitGroup
	tellStop sync.Once  // of service.stopped
	errands  sync.Mutex // guards running, and that none begins after stop
	running  int

	hangUp func() // closes idle connections to identity providers
}

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
func New(c Config) (*Service, error) { return begin(c, nil) }

// begin is New, or Renew of the service before.
func begin(c Config, before *Service) (*Service, error) {
	s, b := compile(&c)
	if len(b.mistakes) > 0 {
		return nil, errors.Join(b.mistakes...)
	}
	if before != nil {
		if err := before.checkSuccessor(s); err != nil {
			return nil, err
		}
		s.inherit(before)
	}
	if err := s.meetStore(); err != nil {
		return nil, err
	}
	for _, warn := range b.warnings {
		warn(s)
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.sending, s.giveBack = context.WithCancel(context.Background()) // #nosec G118 -- Close calls it
	s.work(s.life)
	if before != nil {
		before.tellStop.Do(func() {}) // it goes on as s
		return s, nil
	}
	s.record(s.life, AuditEvent{Name: "service.started"})
	return s, nil
}

// meetStore reads what the store remembers about this deployment.
func (s *Service) meetStore() error {
	if s.adapter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	mode, err := s.adapter.PutMeta(ctx, metaCompat, string(s.compat))
	if err != nil {
		return &ConfigError{Key: "storage.url", Problem: "cannot be used: " + err.Error(), Mend: "start the store, and create its tables with `authsvc migrate up`"}
	}
	if mode != string(s.compat) {
		return &ConfigError{Key: "compat", Problem: "is " + string(s.compat) + ", but the store was used with " + mode,
			Mend: "change it back, or convert the store with `authsvc migrate compat " + string(s.compat) + "` (ends all sessions)"}
	}
	if err := s.setClock(ctx); err != nil {
		return &ConfigError{Key: "storage.url", Problem: "cannot be read: " + err.Error(), Mend: "check the store"}
	}
	if err := s.checkIssuers(ctx); err != nil {
		return err
	}
	s.startRevocations(ctx)
	return nil
}

// startRevocations reads the log of revocations, if that is soon done. Else it
// goes on in the background, and JWT sessions are not accepted before its end.
func (s *Service) startRevocations(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, revokeStart)
	defer cancel()
	if err := s.revoked.catchUp(ctx, s.adapter, s.now()); err != nil {
		s.log.Warn("the log of revocations is still being read; JWT sessions are not accepted until that is done", "cause", err)
	}
}

// Keys of the store's meta records.
const (
	metaCompat = "compat"
	metaIssuer = "issuer:" // + provider id
)

// checkIssuers refuses a provider id that now means another issuer: the
// account ids in the store would be somebody else's.
func (s *Service) checkIssuers(ctx context.Context) error {
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(s.flows)) {
		in := s.flows[id].info()
		issuer := in.issuer
		if issuer == "" {
			continue
		}
		known, err := s.adapter.GetMeta(ctx, metaIssuer+id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case known != issuer && in.hostOnly:
			s.log.Warn("a provider without an issuer sends people elsewhere than when accounts were stored; if that is another service, its accounts would be somebody else's",
				"provider", id, "was", known, "is", issuer, "accept", "authsvc migrate issuer "+id)
		case known != issuer:
			errs = append(errs, &ConfigError{Key: "providers." + id, Problem: "was at " + known + " when accounts were stored, and is now at " + issuer,
				Mend: "give the new issuer an id of its own, or accept it with `authsvc migrate issuer " + id + "`"})
		}
	}
	return errors.Join(errs...)
}

// StyleURL is the address of the built-in pages' style sheet, theme included,
// for pages of your own that are to look alike. It changes with its content.
func (s *Service) StyleURL() string { return s.base + "/" + s.pages.StylePath }

func (s *Service) request(r *http.Request) *request {
	rq := &request{Service: s, ctx: r.Context(), r: r, now: s.now()}
	rq.jar.names = &s.names
	rq.jar.parse(r.Header, rq.room[:])
	return rq
}

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

// linkDigests are how the token of an e-mail link may be stored: under the
// first secret, which new links use, and under those before it.
func (s *Service) linkDigests(token string, now time.Time) []string {
	var list []string
	for _, mac := range s.linkMACs {
		list = append(list, b64(mac.Sum(token)))
	}
	if s.oldKeys(now) {
		for _, mac := range s.oldLinkMACs {
			list = append(list, b64(mac.Sum(token)))
		}
	}
	if s.compat != CompatNone {
		for _, secret := range s.hashSecrets() {
			list = append(list, hashHex(token, secret))
		}
	}
	return list
}

// hashSecrets are what NextAuth.js hashes with: v5 joins its list by commas.
func (s *Service) hashSecrets() []string {
	if s.compat == AuthJSV5 && len(s.secrets) > 1 {
		return append([]string{strings.Join(s.secrets, ",")}, s.secrets...)
	}
	return s.secrets
}

// describe encodes GET providers once, in the order of the configuration.
func (s *Service) describe(order []flow) {
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range order {
		in := f.info()
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
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + in.id + `":`)
		b.Write(entry)
		action := s.base + "/signin/" + in.id
		if in.form == "fields" {
			action = s.base + "/callback/" + in.id
		}
		view := pages.Provider{ID: in.id, Name: in.name, Kind: in.kind, Form: in.form, Action: action, Style: pages.Style(in.style)}
		for _, f := range in.fields {
			view.Fields = append(view.Fields, pages.Field(f))
		}
		s.views = append(s.views, view)
	}
	b.WriteByte('}')
	s.providersJSON = []byte(b.String())
}

// client makes the HTTP client for identity providers.
func client(c *Config) *http.Client {
	return outbound.NewHTTPClient(outbound.HTTPOptions{AllowNetworks: c.Outbound.AllowNetworks, Transport: c.Outbound.DangerousTransport})
}
