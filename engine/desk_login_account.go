package engine

import (
	"context"
	"errors"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/seal"
	"authsvc/internal/text"
)

// linkOrCreate creates the user, links the account or records the proof of the address,
// as the identity requires. Then it reports the changes.
func (l *login) linkOrCreate() outcome {
	created := l.created
	out := l.change()
	if out == nil {
		l.emitChanges(l.created && !created)
	}
	return out
}

// change does the work of linkOrCreate without reporting it.
func (l *login) change() outcome {
	l.start = sessionStart{profile: l.id.profile, provider: l.id.account.Provider, began: l.rq.now, authTime: l.authTime(), token: seal.Token(), claims: l.claims,
		origin: adapter.SessionOrigin{AMR: l.id.amr(), Agent: audit.PlainText(l.rq.r.UserAgent(), audit.MaxAgent), Network: shownNetwork(l.rq.clientIP())}}
	l.start.account = &l.id.account
	switch {
	case l.id.stored && !l.found:
		l.desk.Log.Warn("Authorize returned an id that no stored user has; return the id of a stored user, or use session strategy jwt",
			"provider", l.id.account.Provider, "request", l.rq.requestID())
		return fail(authsvc.CodeCredentialsSignin, fixedReason("no such user"))
	case l.id.stored:
		if l.id.verified { // without storage, there is no other record of it
			l.user.EmailVerified = l.rq.now
		}
		return nil
	case l.id.proof && l.found:
		return l.proveEmail()
	case l.id.proof:
		l.id.user.EmailVerified = l.rq.now
		return l.create(nil)
	case l.found:
		return l.refreshAccount()
	case l.id.linkTo != "":
		return l.link(l.linkUser)
	}
	return l.linkOrSignUp()
}

// proofLeeway is how far a provider's clock may be ahead.
const proofLeeway = time.Minute

// authTime returns when the person proved their identity, or zero if that is not known.
// Some providers cannot be made to authenticate the person again, and may let people
// through without a proof. A sign-in there counts as a proof only if authsvc asked for
// one and the person has no other way to give it (see stepUpWays). Without storage, a
// person's ways are not known; it then counts only if all configured providers are such
// providers.
func (l *login) authTime() time.Time {
	said := l.id.authTime
	if said.After(l.rq.now.Add(proofLeeway)) {
		said = time.Time{} // a clock that is ahead proves nothing
	}
	asked := l.id.stepUpUser != "" || l.id.again && (!l.id.cannotAsk || !l.desk.reauthenticates)
	if asked && (said.IsZero() || l.id.cannotAsk) {
		return l.rq.now
	}
	at := earlier(said, l.rq.now)
	// The session to be replaced may record a later proof of the same person.
	if b := l.before; b != nil && b.Actor() == "" && (l.found && b.UserID == l.user.ID || b.UserID == l.id.linkTo) && b.AuthTime.After(at) {
		at = b.AuthTime
	}
	return at
}

// refreshAccount updates the account of an identity that is already linked.
func (l *login) refreshAccount() outcome {
	if l.id.linkTo != "" && l.user.ID != l.id.linkTo {
		l.rq.auditUser = l.id.linkTo
		l.rq.audit("account.link_refused", authsvc.CodeOAuthAccountNotLinked, "the identity belongs to another user")
		return fail(authsvc.CodeOAuthAccountNotLinked, fixedReason("the identity is linked to another user"))
	}
	a := l.accountForStorage()
	a.UserID = l.user.ID
	err := l.desk.Adapter.RefreshAccount(l.rq.ctx, a, l.user.Epoch)
	switch {
	case errors.Is(err, adapter.ErrStale), errors.Is(err, adapter.ErrNotFound):
		return stale(err)
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	}
	return nil
}

// link adds the identity to the stored user u, if u's epoch is still current.
func (l *login) link(u authsvc.User) outcome {
	if out := l.refuseScheduled(u); out != nil {
		return out
	}
	a := l.accountForStorage()
	a.ID, a.UserID = seal.UUIDv7(), u.ID
	if err := l.rememberIssuer(); err != nil {
		return storeFailed(authsvc.CodeCallback, err)
	}
	_, err := l.desk.Adapter.LinkAccount(l.rq.ctx, a, u.Epoch)
	switch {
	case errors.Is(err, adapter.ErrStale), errors.Is(err, adapter.ErrNotFound):
		return stale(err)
	case errors.Is(err, adapter.ErrConflict):
		owner, lookErr := l.desk.Adapter.GetUserByAccount(l.rq.ctx, a.Provider, a.ProviderAccountID)
		if lookErr != nil || owner.ID != u.ID {
			return fail(authsvc.CodeOAuthAccountNotLinked, fixedReason("the identity was linked to another user meanwhile"))
		}
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	default:
		l.linked = true
	}
	l.user, l.found = u, true
	return nil
}

