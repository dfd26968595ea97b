package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
)

type sessionsCommand struct {
	List sessionsList `cmd:"" default:"withargs" help:"Show the sessions of a user (default)."`
	End  sessionsEnd  `cmd:"" help:"End one session."`
}

type (
	sessionsList struct {
		Who  string `arg:"" help:"The id or the address of the user."`
		JSON bool   `name:"json" help:"One JSON object a line."`
	}
	sessionsEnd struct {
		destructive
		Session string `arg:"" help:"The ID, as sessions list prints it."`
	}
)

type accountsCommand struct {
	List   accountsList   `cmd:"" default:"withargs" help:"Show the identities of a user at providers (default)."`
	Unlink accountsUnlink `cmd:"" help:"Remove one."`
}

type (
	accountsList struct {
		Who  string `arg:"" help:"The id or the address of the user."`
		JSON bool   `name:"json" help:"One JSON object a line."`
	}
	accountsUnlink struct {
		destructive
		Provider string `arg:"" help:"The id of the provider, as accounts list prints it."`
		Account  string `arg:"" help:"The id at the provider."`
		Last     bool   `help:"Also if no way to sign in is left."`
	}
)

// A sessionLine is the JSON form of a session.
type sessionLine struct {
	ID       string     `json:"id"`
	Device   string     `json:"device"`
	Network  string     `json:"network,omitempty"`
	Provider string     `json:"provider,omitempty"`
	Client   string     `json:"client,omitempty"`
	Actor    string     `json:"actor,omitempty"`
	AMR      []string   `json:"amr"`
	ACR      string     `json:"acr,omitempty"`
	Created  *time.Time `json:"created,omitempty"`
	Used     *time.Time `json:"used,omitempty"`
	Expires  time.Time  `json:"expires"`
}

func sessionLines(list []authsvc.SessionView) []sessionLine {
	lines := []sessionLine{}
	for _, s := range list {
		amr := append([]string{}, s.AMR...)
		lines = append(lines, sessionLine{s.ID, s.Device, s.Network, s.Provider, s.Client, s.Actor, amr, s.ACR, present(s.Created), present(s.Used), s.Expires})
	}
	return lines
}

func (p *program) printSessions(list []authsvc.SessionView) error {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"ID", "DEVICE", "NETWORK", "PROVIDER", "PROOF", "BEGAN", "USED"}}
	for _, s := range list {
		rows = append(rows, []string{s.ID, s.Device, s.Network, s.Provider, strings.Join(s.AMR, " "), keyTime(s.Created), keyTime(s.Used)})
	}
	return p.printTable(rows)
}

// An accountLine is the JSON form of an account, without tokens.
type accountLine struct {
	ID                string `json:"id,omitempty"`
	Provider          string `json:"provider"`
	ProviderAccountID string `json:"providerAccountId"`
	Type              string `json:"type"`
}

func accountLines(list []authsvc.Account) []accountLine {
	lines := []accountLine{}
	for _, a := range list {
		lines = append(lines, accountLine{a.ID, a.Provider, a.ProviderAccountID, a.Type})
	}
	return lines
}

func (p *program) printAccounts(list []authsvc.Account) error {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"PROVIDER", "ACCOUNT", "TYPE"}}
	for _, a := range list {
		rows = append(rows, []string{a.Provider, a.ProviderAccountID, a.Type})
	}
	return p.printTable(rows)
}

// Run prints the sessions of a user.
func (c sessionsList) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		u, err := p.find(c.Who)
		if err != nil {
			return err
		}
		list, err := p.engine.Sessions(p.ctx, u.ID)
		if err != nil || !c.JSON {
			return errors.Join(err, p.printSessions(list))
		}
		for _, line := range sessionLines(list) {
			if err := p.printLine(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// Run ends a session.
func (c sessionsEnd) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		session := "the session " + truncate(c.Session)
		return p.do(c.destructive, "end "+session, "ended "+session, func(u authsvc.User) error {
			err := p.engine.EndSession(p.ctx, u.ID, c.Session)
			if errors.Is(err, adapter.ErrNotFound) {
				return fmt.Errorf("the user has no session with the ID %q; `authsvc sessions list` shows all", truncate(c.Session))
			}
			return err
		})
	})
}

// Run prints the accounts of a user.
func (c accountsList) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		u, err := p.find(c.Who)
		if err != nil {
			return err
		}
		list, err := p.adapter.ListAccounts(p.ctx, u.ID)
		if err != nil || !c.JSON {
			return errors.Join(err, p.printAccounts(list))
		}
		for _, line := range accountLines(list) {
			if err := p.printLine(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// Run removes an account.
func (c accountsUnlink) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		account := "the account at " + truncate(c.Provider)
		return p.do(c.destructive, "remove "+account, "removed "+account, func(u authsvc.User) error {
			err := p.engine.UnlinkAccount(p.ctx, u.ID, c.Provider, c.Account, &engine.UnlinkOptions{EvenLast: c.Last})
			switch {
			case errors.Is(err, adapter.ErrNotFound):
				return fmt.Errorf("the user has no such account; `authsvc accounts list` shows all")
			case errors.Is(err, authsvc.ErrLastAccount):
				return fmt.Errorf("it is the last way to sign in; add --last to remove it anyway")
			}
			return err
		})
	})
}
