package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/plainlog"
)

// load reads the settings and has the engine judge them, without touching the
// store or the network: what is wrong comes out all at once.
func (p *program) load(flags map[string]string) (*config.Settings, error) {
	s, err := p.loadSettings(flags)
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

// loadSettings is load without a word. With mistakes, the settings have the warnings
// that go with them.
func (p *program) loadSettings(flags map[string]string) (*config.Settings, error) {
	s, err := config.Load(config.Input{Path: p.configPath, Env: p.env, Flags: flags})
	var found, later config.Mistakes
	if errors.As(err, &found); s == nil {
		return nil, err
	}
	for _, err := range []error{checkScheme(s), configureMail(s), validate(s)} {
		var more config.Mistakes
		switch {
		case errors.As(err, &more):
			later = append(later, more...)
		case err != nil && len(found) == 0:
			return nil, err
		}
	}
	if all := found.Merge(later); len(all) > 0 {
		return s, all
	}
	return s, nil
}

// validate has the engine check the settings, as if the store were open.
func validate(s *config.Settings) error {
	_, err := prepareEngine(s, memory.New())
	return err
}

// prepareEngine is the engine over a store, or over none if the settings say so. It
// is not started.
func prepareEngine(s *config.Settings, a authsvc.Adapter) (*authsvc.Service, error) {
	c := s.Engine
	c.Logger = slog.New(slog.DiscardHandler)
	if storageScheme(s) != "none" {
		c.Adapter = a
	}
	service, err := authsvc.Prepare(c)
	if err != nil {
		return nil, s.Explain(err)
	}
	return service, nil
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