// linkOrSignUp handles an unknown identity. Its address may belong to a stored user.
func (l *login) linkOrSignUp() outcome {
	if l.id.user.Email == "" {
		return l.signUp()
	}
	owner, err := l.desk.Adapter.GetUserByEmail(l.rq.ctx, l.id.user.Email)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return l.signUp()
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	}
	// A concurrent request of the same person may have stored the owner.
	_, err = l.lookup()
	switch {
	case err == nil:
		return stale(adapter.ErrConflict)
	case !errors.Is(err, adapter.ErrNotFound):
		return storeFailed(authsvc.CodeCallback, err)
	case l.id.linkVerified && l.id.verified && !owner.EmailVerified.IsZero():
		l.user, l.found, l.rq.auditUser = owner, true, owner.ID
		for _, ask := range []func() outcome{l.callSignIn, l.keepClaims} { // their first call was for a new user
			if out := ask(); out != nil {
				return out
			}
		}
		return l.link(owner)
	}
	l.rq.auditUser = owner.ID
	l.rq.audit("account.not_linked", authsvc.CodeOAuthAccountNotLinked, "the address belongs to a user without this identity")
	return fail(authsvc.CodeOAuthAccountNotLinked, fixedReason("the address belongs to a user without this identity"))
}

func (l *login) signUp() outcome {
	if l.id.verified && l.id.user.Email != "" {
		l.id.user.EmailVerified = l.rq.now
	}
	a := l.accountForStorage()
	if err := l.rememberIssuer(); err != nil {
		return storeFailed(l.id.createCode, err)
	}
	return l.create(&a)
}

// create stores the user, the account and the session in one step. If a concurrent
// request has stored the same person, this one continues as a returning sign-in.
func (l *login) create(a *authsvc.Account) outcome {
	u := l.id.user
	u.ID = seal.UUIDv7()
	if a != nil {
		a.ID = seal.UUIDv7()
	}
	asked, err := l.mayCreate(l.attempt(), u)
	if err != nil {
		return refuseSignIn(l.rq, err, "by the createUser callback")
	}
	if asked.Image != u.Image {
		u.Image = cleanUser(asked, false).Image
	}
	u.Name = text.Name(asked.Name)
	l.record = l.desk.keeper.sessions.start(&l.start)
	earlier := l.desk.keeper.endOfEarlier(l.rq.now)
	stored, err := l.desk.Adapter.SignUp(l.rq.ctx, u, a, l.record, l.language(), earlier)
	switch {
	case errors.Is(err, adapter.ErrConflict):
		l.record = nil
		return l.signUpConflict()
	case err != nil:
		return storeFailed(l.id.createCode, err)
	}
	l.desk.keeper.revoked.apply(*earlier)
	l.user, l.found, l.created, l.linked = stored, true, true, a != nil
	return nil
}

// mayCreate checks a user against the sign-up rules, then calls the CreateUser
// callback.
func (l *login) mayCreate(a authsvc.SignInAttempt, u authsvc.User) (asked authsvc.User, err error) {
	if err := l.desk.maySignUp(l.rq, a); err != nil {
		return u, err
	}
	if l.desk.Callbacks.CreateUser == nil {
		return u, nil
	}
	defer l.desk.fleet.Recovered("createUser callback", func() { err = authsvc.ErrAccessDenied })
	return l.desk.Callbacks.CreateUser(l.rq.callbackContext(), a, u)
}

// signUpConflict starts over if a concurrent request has stored the same person. If the
// address is taken, it refuses the sign-in.
func (l *login) signUpConflict() outcome {
	_, err := l.lookup()
	switch {
	case err == nil:
		return stale(adapter.ErrConflict)
	case errors.Is(err, adapter.ErrNotFound):
		return fail(authsvc.CodeOAuthAccountNotLinked, fixedReason("the address was taken meanwhile"))
	}
	return storeFailed(authsvc.CodeCallback, err)
}

