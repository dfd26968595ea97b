// Package dev implements `authsvc dev`. It runs the service on loopback with everything
// that a sign-in needs, and requires no configuration. The OpenID provider, the SMTP
// server and SQLite are real; only the people and the mailbox are made up.
package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	neturl "net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/plainlog"
	"authsvc/mail"
)

// Options configures Run.
type Options struct {
	// Dir keeps the database, the secret, the people and the mails.
	Dir string
	// Port is the port of the application. The identity provider listens on the next
	// port, or on the one after it if URL has the next port.
	Port int
	// Host is the host to listen on: localhost or a loopback address. Others are
	// refused unless Shared is set, because anyone who can connect can sign in as
	// anyone.
	Host string
	// URL is the loopback origin that the browser sees if a development server, such as
	// Vite's, forwards /api/auth. Default: Host and Port. With Shared, it may also be
	// an https origin, and the default is localhost.
	URL string
	// Shared lets other machines connect, such as the host of a container. All pages,
	// including the identity provider's, are then at one origin, and the browser must
	// first present a token from the address that is printed.
	Shared bool
	// Upstream is a program to put behind sign-in, such as http://localhost:5173. The
	// address then shows the program instead of dev's home page.
	Upstream string
	// Unread is the name of a configuration file that dev does not read, to say so. It may
	// be empty.
	Unread string
	// Providers are added to the providers of dev.
	Providers []authsvc.Provider
	// Out gets a few lines for people.
	Out io.Writer
	Log *slog.Logger
}

// Names that dev uses.
const (
	providerID   = "dev"
	providerName = "Dev ID"
	clientID     = "authsvc-dev"
	// programOrigin is the origin of the Go program that the home page shows.
	programOrigin = "http://localhost:8080"
)

// StoreName names the files in Options.Dir that hold the users: StoreName.db is the
// database, and StoreName.urls the file of [KeepURLs].
const StoreName = "authsvc"

const urlsExt = ".urls"

// MailFrom is the sender of mails.
const MailFrom = "Your application <no-reply@app.example>"

// stopTimeout limits requests in flight during the shutdown.
const stopTimeout = 2 * time.Second

// Run serves until ctx is done, then finishes requests in flight.
func Run(ctx context.Context, o Options) (err error) {
	w := &world{Options: o}
	w.Log = slog.New(quiet{o.Log.Handler(), w.refused})
	defer func() { err = errors.Join(err, w.close()) }()
	for _, step := range []func(context.Context) error{w.prepare, w.openStore, w.openMailbox, w.openProvider, w.openService, w.listen} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	w.welcome()
	select {
	case err := <-w.failed:
		return err
	case <-ctx.Done():
		fmt.Fprintln(o.Out, "\nStopping. Your data is kept in", o.Dir)
		return nil
	}
}

// world holds all parts that run.
type world struct {
	Options
	origin  string // of the application, as the browser sees it
	local   string // URL of the home page and the inbox
	issuer  string
	idpPort int
	lock    *Lock
	store   *sqlite.Store
	file    fs.FileInfo // of the database when it was opened
	mailbox *mailbox.Server
	idp     *idp.Provider
	client  idp.Client
	service *engine.Service
	gate    *gate // nil unless Shared
	secret  string
	servers []*http.Server
	failed  chan error
	proxied sync.Once // prints the line about a proxy that changes the Host header
	strayed sync.Once // prints the line about a front end that --url does not name
	named   sync.Once // prints the line about X-Forwarded-Host
	asked   sync.Once // prints the line about internal_hosts
	untold  sync.Map  // events that wait for their log line, by request
}

// prepare checks the address, and creates and locks the folder.
func (w *world) prepare(context.Context) error {
	if !w.Shared && !Listenable(w.Host) {
		return fmt.Errorf("dev listens on loopback only, and %q is not a loopback address: anyone who can connect could sign in as anyone; use --host in a container or a code space, or `authsvc serve` for access from other machines", w.Host)
	}
	if w.Port < 1 || w.Port > 65533 {
		return fmt.Errorf("port %d cannot be used; choose one from 1 to 65533", w.Port)
	}
	if err := w.setAddresses(); err != nil {
		return err
	}
	w.failed = make(chan error, 8)
	err := MakeDir(w.Dir)
	if err != nil {
		return err
	}
	if w.lock, err = LockDir(w.Dir, w.origin); err != nil {
		return err
	}
	if w.secret, err = Keep(w.Dir, "secret"); err != nil {
		return err
	}
	client, err := Keep(w.Dir, "client-secret")
	w.client = idp.Client{ID: clientID, Name: "your application", Secret: client,
		RedirectURIs: []string{w.origin + "/api/auth/callback/" + providerID, programOrigin + "/api/auth/callback/" + providerID}}
	return err
}

// setAddresses sets the URLs of the pages as the browser sees them.
func (w *world) setAddresses() error {
	w.local = "http://" + net.JoinHostPort(w.Host, strconv.Itoa(w.Port))
	if w.Shared {
		return w.setSharedAddresses()
	}
	if w.origin = strings.TrimSuffix(cmp.Or(w.URL, w.local), "/"); !loopbackOrigin(w.origin) {
		return fmt.Errorf("dev is for loopback only, and %q is not a loopback origin, such as http://localhost:5173; use `authsvc serve` for anything else", w.URL)
	}
	w.idpPort = ProviderPort(w.Port, w.origin)
	w.issuer = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(w.idpPort))
	return nil
}

