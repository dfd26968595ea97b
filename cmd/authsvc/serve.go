package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
	"authsvc/internal/dev"
)

type serveCommand struct {
	Listen string `placeholder:"HOST:PORT" help:"Where to listen; overrides the configuration."`
	URL    string `name:"url" placeholder:"URL" help:"The public address; overrides the configuration."`
}

// Run starts the service and returns after it has stopped.
func (c *serveCommand) Run(p *program) error {
	return p.start(nonEmpty(map[string]string{"listen": c.Listen, "url": c.URL}))
}

// start runs the service. flags override its settings.
func (p *program) start(flags map[string]string) error {
	p.collect = p.collectLess(largeStart)
	defer p.collect()
	s, err := p.load(flags)
	if err != nil {
		return err
	}
	if p.banner != nil {
		text, err := p.banner(s)
		if err != nil {
			return err
		}
		fmt.Fprint(p.stdout, text)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // if the reader of the log is gone, a write must fail instead of ending the process
	p.sink = newLogSink(p.stderr)
	p.stderr = p.sink // also for the last errors
	s.Engine.Logger = p.sink.logger(s.Log)
	setRedisLogger(s.Engine.Logger)
	for _, w := range s.Warnings {
		s.Engine.Logger.Warn(w)
	}
	listener, err := listen(p.ctx, s.Listen, "listen (AUTHSVC_LISTEN, --listen)")
	if err != nil {
		return err
	}
	defer listener.Close()
	return p.serve(s, flags, listener)
}

// nonEmpty removes flags that were not set.
func nonEmpty(flags map[string]string) map[string]string {
	for name, v := range flags {
		if v == "" {
			delete(flags, name)
		}
	}
	return flags
}

// listen listens on an address. setting names its source in errors.
func listen(ctx context.Context, addr, setting string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: stop it, or set %s%s", addr, setting, otherAddress(addr))
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listening on %s is not permitted: ports under 1024 need privileges; set %s", addr, setting)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s is not an address of this machine: set %s to one that is, or to 127.0.0.1 behind a proxy", addr, setting)
	case err != nil:
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return l, nil
}

// otherAddress returns the words that propose another port, or "" if addr has no port
// that is a number.
func otherAddress(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	number, notNumber := strconv.Atoi(port)
	if err != nil || notNumber != nil {
		return ""
	}
	return " to another address, such as " + net.JoinHostPort(host, strconv.Itoa(dev.OtherPort(number)))
}

// acceptDelay is how long connections wait while the store opens. After that, or if the
// store cannot be reached, requests get 503.
const acceptDelay = 5 * time.Second

// A server holds the state of serve, from the first connection to the last.
type server struct {
	handlerSwitch
	flags          map[string]string
	log            *slog.Logger
	conns          net.Listener
	http           *http.Server
	startAccepting func() // may be called more than once
	serveErr       chan error
	stopSignals    chan os.Signal // the second one stops at once
	reloadSignals  chan os.Signal
}

func newServer(s *config.Settings, flags map[string]string, listener net.Listener) *server {
	srv := &server{flags: flags, serveErr: make(chan error, 1), stopSignals: make(chan os.Signal, 2), reloadSignals: make(chan os.Signal, 1)}
	srv.unopened = pagesOf(s)
	srv.conns, srv.nearLimit = limitConnections(listener, shareConnections(s))
	srv.log = slog.New(currentLog{&srv.handlerSwitch, s.Engine.Logger.Handler()})
	srv.http = newHTTPServer(&srv.handlerSwitch, srv.log)
	srv.startAccepting = sync.OnceFunc(func() { go func() { srv.serveErr <- srv.http.Serve(srv.conns) }() })
	return srv
}