// proveEmail records that the person read mail sent to the address of a stored user.
// Unless keepFirstProof is set, the first proof removes all earlier access to the user,
// because another person may have registered the address.
func (l *login) proveEmail() outcome {
	if !l.user.EmailVerified.IsZero() && !l.desk.keepFirstProof {
		return nil
	}
	p := adapter.Proof{UserID: l.user.ID, Email: l.user.Email, Epoch: l.user.Epoch, At: l.rq.now, Keep: l.desk.keepFirstProof,
		Revoke: l.desk.keeper.revocation(keyUser+l.user.ID, l.user.ID, l.rq.now)}
	first := l.user.EmailVerified.IsZero()
	u, removed, err := l.desk.Adapter.ProveEmail(l.rq.ctx, p)
	switch {
	case errors.Is(err, adapter.ErrStale), errors.Is(err, adapter.ErrNotFound):
		return stale(err)
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	}
	if p.Revoke.Seq > 0 { // it was written: this was the first proof
		l.desk.keeper.revoked.apply(*p.Revoke)
	}
	l.user, l.voided, l.proved, l.firstProof = u, l.opened(removed), true, l.firstProof || first
	l.removed = append(l.removed, l.voided...)
	if !p.Keep {
		l.before = nil
		l.rq.note(authsvc.AuditEvent{Name: "email.first_proof", UserID: u.ID, Reason: "accounts and sessions from before the proof were removed"})
	}
	return nil
}

// opened returns stored accounts with their tokens opened, for events. It leaves out
// tokens that cannot be opened.
func (l *login) opened(stored []authsvc.Account) []authsvc.Account {
	for i, a := range stored {
		open, lost := l.desk.vault.tokens.open(a)
		l.desk.vault.logLost(open, lost)
		stored[i] = open
	}
	return stored
}

// issuerStoredFor is how long a stored issuer need not be stored again. The store may lose
// it: it may be restored or emptied while the service runs.
const issuerStoredFor = time.Minute

// rememberIssuer stores the issuer with the first account of a provider. The service
// then refuses to start with another issuer.
func (l *login) rememberIssuer() error {
	provider := l.id.account.Provider
	f := l.rq.flows[provider]
	if f == nil || f.info().issuer == "" {
		return nil
	}
	if at, ok := l.desk.issuersStored.Load(provider); ok && time.Since(at.(time.Time)) < issuerStoredFor {
		return nil
	}
	_, err := l.desk.Adapter.PutMeta(l.rq.ctx, metaIssuer+provider, f.info().issuer)
	if err == nil {
		l.desk.issuersStored.Store(provider, time.Now())
	}
	return err
}

// accountForStorage returns the account with its tokens in their stored form.
func (l *login) accountForStorage() authsvc.Account {
	return l.desk.vault.tokens.forStorage(l.id.account)
}

// proves reports whether the identity proves the user's address: by a mailed link, or
// because the provider vouches for it.
func (l *login) proves() bool {
	return l.id.proof || l.id.verified && l.user.Email == l.id.user.Email
}

// amr returns how an identity was proved.
func (id *identity) amr() string {
	switch {
	case id.proof:
		return "email"
	case id.stored:
		return "app"
	}
	return "fed"
}

// userByAccount finds the user who has an identity. It also returns the id under which
// the account is stored.
func (dk *desk) userByAccount(ctx context.Context, provider, id string, former formerID) (authsvc.User, string, error) {
	u, err := dk.Adapter.GetUserByAccount(ctx, provider, id)
	if former.id == "" || !errors.Is(err, adapter.ErrNotFound) {
		return u, id, err
	}
	if u, err = dk.Adapter.GetUserByAccount(ctx, provider, former.id); err != nil || former.issuer == "" {
		return u, former.id, err
	}
	all, err := dk.Adapter.ListAccounts(ctx, u.ID)
	if err != nil {
		return authsvc.User{}, "", err
	}
	a, _ := splitAccount(all, provider, former.id)
	if a == nil {
		return authsvc.User{}, "", adapter.ErrNotFound
	}
	if open, _ := dk.vault.tokens.open(*a); oidc.UnverifiedSubject(open.IDToken).Issuer != former.issuer {
		return authsvc.User{}, "", adapter.ErrNotFound
	}
	return u, former.id, nil
}
