package devidp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/devsite"
	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/inbox"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
)

// ProviderID is the id of the identity provider in Config.Providers.
const ProviderID = "dev"

// Options of Start; the zero value is good.
type Options struct {
	// Addr is where the identity provider and the inbox listen, an address of
	// loopback and a port. Default: 127.0.0.1 and the port after that of
	// Config.URL.
	Addr string
	// Dir keeps people and mails across restarts; it is made when missing.
	// Default: they are in memory.
	Dir string
	// People are on offer at first; anybody can add more on the provider's page.
	// Default: four, of whom one has an address that nobody verified and one has
	// none. Where Config.SignIn.Allow lets none of them in by one of its conditions,
	// somebody whom it lets in is added.
	People []Person
	// Logger gets what goes wrong. Nil: slog.Default().
	Logger *slog.Logger
}

// A Person is somebody whom one can choose to be.
type Person struct {
	ID            string // at the provider: 1 to 255 visible characters of ASCII
	Name          string
	Email         string // may be empty
	EmailVerified bool
	Picture       string // URL; empty: an avatar with initials
	// Claims are further claims of the profile, such as groups, as JSON has them.
	Claims map[string]any
}

// A Server is a running identity provider with an inbox.
type Server struct {
	base   string // of the service
	secret string // of the service at the identity provider
	origin string
	idp    *idp.Provider
	box    *inbox.Box
	server *http.Server
	log    *slog.Logger
	ended  chan error
}

// ErrPublicURL: the URL of a configuration is not on loopback.
var ErrPublicURL = errors.New("whoever reaches it could sign in as anybody")

// Start starts the identity provider and the inbox, and adds them to c, as
// [Server.Add] does. The caller has to Close it after the service that is made
// from c.
//
// The error says what is wrong and what to do about it: the URL of c
// (ErrPublicURL) or Options.Addr is not on loopback, the port is taken,
// Options.Dir cannot be used. Mistakes in the URL are [authsvc.ConfigErrors].
func Start(c *authsvc.Config, o Options) (*Server, error) {
	d := &Server{secret: seal.Token(), ended: make(chan error, 1)}
	var err error
	if d.base, err = d.checkURL(c); err != nil {
		return nil, err
	}
	l, err := listen(d.base, o.Addr)
	if err != nil {
		return nil, err
	}
	d.origin = "http://" + l.Addr().String()
	if err := d.open(o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	go func() { d.ended <- d.server.Serve(l) }()
	d.add(c)
	return d, nil
}

// Check returns the error that Start would for the URL of c.
func Check(c *authsvc.Config) error {
	_, err := new(Server).checkURL(c)
	return err
}

// clientID is the service at the identity provider.
const clientID = "authsvc-dev"

// Add adds to c a provider "dev", lets all Email providers deliver to the inbox,
// and adds one if there is none, and an Adapter. Conditions that name providers name
// "dev", too. Nothing of c is called. It is for [engine.Service.Reconfigure]; the
// error is that of Start for the URL, which may not change.
func (d *Server) Add(c *authsvc.Config) error {
	base, err := d.checkURL(c)
	if err != nil {
		return err
	}
	if base != d.base {
		return fmt.Errorf("devidp: the URL has changed from %s to %s; restart the program", d.base, base)
	}
	d.add(c)
	return nil
}

func (d *Server) add(c *authsvc.Config) {
	c.Providers = append(d.catchMail(c), d.provider(d.origin))
	standIn(c)
	d.addPeople(c)
}

func (d *Server) provider(issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{ID: ProviderID, Name: "Dev ID", OpenID: true, Issuer: issuer,
		Client: authsvc.Client{ID: clientID, Secret: cmp.Or(d.secret, "none yet")}}
}

// checkURL returns the base URL of the service, which has to be on loopback.
func (d *Server) checkURL(c *authsvc.Config) (base string, err error) {
	s, err := engine.NewOperator(authsvc.Config{URL: c.URL, DangerousInsecureURL: true, Secrets: []string{seal.Token()},
		Providers: []authsvc.Provider{d.provider("http://127.0.0.1")}})
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s.BaseURL())
	if err != nil {
		return "", err
	}
	if !weburl.Loopback(u.Hostname()) {
		return "", fmt.Errorf("devidp: the URL %s://%s is not on this machine: %w; "+
			"set the URL to http://localhost:3000 here, and leave devidp out of what is deployed", u.Scheme, u.Host, ErrPublicURL)
	}
	return s.BaseURL(), nil
}

