package engine

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/limit"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// maxListed is the maximum number of accounts on the account page.
const maxListed = 50

// An accountObject is the answer of GET account to a script. Members for features that
// do not exist or are off are null.
type accountObject struct {
	User       accountUser       `json:"user"`
	Session    accountSession    `json:"session"`
	Accounts   []accountIdentity `json:"accounts"`
	Passkeys   *struct{}         `json:"passkeys"`
	Password   *struct{}         `json:"password"`
	SecondStep *struct{}         `json:"secondStep"`
	Sessions   []accountListed   `json:"sessions"`
	Pending    accountPending    `json:"pending"`
	Providers  []accountProvider `json:"providers"`
	Signal     *struct{}         `json:"signal"`
}

type accountUser struct {
	ID            string  `json:"id"`
	Name          *string `json:"name"`
	Email         *string `json:"email"`
	EmailVerified bool    `json:"emailVerified"`
	Image         *string `json:"image"`
}

type accountSession struct {
	ID       string   `json:"id"`
	ACR      *string  `json:"acr"`
	AMR      []string `json:"amr"`
	AuthTime string   `json:"authTime"`
	SecondAt *string  `json:"secondAt"`
	Fresh    bool     `json:"fresh"`
	Actor    *string  `json:"actor"`
}

type accountIdentity struct {
	ID        string `json:"id"`
	Provider  string `json:"provider"`
	Name      string `json:"name"`
	Removable bool   `json:"removable"`
}

type accountPending struct {
	Email    *accountEmailChange `json:"email"`
	Deletion *string             `json:"deletion"`
}

// An accountEmailChange is a pending change of address.
type accountEmailChange struct {
	ID        string `json:"id"`
	Address   string `json:"address"`
	NewProved bool   `json:"newProved"`
	OldProved bool   `json:"oldProved"`
	NotBefore string `json:"notBefore"`
}

type accountProvider struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// accountHandle identifies a linked identity in lists. Not every table of accounts has
// an ID column, and the provider's ID of the user is not shown.
func (ac *accountRoom) accountHandle(a *authsvc.Account) string {
	return handle(ac.handleKey.Sum(a.Provider, a.ProviderAccountID))
}

// Person implements [Service.Person].
func (ac *accountRoom) Person(ctx context.Context, userID string) (*authsvc.PersonView, error) {
	u, err := ac.Adapter.GetUser(ctx, userID)
	if err != nil {
		return nil, err
	}
	return ac.personView(ctx, u)
}

