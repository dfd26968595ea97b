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

// ProviderID is the ID of the identity provider in Config.Providers.
const ProviderID = "dev"

// Options configures Start. The zero value is valid.
type Options struct {
	// Addr is the loopback address and port on which the identity provider and the
	// inbox listen. Default: 127.0.0.1 and the port after the port of Config.URL.
	Addr string
	// Dir keeps people and mails across restarts. It is created if it is missing.
	// Default: they are in memory.
	Dir string
	// People are the people to choose from at first. Anyone can add more on the
	// provider's page. Default: four people; one has an unverified address, another has
	// none. For each condition of Config.SignIn.Allow that none of them meets, a person
	// who meets it is added if possible.
	People []Person
	// Logger logs errors. Default: slog.Default().
	Logger *slog.Logger
}

// A Person is an identity that a user can choose.
type Person struct {
	ID            string // at the provider: 1 to 255 visible ASCII characters
	Name          string
	Email         string // may be empty
	EmailVerified bool
	Picture       string // URL; empty: an avatar with initials
	// Claims are further claims of the profile, such as groups, with the types of JSON.
	Claims map[string]any
}

// A Server is a running identity provider with an inbox.
type Server struct {
	base   string // base URL of the service
	secret string // client secret of the service
	origin string
	idp    *idp.Provider
	box    *inbox.Box
	server *http.Server
	log    *slog.Logger
	ended  chan error
}

// ErrPublicURL means that the URL of a configuration is not on loopback.
var ErrPublicURL = errors.New("anyone who reaches it could sign in as anyone")

// Start starts the identity provider and the inbox, and adds them to c as [Server.Add]
// does. The caller must call Close after closing the service that is made from c.
//
// The error includes the fix. Start fails if the URL of c (ErrPublicURL) or
// Options.Addr is not on loopback, if the port is in use, or if Options.Dir cannot be
// used. Mistakes in the URL are [authsvc.ConfigErrors].
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

// Check returns the error that Start would return for the URL of c.
func Check(c *authsvc.Config) error {
	_, err := new(Server).checkURL(c)
	return err
}

// clientID is the client ID of the service at the identity provider.
const clientID = "authsvc-dev"

// Add adds a provider "dev" to c. It makes all Email providers deliver to the inbox,
// and adds one if c has an Adapter but no Email provider. Conditions that name
// providers also name "dev" afterwards. Add calls no callback and no Adapter
// of c. Use it with [engine.Service.Reconfigure]. The URL must be the one that Start
// had; otherwise Add returns an error that says so. It also returns the errors that
// Start returns for the URL.
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
	addToConditions(c)
	d.addPeople(c)
}

func (d *Server) provider(issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{ID: ProviderID, Name: "Dev ID", OpenID: true, Issuer: issuer,
		Client: authsvc.Client{ID: clientID, Secret: cmp.Or(d.secret, "none yet")}}
}

// checkURL returns the base URL of the service, which must be on loopback.
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
			"set the URL to http://localhost:3000 here, and do not deploy devidp", u.Scheme, u.Host, ErrPublicURL)
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
		return nil, fmt.Errorf("devidp: Options.Addr %q is not a loopback address: %w; write 127.0.0.1 and a port", addr, ErrPublicURL)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("devidp: %w; stop the program that uses it, or set Options.Addr to another port of 127.0.0.1", err)
	}
	return l, nil
}

// maxMessage limits the size of a mail. Mails of the engine are far smaller.
const maxMessage = 1 << 20

// open creates the identity provider, the inbox and the HTTP server.
func (d *Server) open(o Options) (err error) {
	if d.log = o.Logger; d.log == nil {
		d.log = slog.Default()
	}
	options := idp.Options{Issuer: d.origin, Clients: []idp.Client{{ID: clientID, Name: "your application", Secret: d.secret,
		RedirectURIs: []string{d.base + "/callback/" + ProviderID}, Callback: d.base + "/callback/"}}}
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
	site, err := devsite.New(devsite.Frame{Brand: "Development", Foot: "Nothing here is part of the deployed program.",
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

// guard answers only requests to its own host. A name that an attacker points at
// 127.0.0.1 must not reach the inbox (DNS rebinding).
func (d *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if "http://"+r.Host != d.origin {
			http.Error(w, "open "+d.origin, http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// catchMail returns the providers of c, with all mail going to the inbox.
func (d *Server) catchMail(c *authsvc.Config) (all []authsvc.Provider) {
	mails := c.Adapter == nil // mail needs an Adapter
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

// Issuer returns the URL of the identity provider. Its page lists the people.
func (d *Server) Issuer() string { return d.origin }

// InboxURL returns the URL of the inbox.
func (d *Server) InboxURL() string { return d.origin + "/inbox" }

// Send delivers a message to the inbox. It is the Send function of an Email provider.
func (d *Server) Send(_ context.Context, m authsvc.Message) error {
	return d.box.Deliver(m.From, m.To, m.Subject, m.Text, m.HTML)
}

// Close stops the server. It keeps the files in Options.Dir.
func (d *Server) Close() error {
	err := d.server.Close()
	if ended := <-d.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	d.ended <- http.ErrServerClosed // a second Close must not wait
	d.box.Close()
	return err
}
