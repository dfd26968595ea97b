package authsvc

import (
	"context"
	"errors"
	"net/http"
	"time"

	"authsvc/internal/pages"
	"authsvc/internal/weburl"
)

// loginTries bounds how often a sign-in is judged again because access was
// taken back, from whomever it found, while it was under way.
const loginTries = 4

// A login is one run of the tail that all providers share:
// may they? → find, link or create the user → session → event → redirect.
//
// It notes the user's epoch before it asks what entitles to anything, and
// whatever grants access is written only while the epoch is still that one. If
// it is not, all is asked again: a sign-in that overlaps a first proof,
// EndSessions, DeleteUser or UnlinkAccount ends as if it had come afterwards.
type login struct {
	*request
	id identity

	before *Session // who is signed in while this happens
	asker  User     // who asked to link
	user   User
	found  bool // user is stored
	start  sessionStart
	record *SessionRecord

	linked, proved bool      // what this try wrote
	voided         []Account // accounts that this try's first proof removed
	created        bool      // what all tries wrote
	removed        []Account
}

// login turns an identity into a session.
func (rq *request) login(id identity) outcome {
	id = rq.admit(id)
	l := &login{request: rq, id: id}
	for try := 1; ; try++ {
		out := l.run()
		if e, failed := out.(*Error); !failed || !errors.Is(e.Err, ErrStale) || try == loginTries {
			return out
		}
		*l = login{request: rq, id: id, created: l.created, removed: l.removed}
	}
}

func (l *login) run() outcome {
	for _, step := range []func() outcome{l.readCurrent, l.find, l.permit, l.linkOrCreate, l.issueSession} {
		if out := step(); out != nil {
			return out
		}
	}
	return l.succeed()
}

// stale makes a login begin anew.
func stale(err error) outcome {
	if !errors.Is(err, ErrStale) {
		err = errors.Join(ErrStale, err)
	}
	return fail(Callback, err)
}

// readCurrent reads who is signed in; only that person's own wish can link. The
// epoch of who wished it is read before the session, and the session is judged
// by what the store knows, not by this replica's copy.
func (l *login) readCurrent() outcome {
	if out := l.readAsker(); out != nil {
		return out
	}
	s, err := l.current()
	if err != nil {
		return storeFailed(Callback, err)
	}
	l.before = s
	if l.id.linkImplied && s == nil { // the session is over: what is left is to sign in
		l.id.linkTo = ""
	}
	if l.id.linkTo != "" && (s == nil || s.UserID != l.id.linkTo) {
		l.auditUser = l.id.linkTo
		l.audit("account.link_refused", OAuthAccountNotLinked, "the session is no longer that of the user who asked")
		return fail(OAuthAccountNotLinked, fixedReason("link was asked for by another user than is signed in now"))
	}
	return nil
}

func (l *login) readAsker() outcome {
	if l.id.linkTo == "" {
		return nil
	}
	u, err := l.adapter.GetUser(l.ctx, l.id.linkTo)
	switch {
	case errors.Is(err, ErrNotFound):
		return fail(OAuthAccountNotLinked, fixedReason("the user who asked to link is gone"))
	case err != nil:
		return storeFailed(Callback, err)
	}
	l.asker = u
	if err := l.revoked.catchUp(l.ctx, l.adapter, l.now); err != nil {
		return storeFailed(Callback, err)
	}
	return nil
}

// find looks for the stored user that the identity belongs to.
func (l *login) find() outcome {
	l.user = l.id.user
	u, err := l.lookup()
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return storeFailed(Callback, err)
	}
	l.user, l.found, l.auditUser = u, true, u.ID
	return nil
}

func (l *login) lookup() (User, error) {
	switch {
	case l.id.stored && !l.sessions.refersToUser(): // a JWT session needs no stored user
		u := l.id.user
		var err error
		u.Epoch, err = l.adapter.GetEpoch(l.ctx, u.ID)
		return u, err
	case l.id.stored:
		return l.adapter.GetUser(l.ctx, l.id.user.ID)
	case l.id.proof:
		return l.adapter.GetUserByEmail(l.ctx, l.id.user.Email)
	default:
		a := &l.id.account
		u, id, err := l.userByAccount(l.ctx, a.Provider, a.ProviderAccountID, l.id.former)
		if err == nil {
			a.ProviderAccountID = id
		}
		return u, err
	}
}

// permit asks the SignIn callback.
func (l *login) permit() outcome {
	to, err := l.askSignIn(SignInAttempt{User: l.user, Account: l.id.account, Profile: l.id.profile,
		Credentials: l.id.credentials, IsNewUser: l.id.isNew || !l.found && !l.id.stored && l.id.linkTo == ""})
	if err != nil {
		l.audit("sign_in.refused", AccessDenied, "by the signIn callback")
		return fail(AccessDenied, err)
	}
	if to != "" {
		l.audit("sign_in.refused", "", "the signIn callback led elsewhere")
		return redirect{to: to}
	}
	return nil
}

// askSignIn returns a checked redirect, or an error that refuses.
func (rq *request) askSignIn(a SignInAttempt) (to string, err error) {
	if rq.callbacks.SignIn == nil {
		return "", nil
	}
	defer rq.recovered("signIn callback", func() { to, err = "", ErrAccessDenied })
	to, err = rq.callbacks.SignIn(rq.ctx, a)
	if err != nil || to == "" {
		return "", err
	}
	to, ok := rq.allowedURL(to)
	if !ok {
		return "", errors.New("the signIn callback's redirect is not allowed")
	}
	return to, nil
}

