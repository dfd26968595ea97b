package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/text/plainlog"
)

type auditCommand struct {
	Since string `default:"24h" placeholder:"DURATION" help:"How far back, such as 90m or 30d. Default: 24h."`
	User  string `placeholder:"ID" help:"Only events about this user."`
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
		return c.print(p, log, time.Now().Add(-back))
	})
}

func (c *auditCommand) print(p *program, log authsvc.AuditLog, since time.Time) error {
	q := authsvc.AuditQuery{Since: since, UserID: plainlog.Text(c.User), Limit: auditPageSize}
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
