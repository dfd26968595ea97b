package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
	"authsvc/internal/text/plainlog"
)

type usersCommand struct {
	List        usersList        `cmd:"" default:"withargs" help:"Show people (default)."`
	Show        usersShow        `cmd:"" help:"Show one person: ways to sign in, sessions, whether they are blocked."`
	Create      usersCreate      `cmd:"" help:"Add a person, who then signs in by mail."`
	Invite      usersInvite      `cmd:"" help:"Add people who do not exist yet, and mail each of them a sign-in link that is valid for 7 days."`
	Set         usersSet         `cmd:"" help:"Change the name or the address of a person."`
	Block       usersBlock       `cmd:"" help:"Keep a person out, and end their sessions."`
	Unblock     usersUnblock     `cmd:"" help:"Let a person sign in again."`
	EndSessions usersEndSessions `cmd:"" help:"End all sessions of a person, also those that cannot be listed, or with --all of everyone."`
	Delete      usersDelete      `cmd:"" help:"Delete a person with accounts and sessions after account.delete_grace."`
	Keep        usersKeep        `cmd:"" help:"Cancel the deletion of a person."`
	Export      usersExport      `cmd:"" help:"Print everything stored about a person, or with --all about everyone, as JSON."`
}

type (
	usersList struct {
		Prefix  string `placeholder:"TEXT" help:"Only people whose address begins with this text, such as ada@."`
		Blocked bool   `help:"Only blocked people."`
		Due     bool   `help:"Only people whose deletion is due."`
		Limit   int    `default:"50" help:"How many at most; 0: all."`
		JSON    bool   `name:"json" help:"One JSON object a line."`
	}
	usersShow struct {
		Who  string `arg:"" help:"The id or the address of the user."`
		JSON bool   `name:"json" help:"One JSON object."`
	}
	usersBlock struct {
		destructive
		Why string `placeholder:"TEXT" required:"" help:"Why, for other operators."`
	}
	usersUnblock struct {
		neverAsks
		Who  string `arg:"" help:"The id or the address of the user."`
		JSON bool   `name:"json" help:"One JSON object."`
	}
	usersEndSessions struct {
		Who string `arg:"" optional:"" help:"The id or the address of the user."`
		All bool   `help:"End the sessions of everyone, such as after a restore. No one is told by mail."`
		confirmed
		JSON bool `name:"json" help:"One JSON object."`
	}
	usersDelete struct {
		destructive
		Now bool `help:"Delete at once."`
	}
	usersKeep struct {
		neverAsks
		Who  string `arg:"" help:"The id or the address of the user."`
		JSON bool   `name:"json" help:"One JSON object."`
	}
)

// destructive holds the arguments of actions on one user that need confirmation.
type destructive struct {
	Who string `arg:"" help:"The id or the address of the user."`
	confirmed
	JSON bool `name:"json" help:"One JSON object, the user."`
}

// confirmed holds the flags of actions that need confirmation.
type confirmed struct {
	DryRun bool `help:"Only print what would be done."`
	Yes    bool `help:"Do it without asking."`
}

// people is the engine with an open store, for commands about users.
type people struct {
	*program
	ctx     context.Context // carries the name of the operator
	engine  *engine.Operator
	adapter adapter.Adapter
}

// withPeople calls do with the engine and the open store. The service may or may not be
// running.
func (p *program) withPeople(do func(*people) error) error {
	return p.withStore(func(s *config.Settings, st *store) error {
		switch {
		case st.Adapter == nil:
			return fmt.Errorf("storage %s keeps no users", describeStorage(s))
		case storageScheme(s) == "memory":
			return errors.New("storage memory ends with its process, so a command cannot reach the users of a service: set storage.url to a store that lasts")
		}
		prepared, err := prepareEngine(s, st.Adapter)
		if err == nil {
			err = s.Explain(prepared.CheckStore(p.ctx))
		}
		if err != nil {
			return err
		}
		return do(&people{p, engine.WithActor(p.ctx, actorOf(operator(), p.env["SUDO_USER"])), prepared, st.Adapter})
	})
}

// actorOf returns the actor for the audit. With sudo, it also names the account that
// called sudo, as the environment has it.
func actorOf(account, caller string) string {
	if caller == "" || caller == account || len(caller) > 64 {
		return "cli:" + account
	}
	return "cli:" + account + " (sudo: " + caller + ")"
}