// listen opens the port.
func listen(base, addr string) (net.Listener, error) {
	if addr == "" {
		u, err := url.Parse(base)
		if err != nil {
			return nil, err
		}
		port, err := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
		if err != nil {
			return nil, err
		}
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1))
	}
	if at, err := netip.ParseAddrPort(addr); err != nil || !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("devidp: Options.Addr %q is not an address of this machine alone: %w; write 127.0.0.1 and a port", addr, ErrPublicURL)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("devidp: %w; stop what uses it, or set Options.Addr to another port of 127.0.0.1", err)
	}
	return l, nil
}

// maxMessage bounds a mail; the engine's are far smaller.
const maxMessage = 1 << 20

// open makes what is served.
func (d *Server) open(o Options) (err error) {
	if d.log = o.Logger; d.log == nil {
		d.log = slog.Default()
	}
	options := idp.Options{Issuer: d.origin, Clients: []idp.Client{{ID: clientID, Name: "your application", Secret: d.secret,
		RedirectURIs: []string{d.base + "/callback/" + ProviderID}}}}
	for _, p := range o.People {
		options.People = append(options.People, idp.Person{Sub: p.ID, Name: p.Name, Email: p.Email, EmailVerified: p.EmailVerified, Picture: p.Picture, Claims: p.Claims})
	}
	mails := ""
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return fmt.Errorf("devidp: Options.Dir: %w", err)
		}
		if options.Store, err = idp.OpenFile(filepath.Join(o.Dir, "people.json")); err != nil {
			return fmt.Errorf("devidp: Options.Dir: %w", err)
		}
		mails = filepath.Join(o.Dir, "mail")
	}
	if d.idp, err = idp.New(options); err != nil {
		return fmt.Errorf("devidp: %w", err)
	}
	if d.box, err = inbox.Open(mails, maxMessage); err != nil {
		return fmt.Errorf("devidp: Options.Dir: %w", err)
	}
	site, err := devsite.New(devsite.Frame{Brand: "Development", Foot: "Nothing here is part of what is deployed.",
		Home: weburl.OriginOf(d.base), SignIn: d.base + "/signin", Issuer: d.origin}, d.box, d.log, nil)
	if err != nil {
		d.box.Close()
		return err
	}
	mux := http.NewServeMux()
	site.Handle(mux)
	mux.Handle("/", d.idp)
	d.server = &http.Server{Handler: d.guard(mux), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelWarn)}
	return nil
}

// guard answers to its own host only: a name that somebody points at 127.0.0.1
// must not reach the inbox (DNS rebinding).
func (d *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if "http://"+r.Host != d.origin {
			http.Error(w, "open "+d.origin, http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// catchMail returns the providers of c with all mail going to the inbox.
func (d *Server) catchMail(c *authsvc.Config) (all []authsvc.Provider) {
	mails := c.Adapter == nil // it cannot, without one
	for _, p := range c.Providers {
		if e, ok := p.(*authsvc.Email); ok {
			p, mails = d.caught(*e), true
		}
		all = append(all, p)
	}
	if !mails {
		all = append(all, d.caught(authsvc.Email{From: "Development <no-reply@app.example>"}))
	}
	return all
}

func (d *Server) caught(e authsvc.Email) *authsvc.Email {
	e.Send, e.InboxURL = d.Send, d.InboxURL()
	return &e
}

// Issuer is the address of the identity provider, whose page says who is on
// offer.
func (d *Server) Issuer() string { return d.origin }

// InboxURL is the address of the inbox, for people.
func (d *Server) InboxURL() string { return d.origin + "/inbox" }

// Send delivers a message to the inbox, as the Send of an Email provider.
func (d *Server) Send(_ context.Context, m authsvc.Message) error {
	return d.box.Deliver(m.From, m.To, m.Subject, m.Text, m.HTML)
}

// Close ends it. What is in Options.Dir stays.
func (d *Server) Close() error {
	err := d.server.Close()
	if ended := <-d.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	d.ended <- http.ErrServerClosed // a second Close has nothing to wait for
	d.box.Close()
	return err
}
