package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/devidp"
	"authsvc/internal/dev"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/plainlog"
)

// A replacement is a setting for which dev uses its own value.
type replacement struct{ key, with string }

// localise replaces the settings that belong to the deployment, such as the secret and
// the store, by dev's own. It records what it replaces, for the banner.
func (c *devCommand) localise(s *config.Settings) error {
	c.replaced = nil
	deployed := s.Engine.URL
	c.ownAddress(s)
	if err := c.ownStorage(s); err != nil {
		return err
	}
	if err := c.needed(s); err != nil {
		return err
	}
	c.ownNames(s)
	c.ownGate(s, deployed)
	dropForms(s)
	for _, gap := range s.Gaps {
		if gap.Provider != "" {
			c.replace(gap.Provider, "Dev ID in its place: "+gap.Why)
		} else if !slices.Contains([]string{"url", "listen", "secret", "storage.url", "session.store"}, gap.Key) {
			c.replace(gap.Key, "left out: "+gap.Why)
		}
	}
	return c.ownSecret(s)
}

// needed reports values of the configuration that --real-storage needs.
func (c *devCommand) needed(s *config.Settings) error {
	var mistakes config.Mistakes
	for _, gap := range s.Gaps {
		if c.RealStorage && slices.Contains([]string{"secret", "storage.url", "session.store"}, gap.Key) {
			mistakes = append(mistakes, s.Mistake("", gap.Why, "set it, or leave out --real-storage"))
		}
	}
	if mistakes == nil {
		return nil
	}
	return mistakes
}

func (c *devCommand) replace(key, with string) {
	c.replaced = append(c.replaced, replacement{key, plainlog.Text(with)})
}

// ownAddress moves the service to this machine, unless a flag says where it is.
func (c *devCommand) ownAddress(s *config.Settings) {
	c.listenAtURL(s)
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return // startProvider reports it
	}
	if c.Listen == "" && !dev.Listenable(host) {
		configured := s.Listen
		s.Listen = net.JoinHostPort("127.0.0.1", port)
		c.replace("listen", s.Listen+", not "+configured)
	}
	u, err := url.Parse(s.Engine.URL)
	switch {
	case c.URL != "" || err != nil: // the engine reports the mistake
	case s.Engine.URL == "":
		s.Engine.URL = "http://localhost:" + port
	case weburl.Origin(u) != "" && u.User == nil && !weburl.Loopback(u.Hostname()):
		configured := s.Engine.URL
		s.Engine.URL = "http://localhost:" + port + u.EscapedPath()
		c.replace("url", s.Engine.URL+", not "+configured)
	}
}

// listenAtURL listens at the port of url if it is an address of this machine, and neither
// listen nor a front end that passes requests on is configured.
func (c *devCommand) listenAtURL(s *config.Settings) {
	u, err := url.Parse(s.Engine.URL)
	if err != nil || c.URL != "" || s.IsSet("listen") || s.IsSet("trusted_proxies") || s.IsSet("proxy_keys") ||
		u.Scheme != "http" || u.Port() == "" || !weburl.Loopback(u.Hostname()) {
		return
	}
	host := "127.0.0.1"
	if dev.Listenable(u.Hostname()) {
		host = u.Hostname()
	}
	s.Listen = net.JoinHostPort(host, u.Port())
}

// ownStorage keeps the people of dev out of a deployment's store. Otherwise mail that
// waits there would be sent to the inbox.
func (c *devCommand) ownStorage(s *config.Settings) error {
	if c.RealStorage {
		return nil
	}
	if s.Storage.Sessions != "" {
		s.Storage.Sessions = ""
		c.replace("session.store", "left out")
	}
	if scheme := storageScheme(s); scheme == "none" || scheme == "memory" {
		return nil
	}
	if len(s.Storage.Naming.UserColumns) > 0 {
		return errors.New("storage.user_columns names columns of your database, but dev keeps users in a database of its own: " +
			"add --real-storage if storage.url is a database for development")
	}
	s.Storage.URL = "sqlite:" + filepath.Join(c.Dir, configuredName+".db")
	c.replace("storage.url", s.Storage.URL)
	return nil
}

// ownSecret replaces the secret. With the secret of a deployment, a session of dev,
// where anyone signs in as anyone, might be valid there too. The records in the store
// of the configuration need its secret. The folder has the inbox in either case.
func (c *devCommand) ownSecret(s *config.Settings) error {
	if err := dev.MakeDir(c.Dir); err != nil || c.RealStorage {
		return err
	}
	secret, err := dev.Keep(c.Dir, "secret")
	if err != nil {
		return err
	}
	s.Engine.Secrets, s.Engine.DangerousShortSecret = []string{secret}, false
	c.replace("secret", "one of its own, in "+c.Dir)
	return nil
}

