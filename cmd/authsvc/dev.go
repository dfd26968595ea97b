package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/devidp"
	"authsvc/internal/dev"
	"authsvc/internal/text/plainlog"
)

// serve runs dev with a configuration: serve on loopback, with an identity provider
// that lets anyone in and an inbox for all mail.
func (c *devCommand) serve(p *program) error {
	var started *devidp.Server
	p.adapt = func(s *config.Settings) (err error) {
		if problem := addGateHost(s, c.Upstream, nil); problem != "" {
			return fmt.Errorf("%s: %w", problem, errUsage)
		}
		if err := c.ownStorage(s); err != nil {
			return err
		}
		if started != nil { // a reload
			return started.Add(&s.Engine)
		}
		started, err = c.startProvider(s)
		if len(authsvc.ConfigErrors(err)) > 0 { // the engine reports it too, with line numbers
			return nil
		}
		if errors.Is(err, devidp.ErrPublicURL) {
			return fmt.Errorf("dev is for this machine only, and url is %s: %w; add --url http://localhost:3000, or use `authsvc serve`",
				s.Engine.URL, devidp.ErrPublicURL)
		}
		p.banner = func(s *config.Settings) string { return p.devBanner(s, started) }
		return err
	}
	defer func() {
		if started != nil {
			started.Close() //nolint:errcheck // the process ends
		}
	}()
	return p.start(nonEmpty(map[string]string{"listen": c.Listen, "url": c.URL}))
}

// ownStorage keeps the people of dev out of a deployment's store. Otherwise mail that
// waits there would be sent to the inbox.
func (c *devCommand) ownStorage(s *config.Settings) error {
	if scheme := storageScheme(s); c.RealStorage || scheme == "none" || scheme == "memory" {
		return nil
	}
	if len(s.Storage.Naming.UserColumns) > 0 {
		return errors.New("storage.user_columns names columns of your database, but dev keeps users in a database of its own: " +
			"add --real-storage if storage.url is a database for development")
	}
	s.Storage.URL, s.Storage.Sessions = "sqlite:"+filepath.Join(c.Dir, "configured.db"), ""
	return nil
}

// devBanner lists the addresses. It shows the inbox only if a provider sends mail, and
// who may sign in only if some people may not.
func (p *program) devBanner(s *config.Settings, started *devidp.Server) string {
	mails := ""
	if slices.ContainsFunc(s.Engine.Providers, func(p authsvc.Provider) bool { _, ok := p.(*authsvc.Email); return ok }) {
		mails = "  Mails        " + started.InboxURL() + "\n"
	}
	return fmt.Sprintf("For development, on this machine only: anyone can sign in as anyone.\n\n  Sign in at   %s\n%s  People       %s\n%s\n",
		s.Engine.URL, mails, started.Issuer(), p.whoMay(s, started.People()))
}

// whoMay says who of the people may sign in, and why the others may not, according to
// the configuration. It calls no hooks. It returns "" if everyone may sign in.
func (p *program) whoMay(s *config.Settings, people []devidp.Person) string {
	service, err := dryRunEngine(s)
	if err != nil { // the start reports it
		return ""
	}
	var may []string
	var reasons []string // in order of appearance
	refused := map[string][]string{}
	for _, one := range people {
		who := one.Name
		if one.Email != "" {
			who += " <" + one.Email + ">"
		}
		v := service.DryRunSignIn(p.ctx, one.Attempt())
		if v.Allowed {
			may = append(may, plainlog.Text(who))
			continue
		}
		reason := cmp.Or(v.Reason, "the sign-in redirects to another page")
		if refused[reason] == nil {
			reasons = append(reasons, reason)
		}
		refused[reason] = append(refused[reason], plainlog.Text(who))
	}
	if len(reasons) == 0 {
		return ""
	}
	const indent = "               "
	all := indent + "may sign in: " + cmp.Or(strings.Join(may, ", "), "none of them") + "\n"
	for _, reason := range reasons {
		all += indent + "not: " + strings.Join(refused[reason], ", ") + " (" + reason + ")\n"
	}
	if len(may) > 0 {
		return all
	}
	if s.Engine.SignUp.Policy == authsvc.SignUpInvited {
		return all + fmt.Sprintf("%sinvite a person, and the mail arrives in the inbox: AUTHSVC_URL=%s AUTHSVC_STORAGE_URL=%s authsvc users invite ada@example.com -c %s\n",
			indent, s.Engine.URL, s.Storage.URL, p.configPath)
	}
	return all + indent + "add a person who may sign in on the provider's page, or change sign_in.allow, sign_up or rules\n"
}

// startProvider starts the identity provider and the inbox of dev, on a port next to
// the port of the service.
func (c *devCommand) startProvider(s *config.Settings) (*devidp.Server, error) {
	if err := devidp.Check(&s.Engine); err != nil { // first, because other errors may follow from it
		return nil, err
	}
	host, port, err := net.SplitHostPort(s.Listen)
	number, numErr := strconv.Atoi(port)
	if err != nil || numErr != nil || number < 1 || number > 65533 {
		return nil, fmt.Errorf("listen %s is not HOST:PORT, such as localhost:3000", s.Listen)
	}
	if !dev.Listenable(host) {
		return nil, fmt.Errorf("dev listens on loopback only, and listen is %s: %v; add --listen localhost:%d, or use `authsvc serve`",
			s.Listen, devidp.ErrPublicURL, number)
	}
	if err := dev.MakeDir(c.Dir); err != nil {
		return nil, err
	}
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(dev.ProviderPort(number, s.Engine.URL)))
	return devidp.Start(&s.Engine, devidp.Options{Addr: at, Dir: c.Dir})
}
