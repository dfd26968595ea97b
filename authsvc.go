package authsvc

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"authsvc/internal/oidc"
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
	pages          *pages
	siteName       string
	names          cookieNames
	lifetime       lifetime
	sessions       sessions
	csrf           csrfTokens
	flows          map[string]flow
	views          []providerView
	providersJSON  []byte
	emptySession   []byte
	customSession  bool // callbacks take part in GET session
	keepFirstProof bool
	showRefusal    bool
	dropTokens     bool
	secrets        []string

	redirectOrigins map[string]bool // where a callbackUrl may lead
	trustedOrigins  map[string]bool
	proxies         []netip.Prefix
	limits          limits
	linksPerHour    int // to one mailbox, as the verify-request page says; -1: no limit

	stateMAC  *seal.MAC
	linkMAC   *seal.MAC
	txSeal    *seal.Sealer
	emailSeal *seal.Sealer
	mailSeal  *seal.Sealer

	revoked   *revocations
	once      *onceSet
	mails     *mailQueue
	chunkOnce *sync.Once

	stop    context.CancelFunc
	working sync.WaitGroup
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
func New(c Config) (*Service, error) {
	s, b := compile(&c)
	if len(b.mistakes) > 0 {
		return nil, errors.Join(b.mistakes...)
	}
	if err := s.meetStore(); err != nil {
		return nil, err
	}
	for _, warn := range b.warnings {
		warn(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.work(ctx)
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
	if s.revoked.poll {
		if err := s.revoked.refresh(ctx, s.adapter); err != nil {
			return &ConfigError{Key: "storage.url", Problem: "cannot be read: " + err.Error(), Mend: "check the store"}
		}
	}
	return s.checkIssuers(ctx)
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
	for id, f := range s.flows {
		issuer := f.info().issuer
		if issuer == "" {
			continue
		}
		known, err := s.adapter.GetMeta(ctx, metaIssuer+id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
		} else if known != issuer {
			errs = append(errs, &ConfigError{Key: "providers." + id, Problem: "was at " + known + " when accounts were stored, and is now at " + issuer,
				Mend: "give the new issuer an id of its own, or accept it with `authsvc migrate issuer " + id + "`"})
		}
	}
	return errors.Join(errs...)
}

// work starts what runs beside requests.
func (s *Service) work(ctx context.Context) {
	if s.adapter == nil {
		return
	}
	s.working.Go(func() { s.mails.run(ctx) })
	s.working.Go(func() { s.sweep(ctx) })
	if s.revoked.poll {
		s.working.Go(func() { s.pollRevocations(ctx) })
	}
}

// Close ends the background work after what is in hand. It does not wait for
// requests: stop the http.Server first.
func (s *Service) Close(ctx context.Context) error {
	s.stop()
	done := make(chan struct{})
	go func() { s.working.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Times of the sweep.
const (
	sweepEvery = time.Minute
	sweepBatch = 500
	sweepPause = 50 * time.Millisecond
)

// sweep deletes expired records in small batches.
func (s *Service) sweep(ctx context.Context) {
	wait := sweepEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		n, err := s.adapter.Sweep(ctx, time.Now(), sweepBatch)
		wait = sweepEvery
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Error("expired records could not be removed", "err", err)
		case n == sweepBatch:
			wait = sweepPause
		}
	}
}

type sessionKey struct{ s *Service }

// Session returns who is signed in, nil without a session. An error means
// that it could not be found out; treat it as nobody. It renews nothing.
func (s *Service) Session(r *http.Request) (*Session, error) {
	if v, ok := r.Context().Value(sessionKey{s}).(*Session); ok {
		return v, nil
	}
	rq := s.request(r)
	raw := rq.sessionCookie()
	if raw == "" {
		return nil, nil
	}
	v, _, err := s.sessions.read(rq.ctx, raw, rq.now, reading{full: true})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Require passes requests with a session on to next, which finds it by
// Session. Others are sent to the sign-in page if a person is navigating, and
// answered 401 if not. If sessions cannot be read the answer is 503. Live
// sessions are renewed as by GET session. Answers are not to be stored by
// caches unless next sets Cache-Control itself.
func (s *Service) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq := s.request(r)
		v, renewed, err := rq.required()
		if err != nil {
			s.log.Error("session could not be read", "request", rq.requestID(), "err", err)
			http.Error(w, "sign-in is not available, request "+rq.requestID(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Add("Vary", "Cookie")
		w.Header().Set("Cache-Control", hNoStore[0]) // next may say otherwise
		if v == nil {
			if r.Method != http.MethodGet || !isNavigation(r.Header) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
				http.Error(w, "sign in first", http.StatusUnauthorized)
				return
			}
			back := s.origin + percentEncode(r.URL.RequestURI())
			http.Redirect(w, r, withQuery(s.base+"/signin", "callbackUrl", back), http.StatusFound)
			return
		}
		if renewed != nil && rq.setSession(renewed.value, renewed.expires) {
			for i := range rq.set {
				w.Header().Add("Set-Cookie", rq.set[i].line(s.names.secure))
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{s}, v)))
	})
}

func (rq *request) required() (*Session, *issued, error) {
	raw := rq.sessionCookie()
	if raw == "" {
		return nil, nil, nil
	}
	return rq.sessions.read(rq.ctx, raw, rq.now, reading{touch: true, full: true})
}

// EndSessions ends every session of a user, wherever it is signed in. With
// strategy jwt it needs an Adapter.
func (s *Service) EndSessions(ctx context.Context, userID string) error {
	if s.adapter == nil {
		return errors.New("authsvc: without storage sessions cannot be ended from the server")
	}
	r := s.sessions.revocation(userID, time.Now())
	if _, err := s.adapter.EndSessions(ctx, userID, r); err != nil {
		return err
	}
	if r != nil {
		s.revoked.apply(*r)
	}
	return nil
}

// StyleURL is the address of the built-in pages' style sheet, theme included,
// for pages of your own that are to look alike. It changes with its content.
func (s *Service) StyleURL() string { return s.base + "/" + s.pages.stylePath }

func (s *Service) request(r *http.Request) *request {
	rq := &request{Service: s, ctx: r.Context(), r: r, now: time.Now()}
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

// linkDigest is how the token of an e-mail link is stored.
func (s *Service) linkDigest(token string) string {
	if s.compat == CompatNone {
		return b64(s.linkMAC.Sum(token))
	}
	return hashHex(token, s.hashSecret())
}

// hashSecret is what NextAuth.js hashes with: v5 joins a list by commas.
func (s *Service) hashSecret() string {
	if s.compat == AuthJSV5 {
		return strings.Join(s.secrets, ",")
	}
	return s.secrets[0]
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
		s.views = append(s.views, providerView{ID: in.id, Name: in.name, Kind: in.kind, Form: in.form,
			Action: action, Style: in.style, Fields: in.fields})
	}
	b.WriteByte('}')
	s.providersJSON = []byte(b.String())
}

// client makes the HTTP client for identity providers.
func client(c *Config) *http.Client {
	return oidc.NewHTTPClient(oidc.HTTPOptions{AllowNetworks: c.Outbound.AllowNetworks})
}
