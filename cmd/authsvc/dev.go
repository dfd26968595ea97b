package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/devidp"
	"authsvc/internal/dev"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/plainlog"
)

// serve runs dev with a configuration: serve on loopback, with an identity provider
// that lets anyone in and an inbox for all mail.
func (c *devCommand) serve(p *program) error {
	var started *devidp.Server
	var lock *dev.Lock
	p.development = true
	p.adapt = append(p.adapt, func(s *config.Settings) (err error) {
		if err := c.localise(s); err != nil {
			return err
		}
		if problem := c.addUpstream(s); problem != "" {
			return fmt.Errorf("%s: %w", problem, errUsage)
		}
		defer standIns(s)
		if started != nil { // a reload
			return started.Add(&s.Engine)
		}
		if lock, err = dev.LockDir(c.Dir, s.Engine.URL); err != nil {
			return err
		}
		started, err = c.startProvider(s)
		if len(authsvc.ConfigErrors(err)) > 0 { // the engine reports it too, with line numbers
			return nil
		}
		if errors.Is(err, devidp.ErrPublicURL) {
			return fmt.Errorf("dev is for this machine only, and url is %s: %w; add --url http://localhost:3000, or use `authsvc serve`: %w",
				s.Engine.URL, devidp.ErrPublicURL, errUsage)
		}
		p.banner = func(s *config.Settings) (string, error) {
			return p.devBanner(s, started, c.Dir) + c.banner(p.configPath), dev.KeepURLs(c.Dir, configuredName, s.Engine.URL, started.Issuer())
		}
		p.opened = func(c authsvc.Config) error { return dev.AcceptIssuer(p.ctx, c, started.Issuer()) }
		return err
	})
	defer func() {
		if lock != nil {
			lock.Close() //nolint:errcheck // the process ends
		}
	}()
	defer func() {
		if started != nil {
			started.Close() //nolint:errcheck // the process ends
		}
	}()
	return p.start(nonEmpty(map[string]string{"listen": c.Listen, "url": c.URL}))
}

// devBanner lists the addresses. It shows the inbox only if a provider sends mail, and
// who may sign in only if some people may not.
func (p *program) devBanner(s *config.Settings, started *devidp.Server, dir string) string {
	mails := ""
	if slices.ContainsFunc(s.Engine.Providers, func(p authsvc.Provider) bool { _, ok := p.(*authsvc.Email); return ok }) {
		mails = "  Mails        " + started.InboxURL() + "\n"
	}
	return fmt.Sprintf("For development, on this machine only: anyone can sign in as anyone.\n\n  Sign in at   %s\n%s  People       %s\n%s\n",
		s.Engine.URL+frontOf(s), mails, started.Issuer(), p.whoMay(s, started.People(), dir))
}

// frontOf says that another server must answer at url, and where dev listens, or "".
func frontOf(s *config.Settings) string {
	u, err := url.Parse(s.Engine.URL)
	_, port, splitErr := net.SplitHostPort(s.Listen)
	if err != nil || splitErr != nil || u.Port() == port {
		return ""
	}
	return " (yours; it passes " + cmp.Or(strings.TrimRight(u.EscapedPath(), "/"), "/api/auth") + " on)\n  authsvc      http://" + s.Listen
}

// banner lists the settings that dev replaces.
func (c *devCommand) banner(file string) string {
	if len(c.replaced) == 0 {
		return ""
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "In place of the values in %s, dev uses:\n\n", plainlog.Text(file))
	for _, r := range c.replaced {
		fmt.Fprintf(table, "  %s\t%s\n", r.key, r.with)
	}
	fmt.Fprintln(table)
	table.Flush() //nolint:errcheck // into memory
	return out.String()
}

// addUpstream puts the program of --upstream behind sign-in. If the configuration has a
// host of the gate at this origin, its rules apply.
func (c *devCommand) addUpstream(s *config.Settings) (problem string) {
	own := weburl.OriginOf(s.Engine.URL)
	i := slices.IndexFunc(s.Engine.Gate.Hosts, func(h authsvc.GateHost) bool { return weburl.OriginOf(h.Origin) == own })
	if c.Upstream == "" || i < 0 {
		return addGateHost(s, c.Upstream, nil)
	}
	s.Engine.Gate.Hosts[i].Upstream = c.Upstream
	return ""
}

// whoMay says who of the people may sign in, and why the others may not, according to
// the configuration. It calls no hooks. It returns "" if everyone may sign in.
func (p *program) whoMay(s *config.Settings, people []devidp.Person, dir string) string {
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
		return all + fmt.Sprintf("%sinvite a person, and the mail arrives in the inbox: authsvc users invite ada@example.com -c %s --dev %s\n", indent, p.configPath, dir)
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
		return nil, fmt.Errorf("listen %s is not HOST:PORT, such as localhost:3000: %w", s.Listen, errUsage)
	}
	if !dev.Listenable(host) {
		return nil, fmt.Errorf("dev listens on loopback only, and listen is %s: %v; add --listen localhost:%d, or use `authsvc serve`: %w",
			s.Listen, devidp.ErrPublicURL, number, errUsage)
	}
	at := dev.ProviderPort(number, s.Engine.URL)
	started, err := devidp.Start(&s.Engine, devidp.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(at)), Dir: c.Dir})
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "listen" {
		return nil, dev.PortTaken(at, op, host, number)
	}
	return started, err
}
