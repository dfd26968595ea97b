package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/internal/text"
)

// Limits of the events in an export.
const (
	maxExported  = 10_000 // the newest
	exportedPage = 250    // in memory at a time
)

// An accountExport holds everything in the file before the events.
type accountExport struct {
	Exported    string            `json:"exported"`
	User        accountUser       `json:"user"`
	Accounts    []exportedAccount `json:"accounts"`
	Passkeys    []exportedPasskey `json:"passkeys"`
	Password    bool              `json:"password"`
	SecondStep  bool              `json:"secondStep"`
	Sessions    []exportedSession `json:"sessions"`
	Application any               `json:"application"`
}

type exportedAccount struct {
	Provider string `json:"provider"`
	ID       string `json:"id"` // at the provider
	Type     string `json:"type"`
}

type exportedPasskey struct {
	Name    string  `json:"name"`
	Created *string `json:"created"`
	Used    *string `json:"used"`
}

type exportedSession struct {
	Device   string   `json:"device"`
	Agent    *string  `json:"agent"`
	Network  *string  `json:"network"`
	Provider *string  `json:"provider"`
	Client   *string  `json:"client"`
	AMR      []string `json:"amr"`
	Created  *string  `json:"created"`
	Used     *string  `json:"used"`
	Expires  *string  `json:"expires"`
}

// An exporting is an export with everything read except the events.
type exporting struct {
	s      *accountRoom
	head   accountExport
	events []authsvc.AuditQuery // the pages, oldest first
}

// Export implements [Service.Export].
func (ac *accountRoom) Export(ctx context.Context, userID string, w io.Writer) error {
	e, err := ac.export(ctx, userID)
	if err != nil {
		return err
	}
	ac.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "account.exported", UserID: userID})
	return e.write(ctx, w)
}

// export reads everything before the events.
func (ac *accountRoom) export(ctx context.Context, userID string) (*exporting, error) {
	u, err := ac.Adapter.GetUser(ctx, userID)
	if err != nil {
		return nil, err
	}
	e := &exporting{s: ac, head: accountExport{Exported: ac.fleet.Now().UTC().Format(text.TimeFormat),
		User:     accountUser{u.ID, text.Nullable(u.Name), text.Nullable(u.Email), emailProved(u), text.Nullable(u.Image)},
		Accounts: []exportedAccount{}, Passkeys: []exportedPasskey{}, Sessions: []exportedSession{}}}
	accounts, err := ac.Adapter.ListAccounts(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	for _, a := range accounts {
		e.head.Accounts = append(e.head.Accounts, exportedAccount{a.Provider, a.ProviderAccountID, string(a.Type)})
	}
	person, err := ac.Adapter.GetPerson(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	e.addPerson(person)
	sessions, err := ac.keeper.Sessions(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	for _, v := range sessions {
		e.head.Sessions = append(e.head.Sessions, exportedSession{v.Device, text.Nullable(v.Agent), text.Nullable(v.Network), text.Nullable(v.Provider), text.Nullable(v.Client),
			append([]string{}, v.AMR...), isoTime(v.Created), isoTime(v.Used), isoTime(v.Expires)})
	}
	if ac.Callbacks.Export != nil {
		raw, err := ac.exportCallback(ctx, u)
		if err != nil {
			return nil, fmt.Errorf("the Export callback: %w", err)
		}
		e.head.Application = raw
	}
	return e, e.findEvents(ctx, u.ID)
}

func (ac *accountRoom) exportCallback(ctx context.Context, u authsvc.User) (raw json.RawMessage, err error) {
	defer ac.fleet.Recovered("export callback", func() { raw, err = nil, errors.New("it panicked") })
	more, err := ac.Callbacks.Export(ctx, u)
	if err != nil {
		return nil, err
	}
	return json.Marshal(more)
}

func (e *exporting) addPerson(p adapter.Person) {
	e.head.SecondStep = p.SecondStep
	for _, c := range p.Credentials {
		switch c.Kind {
		case adapter.CredentialPasskey:
			e.head.Passkeys = append(e.head.Passkeys, exportedPasskey{c.Name, isoTime(c.Created), isoTime(c.Used)})
		case adapter.CredentialPassword:
			e.head.Password = true
		}
	}
}

// findEvents records where the pages of a user's events begin, and keeps the newest
// ones. The store lists the oldest events first. Events up to the deletion of a user are
// those of an earlier user with the same id: some stores give an id again.
func (e *exporting) findEvents(ctx context.Context, userID string) error {
	if e.s.auditor.Store() == nil {
		return nil
	}
	known := audit.AsRecorded(userID)
	q := authsvc.AuditQuery{UserID: known, Limit: exportedPage}
	for {
		page, err := e.s.auditor.Store().ListAudit(ctx, q)
		if err != nil {
			return err
		}
		if i := lastDeletion(page); i >= 0 {
			e.events, q.Since, q.After = nil, page[i].Time, page[i].ID
			continue
		}
		if len(page) > 0 {
			e.events = append(e.events, q)
		}
		if len(page) < exportedPage {
			e.events = e.events[max(0, len(e.events)-maxExported/exportedPage):]
			return nil
		}
		last := page[len(page)-1]
		q.Since, q.After = last.Time, last.ID
	}
}

// lastDeletion returns the index of the last event that reports the deletion of a user,
// or -1.
func lastDeletion(page []authsvc.AuditRecord) int {
	for i, r := range slices.Backward(page) {
		if r.Name == "user.deleted" {
			return i
		}
	}
	return -1
}

// write writes the export, with one page of events in memory at a time.
func (e *exporting) write(ctx context.Context, w io.Writer) error {
	raw, err := json.Marshal(e.head)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s,\n\"events\":[", raw[:len(raw)-1]); err != nil {
		return err
	}
	comma := "\n"
	for _, q := range e.events {
		page, err := e.s.auditor.Store().ListAudit(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range page {
			r.UserID, r.Actor = "", "" // the service's operators are not the user's data
			raw, err := json.Marshal(r.AuditEvent)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s%s", comma, raw); err != nil {
				return err
			}
			comma = ",\n"
		}
	}
	_, err = io.WriteString(w, "]}\n")
	return err
}

func (download) isOutcome() {}

// getExport handles GET account/export, which downloads everything stored about the
// user.
func (ac *accountRoom) getExport(rq *request) outcome {
	s, err := ac.keeper.current(rq)
	switch {
	case err != nil:
		return rq.storeUnavailable(err)
	case s == nil:
		return rq.signInFirst("/account")
	}
	rq.auditUser = s.UserID
	if !provedWithin(s, rq.now, ac.desk.freshWithin) {
		return stepUpFirst(rq, rq.base+"/account?done=export", s)
	}
	if refused := limitUser(rq, ac.exportLimit, s.UserID, "too many exports of one account"); refused != nil {
		return refused
	}
	e, err := ac.export(rq.ctx, s.UserID)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	rq.audit("account.exported", "", "by the person")
	return download{"account-" + rq.now.UTC().Format(time.DateOnly) + ".json", e.write}
}
