package authsvc

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"authsvc/internal/pages"
)

// maxListed is how many accounts the account page shows.
const maxListed = 50

// An accountObject is what GET account answers a script. Members of features
// that do not exist or are off are null.
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
	Email    *struct{} `json:"email"`
	Deletion *string   `json:"deletion"`
}

type accountProvider struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// An account is what is known of the person of a session.
type account struct {
	session    *Session
	user       User
	stored     bool // user is in the store
	identities []Account
	removable  []bool // of identities
	sessions   []SessionView
}

// readAccount reads the account of the person of a session.
func (rq *request) readAccount(ctx context.Context, s *Session) (*account, error) {
	a := &account{session: s}
	u, err := rq.adapter.GetUser(ctx, s.UserID)
	switch {
	case errors.Is(err, ErrNotFound): // one of the application's, who is not stored
		a.user = User{ID: s.UserID, Name: s.Name, Email: s.Email, Image: s.Image}
		return a, nil
	case err != nil:
		return nil, err
	}
	a.user, a.stored = u, true
	if a.sessions, err = rq.Sessions(ctx, u.ID); err != nil {
		return nil, err
	}
	a.sessions = a.sessions[:min(len(a.sessions), maxSessions)]
	all, err := rq.adapter.ListAccounts(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	for _, one := range all[:min(len(all), maxListed)] {
		_, others := splitAccount(all, one.Provider, one.ProviderAccountID)
		a.identities = append(a.identities, one)
		a.removable = append(a.removable, rq.canSignIn(u, others))
	}
	return a, nil
}

// object is the account for a script.
func (rq *request) accountObject(a *account) accountObject {
	o := accountObject{
		User:     accountUser{a.user.ID, nullable(a.user.Name), nullable(a.user.Email), emailProved(a.user), nullable(a.user.Image)},
		Session:  accountSession{ID: rq.SessionID(a.session), AMR: []string{}, AuthTime: a.session.AuthTime.UTC().Format(timeFormat), Fresh: a.session.fresh(rq.now, rq.policy.fresh)},
		Accounts: []accountIdentity{}, Providers: []accountProvider{},
	}
	o.Sessions = listedSessions(a, o.Session.ID)
	for _, v := range a.sessions {
		if v.ID == o.Session.ID {
			o.Session.ACR, o.Session.SecondAt, o.Session.Actor = nullable(v.ACR), isoTime(v.SecondAt), nullable(v.Actor)
			o.Session.AMR = append(o.Session.AMR, v.AMR...)
		}
	}
	for i, one := range a.identities {
		o.Accounts = append(o.Accounts, accountIdentity{one.ID, one.Provider, rq.providerName(one.Provider), a.removable[i]})
	}
	for _, p := range rq.linkable() {
		o.Providers = append(o.Providers, accountProvider{p.ID, p.Name})
	}
	return o
}

// linkable are the providers by which a way to sign in can be added.
func (rq *request) linkable() (list []pages.Provider) {
	for _, p := range rq.views {
		if p.Form == "button" {
			list = append(list, p)
		}
	}
	return list
}

// getAccount: GET account shows people what they can see and change of their
// account, and tells it to scripts as JSON.
func getAccount(rq *request) outcome {
	s, err := rq.slideSession(readOptions{touch: true, full: true})
	switch {
	case err != nil:
		return rq.accountAway(err)
	case s == nil:
		return rq.signInFirst()
	}
	a, err := rq.readAccount(rq.ctx, s)
	if err != nil {
		return rq.accountAway(err)
	}
	if rq.wantsData() {
		return object{v: rq.accountObject(a)}
	}
	v, pictures := rq.accountView(a)
	return page{name: pages.Account, view: v, pictures: pictures}
}

// wantsData reports whether a GET asks for JSON, and not for a page.
func (rq *request) wantsData() bool {
	accept := strings.Join(rq.r.Header["Accept"], ",")
	return rq.r.Method == http.MethodGet && strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// accountView is the account for people.
func (rq *request) accountView(a *account) (v pages.AccountView, pictures string) {
	v = pages.AccountView{Name: a.user.Name, Who: cmp.Or(a.user.Email, a.user.Name, a.user.ID), Email: a.user.Email, Unproved: !emailProved(a.user),
		Edits: rq.policy.edits && a.stored, Typed: a.user.Name, Add: rq.linkable(), CSRFToken: rq.ensureCSRF(), CallbackURL: rq.base + "/account",
		Fresh: rq.freshField(a.session, "account/unlink"), FreshLink: rq.freshField(a.session, "signin"), RequestID: rq.shownRequestID()}
	if !rq.policy.linksAsked || !a.stored {
		v.Add = nil
	}
	v.Done, v.Error = rq.query("done"), string(plainErrorCode(ErrorCode(rq.query("error"))))
	if rq.query("error") == "" {
		v.Error = ""
	}
	if t := rq.typed(); v.Error == string(Invalid) && t.Provider == typedName {
		v.Typed = t.Name
	}
	rq.forgetTyped()
	v.Picture, pictures = shownPicture(a.user.Image)
	if rq.custom.SignOut != "" {
		v.SignOutPage = rq.base + "/signout"
	}
	v.Identities = rq.identityViews(a)
	v.Sessions, v.Listed, v.Export = rq.sessionViews(a), a.stored, a.stored
	v.Unlisted = rq.dialect.foreignSessions && !rq.sessions.refersToUser()
	for _, p := range rq.views {
		if rq.flows[p.ID].info().linkAge > 0 && emailProved(a.user) {
			v.Mail = p.Name
		}
	}
	return v, pictures
}

// identityViews are the linked identities; where several are at one provider, a
// number tells them apart, since nothing else of them is to be shown.
func (rq *request) identityViews(a *account) (list []pages.Identity) {
	seen := map[string]int{}
	for i, one := range a.identities {
		seen[one.Provider]++
		name := rq.providerName(one.Provider)
		if n := seen[one.Provider]; n > 1 {
			name += " (" + strconv.Itoa(n) + ")"
		}
		view := pages.Identity{ID: one.ID, Provider: one.Provider, Name: name, Removable: a.removable[i]}
		if f := rq.flows[one.Provider]; f != nil {
			view.Style = pages.Style(f.info().style)
		}
		list = append(list, view)
	}
	return list
}