// operator returns the name of the account that runs the command.
func operator() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}

// do finds a user, describes the action, and carries it out if it is confirmed. Then it
// prints done, or the user as JSON.
func (p *people) do(c destructive, what, done string, act func(authsvc.User) error) error {
	u, err := p.find(c.Who)
	if err != nil {
		return err
	}
	switch {
	case c.DryRun && c.JSON:
		return p.printLine(actedLine{userLine: lineOf(u), DryRun: true})
	case c.DryRun:
		_, err := fmt.Fprintf(p.stdout, "would %s of %s\n", what, nameOf(u))
		return err
	}
	if err := p.confirm("Shall authsvc "+what+" of "+nameOf(u)+"?", c.Yes); err != nil {
		return err
	}
	if err := act(u); err != nil {
		return err
	}
	if c.JSON {
		return p.printActed(u)
	}
	_, err = fmt.Fprintf(p.stdout, "%s of %s\n", done, nameOf(u))
	return err
}

// A userLine is the JSON form of a user.
type userLine struct {
	ID            string     `json:"id"`
	Name          string     `json:"name,omitempty"`
	Email         string     `json:"email,omitempty"`
	EmailVerified *time.Time `json:"emailVerified,omitempty"`
	Image         string     `json:"image,omitempty"`
	Blocked       *time.Time `json:"blocked,omitempty"`
	DeleteAfter   *time.Time `json:"deleteAfter,omitempty"`
}

func lineOf(u authsvc.User) userLine {
	return userLine{u.ID, u.Name, u.Email, present(u.EmailVerified), u.Image, present(u.Blocked), present(u.DeleteAfter)}
}

// present returns a time for JSON, or nil for the zero time.
func present(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// printLine prints a value as a line of JSON. It removes control characters, because
// the value may contain untrusted input.
func (p *program) printLine(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, plainlog.Text(string(raw)))
	return err
}

// printTable prints rows in columns.
func (p *program) printTable(rows [][]string) error {
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			if row[i] = plainlog.Text(row[i]); row[i] == "" {
				row[i] = "-"
			}
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}

// usersPage is how many users are read at a time.
const usersPage = 500

// Run prints users page by page, in the store's order of IDs.
func (c usersList) Run(p *program) error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit is negative: %w", errUsage)
	}
	return p.withPeople(func(p *people) error {
		q := adapter.UserQuery{Prefix: c.Prefix, Blocked: c.Blocked}
		if c.Due {
			q.Due = time.Now()
		}
		rows := [][]string{{"ID", "EMAIL", "NAME", "VERIFIED", "BLOCKED", "DELETED"}}
		for left := c.Limit; c.Limit == 0 || left > 0; {
			q.Limit = usersPage
			if c.Limit > 0 {
				q.Limit = min(usersPage, left)
			}
			page, err := p.adapter.SearchUsers(p.ctx, q)
			if err != nil {
				return err
			}
			for _, u := range page {
				q.After = q.Next(u)
				if !c.JSON {
					rows = append(rows, []string{u.ID, u.Email, u.Name, keyTime(u.EmailVerified), keyTime(u.Blocked), keyTime(u.DeleteAfter)})
				} else if err := p.printLine(lineOf(u)); err != nil {
					return err
				}
			}
			if len(rows) > 1 {
				if err := p.printTable(rows); err != nil {
					return err
				}
				rows = rows[:0:0]
			}
			if left -= len(page); len(page) < q.Limit {
				break
			}
		}
		return p.noteList(c, q)
	})
}

// Run prints a user with accounts and sessions.
func (c usersShow) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		u, err := p.find(c.Who)
		if err != nil {
			return err
		}
		person, err := p.adapter.GetPerson(p.ctx, u.ID)
		if err != nil {
			return err
		}
		accounts, err := p.adapter.ListAccounts(p.ctx, u.ID)
		if err != nil {
			return err
		}
		sessions, err := p.engine.Sessions(p.ctx, u.ID)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.printLine(struct {
				userLine
				BlockedWhy string        `json:"blockedWhy,omitempty"`
				Accounts   []accountLine `json:"accounts"`
				Sessions   []sessionLine `json:"sessions"`
			}{lineOf(u), person.BlockedWhy, accountLines(accounts), sessionLines(sessions)})
		}
		rows := [][]string{{"id", u.ID}, {"address", u.Email}, {"verified", keyTime(u.EmailVerified)}, {"name", u.Name},
			{"blocked", keyTime(u.Blocked)}, {"why", person.BlockedWhy}, {"deleted", keyTime(u.DeleteAfter)}}
		if err := p.printTable(rows); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "\n%s\n", plural(len(accounts), "account", "accounts"))
		if err := p.printAccounts(accounts); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "\n%s\n", plural(len(sessions), "session", "sessions"))
		return p.printSessions(sessions)
	})
}

