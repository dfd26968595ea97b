package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/seal/emailchange"
	"authsvc/internal/text/emailaddr"
	"authsvc/internal/text/mailtext"
	"authsvc/internal/text/pages"
)

// typedAddress identifies the new address's form in the typed-input cookie.
const typedAddress = "account/email"

// checkEmailChange finds the provider that mails changes of address.
func checkEmailChange(b *builder, s *accountRoom, order []flow) {
	wanted := b.config.Account.ChangeEmail
	on := s.site.dialect.changesEmail
	if wanted != nil {
		on = *wanted
	}
	if !on || !s.on {
		return
	}
	for _, f := range order {
		if m, can := f.(mailer); can {
			s.mailing.addresses = m
			return
		}
	}
	if wanted != nil {
		b.fail("Account.ChangeEmail", "is set, but no provider sends mail", "add an Email provider, or leave it out")
	}
}

// An emailChange is a pending change of address and its credential.
type emailChange struct {
	*emailchange.Change
	stored adapter.Credential
}

// openEmailChange decrypts the change in a credential.
func (ac *accountRoom) openEmailChange(stored adapter.Credential) (*emailChange, error) {
	c := new(emailchange.Change)
	_, err := ac.fleet.OpenData(&stored, c)
	return &emailChange{c, stored}, err
}

// restsOn reports whether a change can still be made: the user has the same address as
// when it was requested, that address was not verified for the first time since, and
// nothing has ended all sessions.
func (c *emailChange) restsOn(u *authsvc.User, now time.Time) bool {
	return c.Alive(now) && u.Email == c.From && emailProved(*u) == c.AsksOld && u.SessionEpoch == c.Epoch && u.Blocked.IsZero()
}

// emailChangeOf returns the pending change of a user's address, or nil if there is
// none.
func (ac *accountRoom) emailChangeOf(ctx context.Context, u *authsvc.User) (*emailChange, error) {
	if ac.mailing.addresses == nil {
		return nil, nil
	}
	p, err := ac.Adapter.GetPerson(ctx, u.ID)
	for _, stored := range p.Credentials {
		switch stored.Kind {
		case adapter.CredentialAddress:
			if c, err := ac.openEmailChange(stored); err == nil && c.restsOn(u, ac.fleet.Now()) {
				return c, nil
			}
		}
	}
	return nil, err
}

// An emailAsk is a request to change an address.
type emailAsk struct {
	address string // normalised
	strong  bool   // signed in with two factors or a passkey
	session string // handle of the session that asks
	by      cause
	mail    queuedMail
}

// emailTokens holds the tokens and the code in the mails about a change.
type emailTokens struct{ toNew, toOld, code string }

// RequestEmailChange implements [Service.RequestEmailChange].
func (ac *accountRoom) RequestEmailChange(ctx context.Context, userID, address string) error {
	if ac.mailing.addresses == nil {
		return authsvc.ErrNoEmailChange
	}
	normal, err := emailaddr.Normalise(address)
	if err != nil {
		return err
	}
	p, err := ac.Adapter.GetPerson(ctx, userID)
	if err != nil {
		return err
	}
	ask := emailAsk{address: normal, by: cause{acceptLanguage: p.Locale}}
	if err := ac.askEmailChange(ctx, userID, ask); err != nil {
		return err
	}
	ac.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "email.change_requested", UserID: userID})
	return nil
}

// errSameAddress says that the user already has this address.
var errSameAddress = errors.New("authsvc: the user already has this address")

// askEmailChange stores a change and queues its mails. Only the text of one mail
// depends on whether the address belongs to a user.
func (ac *accountRoom) askEmailChange(ctx context.Context, userID string, ask emailAsk) error {
	_, err := ac.Adapter.GetUserByEmail(ctx, ask.address)
	taken := err == nil
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		return err
	}
	tokens := emailTokens{toNew: seal.Token(), toOld: seal.Token(), code: newCode()}
	for try := 1; ; try++ {
		c, err := ac.putEmailChange(ctx, userID, ask, tokens)
		switch {
		case err == nil:
			err = ac.mailEmailChange(ctx, c, ask, tokens, taken)
			if err != nil { // no one can confirm it
				ac.dropEmailChange(ctx, c)
			}
			return err
		case !errors.Is(err, adapter.ErrStale) && !errors.Is(err, adapter.ErrTooMany) || try == fleet.CreateTries:
			return err
		}
	}
}

