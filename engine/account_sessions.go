package engine

import (
	"errors"
	"net/http"
	"slices"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// maxSessions is the maximum number of sessions on the account page, the latest used.
const maxSessions = 100

// An accountListed is a session in the answer of GET account.
type accountListed struct {
	ID       string  `json:"id"`
	Current  bool    `json:"current"`
	Device   string  `json:"device"`
	Network  *string `json:"network"`
	Place    *string `json:"place"`
	Provider *string `json:"provider"`
	Client   *string `json:"client"`
	Actor    *string `json:"actor"`
	Created  *string `json:"created"`
	Used     *string `json:"used"`
}

// listedSessions returns the sessions of an account for a script.
func listedSessions(a *account, current string) []accountListed {
	list := make([]accountListed, 0, len(a.person.Sessions))
	for _, v := range a.person.Sessions {
		list = append(list, accountListed{ID: v.ID, Current: v.ID == current, Device: v.Device, Network: text.Nullable(v.Network), Place: text.Nullable(v.Place), Provider: text.Nullable(v.Provider),
			Client: text.Nullable(v.Client), Actor: text.Nullable(v.Actor), Created: isoTime(v.Created), Used: isoTime(v.Used)})
	}
	return list
}

// sessionViews returns the sessions of an account for the page, this browser's first.
// This browser's session counts as used now, whatever its record says.
func (ac *accountRoom) sessionViews(rq *request, a *account) (rows []pages.SessionRow) {
	current := ac.keeper.SessionID(a.session)
	for _, v := range a.person.Sessions {
		row := pages.SessionRow{ID: v.ID, Current: v.ID == current, Agent: v.Agent, Network: v.Network, Place: v.Place, Used: lastUse(v)}
		if row.Current {
			row.Used = rq.now
		}
		if v.Provider != "" {
			row.Provider = rq.providerName(v.Provider)
		}
		row.Ago = rq.now.Sub(row.Used)
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b pages.SessionRow) int {
		switch {
		case a.Current:
			return -1
		case b.Current:
			return 1
		}
		return 0
	})
	return rows
}

// postAccountSignOut handles POST account/signout. The body says which of the user's
// sessions to end: session=ID, others=true (all but this one) or all=true.
func (ac *accountRoom) postAccountSignOut(rq *request) outcome {
	s, done, refused := ac.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	current, id := ac.keeper.SessionID(s), rq.body.get("session")
	others, all := rq.body.get("others") == "true", rq.body.get("all") == "true"
	var err error
	e, word, here := authsvc.AuditEvent{Name: "sessions.ended", UserID: s.UserID, Reason: "by the person"}, "others", false
	switch {
	case id != "" && !others && !all:
		e.Name, word, here = "session.ended", "ended", text.Same(id, current)
		err = ac.keeper.endOneSession(rq.ctx, s.UserID, id)
	case others && !all && id == "":
		e.Reason = "all but one, by the person"
		err = ac.keeper.endOtherSessions(rq.ctx, s.UserID, current)
	case all && !others && id == "":
		here, err = true, ac.keeper.endSessions(rq.ctx, s.UserID)
	default:
		return rq.refuseOwn("/account", authsvc.CodeInvalid, http.StatusBadRequest)
	}
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		e.Name, e.Reason = "session.end_failed", "the user has no such session"
		rq.note(e)
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	rq.note(e)
	if !here {
		return ac.accountDone(rq, s, word)
	}
	rq.clearSession()
	ac.desk.rotateCSRF(rq, "", "")
	to := weburl.WithQuery(rq.base+"/signin", "callbackUrl", rq.base+"/account")
	if rq.wantsJSON() {
		return object{v: map[string]any{"url": to, "account": nil}}
	}
	return redirect{to: to}
}
