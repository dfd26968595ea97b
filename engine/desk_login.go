package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/cookie"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text/pages"
	"authsvc/internal/text/profilepath"
)

// loginTries limits how often a sign-in starts over because the user's access was
// revoked meanwhile.
const loginTries = 4

// A login is the part of a sign-in that all providers share: find the user → SignIn
// callback → link or create the user → session → event → redirect.
//
// It reads the user's epoch first, and grants access only while the epoch is unchanged.
// If the epoch changes, the login starts over: a sign-in that overlaps a first proof,
// EndSessions, DeleteUser or UnlinkAccount ends as if it had come afterwards.
type login struct {
	desk *desk
	rq   *request
	id   identity

	before   *authsvc.Session // the browser's session at the start; nil: none
	linkUser authsvc.User     // the user who asked to link
	user     authsvc.User
	found    bool // user is stored
	foreign  bool // the user of the session is not stored
	start    sessionStart
	record   *adapter.SessionRecord
	claims   []byte // claims of the new session

	linked, proved bool              // written by this try
	voided         []authsvc.Account // accounts that this try's first proof removed
	created        bool              // by any try, like the fields below
	removed        []authsvc.Account
	added          bool // the user was told of the linked identity
	firstProof     bool // the address was proved for the first time
}

// login signs in the person to whom an identity belongs.
func (dk *desk) login(rq *request, id identity) outcome {
	id = dk.admit(id)
	l := &login{desk: dk, rq: rq, id: id}
	for try := 1; ; try++ {
		out := l.run()
		if e, failed := out.(*authError); !failed || !errors.Is(e.Err, adapter.ErrStale) || try == loginTries {
			return out
		}
		id.owner = nil // it has changed
		*l = login{desk: dk, rq: rq, id: id, created: l.created, removed: l.removed, added: l.added, firstProof: l.firstProof}
	}
}

func (l *login) run() outcome {
	for _, step := range []func() outcome{l.readCurrent, l.find, l.checkSamePerson, l.callSignIn, l.refuseDeleted, l.keepClaims, l.linkOrCreate, l.issueSession} {
		if out := step(); out != nil {
			return out
		}
	}
	return l.succeed()
}

// stale returns the outcome that makes a login start over.
func stale(err error) outcome {
	if !errors.Is(err, adapter.ErrStale) {
		err = errors.Join(adapter.ErrStale, err)
	}
	return fail(authsvc.CodeCallback, err)
}

// readCurrent reads the browser's session. It refuses to link an account unless the
// session still belongs to the user to link to; if linking was only implied and the
// session has ended, it drops the link. It reads that user's epoch before the session,
// and reads revocations from the store, not from this replica's copy.
func (l *login) readCurrent() outcome {
	if out := l.readLinkUser(); out != nil {
		return out
	}
	s, err := l.desk.keeper.current(l.rq)
	if err != nil {
		return storeFailed(authsvc.CodeCallback, err)
	}
	l.before = s
	if l.id.linkImplied && s == nil { // the session has ended: only sign in
		l.id.linkTo = ""
	}
	if l.id.linkTo != "" && (s == nil || s.UserID != l.id.linkTo) {
		l.rq.auditUser = l.id.linkTo
		l.rq.audit("account.link_refused", authsvc.CodeOAuthAccountNotLinked, "the session no longer belongs to the user who asked")
		return fail(authsvc.CodeOAuthAccountNotLinked, fixedReason("linking was requested by another user than the one who is signed in now"))
	}
	return nil
}

func (l *login) readLinkUser() outcome {
	if l.id.linkTo == "" {
		return nil
	}
	u, err := l.desk.Adapter.GetUser(l.rq.ctx, l.id.linkTo)
	switch {
	case errors.Is(err, adapter.ErrNotFound) && l.id.linkImplied: // a session without a stored user: only sign in
		l.id.linkTo = ""
		return nil
	case errors.Is(err, adapter.ErrNotFound):
		return fail(authsvc.CodeOAuthAccountNotLinked, fixedReason("the user who requested linking no longer exists"))
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	}
	l.linkUser = u
	if err := l.desk.keeper.revoked.catchUp(l.rq.ctx, l.desk.Adapter, l.rq.now); err != nil {
		return storeFailed(authsvc.CodeCallback, err)
	}
	return nil
}