// putEmailChange stores a change and replaces an earlier one.
func (ac *accountRoom) putEmailChange(ctx context.Context, userID string, ask emailAsk, tokens emailTokens) (*emailChange, error) {
	u, err := ac.Adapter.GetUser(ctx, userID)
	switch {
	case err != nil:
		return nil, err
	case !u.Blocked.IsZero():
		return nil, fmt.Errorf("%w: the user is blocked", authsvc.ErrAccessDenied)
	case u.Email == ask.address:
		return nil, errSameAddress
	}
	now := ac.fleet.Now().UTC().Truncate(time.Millisecond)
	c := &emailChange{stored: adapter.Credential{Kind: adapter.CredentialAddress, ID: base64.RawURLEncoding.EncodeToString(seal.Random(16)), UserID: u.ID, Version: 1, Created: now, Expires: now.Add(emailchange.Life)},
		Change: &emailchange.Change{From: u.Email, To: ask.address, AsksOld: emailProved(u), Strong: ask.strong, Asked: now.UnixMilli(), Epoch: u.SessionEpoch,
			Session: ask.session, New: seal.Digest(tokens.toNew)}}
	c.Code = b64(ac.mailing.codeKey.Sum(c.stored.ID, tokens.code))
	if c.AsksOld {
		c.Old = seal.Digest(tokens.toOld)
	}
	if err := ac.sealEmailChange(c); err != nil {
		return nil, err
	}
	if _, err := ac.Adapter.DeleteCredentials(ctx, u.ID, nil, adapter.CredentialAddress); err != nil {
		return nil, err
	}
	return c, ac.Adapter.PutCredential(ctx, c.stored, u.Epoch, 1)
}

// dropEmailChange deletes a change whose mails could not be queued. If that fails too,
// the change expires by itself.
func (ac *accountRoom) dropEmailChange(ctx context.Context, c *emailChange) {
	err := ac.Adapter.DeleteCredential(ctx, adapter.CredentialAddress, c.stored.ID, c.stored.UserID, nil)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		ac.Log.Warn("cannot drop a change of address whose mails could not be queued", "user", c.stored.UserID, "cause", err)
	}
}

func (ac *accountRoom) sealEmailChange(c *emailChange) (err error) {
	c.stored.Data, err = ac.fleet.SealData(&c.stored, c.Change)
	return err
}

// mailEmailChange queues the mails about a change. If a user already has the new
// address, the mail to it has no link and no code, so no one learns them. The mail to
// the old address is queued first: without it, the old address could not object.
func (ac *accountRoom) mailEmailChange(ctx context.Context, c *emailChange, ask emailAsk, tokens emailTokens, taken bool) error {
	link := func(token string, more ...string) string {
		return weburl.WithQuery(ac.site.base+"/account/email/confirm", append([]string{"id", c.stored.ID, "token", token}, more...)...)
	}
	write := func(d mailtext.Data, life time.Duration) ([]byte, error) {
		d.NewEmail, d.Minutes = c.To, int(life/time.Minute)
		if err := ac.mailing.addresses.describe(ask.by, &d); err != nil {
			return nil, err
		}
		return ac.mailing.addresses.sealQueued(ask.mail, d)
	}
	if c.AsksOld {
		payload, err := write(mailtext.Data{Change: mailtext.ChangeOld, Email: c.From, URL: link(tokens.toOld), StopURL: link(tokens.toOld, "stop", "true"), Waits: !c.Strong}, emailchange.OldLife)
		if err == nil {
			err = ac.mailing.mails.put(ctx, payload, emailchange.OldLife)
		}
		if err != nil {
			return err
		}
	}
	payload, err := write(mailtext.Data{Change: mailtext.ChangeNew, Email: c.To, URL: link(tokens.toNew), Code: shownCode(tokens.code)}, emailchange.NewLife)
	toOwner, ownerErr := write(mailtext.Data{Change: mailtext.ChangeTaken, Email: c.To, URL: ac.site.base + "/signin"}, emailchange.NewLife) // always sealed, so that the time is the same
	if taken {
		payload = toOwner
	}
	if err := errors.Join(err, ownerErr); err != nil {
		return err
	}
	return ac.mailing.mails.put(ctx, payload, emailchange.NewLife)
}

