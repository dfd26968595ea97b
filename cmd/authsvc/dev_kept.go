package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/devidp"
	"authsvc/internal/dev"
)

// configuredName names the files of dev with a configuration: the database and the
// address. Without a configuration, they have the name dev.StoreName.
const configuredName = "configured"

// keptBy are the commands that accept --dev.
var keptBy = []string{"users", "sessions", "accounts", "audit", "keys", "tokens", "migrate", "types"}

// useDev makes a command use what dev keeps in a folder. Like dev, it ignores the
// configuration of serve unless -c names one.
func (p *program) useDev(dir, command string) error {
	if name, _, _ := strings.Cut(command, " "); !slices.Contains(keptBy, name) {
		return fmt.Errorf("--dev is for the commands %s: %w", strings.Join(keptBy, ", "), errUsage)
	}
	p.development = true
	name := configuredName
	if p.configPath == "" {
		name, p.env, p.noFile = dev.StoreName, nil, true
	}
	p.adapt = append(p.adapt, func(s *config.Settings) error {
		url, issuer, err := dev.ReadURLs(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has no data of %s: start it first, or correct --dev and the working directory: %w", dir, devCall(p.configPath), errUsage)
		}
		if err != nil {
			return fmt.Errorf("--dev: %w", err)
		}
		c := &devCommand{Dir: dir, URL: url}
		s.Engine.URL = c.URL
		if err := c.localise(s); err != nil {
			return err
		}
		if s.Storage.URL == "sqlite:"+filepath.Join(dir, configuredName+".db") {
			s.Storage.URL = "sqlite:" + filepath.Join(dir, name+".db")
		}
		ofDev(s, issuer, p.configPath == "")
		p.opened = func(c authsvc.Config) error { return dev.UseStoredIssuer(p.ctx, c, issuer) }
		return nil
	})
	return nil
}

// useOpened calls p.opened with the settings of the engine and its open store.
func (p *program) useOpened(s *config.Settings, st *store) error {
	if p.opened == nil {
		return nil
	}
	c := s.Engine
	c.Adapter = st.Adapter
	return s.Explain(p.opened(c))
}

// devCall returns the command that starts dev.
func devCall(config string) string {
	if config == "" {
		return "`authsvc dev`"
	}
	return "`authsvc dev -c " + config + "`"
}

// ofDev gives settings the providers that dev has. They are for reading records: no one
// signs in with them, and a running dev sends the mails.
func ofDev(s *config.Settings, issuer string, alone bool) {
	send := func(context.Context, authsvc.Message) error { return errors.New("authsvc dev sends mails") }
	if alone {
		s.Engine.Providers = append(s.Engine.Providers, &authsvc.Email{From: dev.MailFrom})
	}
	for _, p := range s.Engine.Providers {
		if e, ok := p.(*authsvc.Email); ok {
			e.Send = send
		}
	}
	s.Engine.Providers = append(s.Engine.Providers, &authsvc.OAuth{ID: devidp.ProviderID, Name: "Dev ID", OpenID: true, Issuer: issuer,
		Client: authsvc.Client{ID: "none", Secret: "none"}})
	standIns(s)
}

// hintDev returns an error with the note that dev keeps its records elsewhere, if there
// is a folder of dev and the command does not use it.
func (p *program) hintDev(err error) error {
	const dir = ".authsvc"
	name := configuredName
	if p.configPath == "" {
		name = dev.StoreName
	}
	if _, _, missing := dev.ReadURLs(dir, name); err == nil || missing != nil || p.development {
		return err
	}
	fmt.Fprintf(p.stderr, "note: %s keeps its records in %s: add --dev %s\n", devCall(p.configPath), dir, dir)
	return err
}

// noteDevStore tells how to start again if the configuration does not fit the store that
// dev keeps, for example because a provider now has a client.
func (p *program) noteDevStore(s *config.Settings) {
	if path, ok := strings.CutSuffix(s.Storage.URL, configuredName+".db"); p.development && ok {
		fmt.Fprintf(p.stderr, "note: %s keeps its records in %s: remove this file to start without them\n", devCall(p.configPath), strings.TrimPrefix(path, "sqlite:")+configuredName+".db")
	}
}
