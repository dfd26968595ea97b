package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/text/plainlog"
)

// An auditedUser holds the events about one user.
type auditedUser struct {
	User   string    `json:"user"`
	Email  string    `json:"email,omitempty"` // "" if the user is deleted or has none
	Events int       `json:"events"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

// printUsers prints a line for each user that the selected events are about. The user
// with the latest event is last.
func (c *auditCommand) printUsers(p *program, store adapter.Adapter, log authsvc.AuditLog, q authsvc.AuditQuery) error {
	found := map[string]*auditedUser{}
	if err := c.each(p, log, q, func(r authsvc.AuditRecord) error {
		if r.UserID == "" {
			return nil
		}
		u := found[r.UserID]
		if u == nil {
			u = &auditedUser{User: r.UserID, First: r.Time.UTC()}
			found[r.UserID] = u
		}
		u.Events, u.Last = u.Events+1, r.Time.UTC()
		return nil
	}); err != nil {
		return err
	}
	all := make([]*auditedUser, 0, len(found))
	for _, u := range found {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *auditedUser) int { return a.Last.Compare(b.Last) })
	for _, u := range all {
		stored, err := store.GetUser(p.ctx, u.User)
		if err != nil && !errors.Is(err, adapter.ErrNotFound) {
			return err
		}
		u.Email = stored.Email
		if err := c.printUser(p, u); err != nil {
			return err
		}
	}
	return nil
}

// printUser prints one line. It removes control characters, as printRecord does.
func (c *auditCommand) printUser(p *program, u *auditedUser) error {
	line := ""
	if c.JSON {
		raw, err := json.Marshal(u)
		if err != nil {
			return err
		}
		line = string(raw)
	} else {
		line = u.Last.Format(auditTime) + "  user=" + quoteIfNeeded(u.User)
		if u.Email != "" {
			line += "  email=" + quoteIfNeeded(u.Email)
		}
		line += fmt.Sprintf("  events=%d", u.Events)
	}
	_, err := fmt.Fprintln(p.stdout, plainlog.Text(line))
	return err
}
