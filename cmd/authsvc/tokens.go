package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/plainlog"
)

type tokensCommand struct {
	Create tokensCreate `cmd:"" help:"Make a personal access token for a user, and print it once."`
	List   tokensList   `cmd:"" help:"Show the personal access tokens of a user."`
	Revoke tokensRevoke `cmd:"" help:"End a personal access token of a user, or all."`
}

type (
	tokensCreate struct {
		Who      string   `arg:"" help:"The id of the user, or the e-mail address."`
		Name     string   `required:"" help:"What it is for, in up to 64 characters."`
		Audience []string `placeholder:"ID" sep:"none" help:"One of tokens.audiences that it gets tokens for; may be repeated."`
		Host     []string `placeholder:"ORIGIN" sep:"none" help:"A host that it may pass to, such as https://grafana.example.com; may be repeated."`
		Expires  string   `placeholder:"DURATION" help:"How long it is good, such as 30d. Default: 90d."`
		JSON     bool     `name:"json" help:"Print the token and what it is for as one JSON object."`
	}
	tokensList struct {
		Who  string `arg:"" help:"The id of the user, or the e-mail address."`
		JSON bool   `name:"json" help:"One JSON object a line."`
	}
	tokensRevoke struct {
		Who    string `arg:"" help:"The id of the user, or the e-mail address."`
		ID     string `arg:"" optional:"" name:"id" help:"The id of the token, as tokens list prints it."`
		All    bool   `help:"All tokens of the user, instead of one."`
		DryRun bool   `help:"Only say what would be done."`
		Yes    bool   `help:"Do it without asking."`
		JSON   bool   `name:"json" help:"Print the tokens that are left, one JSON object a line."`
	}
)

// withUser calls do with the engine over the open store and a user of it.
func (p *program) withUser(who string, do func(*authsvc.Service, authsvc.User) error) error {
	return p.withEngine(func(service *authsvc.Service, st *store) error {
		u, err := p.findUser(st, who)
		if err != nil {
			return err
		}
		return do(service, u)
	})
}

// findUser finds a user by id, or by address.
func (p *program) findUser(st *store, who string) (authsvc.User, error) {
	if st == nil || st.Adapter == nil {
		return authsvc.User{}, errors.New("there is no storage, so there are no users")
	}
	u, err := st.Adapter.GetUser(p.ctx, who)
	if errors.Is(err, authsvc.ErrNotFound) {
		if address, bad := authsvc.NormaliseEmail(who); bad == nil {
			u, err = st.Adapter.GetUserByEmail(p.ctx, address)
		}
	}
	if errors.Is(err, authsvc.ErrNotFound) {
		return u, fmt.Errorf("no user has the id or the address %q", truncate(who))
	}
	return u, err
}

// Run makes a token.
func (c tokensCreate) Run(p *program) error {
	r := authsvc.PersonalTokenRequest{Name: c.Name, Audiences: c.Audience, Hosts: c.Host}
	if c.Expires != "" {
		var err error
		if r.Life, err = config.Duration(c.Expires); err != nil {
			return fmt.Errorf("--expires: %w", err)
		}
	}
	return p.withUser(c.Who, func(service *authsvc.Service, u authsvc.User) error {
		token, made, err := service.CreatePersonalToken(p.ctx, u.ID, r)
		switch {
		case errors.Is(err, authsvc.ErrNoPersonalTokens):
			return errors.New("personal_tokens.enabled is not set, so the token would not be accepted")
		case errors.Is(err, authsvc.ErrTooMany):
			return errors.New("the user has 100 personal access tokens, which is the most: revoke one with `authsvc tokens revoke`")
		case err != nil:
			return errors.New(strings.ReplaceAll(err.Error(), "authsvc: ", ""))
		}
		if c.JSON {
			return json.NewEncoder(p.stdout).Encode(struct {
				Token string `json:"token"`
				authsvc.PersonalToken
			}{token, made})
		}
		fmt.Fprintf(p.stderr, "good until %s for %s; keep it now, it is not shown again:\n", keyTime(made.Expires), tokenUses(made))
		_, err = fmt.Fprintln(p.stdout, token)
		return err
	})
}

// Run prints the tokens.
func (c tokensList) Run(p *program) error {
	return p.withUser(c.Who, func(service *authsvc.Service, u authsvc.User) error { return p.printTokens(service, u, c.JSON) })
}

// Run ends a token, or all.
func (c tokensRevoke) Run(p *program) error {
	if c.All == (c.ID != "") {
		return fmt.Errorf("name either the id of a token or --all: %w", errUsage)
	}
	return p.withUser(c.Who, func(service *authsvc.Service, u authsvc.User) error {
		what := "revoke all personal access tokens of the user " + truncate(u.ID)
		if !c.All {
			what = "revoke the personal access token " + truncate(c.ID)
		}
		if c.DryRun {
			_, err := fmt.Fprintln(p.stdout, "would", what)
			return err
		}
		if err := p.confirm("Shall authsvc "+what+"?", c.Yes); err != nil {
			return err
		}
		err := p.revokeTokens(service, u, c.ID)
		if errors.Is(err, authsvc.ErrNotFound) {
			return fmt.Errorf("the user has no personal access token with the id %q; `authsvc tokens list` shows all", truncate(c.ID))
		}
		if err != nil {
			return err
		}
		return p.printTokens(service, u, c.JSON)
	})
}

// revokeTokens ends the token of an id, or all for "".
func (p *program) revokeTokens(service *authsvc.Service, u authsvc.User, id string) error {
	if id != "" {
		return service.RevokePersonalToken(p.ctx, u.ID, id)
	}
	_, err := service.RevokePersonalTokens(p.ctx, u.ID)
	return err
}

// printTokens prints the tokens of a user as a table, or as JSON. Names are of
// people, so they are printed without control characters.
func (p *program) printTokens(service *authsvc.Service, u authsvc.User, asJSON bool) error {
	list, err := service.PersonalTokens(p.ctx, u.ID)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(p.stdout)
		for _, t := range list {
			if err := enc.Encode(t); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no personal access tokens")
		return err
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tCREATED\tUSED\tEXPIRES\tFOR\tNAME")
	for _, t := range list {
		used := "never"
		if !t.Used.IsZero() {
			used = t.Used.Format("2006-01-02")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, keyTime(t.Created), used, keyTime(t.Expires), tokenUses(t), plainlog.Text(t.Name))
	}
	return table.Flush()
}

// tokenUses is what a token is good for, in one line.
func tokenUses(t authsvc.PersonalToken) string {
	if t.Sealed {
		return "(sealed under a secret that is not configured)"
	}
	return plainlog.Text(strings.Join(append(append([]string{}, t.Audiences...), t.Hosts...), ","))
}