// emailAsk builds the request of the session's user.
func (ac *accountRoom) emailAsk(rq *request, s *authsvc.Session, address string) (emailAsk, error) {
	ask := emailAsk{address: address, by: asks(rq), session: ac.keeper.SessionID(s), mail: queuedMail{UserID: s.UserID, RequestID: rq.requestID()}}
	sessions, err := ac.keeper.Sessions(rq.ctx, s.UserID)
	for _, v := range sessions {
		if v.ID == ask.session {
			ask.strong = v.ACR == "2fa" || v.ACR == "phr"
		}
	}
	return ask, err
}

// getEmailChange handles GET account/email, which asks for the new address.
func (ac *accountRoom) getEmailChange(rq *request) outcome {
	s, u, refused := ac.desk.freshUser(rq, "/account/email")
	if refused != nil {
		return refused
	}
	v := pages.AddressView{CSRFToken: rq.ensureCSRF(), Fresh: ac.desk.freshField(rq, s, "account/email"), Email: u.Email, Proved: emailProved(u), RequestID: rq.shownRequestID()}
	if rq.query("error") != "" {
		v.Error = string(plainErrorCode(authsvc.ErrorCode(rq.query("error"))))
	}
	if t := rq.typed(); t.Provider == typedAddress {
		v.Typed = t.Name
		rq.forgetTyped()
	}
	return page{name: pages.Address, view: v}
}

// postEmailChange handles POST account/email, which requests a change of address. The
// answer does not depend on whether a user already has the address.
func (ac *accountRoom) postEmailChange(rq *request) outcome {
	s, done, refused := ac.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	typed := rq.body.get("email")
	if !ac.desk.provedFresh(rq, s, "account/email") {
		rq.rememberTyped(typedAddress, typed)
		back := rq.base + "/account/email"
		if rq.body.get("callbackUrl") != "" {
			back = rq.callbackURL()
		}
		return stepUpFirst(rq, back, s)
	}
	refuse := func(code authsvc.ErrorCode, status int, reason string) outcome {
		rq.rememberTyped(typedAddress, typed)
		rq.note(authsvc.AuditEvent{Name: "email.change_refused", Code: code, UserID: s.UserID, Reason: reason})
		return rq.refuseOwn("/account/email", code, status)
	}
	address, err := emailaddr.Normalise(typed)
	if err != nil {
		return refuse(authsvc.CodeInvalid, http.StatusBadRequest, "it is not an address")
	}
	if wait, ok := ac.limitEmailChange(rq, s, address); !ok {
		rq.retryAfter = wait
		return refuse(authsvc.CodeRateLimited, http.StatusTooManyRequests, "too many mails for one mailbox or client, or in total")
	}
	ask, err := ac.emailAsk(rq, s, address)
	if err == nil {
		err = ac.askEmailChange(rq.ctx, s.UserID, ask)
	}
	switch {
	case errors.Is(err, errSameAddress):
		return refuse(authsvc.CodeInvalid, http.StatusBadRequest, "the user already has this address")
	case errors.Is(err, adapter.ErrNotFound):
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		rq.rememberTyped(typedAddress, typed)
		return rq.storeUnavailable(err)
	}
	rq.forgetTyped()
	rq.note(authsvc.AuditEvent{Name: "email.change_requested", UserID: s.UserID, Reason: "by the person"})
	return ac.accountDoneAt(rq, s, "/account/email/confirm")
}

// limitEmailChange counts the mails of a change towards their rate limits.
func (ac *accountRoom) limitEmailChange(rq *request, s *authsvc.Session, address string) (wait time.Duration, ok bool) {
	device := ac.desk.deviceIf(rq, ac.desk.hasDeviceCookie(rq, userKey(s.UserID)))
	for _, mailbox := range []string{address, s.Email} {
		if mailbox == "" {
			continue
		}
		if e := ac.mailing.limitMail(rq, emailaddr.Mailbox(mailbox), device, false); e.Name != "" {
			return time.Hour, false
		}
	}
	return 0, true
}
