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
	"strings"
	"sync"
	"syscall"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

// drainTime is how long requests in flight and mails in hand may take after a
// signal to stop.
const drainTime = 15 * time.Second

type serveCommand struct {
	Listen string `placeholder:"HOST:PORT" help:"Where to listen, over the configuration."`
	URL    string `name:"url" placeholder:"URL" help:"The public address, over the configuration."`
}

// Run starts the service and returns when it has stopped.
func (c *serveCommand) Run(p *program) error {
	s, err := p.load(given(map[string]string{"listen": c.Listen, "url": c.URL}))
	if err != nil {
		return err
	}
	s.Engine.Logger = newLogger(p.stderr, s.Log)
	logRedis(s.Engine.Logger)
	for _, w := range s.Warnings {
		s.Engine.Logger.Warn(w)
	}
	listener, err := listen(p.ctx, s.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	return p.serve(s, listener)
}

// given leaves out flags that were not.
func given(flags map[string]string) map[string]string {
	for name, v := range flags {
		if v == "" {
			delete(flags, name)
		}
	}
	return flags
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: stop it, or set listen (AUTHSVC_LISTEN, --listen)", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listening on %s is not permitted: ports under 1024 need privileges; set listen (AUTHSVC_LISTEN, --listen)", addr)
	case err != nil:
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return l, nil
}

// quickly is how long requests wait to be accepted while the store opens;
// after that they are told.
const quickly = time.Second

// serve answers until a signal comes: with the engine as soon as the store is
// open, and until then that it is not ready.
func (p *program) serve(s *config.Settings, listener net.Listener) (err error) {
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	l := &live{log: s.Engine.Logger, addr: listener.Addr(), stop: stop, served: make(chan error, 1)}
	l.server = newServer(&l.stage, l.log)
	l.accept = sync.OnceFunc(func() { go func() { l.served <- l.server.Serve(listener) }() })
	defer time.AfterFunc(quickly, l.accept).Stop()

	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	opened := make(chan error, 1)
	var st *store
	go func() {
		var err error
		st, err = awaitStore(ctx, s, l.log)
		opened <- err
	}()
	select {
	case err = <-opened:
	case sig := <-stop:
		l.log.Info("stopping before the store could be reached", "signal", sig.String())
		cancel()
		<-opened
	}
	if st != nil {
		defer func() { err = errors.Join(err, st.close()) }()
	}
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, l.server.Close())
	}
	return p.answer(s, st, l)
}

// live is a server from its first request to its last.
type live struct {
	stage
	log    *slog.Logger
	addr   net.Addr
	server *http.Server
	accept func() // requests from now on
	served chan error
	stop   chan os.Signal
}

// answer builds the engine over an open store and lets it answer.
func (p *program) answer(s *config.Settings, st *store, l *live) error {
	for _, w := range st.warnings {
		l.log.Warn(w)
	}
	s.Engine.Adapter = st.Adapter
	service, err := authsvc.New(s.Engine)
	if err != nil {
		return errors.Join(s.Explain(err), l.server.Close())
	}
	f := newFront(s, service, st.Adapter)
	l.front.Store(f)
	l.accept()
	fmt.Fprintf(p.stdout, "authsvc serves %s%s on %s, storage %s, sign-in with %s\n",
		f.origin, f.path, l.addr, describeStorage(s), providerNames(s))
	select {
	case err := <-l.served:
		return errors.Join(fmt.Errorf("serving ended: %w", err), p.close(service))
	case <-p.ctx.Done():
	case sig := <-l.stop:
		l.log.Info("stopping", "signal", sig.String())
	}
	f.drain()
	return p.shutdown(l.server, service, l.stop)
}

// newServer bounds what one client can hold.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           lastIfChunked(h),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// lastIfChunked ends a connection after a request with Transfer-Encoding. The
// server takes one that has a Content-Length too and does not tell; whoever
// stands in front may see its end elsewhere, so nothing that follows on the
// connection is to be read as a request (RFC 9112 §6.1).
func lastIfChunked(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// shutdown stops listening, lets requests in flight finish, then closes the
// engine. A second signal gives up at once.
func (p *program) shutdown(server *http.Server, service *authsvc.Service, again <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), drainTime)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := server.Shutdown(ctx)
		if err != nil {
			err = fmt.Errorf("requests were still running after %v: %w", drainTime, errors.Join(err, server.Close()))
		}
		done <- errors.Join(err, service.Close(ctx))
	}()
	select {
	case err := <-done:
		return err
	case <-again:
		return errors.New("stopped at once by a second signal")
	}
}

func (p *program) close(service *authsvc.Service) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), drainTime)
	defer cancel()
	return service.Close(ctx)
}

func providerNames(s *config.Settings) string {
	var ids []string
	for _, provider := range s.Engine.Providers {
		ids = append(ids, config.ProviderID(provider))
	}
	return strings.Join(ids, ", ")
}
