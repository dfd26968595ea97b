package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
	"authsvc/internal/text/plainlog"
)

type auditCommand struct {
	Since string   `default:"24h" placeholder:"TIME" help:"How far back, such as 90m or 30d, or a time such as 2026-11-01T09:30:00Z or 2026-11-01. Default: 24h."`
	Until string   `placeholder:"TIME" help:"Only events before this time, in the same forms. Default: all."`
	Event []string `placeholder:"NAME" help:"Only events with this name, such as sign_in.refused; several with commas, or repeated."`
	User  string   `placeholder:"WHO" help:"Only events about the user with this id or address. For a deleted user, the id."`
	Users bool     `help:"One line a user instead of one an event: when the last event was, the id, the address and the number of events. Events without a user are left out."`
	JSON  bool     `name:"json" help:"One JSON object a line."`

	until time.Time // zero: no limit
}

// auditTime is the form of times, which are in UTC.
const auditTime = "2006-01-02T15:04:05.000Z"

// auditPageSize is how many events are read at a time.
const auditPageSize = 500

// Run prints the stored events, oldest first.
func (c *auditCommand) Run(p *program) error {
	since, err := c.check(time.Now())
	if err != nil {
		return err
	}
	return p.withStore(func(s *config.Settings, st *store) error {
		log, keeps := st.Adapter.(authsvc.AuditLog)
		if !keeps {
			return fmt.Errorf("storage %s keeps no audit events", describeStorage(s))
		}
		if !s.Engine.Audit.Store {
			fmt.Fprintln(p.stderr, "warning: audit.store is not set: no new events are stored")
		}
		id := ""
		if c.User != "" {
			if id, err = auditedID(&people{program: p, ctx: p.ctx, adapter: st.Adapter}, log, c.User); err != nil {
				return err
			}
		}
		q := authsvc.AuditQuery{Since: since, UserID: id, Limit: auditPageSize}
		if c.Users {
			return c.printUsers(p, st.Adapter, log, q)
		}
		return c.each(p, log, q, func(r authsvc.AuditRecord) error { return c.printRecord(p, r) })
	})
}

// check checks the flags. It returns the time that --since means.
func (c *auditCommand) check(now time.Time) (since time.Time, err error) {
	if since, err = moment("--since", c.Since, now); err != nil {
		return since, err
	}
	if c.Until != "" {
		if c.until, err = moment("--until", c.Until, now); err != nil {
			return since, err
		}
		if !c.until.After(since) {
			return since, fmt.Errorf("--until is not later than --since, so no event can be between them: %w", errUsage)
		}
	}
	known := engine.AuditNames()
	for _, name := range c.Event {
		if slices.Contains(known, name) {
			continue
		}
		fix := "docs/audit.md lists the names"
		if near := config.Closest(name, known); near != "" {
			fix = "did you mean " + near + "?"
		}
		return since, fmt.Errorf("--event: there is no event %q; %s: %w", truncate(name), fix, errUsage)
	}
	return since, nil
}

// moment returns the time that a flag means: a time, or how far back from now.
func moment(flag, text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	back, err := config.Duration(text)
	if err != nil {
		return now, fmt.Errorf("%s: %w, or a time such as 2026-11-01T09:30:00Z: %w", flag, err, errUsage)
	}
	return now.Add(-back), nil
}

// auditedID returns the id, as events have it, of the user with an id or an address. The
// user may be deleted if an event has the id.
func auditedID(p *people, log authsvc.AuditLog, who string) (string, error) {
	u, err := p.find(who)
	var unknown noSuchUser
	if !errors.As(err, &unknown) {
		return plainlog.Text(u.ID), err
	}
	id := plainlog.Text(who)
	events, failed := log.ListAudit(p.ctx, authsvc.AuditQuery{UserID: id, Limit: 1})
	switch {
	case failed != nil:
		return "", failed
	case len(events) == 0:
		return "", fmt.Errorf("%w; events of a deleted user have only the id", err)
	}
	return id, nil
}

// each calls f for the events that the flags select, oldest first.
func (c *auditCommand) each(p *program, log authsvc.AuditLog, q authsvc.AuditQuery, f func(authsvc.AuditRecord) error) error {
	for {
		page, err := log.ListAudit(p.ctx, q)
		if err != nil {
			return err
		}
		for _, r := range page {
			if !c.until.IsZero() && !r.Time.Before(c.until) { // the later ones are, too
				return nil
			}
			if len(c.Event) > 0 && !slices.Contains(c.Event, r.Name) {
				continue
			}
			if err := f(r); err != nil {
				return err
			}
		}
		if len(page) < auditPageSize {
			return nil
		}
		last := page[len(page)-1]
		q.Since, q.After = last.Time, last.ID
	}
}

// printRecord prints one event. It removes control characters, because other programs
// may write to the store.
func (c *auditCommand) printRecord(p *program, r authsvc.AuditRecord) error {
	if c.JSON {
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.stdout, plainlog.Text(string(raw)))
		return err
	}
	columns := []string{r.Time.UTC().Format(auditTime), string(r.Outcome), r.Name}
	for _, v := range [][2]string{{"user", r.UserID}, {"actor", r.Actor}, {"provider", r.Provider}, {"client", r.ClientIP}, {"code", string(r.Code)},
		{"request", r.RequestID}, {"reason", r.Reason}, {"agent", r.UserAgent}} {
		if v[1] != "" {
			columns = append(columns, v[0]+"="+quoteIfNeeded(v[1]))
		}
	}
	_, err := fmt.Fprintln(p.stdout, plainlog.Text(strings.Join(columns, "  ")))
	return err
}

// quoteIfNeeded quotes a value whose end would otherwise be unclear.
func quoteIfNeeded(s string) string {
	if strings.ContainsAny(s, " =\"") {
		return fmt.Sprintf("%q", s)
	}
	return s
}
