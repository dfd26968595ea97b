package authsvc

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"authsvc/internal/pages"
	"authsvc/internal/weburl"
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
	Email    *pendingEmail `json:"email"`
	Deletion *string       `json:"deletion"`
}

type accountProvider struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// A PersonView is what the account page shows of a user, for pages of your own.
type PersonView struct {
	User      User
	Accounts  []PersonAccount  // linked, at most 50
	Sessions  []SessionView    // that have not ended, the latest used first, at most 100
	Providers []PersonProvider // by which a way to sign in can be added
}

// A PersonAccount is a linked identity. Its id at the provider and its tokens are not
// in it: see [Service.Accounts].
type PersonAccount struct {
	ID        string // names it to POST account/unlink
	Provider  string // the provider's id
	Name      string // of the provider, for people
	Removable bool   // it is not the last way to sign in
}

// accountHandle is what a linked identity is called in lists: not every table of
// accounts has an id of its own, and what a provider calls people is not shown.
func (s *Service) accountHandle(a *Account) string {
	return handle(s.keys.account.Sum(a.Provider, a.ProviderAccountID))
}

// A PersonProvider is a provider by its id and its name for people.
type PersonProvider struct{ ID, Name string }

// Person returns what the account page shows of a user. ErrNotFound: there is none.
func (s *Service) Person(ctx context.Context, userID string) (*PersonView, error) {
	u, err := s.adapter.GetUser(ctx, userID)
	if err != nil {
		return nil, err
	}
	return s.personView(ctx, u)
}

// personView reads what is known of a stored user.
func (s *Service) personView(ctx context.Context, u User) (*PersonView, error) {
	v := &PersonView{User: u}
	sessions, err := s.Sessions(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	v.Sessions = sessions[:min(len(sessions), maxSessions)]
	all, err := s.adapter.ListAccounts(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	more := -1 // ways in of the application's, if they count
	for _, one := range all[:min(len(all), maxListed)] {
		_, others := splitAccount(all, one.Provider, one.ProviderAccountID)
		known := s.knowsWayIn(u, others)
		if !known && more < 0 {
			if more, err = s.waysIn(ctx, u); err != nil {
				s.log.Warn("how else a user can sign in is not known: the last way that is known stays", "user", u.ID, "err", err)
				more = 0
			}
		}
		v.Accounts = append(v.Accounts, PersonAccount{s.accountHandle(&one), one.Provider, s.providerName(one.Provider), known || more > 0})
	}
	for _, p := range s.linkable() {
		v.Providers = append(v.Providers, PersonProvider{p.ID, p.Name})
	}
	return v, nil
}

// An account is what is known of the person of a session.
type account struct {
	session *Session
	user    User
	stored  bool         // user is in the store
	person  *PersonView  // empty if not
	change  *emailChange // of the address; nil: none waits
}

// readAccount reads the account of the person of a session.
func (rq *request) readAccount(ctx context.Context, s *Session) (*account, error) {
	a := &account{session: s, person: &PersonView{}}
	u, err := rq.adapter.GetUser(ctx, s.UserID)
	switch {
	case errors.Is(err, ErrNotFound): // one of the application's, who is not stored
		a.user = User{ID: s.UserID, Name: s.Name, Email: s.Email, Image: s.Image}
		return a, nil
	case err != nil:
		return nil, err
	}
	a.user, a.stored = u, true
	if a.person, err = rq.personView(ctx, u); err != nil {
		return nil, err
	}
	if a.change, err = rq.emailChangeOf(ctx, &u); err != nil {
		return nil, err
	}
	return a, nil
}

// object is the account for a script.
func (rq *request) accountObject(a *account) accountObject {
	o := accountObject{
		User:     accountUser{a.user.ID, nullable(a.user.Name), nullable(a.user.Email), emailProved(a.user), nullable(a.user.Image)},
		Session:  accountSession{ID: rq.SessionID(a.session), AMR: []string{}, AuthTime: a.session.Began.UTC().Format(timeFormat), Fresh: a.session.fresh(rq.now, rq.policy.fresh)},
		Accounts: []accountIdentity{}, Providers: []accountProvider{},
	}
	o.Pending.Deletion = isoTime(a.user.DeleteAfter)
	o.Sessions = listedSessions(a, o.Session.ID)
	for _, v := range a.person.Sessions {
		if v.ID == o.Session.ID {
			o.Session.ACR, o.Session.SecondAt, o.Session.Actor = nullable(v.ACR), isoTime(v.SecondAt), nullable(v.Actor)
			o.Session.AMR = append(o.Session.AMR, v.AMR...)
		}
	}
	o.Pending.Email = a.change.object()
	for _, one := range a.person.Accounts {
		o.Accounts = append(o.Accounts, accountIdentity(one))
	}
	for _, p := range rq.linkable() {
		o.Providers = append(o.Providers, accountProvider{p.ID, p.Name})
	}
	return o
}

// linkable are the providers by which a way to sign in can be added.
func (s *Service) linkable() (list []pages.Provider) {
	for _, p := range s.views {
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
	if rq.custom.Account != "" {
		return redirect{to: weburl.WithQuery(rq.absolute(rq.custom.Account), "done", string(plainErrorCode(ErrorCode(rq.query("done")))), "error", string(plainErrorCode(ErrorCode(rq.query("error")))), "request", rq.shownRequestID())}
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
	if v.Readdresses = a.stored && changesEmail(rq); a.change != nil {
		v.NewAddress = a.change.To
	}
	v.Picture, pictures = shownPicture(a.user.Image)
	if rq.custom.SignOut != "" {
		v.SignOutPage = rq.base + "/signout"
	}
	v.Identities = rq.identityViews(a)
	v.Deletion, v.Delete = a.user.DeleteAfter, rq.policy.deletes && a.stored
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