// Run blocks a user.
func (c usersBlock) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		return p.do(c.destructive, "block all sign-ins and end all sessions", "blocked all sign-ins and ended all sessions",
			func(u authsvc.User) error { return p.engine.Block(p.ctx, u.ID, c.Why) })
	})
}

// Run unblocks a user.
func (c usersUnblock) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		u, err := p.find(c.Who)
		if err != nil {
			return err
		}
		if err := p.engine.Unblock(p.ctx, u.ID); err != nil {
			return err
		}
		if c.JSON {
			return p.printActed(u)
		}
		_, err = fmt.Fprintf(p.stdout, "%s may sign in\n", plainlog.Text(u.ID))
		return err
	})
}

// Run ends all sessions of a user, or of all users.
func (c usersEndSessions) Run(p *program) error {
	if err := oneOrAll(c.Who, c.All); err != nil {
		return err
	}
	return p.withPeople(func(p *people) error {
		if c.All {
			return p.endAllSessions(c.confirmed, c.JSON)
		}
		return p.do(destructive{c.Who, c.confirmed, c.JSON}, "end all sessions", "ended all sessions", func(u authsvc.User) error { return p.engine.EndSessions(p.ctx, u.ID) })
	})
}

// endAllSessions ends the sessions of all users if that is confirmed.
func (p *people) endAllSessions(c confirmed, asJSON bool) error {
	verb := "would end"
	if !c.DryRun {
		verb = "ended"
		if err := p.confirm("Shall authsvc end all sessions of everyone?", c.Yes); err != nil {
			return err
		}
	}
	due := progressEach()
	n, err := p.engine.EndAllSessions(p.ctx, c.DryRun, func(users int) error {
		if !due() {
			return nil
		}
		_, err := fmt.Fprintf(p.stderr, "%s so far\n", plural(users, "user", "users"))
		return err
	})
	if asJSON {
		return errors.Join(err, p.printLine(struct {
			Users  int  `json:"users"`
			DryRun bool `json:"dryRun,omitempty"`
		}{n, c.DryRun}))
	}
	_, printed := fmt.Fprintf(p.stdout, "%s all sessions of %s\n", verb, plural(n, "user", "users"))
	return errors.Join(err, printed)
}

// Run deletes a user, or schedules the deletion.
func (c usersDelete) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		if c.Now {
			return p.do(c.destructive, "delete the record, the accounts and the sessions", "deleted the record, the accounts and the sessions",
				func(u authsvc.User) error { return p.engine.DeleteUser(p.ctx, u.ID) })
		}
		var at time.Time
		err := p.do(c.destructive, "end all sessions, and delete the record and the accounts after the grace period", "ended all sessions",
			func(u authsvc.User) (err error) {
				at, err = p.engine.ScheduleDeletion(p.ctx, u.ID)
				return err
			})
		if err != nil || c.DryRun || c.JSON {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "the record and the accounts are deleted at %s\n", keyTime(at))
		return err
	})
}

// Run cancels the deletion of a user.
func (c usersKeep) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		u, err := p.find(c.Who)
		if err != nil {
			return err
		}
		if err := p.engine.CancelDeletion(p.ctx, u.ID); err != nil {
			return err
		}
		if c.JSON {
			return p.printActed(u)
		}
		_, err = fmt.Fprintf(p.stdout, "%s stays\n", plainlog.Text(u.ID))
		return err
	})
}

// printActed prints a user as it is now. If the user is gone, it prints the record from
// before.
func (p *people) printActed(before authsvc.User) error {
	u, err := p.adapter.GetUser(p.ctx, before.ID)
	if errors.Is(err, adapter.ErrNotFound) {
		return p.printLine(actedLine{userLine: lineOf(before), Deleted: true})
	}
	if err != nil {
		return err
	}
	return p.printLine(actedLine{userLine: lineOf(u)})
}