// Listenable reports whether a host can only resolve to addresses of this machine.
func Listenable(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// loopbackOrigin accepts http://host:port of this machine.
func loopbackOrigin(raw string) bool {
	u, err := neturl.Parse(raw)
	return err == nil && u.Scheme == "http" && weburl.Loopback(u.Hostname()) && raw == "http://"+u.Host
}

func (w *world) openStore(ctx context.Context) (err error) {
	if err := KeepURLs(w.Dir, StoreName, w.origin, w.issuer); err != nil {
		return err
	}
	if w.store, err = sqlite.Open(ctx, w.databasePath(), sqlite.Options{Migrate: true}); err == nil {
		w.file, err = os.Stat(w.databasePath())
	}
	return err
}

func (w *world) openMailbox(context.Context) (err error) {
	w.mailbox, err = mailbox.Listen(mailbox.Options{Dir: filepath.Join(w.Dir, "mail")})
	return err
}

func (w *world) openProvider(context.Context) error {
	file, err := idp.OpenFile(filepath.Join(w.Dir, "people.json"))
	if err != nil {
		return err
	}
	w.idp, err = idp.New(idp.Options{Issuer: w.issuer, Clients: []idp.Client{w.client}, Store: file})
	return err
}

func (w *world) openService(ctx context.Context) error {
	send, err := mail.SMTP("smtp://"+w.mailbox.Addr(), mail.Options{})
	if err != nil {
		return err
	}
	providers := []authsvc.Provider{
		&authsvc.OAuth{ID: providerID, Name: providerName, OpenID: true, Issuer: w.issuer,
			Client: authsvc.Client{ID: w.client.ID, Secret: w.client.Secret}},
		&authsvc.Email{From: MailFrom, Send: send, InboxURL: w.local + "/inbox"},
	}
	config := authsvc.Config{
		URL: w.origin, Secrets: []string{w.secret}, Adapter: w.store, Logger: w.Log,
		Providers: append(providers, w.Providers...),
		Theme:     authsvc.Theme{SiteName: "Your application"},
		Events:    authsvc.Events{Audit: w.tell},
		Account:   authsvc.AccountOptions{Delete: true},
	}
	if !w.Shared {
		config.Callbacks.Redirect = redirect
	}
	if w.hasFront() {
		w.passedOn(&config)
	}
	if w.Upstream != "" {
		config.Gate.Hosts = []authsvc.GateHost{{Origin: w.origin, Upstream: w.Upstream}}
	}
	if w.Shared {
		config.Outbound.DangerousTransport = inProcess{w.issuer, w.idp}
		config.Logger = slog.New(quiet{slog.DiscardHandler, w.refused}) // the engine warns of that at the start
	}
	if err := AcceptIssuer(ctx, config, w.issuer); err != nil {
		return err
	}
	w.service, err = engine.New(config)
	for _, mistake := range authsvc.ConfigErrors(err) {
		if mistake.Field == "Gate.Hosts[0].Upstream" {
			return fmt.Errorf("--upstream %s; %s", mistake.Problem, mistake.Fix)
		}
	}
	return err
}

// listen opens the two ports. Browsers resolve localhost to both 127.0.0.1 and ::1.
func (w *world) listen(ctx context.Context) error {
	hosts := []string{w.Host}
	if w.Host == "localhost" && !w.Shared {
		hosts = []string{"127.0.0.1", "::1"}
	}
	handler, err := w.handler()
	if err != nil {
		return err
	}
	for i, host := range hosts {
		if err := w.serve(ctx, host, w.Port, handler); err != nil && i == 0 {
			return err
		}
	}
	if w.Shared {
		return nil
	}
	return w.serve(ctx, "127.0.0.1", w.idpPort, w.idp)
}

func (w *world) serve(ctx context.Context, host string, port int, h http.Handler) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return PortTaken(port, err, w.Host, w.Port)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 60 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(w.Log.Handler(), slog.LevelWarn)}
	w.servers = append(w.servers, s)
	go func() {
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			w.failed <- err
		}
	}()
	return nil
}

func (w *world) welcome() {
	if w.Shared {
		w.welcomeShared()
		return
	}
	by := ""
	if w.hasFront() {
		by = fmt.Sprintf(" (yours; it passes /api/auth on)\n  authsvc         %s", w.local)
	}
	if w.Upstream != "" {
		by += "\n  In front of     " + w.Upstream
	}
	fmt.Fprintf(w.Out, `authsvc dev — for development, on this machine only

  Open            %s%s
  Mails           %s/inbox
  People          %s (the built-in identity provider)
  Kept in         %s
%s
Press Ctrl-C to stop.
`, w.origin, by, w.local, w.issuer, w.Dir, w.unread())
}

// unread returns a line about the configuration file that is not read, or "".
func (w *world) unread() string {
	if w.Unread == "" {
		return ""
	}
	name := plainlog.Text(w.Unread)
	return fmt.Sprintf("  Not read        %s (to try it: authsvc dev -c %s)\n", name, name)
}

// close stops all parts in the reverse order of their start.
func (w *world) close() error {
	var errs []error
	for _, s := range w.servers {
		errs = append(errs, within(s.Shutdown, s.Close))
	}
	if w.service != nil {
		errs = append(errs, within(w.service.Close, nil))
	}
	if w.mailbox != nil {
		errs = append(errs, w.mailbox.Close())
	}
	if w.store != nil {
		errs = append(errs, w.store.Close())
	}
	if w.lock != nil { // last, because another dev may then start
		errs = append(errs, w.lock.Close())
	}
	return errors.Join(errs...)
}

// within gives end a limited time. If end fails, it calls force unless that is nil.
func within(end func(context.Context) error, force func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := end(ctx)
	if err != nil && force != nil {
		err = force()
	}
	return err
}
