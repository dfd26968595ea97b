package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
)

// load loads the settings and has the engine check them. To report all mistakes at
// once, it uses neither the store nor the network. If there are mistakes, it prints the
// warnings, because one of them may be the cause.
func (p *program) load(flags map[string]string) (*config.Settings, error) {
	s, err := p.loadSettings(flags)
	if err == nil {
		return s, nil
	}
	if s != nil {
		for _, w := range s.Warnings {
			fmt.Fprintln(p.stderr, "warning:", w)
		}
	}
	return nil, err
}

// loadSettings is load without output. It also returns settings with mistakes, for
// their warnings.
func (p *program) loadSettings(flags map[string]string) (*config.Settings, error) {
	s, err := config.Load(config.Input{Path: p.configPath, Env: p.env, Flags: flags, Development: p.development, NoFile: p.noFile})
	var all config.Mistakes
	if errors.As(err, &all); s == nil {
		return nil, err
	}
	type checks []func(*config.Settings) error
	for _, check := range slices.Concat(checks{checkStorage, configureMail}, p.adapt, checks{p.withoutSignIn, checkUpstreams, configureDecisions, validate}) {
		var more config.Mistakes
		switch err := check(s); {
		case errors.As(err, &more):
			all = s.Add(all, more)
		case err != nil && len(all) == 0:
			return s, err
		}
	}
	if len(all) > 0 {
		return s, all
	}
	return s, nil
}

// withoutSignIn adds a provider for commands that only read and change records, if the
// settings have none. No one signs in with it.
func (p *program) withoutSignIn(s *config.Settings) error {
	if p.noSignIn && len(s.Engine.Providers) == 0 {
		s.Engine.Providers = []authsvc.Provider{&authsvc.OAuth{ID: "none", OpenID: true, Issuer: nothing, Client: authsvc.Client{ID: "none", Secret: "none"}}}
	}
	return nil
}

// dryRunEngine returns an engine for dry runs. It calls no hooks, so that no application
// learns of them.
func dryRunEngine(s *config.Settings) (*engine.Operator, error) {
	alone := *s
	alone.Hooks = nil
	if err := configureDecisions(&alone); err != nil {
		return nil, err
	}
	return prepareEngine(&alone, addToConditions(&alone))
}

// validate has the engine check the settings as if the store were open.
func validate(s *config.Settings) error {
	_, err := prepareEngine(s, addToConditions(s))
	return err
}

// addToConditions returns an in-memory store with the user columns of the settings.
func addToConditions(s *config.Settings) adapter.Adapter {
	return memory.New(s.Storage.Naming.UserColumns...)
}

// prepareEngine returns an engine with a store, or without one if the settings have
// none. It does not start the engine.
func prepareEngine(s *config.Settings, a adapter.Adapter) (*engine.Operator, error) {
	c := s.Engine
	c.Logger = slog.New(slog.DiscardHandler)
	if storageScheme(s) != "none" {
		c.Adapter = a
	}
	service, err := engine.NewOperator(c)
	if err != nil {
		return nil, s.Explain(err)
	}
	return service, nil
}