// find looks for the stored user that the identity belongs to.
func (l *login) find() outcome {
	l.user = l.id.user
	u, err := l.owner()
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return nil
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	}
	l.user, l.found, l.rq.auditUser = u, true, u.ID
	return nil
}

// owner returns the user that came with the identity, or looks the user up.
func (l *login) owner() (authsvc.User, error) {
	switch u := l.id.owner; {
	case u == nil:
		return l.lookup()
	case u.ID == "":
		return authsvc.User{}, adapter.ErrNotFound
	default:
		return *u, nil
	}
}

func (l *login) lookup() (authsvc.User, error) {
	switch {
	case l.id.stored && !l.desk.keeper.sessions.refersToUser(): // a JWT session needs no stored user
		return l.lookupForeign()
	case l.id.stored:
		return l.desk.Adapter.GetUser(l.rq.ctx, l.id.user.ID)
	case l.id.proof:
		return l.desk.Adapter.GetUserByEmail(l.rq.ctx, l.id.user.Email)
	default:
		a := &l.id.account
		u, id, err := l.desk.userByAccount(l.rq.ctx, a.Provider, a.ProviderAccountID, l.id.former)
		if err == nil {
			a.ProviderAccountID = id
		}
		return u, err
	}
}

// lookupForeign returns the user of an identity that the application vouches for.
// Epoch, Blocked, DeleteAfter and Locale come from the store.
func (l *login) lookupForeign() (authsvc.User, error) {
	u := l.id.user
	stored, err := l.desk.Adapter.GetUser(l.rq.ctx, u.ID)
	if errors.Is(err, adapter.ErrNotFound) {
		l.foreign = true
		stored.Epoch, err = l.desk.Adapter.GetEpoch(l.rq.ctx, u.ID)
	}
	u.Epoch, u.Blocked, u.DeleteAfter, u.Locale = stored.Epoch, stored.Blocked, stored.DeleteAfter, stored.Locale
	return u, err
}

// attempt describes the sign-in to callbacks.
func (l *login) attempt() authsvc.SignInAttempt {
	return attempt(l.rq, authsvc.SignInAttempt{User: l.user, Account: l.id.account, Profile: l.id.profile, Credentials: l.id.credentials,
		IsNewUser: l.id.isNew || !l.found && !l.id.stored && l.id.linkTo == "", EmailProved: l.proves()})
}

// profileClaims returns the claims of the profile that SessionOptions.Claims names.
func (l *login) profileClaims() map[string]any {
	return l.desk.keeper.shape.Claims(profilepath.Roots{Profile: l.id.profile, Token: l.id.tokenAnswer})
}

// callSignIn checks the conditions, calls the SignIn callback and records a refusal.
func (l *login) callSignIn() outcome {
	to, err := l.desk.maySignIn(l.rq, l.attempt(), l.profileClaims())
	if err != nil {
		return refuseSignIn(l.rq, err, "by the signIn callback")
	}
	if to != "" {
		l.rq.audit("sign_in.refused", "", "the signIn callback redirected")
		return redirect{to: to}
	}
	return nil
}

// keepClaims determines the claims that stay with the session.
func (l *login) keepClaims() outcome {
	claims, err := l.desk.claimsCallback(l.rq, l.attempt(), l.profileClaims())
	if err != nil {
		return refuseSignIn(l.rq, err, "by the claims callback")
	}
	l.claims, err = sessionshape.Encode(claims)
	switch {
	case errors.Is(err, sessionshape.ErrTooLarge):
		return fail(authsvc.CodeCallback, fixedReason(err.Error()))
	case err != nil:
		return fail(authsvc.CodeCallback, fmt.Errorf("cannot encode the claims of the session as JSON: %w", err))
	}
	l.start.claims = l.claims
	return nil
}