// ownNames adjusts cookies and origins that cannot apply at a loopback address.
func (c *devCommand) ownNames(s *config.Settings) {
	e := &s.Engine
	own := weburl.OriginOf(e.URL)
	u, err := url.Parse(own)
	if err != nil || !weburl.Loopback(u.Hostname()) {
		return
	}
	if e.Cookies.Domain != "" {
		c.replace("cookies.domain", "left out")
		e.Cookies.Domain = ""
	}
	if u.Scheme == "http" {
		for _, cookie := range []struct {
			key  string
			name *string
		}{{"cookies.session", &e.Cookies.Session}, {"cookies.csrf", &e.Cookies.CSRF}, {"cookies.callback_url", &e.Cookies.CallbackURL}} {
			if plain := strings.TrimPrefix(strings.TrimPrefix(*cookie.name, "__Host-"), "__Secure-"); plain != *cookie.name {
				*cookie.name = plain
				c.replace(cookie.key, plain)
			}
		}
	}
	e.TrustedOrigins = slices.DeleteFunc(slices.Clone(e.TrustedOrigins), func(raw string) bool {
		origin, ok := weburl.ExactOrigin(raw)
		elsewhere := ok && !weburl.SameSite(origin, own)
		if elsewhere {
			c.replace("trusted_origins", "without "+origin+", which is another site than "+own)
		}
		return elsewhere
	})
	if e.ForwardedHost && len(e.TrustedProxies)+len(e.ProxyKeys) == 0 && slices.ContainsFunc(s.Gaps, func(g config.Gap) bool { return g.Key == "proxy_keys" }) {
		c.replace("forwarded_host", "false")
		e.ForwardedHost = false
	}
	if host, _, _ := net.SplitHostPort(s.Admin.Listen); s.Admin.Listen != "" && !dev.Listenable(host) {
		c.replace("admin.listen", "left out")
		s.Admin = config.Admin{}
	}
}

// dropForms marks the providers whose hook is on another machine as incomplete. An
// application there must not get what people type in dev.
func dropForms(s *config.Settings) {
	for _, form := range s.Credentials {
		if config.Elsewhere(form.Hook.URL) {
			s.Gaps = append(s.Gaps, config.Gap{Key: form.Key, Provider: form.Provider.ID, Why: "hook.url is not on this machine"})
		}
	}
}

// nothing is an address at which no program answers.
const nothing = "http://127.0.0.1:1"

// ownGate moves hosts of the gate to names of this machine. Programs elsewhere must not
// see the people of dev, so these hosts have no program.
func (c *devCommand) ownGate(s *config.Settings, deployed string) {
	own, err := url.Parse(weburl.OriginOf(s.Engine.URL))
	if err != nil {
		return
	}
	hosts := slices.Clone(s.Engine.Gate.Hosts)
	for i, h := range hosts {
		// A wildcard is not part of a valid host name.
		wild, rest := "", h.Origin
		if scheme, name, ok := strings.Cut(h.Origin, "://*."); ok {
			wild, rest = "*.", scheme+"://"+name
		}
		at, err := url.Parse(rest)
		if err != nil || weburl.Origin(at) == "" || weburl.Loopback(at.Hostname()) {
			continue // a mistake, which the engine reports, or already here
		}
		moved := own.Scheme + "://" + wild + at.Hostname() + ".localhost"
		if wild == "" && weburl.Origin(at) == weburl.OriginOf(deployed) {
			moved = own.Scheme + "://" + own.Hostname()
		}
		if own.Port() != "" {
			moved += ":" + own.Port()
		}
		with := moved + ", not " + h.Origin
		if hosts[i].Origin = moved; config.Elsewhere(h.Upstream) {
			hosts[i].Upstream = nothing
			with += "; without a program, because its upstream is not on this machine"
		}
		c.replace(fmt.Sprintf("gate.hosts[%d]", i), with)
	}
	s.Engine.Gate.Hosts = hosts
}

// standIns replaces the providers that lack settings of the deployment. People then
// choose at the identity provider of dev who they are at that provider.
func standIns(s *config.Settings) {
	at := func(id string) int {
		return slices.IndexFunc(s.Engine.Providers, func(p authsvc.Provider) bool { return config.ProviderID(p) == id })
	}
	i := at(devidp.ProviderID)
	if i < 0 {
		return
	}
	own, ok := s.Engine.Providers[i].(*authsvc.OAuth)
	if !ok {
		return
	}
	for _, gap := range s.Gaps {
		if j := at(gap.Provider); gap.Provider != "" && j >= 0 {
			s.Engine.Providers[j] = standIn(s.Engine.Providers[j], own)
		}
	}
}

// standIn returns a provider with the ID, the name and the style of p, which is
// otherwise own.
func standIn(p authsvc.Provider, own *authsvc.OAuth) *authsvc.OAuth {
	o := &authsvc.OAuth{ID: config.ProviderID(p), OpenID: true, Issuer: own.Issuer, Client: own.Client}
	switch p := p.(type) {
	case *authsvc.OAuth:
		o.Name, o.Style, o.LinkVerifiedEmail = p.Name, p.Style, p.LinkVerifiedEmail
	case *authsvc.OAuth1:
		o.Name, o.Style, o.LinkVerifiedEmail = p.Name, p.Style, p.LinkVerifiedEmail
	case *authsvc.OpenID2:
		o.Name, o.Style = p.Name, p.Style
	case *authsvc.Credentials:
		o.Name = p.Name
	}
	return o
}
