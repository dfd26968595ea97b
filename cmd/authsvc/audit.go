package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/text/plainlog"
)

type auditCommand struct {
	Since string `default:"24h" placeholder:"DURATION" help:"How far back, such as 90m or 30d. Default: 24h."`
	User  string `placeholder:"WHO" help:"Only events about the user with this id or address. For a deleted user, the id."`
	JSON  bool   `name:"json" help:"One JSON object a line."`
}

// auditPageSize is how many events are read at a time.
const auditPageSize = 500

// Run prints the stored events, oldest first.
func (c *auditCommand) Run(p *program) error {
	back, err := config.Duration(c.Since)
	if err != nil {
		return fmt.Errorf("--since: %w", err)
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
		return c.print(p, log, authsvc.AuditQuery{Since: time.Now().Add(-back), UserID: id, Limit: auditPageSize})
	})
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

func (c *auditCommand) print(p *program, log authsvc.AuditLog, q authsvc.AuditQuery) error {
	for {
		page, err := log.ListAudit(p.ctx, q)
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := c.printRecord(p, r); err != nil {
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
	columns := []string{r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), string(r.Outcome), r.Name}
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