func (dk *desk) claimsCallback(rq *request, a authsvc.SignInAttempt, kept authsvc.Claims) (claims authsvc.Claims, err error) {
	if dk.Callbacks.Claims == nil {
		return kept, nil
	}
	defer dk.fleet.Recovered("claims callback", func() { claims, err = nil, authsvc.ErrAccessDenied })
	return dk.Callbacks.Claims(rq.callbackContext(), a, kept)
}

// maySignIn checks a sign-in with these claims against the conditions, then calls the
// SignIn callback. For mail to a person who is not yet a user, it also checks the
// sign-up rules. It returns the callback's redirect, after checking it, or an error
// that refuses the sign-in.
func (dk *desk) maySignIn(rq *request, a authsvc.SignInAttempt, claims map[string]any) (to string, err error) {
	if !a.User.Blocked.IsZero() {
		return "", errBlocked
	}
	if err := dk.mayPass(rq, a, claims); err != nil {
		return "", err
	}
	if to, err = dk.signInCallback(rq, a); err != nil {
		return "", err
	}
	if a.VerificationRequest && a.IsNewUser { // otherwise checked before the user is stored
		if err := dk.maySignUp(rq, a); err != nil {
			return "", err
		}
	}
	if to == "" {
		return "", nil
	}
	to, ok := rq.allowedURL(to)
	if !ok {
		return "", errors.New("the signIn callback's redirect is not allowed")
	}
	return to, nil
}

func (dk *desk) signInCallback(rq *request, a authsvc.SignInAttempt) (to string, err error) {
	if dk.Callbacks.SignIn == nil {
		return "", nil
	}
	defer dk.fleet.Recovered("signIn callback", func() { to, err = "", authsvc.ErrAccessDenied })
	return dk.Callbacks.SignIn(rq.callbackContext(), a)
}

// issueSession stores the session, sets its cookie and ends the session that it
// replaces.
func (l *login) issueSession() outcome {
	l.start.user, l.start.isNew = l.user, l.created
	made, err := l.desk.keeper.sessions.issue(l.rq.ctx, &l.start)
	if err != nil {
		l.deleteSession()
		return fail(authsvc.CodeCallback, err)
	}
	if !cookie.Fits(made.value) {
		l.deleteSession()
		l.rq.clearSession()
		return fail(authsvc.CodeCallback, errSessionTooLarge)
	}
	if out := l.storeSession(); out != nil {
		return out
	}
	if out := l.recheckEpoch(); out != nil {
		return out
	}
	old := l.rq.sessionCookieValue()
	l.rq.setSession(made.value, made.expires)
	if old != "" {
		if _, err := l.desk.keeper.sessions.end(l.rq.ctx, old, l.rq.now); err != nil {
			l.desk.Log.Error("cannot end the session that this sign-in replaces", "request", l.rq.requestID(), "err", err)
		}
	}
	l.desk.rotateCSRF(l.rq, l.desk.keeper.sessions.id(made.value, l.rq.now), l.user.ID)
	return nil
}

// storeSession stores the session, unless the step that created the user already did.
func (l *login) storeSession() outcome {
	if l.record != nil || l.foreign {
		return nil
	}
	if l.record = l.desk.keeper.sessions.start(&l.start); l.record == nil {
		return nil
	}
	l.record.UserID = l.user.ID
	_, err := l.desk.Adapter.CreateSession(l.rq.ctx, *l.record)
	switch {
	case errors.Is(err, adapter.ErrStale), errors.Is(err, adapter.ErrNotFound):
		return stale(err)
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	}
	return nil
}

// recheckEpoch checks the epoch for a session that is not stored, as CreateSession does
// for stored ones. A later revocation ends such a session by the epoch in its claims.
func (l *login) recheckEpoch() outcome {
	if l.record != nil {
		return nil
	}
	epoch, err := l.desk.Adapter.GetEpoch(l.rq.ctx, l.user.ID)
	switch {
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	case epoch != l.user.Epoch:
		return stale(adapter.ErrStale)
	}
	return nil
}