// issueSession stores and issues the session and ends the one that it replaces.
func (l *login) issueSession() outcome {
	l.start.user, l.start.isNew = l.user, l.created
	if out := l.storeSession(); out != nil {
		return out
	}
	cookie, err := l.sessions.issue(l.ctx, &l.start)
	if err != nil {
		l.deleteSession()
		return fail(Callback, err)
	}
	if out := l.recheckEpoch(); out != nil {
		return out
	}
	old := l.sessionCookieValue()
	if !l.setSession(cookie.value, cookie.expires) {
		l.deleteSession()
		l.clearSession()
		return fail(Callback, errSessionTooLarge)
	}
	if old != "" {
		if _, err := l.sessions.end(l.ctx, old, l.now); err != nil {
			l.log.Error("the session that this sign-in replaces could not be ended", "request", l.requestID(), "err", err)
		}
	}
	l.rotateCSRF(l.sessions.id(cookie.value, l.now), l.user.ID)
	return nil
}

// storeSession stores the session, unless the step that created the user did.
func (l *login) storeSession() outcome {
	if l.record != nil {
		return nil
	}
	if l.record = l.sessions.start(&l.start); l.record == nil {
		return nil
	}
	l.record.UserID = l.user.ID
	_, err := l.adapter.CreateSession(l.ctx, *l.record)
	switch {
	case errors.Is(err, ErrStale), errors.Is(err, ErrNotFound):
		return stale(err)
	case err != nil:
		return storeFailed(Callback, err)
	}
	return nil
}

// recheckEpoch is the condition on the epoch for a session that is not stored:
// what is taken back from now on ends it, since it notes an earlier epoch.
func (l *login) recheckEpoch() outcome {
	if l.record != nil {
		return nil
	}
	epoch, err := l.adapter.GetEpoch(l.ctx, l.user.ID)
	switch {
	case err != nil:
		return storeFailed(Callback, err)
	case epoch != l.user.Epoch:
		return stale(ErrStale)
	}
	return nil
}

// deleteSession removes a stored session whose cookie is not sent.
func (l *login) deleteSession() {
	if l.record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), 5*time.Second)
	defer cancel()
	if _, err := l.adapter.DeleteSession(ctx, l.record.SessionToken); err != nil {
		l.log.Error("a session that was not issued could not be removed", "request", l.requestID(), "err", err)
	}
}

// succeed tells the world and sends the person on.
func (l *login) succeed() outcome {
	l.emit("signIn", func() {
		l.events.SignIn(l.ctx, SignInEvent{User: l.user, Account: l.id.account, Profile: l.id.profile, IsNewUser: l.created})
	}, l.events.SignIn != nil)
	why := ""
	if l.created {
		why = "the user was created"
	}
	l.auditUser = l.user.ID
	l.audit("sign_in.succeeded", "", why)
	l.log.Info("signed in", "provider", l.id.account.Provider, "user", l.user.ID, "new", l.created, "request", l.requestID())
	l.setCookie(cookie{name: l.names.last, value: l.id.account.Provider, expires: l.now.AddDate(1, 0, 0)})
	if l.id.accountName != "" {
		l.setDeviceCookie(l.id.accountName)
	}
	l.callbackTo = l.id.callbackURL
	l.keepCallbackURL()
	if len(l.removed) > 0 && !l.wantsJSON() { // a script shows no page
		v := pages.NoticeView{ContinueURL: l.id.callbackURL, SignInURL: l.base + "/signin"}
		for _, a := range l.removed {
			v.Removed = append(v.Removed, l.providerName(a.Provider))
		}
		return page{name: pages.Notice, view: v}
	}
	if l.created && l.custom.NewUser != "" && !l.id.plainRedirect {
		return redirect{to: weburl.WithQuery(l.absolute(l.custom.NewUser), "callbackUrl", l.id.callbackURL)}
	}
	return redirect{to: l.id.callbackURL}
}

// emitChanges reports what settle changed in the store. That is done, whether or not a
// session comes of it.
func (l *login) emitChanges(created bool) {
	e := &l.events
	l.emit("createUser", func() { e.CreateUser(l.ctx, l.user) }, e.CreateUser != nil && created)
	l.emit("linkAccount", func() { e.LinkAccount(l.ctx, l.user, l.id.account) }, e.LinkAccount != nil && l.linked)
	if l.linked && !created {
		l.note(AuditEvent{Name: "account.linked", UserID: l.user.ID})
	}
	for _, a := range l.voided {
		l.note(AuditEvent{Name: "account.unlinked", UserID: l.user.ID, Provider: a.Provider, Reason: "by the first proof of the address"})
		l.emit("unlinkAccount", func() { e.UnlinkAccount(l.ctx, l.user, a) }, e.UnlinkAccount != nil)
	}
	l.emit("updateUser", func() { e.UpdateUser(l.ctx, l.user) }, e.UpdateUser != nil && l.proved)
}

// callback: GET and POST callback/:provider end a flow. Only an identity goes
// on to login; everything else a flow answers is final.
func callback(rq *request) outcome {
	foreign := rq.r.Method == http.MethodPost && rq.flow.info().formPost && rq.body.get("repost") != "1"
	if rq.r.Method == http.MethodPost && !foreign && !rq.sameSite() {
		return rq.refusedCrossSite()
	}
	out := rq.flow.complete(rq)
	id, ok := out.(identity)
	if !ok {
		return out
	}
	// The proof is spent: what follows is done as a whole, even if the browser
	// has gone away meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(rq.ctx), loginTimeout)
	defer cancel()
	rq.ctx = ctx
	return rq.login(id)
}

// loginTimeout bounds the tail of a sign-in: the store's steps and the
// application's callbacks.
const loginTimeout = 30 * time.Second
