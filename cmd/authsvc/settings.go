package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/plainlog"
)

// load reads the settings and has the engine judge them, without touching the
// store or the network: what is wrong comes out all at once.
func (p *program) load(flags map[string]string) (*config.Settings, error) {
	s, err := p.judge(flags)
	if err == nil {
		return s, nil
	}
	if s != nil {
		for _, w := range s.Warnings { // one of them may be the cause
			fmt.Fprintln(p.stderr, "warning:", w)
		}
	}
	return nil, err
}

// judge is load without a word. With mistakes, the settings have the warnings
// that go with them.
func (p *program) judge(flags map[string]string) (*config.Settings, error) {
	s, err := config.Load(config.Input{Path: p.configPath, Env: p.env, Flags: flags})
	var found, later config.Mistakes
	if errors.As(err, &found); s == nil {
		return nil, err
	}
	for _, err := range []error{findStore(s), connectMail(s), validate(p.ctx, s)} {
		var more config.Mistakes
		switch {
		case errors.As(err, &more):
			later = append(later, more...)
		case err != nil && len(found) == 0:
			return nil, err
		}
	}
	if all := found.And(later); len(all) > 0 {
		return s, all
	}
	return s, nil
}

// validate builds the engine over a store in memory and throws it away.
func validate(ctx context.Context, s *config.Settings) error {
	c := s.Engine
	c.Logger = slog.New(slog.DiscardHandler)
	if storageScheme(s) != "none" {
		c.Adapter = memory.New()
	}
	service, err := authsvc.New(c)
	if err != nil {
		return s.Explain(err)
	}
	return service.Close(ctx)
}

// newLogger logs to w as the settings say.
func newLogger(w io.Writer, l config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil { // the loader accepts nothing else
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(plainlog.Handler(slog.NewJSONHandler(w, o)))
	}
	return slog.New(plainlog.Handler(slog.NewTextHandler(w, o)))
}

// address is the public address of the service, taken apart.
type address struct {
	origin string // scheme://host[:port]
	host   string // host[:port], without the default port
	path   string // of the routes, such as /api/auth
}

// publicAddress takes a URL apart that the engine has accepted.
func publicAddress(raw string) address {
	u, err := url.Parse(raw)
	if err != nil { // the engine refuses these
		return address{}
	}
	a := address{host: withoutDefaultPort(u.Scheme, u.Host), path: strings.TrimSuffix(u.Path, "/")}
	if a.path == "" {
		a.path = "/api/auth"
	}
	a.origin = u.Scheme + "://" + a.host
	return a
}

// withoutDefaultPort normalises the host of a URL or a request.
func withoutDefaultPort(scheme, host string) string {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.TrimSuffix(strings.ToLower(host), port)
}