// serve answers requests until a signal stops it. It is not ready until the store is
// open.
func (p *program) serve(s *config.Settings, flags map[string]string, listener net.Listener) (err error) {
	srv := newServer(s, flags, listener)
	signal.Notify(srv.stopSignals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(srv.stopSignals)
	signal.Notify(srv.reloadSignals, syscall.SIGHUP)
	defer signal.Stop(srv.reloadSignals)
	defer time.AfterFunc(acceptDelay, srv.startAccepting).Stop()
	closeDebug, err := srv.serveDebug(p.ctx, s.Debug)
	if err != nil {
		return err
	}
	closeAdmin, err := srv.serveAdmin(p.ctx, s.Admin)
	if err != nil {
		return errors.Join(err, closeDebug())
	}
	defer closeAdmin() //nolint:errcheck // the process ends
	defer closeDebug() //nolint:errcheck // the process ends

	st, err := p.awaitStore(s, srv)
	if st != nil {
		defer func() {
			// The store's server may be gone. Acknowledged writes are stored.
			if err := withTimeout(closeTime, st.close); err != nil {
				srv.log.Warn("cannot close the store properly", "err", err)
			}
		}()
	}
	if err != nil || st == nil {
		return errors.Join(err, srv.http.Close())
	}
	return p.serveWith(s, st, srv)
}

// awaitStore waits until the store is open. If a signal to stop comes first, it returns
// neither a store nor an error.
func (p *program) awaitStore(s *config.Settings, srv *server) (*store, error) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	var st *store
	opened := make(chan error, 1)
	go func() {
		var err error
		st, err = openStoreWithRetry(ctx, s, srv.log, srv.startAccepting)
		opened <- err
	}()
	select {
	case err := <-opened:
		return st, err
	case sig := <-srv.stopSignals:
		srv.log.Info("stopping before the store could be reached", "signal", sig.String())
		p.notify(srv.log, stateStopping)
	}
	cancel()
	select {
	case err := <-opened:
		if st != nil {
			err = withTimeout(closeTime, st.close)
		} else if errors.Is(err, context.Canceled) {
			err = nil
		}
		return nil, err
	case <-time.After(drainTime):
		return nil, errors.New("opening the store could not be cancelled in time")
	case <-srv.stopSignals:
		return nil, errForced
	}
}

// serveWith runs the engine on an open store.
func (p *program) serveWith(s *config.Settings, st *store, srv *server) error {
	for _, w := range st.warnings {
		srv.log.Warn(w)
	}
	service, err := p.newEngine(s, st)
	if err != nil {
		p.noteDevStore(s)
		return errors.Join(s.Explain(err), srv.http.Close())
	}
	in := newInstance(s, service)
	in.advises = p.development
	srv.swap(in)
	all := p.startReloading(st, srv)
	srv.startAccepting()
	p.announce(s, in.base, srv)
	p.notify(srv.log, stateReady)
	p.collect()
	defer runtime.KeepAlive(p.untouchedHeap())
	select {
	case err := <-srv.serveErr:
		return errors.Join(fmt.Errorf("serving ended: %w", err), p.closeEngine(all))
	case <-p.ctx.Done():
	case sig := <-srv.stopSignals:
		srv.log.Info("stopping", "signal", sig.String())
	}
	p.notify(srv.log, stateStopping)
	in.setUnready()
	if err := srv.drain(srv.instance().settings.StopDelay); err != nil {
		return err
	}
	return p.shutdown(srv.http, all, srv.stopSignals)
}

// newEngine starts the engine on an open store.
func (p *program) newEngine(s *config.Settings, st *store) (*engine.Service, error) {
	if err := p.useOpened(s, st); err != nil {
		return nil, err
	}
	s.Engine.Adapter = st.Adapter
	return engine.New(s.Engine)
}

// announce reports that the service accepts requests: on one line for people, or in the
// log if the log is JSON.
func (p *program) announce(s *config.Settings, base string, srv *server) {
	addr, storage, providers := srv.conns.Addr().String(), describeStorage(s), providerNames(s)
	if s.Log.Format == "json" {
		s.Engine.Logger.Info("authsvc serves", "url", base, "listen", addr, "storage", storage, "sign_in", providers)
		return
	}
	fmt.Fprintf(p.stdout, "authsvc serves %s on %s, storage %s, sign-in with %s\n", base, addr, storage, providers)
}

// newHTTPServer returns a server that limits the time and memory that one client can
// use.
func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           closeAfterChunked(h),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// closeAfterChunked closes the connection after a request with Transfer-Encoding. The
// server accepts a Content-Length beside it without reporting it, and a proxy may find
// a different end of such a request. The rest of the connection must therefore not be
// read as a request (RFC 9112 §6.1).
func closeAfterChunked(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

func providerNames(s *config.Settings) string {
	var ids []string
	for _, provider := range s.Engine.Providers {
		ids = append(ids, config.ProviderID(provider))
	}
	return strings.Join(ids, ", ")
}
