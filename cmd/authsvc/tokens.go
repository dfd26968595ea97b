package main

import (
	"errors"
	"fmt"
	"strings"

	"authsvc"
	"authsvc/adapter"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/text"
)

type tokensCommand struct {
	Create tokensCreate `cmd:"" help:"Make a personal access token for a user, and print it once."`
	List   tokensList   `cmd:"" help:"Show the personal access tokens of a user."`
	Revoke tokensRevoke `cmd:"" help:"End a personal access token of a user, or all."`
}

type (
	tokensCreate struct {
		neverAsks
		Who      string   `arg:"" help:"The id of the user, or the email address."`
		Name     string   `required:"" help:"What it is for, in up to 64 characters."`
		Audience []string `placeholder:"ID" sep:"none" help:"An entry of tokens.audiences for which it gets tokens; may be repeated."`
		Host     []string `placeholder:"ORIGIN" sep:"none" help:"A host that it may reach, such as https://grafana.example.com; may be repeated."`
		Expires  string   `placeholder:"DURATION" help:"How long it is valid, such as 30d. Default: 90d."`
		JSON     bool     `name:"json" help:"Print the token and its purpose as one JSON object."`
	}
	tokensList struct {
		Who  string `arg:"" help:"The id of the user, or the email address."`
		JSON bool   `name:"json" help:"One JSON object a line."`
	}
	tokensRevoke struct {
		destructive
		ID  string `arg:"" optional:"" name:"id" help:"The id of the token, as tokens list prints it."`
		All bool   `help:"All tokens of the user, instead of one."`
	}
)

// withUser calls do with a user of the open store.
func (p *program) withUser(who string, do func(*people, authsvc.User) error) error {
	return p.withPeople(func(p *people) error {
		u, err := p.find(who)
		if err != nil {
			return err
		}
		return do(p, u)
	})
}

// Run creates a token.
func (c tokensCreate) Run(p *program) error {
	r := authsvc.PersonalTokenRequest{Name: c.Name, Audiences: c.Audience, Hosts: c.Host}
	if c.Expires != "" {
		var err error
		if r.Life, err = config.Duration(c.Expires); err != nil {
			return fmt.Errorf("--expires: %w: %w", err, errUsage)
		}
	}
	return p.withUser(c.Who, func(p *people, u authsvc.User) error {
		token, made, err := p.engine.CreatePersonalToken(p.ctx, u.ID, r)
		switch {
		case errors.Is(err, authsvc.ErrNoPersonalTokens):
			return errors.New("personal_tokens.enabled is not set, so the token would not be accepted")
		case errors.Is(err, adapter.ErrTooMany):
			return errors.New("the user has 100 personal access tokens, which is the maximum: revoke one with `authsvc tokens revoke`")
		case errors.As(err, new(*text.Invalid)):
			return wrongValue(err)
		case err != nil:
			return errors.New(strings.ReplaceAll(err.Error(), "authsvc: ", ""))
		}
		if c.JSON {
			return p.printLine(struct {
				Token string `json:"token"`
				authsvc.PersonalToken
			}{token, made})
		}
		fmt.Fprintf(p.stderr, "valid until %s for %s; copy it now, it is not shown again:\n", keyTime(made.Expires), tokenUses(made))
		_, err = fmt.Fprintln(p.stdout, token)
		return err
	})
}

// Run prints the tokens of a user.
func (c tokensList) Run(p *program) error {
	return p.withUser(c.Who, func(p *people, u authsvc.User) error {
		list, err := p.engine.PersonalTokens(p.ctx, u.ID)
		if err != nil {
			return err
		}
		rows := [][]string{{"ID", "CREATED", "USED", "EXPIRES", "FOR", "NAME"}}
		for _, t := range list {
			if c.JSON {
				if err := p.printLine(t); err != nil {
					return err
				}
				continue
			}
			used := "never"
			if !t.Used.IsZero() {
				used = t.Used.Format("2006-01-02")
			}
			rows = append(rows, []string{t.ID, keyTime(t.Created), used, keyTime(t.Expires), tokenUses(t), t.Name})
		}
		if c.JSON {
			return nil
		}
		return p.printTable(rows)
	})
}

// Run revokes one token, or all tokens of a user.
func (c tokensRevoke) Run(p *program) error {
	if c.All == (c.ID != "") {
		return fmt.Errorf("name either the id of a token or --all: %w", errUsage)
	}
	what := "the personal access token " + truncate(c.ID)
	if c.All {
		what = "all personal access tokens"
	}
	return p.withPeople(func(p *people) error {
		return p.do(c.destructive, "revoke "+what, "revoked "+what, func(u authsvc.User) error {
			if c.All {
				_, err := p.engine.RevokePersonalTokens(p.ctx, u.ID)
				return err
			}
			err := p.engine.RevokePersonalToken(p.ctx, u.ID, c.ID)
			if errors.Is(err, adapter.ErrNotFound) {
				return fmt.Errorf("the user has no personal access token with the id %q; `authsvc tokens list` shows all", truncate(c.ID))
			}
			return err
		})
	})
}

// tokenUses returns the audiences and hosts of a token on one line.
func tokenUses(t authsvc.PersonalToken) string {
	if t.Sealed {
		return "(sealed under a secret that is not configured)"
	}
	return strings.Join(append(append([]string{}, t.Audiences...), t.Hosts...), ",")
}
