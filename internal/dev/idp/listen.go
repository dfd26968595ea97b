package idp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a [Provider] with its own listener, for tests.
type Server struct {
	*Provider
	server *http.Server
	cancel context.CancelFunc // ends delayed requests
	done   chan error
}

// Listen starts a provider on a free port of 127.0.0.1. The issuer is
// "http://127.0.0.1:PORT" followed by opts.Issuer, which is empty or a path such as
// "/tenant". Without Key, Alg and Store, it signs with ES256, because making a P-256
// key is fast. The caller must Close the server.
func Listen(opts Options) (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("idp: %w", err)
	}
	opts.Issuer = "http://" + ln.Addr().String() + opts.Issuer
	if opts.Key == nil && opts.Alg == "" && opts.Store == nil {
		opts.Alg = algES256
	}
	provider, err := New(opts)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		Provider: provider,
		server: &http.Server{
			Handler:           provider,
			ReadHeaderTimeout: 10 * time.Second,
			MaxHeaderBytes:    maxBody,
			BaseContext:       func(net.Listener) context.Context { return ctx },
		},
		cancel: cancel,
		done:   make(chan error, 1),
	}
	go func() { s.done <- s.server.Serve(ln) }()
	return s, nil
}

// Close stops the server at once, including requests in progress, and waits for the
// listener to end.
func (s *Server) Close() error {
	s.cancel()
	err := s.server.Close()
	if serveErr := <-s.done; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	s.done <- http.ErrServerClosed // a second Close must not wait
	return err
}