// personView reads everything about a stored user.
func (ac *accountRoom) personView(ctx context.Context, u authsvc.User) (*authsvc.PersonView, error) {
	v := &authsvc.PersonView{User: u}
	sessions, err := ac.keeper.Sessions(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	v.Sessions = sessions[:min(len(sessions), maxSessions)]
	change, err := ac.emailChangeOf(ctx, &u)
	if err != nil {
		return nil, err
	}
	if change != nil {
		v.EmailChange = &authsvc.EmailChange{ID: change.stored.ID, Address: change.To, NewProved: change.NewProved, OldProved: change.OldAllowed, NotBefore: change.NotBefore()}
	}
	all, err := ac.Adapter.ListAccounts(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	more := -1 // the application's other ways to sign in; -1: not asked yet
	for _, one := range all[:min(len(all), maxListed)] {
		_, others := splitAccount(all, one.Provider, one.ProviderAccountID)
		known := ac.vault.knowsWayIn(u, others)
		if !known && more < 0 {
			if more, err = ac.vault.waysIn(ctx, u); err != nil {
				ac.Log.Warn("cannot find out how else a user can sign in: the last known way stays", "user", u.ID, "err", err)
				more = 0
			}
		}
		v.Accounts = append(v.Accounts, authsvc.PersonAccount{ID: ac.accountHandle(&one), Provider: one.Provider, Name: ac.site.providerName(one.Provider), Removable: known || more > 0})
	}
	for _, p := range ac.desk.linkable() {
		v.Providers = append(v.Providers, authsvc.PersonProvider{ID: p.ID, Name: p.Name})
	}
	return v, nil
}

// An account holds the data of a session's user.
type account struct {
	session *authsvc.Session
	user    authsvc.User
	stored  bool                // user is in the store
	person  *authsvc.PersonView // empty if not stored
}

// readAccount reads the account of a session's user.
func (ac *accountRoom) readAccount(rq *request, ctx context.Context, s *authsvc.Session) (*account, error) {
	a := &account{session: s, person: &authsvc.PersonView{}}
	u, err := ac.Adapter.GetUser(ctx, s.UserID)
	switch {
	case errors.Is(err, adapter.ErrNotFound): // a user of the application that is not stored
		a.user = authsvc.User{ID: s.UserID, Name: s.Name, Email: s.Email, Image: s.Image}
		return a, nil
	case err != nil:
		return nil, err
	}
	a.user, a.stored = u, true
	if a.person, err = ac.personView(ctx, u); err != nil {
		return nil, err
	}
	return a, nil
}

// accountObject returns the account for a script.
func (ac *accountRoom) accountObject(rq *request, a *account) accountObject {
	o := accountObject{
		User: accountUser{a.user.ID, text.Nullable(a.user.Name), text.Nullable(a.user.Email), emailProved(a.user), text.Nullable(a.user.Image)},
		Session: accountSession{ID: ac.keeper.SessionID(a.session), ACR: text.Nullable(a.session.ACR()), AMR: append([]string{}, a.session.AMR()...), AuthTime: a.session.Began.UTC().Format(text.TimeFormat),
			SecondAt: isoTime(a.session.SecondAt()), Fresh: provedWithin(a.session, rq.now, ac.desk.freshWithin), Actor: text.Nullable(a.session.Actor())},
		Accounts: []accountIdentity{}, Providers: []accountProvider{},
	}
	o.Pending.Deletion = isoTime(a.user.DeleteAfter)
	o.Sessions = listedSessions(a, o.Session.ID)
	if c := a.person.EmailChange; c != nil {
		o.Pending.Email = &accountEmailChange{c.ID, c.Address, c.NewProved, c.OldProved, *isoTime(c.NotBefore)}
	}
	for _, one := range a.person.Accounts {
		o.Accounts = append(o.Accounts, accountIdentity(one))
	}
	for _, p := range ac.desk.linkable() {
		o.Providers = append(o.Providers, accountProvider{p.ID, p.Name})
	}
	return o
}

// getAccount handles GET account. It shows people their account and what they can
// change, and returns it to scripts as JSON.
func (ac *accountRoom) getAccount(rq *request) outcome {
	s, err := ac.keeper.slideSession(rq, readOptions{touch: true, full: true})
	switch {
	case err != nil:
		return rq.storeUnavailable(err)
	case s == nil:
		return rq.signInFirst("/account")
	}
	a, err := ac.readAccount(rq, rq.ctx, s)
	if err != nil {
		return rq.storeUnavailable(err)
	}
	if rq.wantsData() {
		return object{v: ac.accountObject(rq, a)}
	}
	if rq.custom.Account != "" {
		return redirect{to: weburl.WithQuery(rq.absolute(rq.custom.Account), "done", string(plainErrorCode(authsvc.ErrorCode(rq.query("done")))), "error", string(plainErrorCode(authsvc.ErrorCode(rq.query("error")))), "request", rq.shownRequestID())}
	}
	v, pictures := ac.accountView(rq, a)
	return page{name: pages.Account, view: v, pictures: pictures}
}

// wantsData reports whether a GET asks for JSON and not for a page.
func (rq *request) wantsData() bool {
	accept := strings.Join(rq.r.Header["Accept"], ",")
	return rq.r.Method == http.MethodGet && strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// accountView returns the account for the page.
func (ac *accountRoom) accountView(rq *request, a *account) (v pages.AccountView, pictures string) {
	v = pages.AccountView{Name: a.user.Name, Who: cmp.Or(a.user.Email, a.user.Name, a.user.ID), Email: a.user.Email, Unproved: !emailProved(a.user),
		Edits: ac.edits && a.stored, Typed: text.Name(a.user.Name), Add: ac.desk.linkable(), CSRFToken: rq.ensureCSRF(), CallbackURL: rq.base + "/account",
		Fresh: ac.desk.freshField(rq, a.session, "account/unlink"), FreshLink: ac.desk.freshField(rq, a.session, "signin"), RequestID: rq.shownRequestID()}
	if !ac.desk.linksAsked || !a.stored {
		v.Add = nil
	}
	v.Done, v.Error = rq.query("done"), string(plainErrorCode(authsvc.ErrorCode(rq.query("error"))))
	if rq.query("error") == "" {
		v.Error = ""
	}
	if t := rq.typed(); v.Error == string(authsvc.CodeInvalid) && t.Provider == typedName {
		v.Typed = t.Name
	}
	rq.forgetTyped()
	if v.Readdresses = a.stored && ac.mailing.addresses != nil; a.person.EmailChange != nil {
		v.NewAddress = a.person.EmailChange.Address
	}
	if a.stored {
		v.Entries = ac.entries(rq, a.session)
	}
	v.Picture, pictures = shownPicture(a.user.Image)
	if rq.custom.SignOut != "" {
		v.SignOutPage = rq.base + "/signout"
	}
	v.Identities = identityViews(rq, a)
	v.Deletion, v.Delete = a.user.DeleteAfter, ac.deletes && a.stored
	v.Sessions, v.Listed, v.Export = ac.sessionViews(rq, a), a.stored, a.stored
	v.Unlisted = ac.site.dialect.foreignSessions && !ac.keeper.sessions.refersToUser()
	for _, p := range rq.views {
		if rq.flows[p.ID].info().linkAge > 0 && emailProved(a.user) {
			v.Mail = p.Name
		}
	}
	return v, pictures
}

// identityViews returns the linked identities. If there are several at one provider, a
// number tells them apart, since nothing else of them may be shown.
func identityViews(rq *request, a *account) (list []pages.Identity) {
	seen := map[string]int{}
	for _, one := range a.person.Accounts {
		seen[one.Provider]++
		name := one.Name
		if n := seen[one.Provider]; n > 1 {
			name += " (" + strconv.Itoa(n) + ")"
		}
		view := pages.Identity{ID: one.ID, Provider: one.Provider, Name: name, Removable: one.Removable}
		if f := rq.flows[one.Provider]; f != nil {
			view.Style = pages.Style(f.info().style)
		}
		list = append(list, view)
	}
	return list
}

// accountRoutes returns the routes of the account page and of links in mails about an
// account.
func accountRoutes(s *accountRoom) map[string]*route {
	has := func(*request) bool { return s.on }
	deletes := func(*request) bool { return s.deletes }
	changesEmail := func(*request) bool { return s.mailing.addresses != nil }
	confirms := func(*request) bool { return s.desk.canStepUp }
	linkLimit := func(*request) *limit.Limiter { return s.mailing.linkLimit }
	return map[string]*route{
		"account":               {get: s.getAccount, cors: always, when: has, own: true},
		"account/profile":       {post: s.postProfile, cors: always, when: has, own: true},
		"account/unlink":        {post: s.postUnlink, cors: always, when: has, own: true},
		"account/signout":       {post: s.postAccountSignOut, cors: always, when: has, own: true},
		"account/undo":          {get: s.getUndo, post: s.postUndo, limit: linkLimit, cors: always, when: confirms, own: true},
		"account/export":        {get: s.getExport, cors: always, when: has, own: true},
		"account/email":         {get: s.getEmailChange, post: s.postEmailChange, cors: always, when: changesEmail, own: true},
		"account/email/confirm": {get: s.getEmailConfirm, post: s.postEmailConfirm, cors: always, when: changesEmail, own: true},
		"account/email/finish":  {post: s.postEmailFinish, cors: always, when: changesEmail, own: true},
		"account/email/cancel":  {post: s.postEmailCancel, cors: always, when: changesEmail, own: true},
		"account/delete":        {get: s.deletePage, post: s.postDelete, cors: always, when: deletes, own: true},
		"account/keep":          {get: s.keepPage, post: s.postKeep, cors: always, when: confirms, own: true},
		"account.js":            {get: accountScript, cors: always, when: has},
	}
}

// accountEvents lists the events of the account page and of Service methods that share
// its code.
var accountEvents = []audit.Kind{
	{Name: "email.change_requested", Outcome: authsvc.AuditSuccess, Meaning: "The person or the application requested a change of address, and its mails were queued. The answer did not show whether the new address belongs to a user."},
	{Name: "email.change_proved", Outcome: authsvc.AuditSuccess, Meaning: "One address confirmed a change of address: the reason says whether it was the new one or the old one."},
	{Name: "email.change_completed", Outcome: authsvc.AuditSuccess, Meaning: "The address of a user was changed: links to both addresses are void, and other sessions have ended."},
	{Name: "email.change_stopped", Outcome: authsvc.AuditSuccess, Meaning: "A change of address was cancelled: by the old address, by the person, or because all sessions were ended."},
	{Name: "email.change_refused", Outcome: authsvc.AuditRefused, Meaning: "A change of address was not started, or not made: the address cannot be used or was taken meanwhile, the link or the change is no longer valid, it is not due yet, or there were too many mails."},
	{Name: "change.undone", Outcome: authsvc.AuditSuccess, Meaning: "The link in a notice undid a change and ended all sessions of the user: the reason says which change."},
	{Name: "change.undo_refused", Outcome: authsvc.AuditRefused, Meaning: "The link in a notice is unknown, was used or has expired."},
	{Name: "account.exported", Outcome: authsvc.AuditSuccess, Meaning: "A person started to download their data, or the application or an operator exported it."},
	{Name: "user.updated", Outcome: authsvc.AuditSuccess, Meaning: "A person changed their name, or UpdateUser changed a user: the reason says which."},
	{Name: "user.deleted", Outcome: authsvc.AuditSuccess, Meaning: "A user was removed with sessions and accounts, by DeleteUser or at the end of the grace period."},
	{Name: "user.deletion_cancelled", Outcome: authsvc.AuditSuccess, Meaning: "The scheduled deletion of a user was cancelled."},
	{Name: "user.deletion_scheduled", Outcome: authsvc.AuditSuccess, Meaning: "A user was scheduled for deletion, and all sessions ended."},
	{Name: "user.delete_failed", Outcome: authsvc.AuditFailed, Meaning: "A user was not deleted: the DeleteUser callback or the store refused, or there is no such user. Sessions may have ended."},
}