// deleteSession removes a session whose cookie is not sent, if the session was stored
// with its user.
func (l *login) deleteSession() {
	if l.record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.rq.ctx), 5*time.Second)
	defer cancel()
	if _, err := l.desk.Adapter.DeleteSessionOf(ctx, l.user.ID, l.record.Digest); err != nil {
		l.desk.Log.Error("cannot remove a session that was not issued", "request", l.rq.requestID(), "err", err)
	}
}

// succeed reports the sign-in and redirects to the callback URL.
func (l *login) succeed() outcome {
	if watch := l.desk.Events.SignIn; watch != nil {
		e := authsvc.SignInEvent{User: l.user, Account: l.id.account, Profile: l.id.profile, IsNewUser: l.created}
		l.desk.fleet.Emit("signIn", func() { watch(l.rq.ctx, e) })
	}
	reason := ""
	if l.created {
		reason = "the user was created"
	}
	l.rq.auditUser = l.user.ID
	l.rq.audit("sign_in.succeeded", "", reason)
	l.desk.Log.Info("signed in", "provider", l.id.account.Provider, "user", l.user.ID, "new", l.created, "request", l.rq.requestID())
	l.rq.setCookie(cookie.Cookie{Name: l.desk.lastCookie, Value: l.id.account.Provider, Expires: l.rq.now.AddDate(1, 0, 0)})
	if l.id.stepUpUser == "" { // after a step-up, the typed text is still needed
		l.rq.forgetTyped()
	}
	l.notifyNewBrowser()
	l.keepLanguage()
	if l.id.accountName != "" || !l.id.stored {
		l.desk.setDeviceCookie(l.rq, cmp.Or(l.id.accountName, userKey(l.user.ID)), l.user)
	}
	if l.added && l.rq.isAccountPage(l.id.callbackURL) { // the page says what was done
		l.id.callbackURL = weburl.WithQuery(l.id.callbackURL, "done", "linked")
	}
	l.rq.callbackTo = l.id.callbackURL
	l.rq.keepCallbackURL()
	if len(l.removed) > 0 && !l.rq.wantsJSON() { // a script cannot show a page
		v := pages.NoticeView{ContinueURL: l.id.callbackURL, SignInURL: l.rq.base + "/signin"}
		for _, a := range l.removed {
			v.Removed = append(v.Removed, l.rq.providerName(a.Provider))
		}
		return page{name: pages.Notice, view: v}
	}
	if l.created && l.rq.custom.NewUser != "" && !l.id.plainRedirect {
		return redirect{to: weburl.WithQuery(l.rq.absolute(l.rq.custom.NewUser), "callbackUrl", l.id.callbackURL)}
	}
	return redirect{to: l.id.callbackURL}
}

// emitChanges reports what linkOrCreate changed in the store, even if the sign-in then
// fails.
func (l *login) emitChanges(created bool) {
	e := &l.desk.Events
	if created && e.CreateUser != nil {
		l.desk.fleet.Emit("createUser", func() { e.CreateUser(l.rq.ctx, l.user) })
	}
	if l.linked && e.LinkAccount != nil {
		l.desk.fleet.Emit("linkAccount", func() { e.LinkAccount(l.rq.ctx, l.user, l.id.account) })
	}
	if l.linked && !created {
		l.rq.note(authsvc.AuditEvent{Name: "account.linked", UserID: l.user.ID})
		l.notifyLinked()
	}
	for _, a := range l.voided {
		l.rq.note(authsvc.AuditEvent{Name: "account.unlinked", UserID: l.user.ID, Provider: a.Provider, Reason: "by the first proof of the address"})
		if e.UnlinkAccount != nil {
			l.desk.fleet.Emit("unlinkAccount", func() { e.UnlinkAccount(l.rq.ctx, l.user, a) })
		}
	}
	if l.proved && e.UpdateUser != nil {
		l.desk.fleet.Emit("updateUser", func() { e.UpdateUser(l.rq.ctx, l.user) })
	}
}
