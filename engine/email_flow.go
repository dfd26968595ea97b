package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"strings"
	"time"
	"unicode"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/limit"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text/emailaddr"
	"authsvc/internal/text/mailtext"
	"authsvc/internal/text/pages"
)

type emailFlow struct {
	authsvc.Email
	room  *emailRoom
	wire  info
	text  *mailtext.Composer
	codes bool // mails have a code
}

func (f *emailFlow) info() info { return f.wire }

// deliver composes a mail and sends it.
func (f *emailFlow) deliver(ctx context.Context, q queuedMail) error {
	if q.Composed != nil {
		return f.Send(ctx, *q.Composed)
	}
	d := q.Data
	d.Host, d.Site, d.Look = f.room.site.host, f.room.site.siteName, f.room.site.pages.MailLook()
	m := authsvc.Message{From: f.From, To: d.Email}
	var err error
	if m.Subject, m.Text, m.HTML, err = f.text.Compose(d); err != nil {
		return fmt.Errorf("its text cannot be written: %w", err) // a later version may know the kind of mail
	}
	return f.Send(ctx, m)
}

// begin stores the digest of a new link and its mail in one step, and answers at once.
// The answer does not depend on whether a user has the address.
func (f *emailFlow) begin(rq *request) outcome {
	address, err := emailaddr.Normalise(rq.body.get("email"))
	if err != nil {
		return fail(authsvc.CodeEmailSignin, err)
	}
	user, err := f.room.Adapter.GetUserByEmail(rq.ctx, address)
	isNew := errors.Is(err, adapter.ErrNotFound)
	if err != nil && !isNew {
		return storeFailed(authsvc.CodeEmailSignin, err)
	}
	if isNew {
		user = authsvc.User{Email: address}
	}
	rq.auditUser = user.ID
	to, err := f.room.desk.maySignIn(rq, attempt(rq, authsvc.SignInAttempt{User: user, Account: f.account(address), VerificationRequest: true, IsNewUser: isNew, EmailProved: true}), nil)
	switch {
	case err != nil && f.room.showRefusal:
		return fail(authsvc.CodeAccessDenied, err)
	case to != "":
		rq.audit("email.refused", "", "the signIn callback redirected")
		return redirect{to: to}
	}
	// A person who signed in as a user with an unproved address may not own that
	// address.
	known := f.room.desk.hasDeviceCookie(rq, f.deviceKey(address)) || emailProved(user) && f.room.desk.hasDeviceCookie(rq, userKey(user.ID))
	// Count even if the callback refused, so that the time taken does not reveal it.
	withheld := f.room.mailing.limitMail(rq, emailaddr.Mailbox(address), f.room.desk.deviceIf(rq, known), err != nil)
	if err != nil {
		_, reason := refusal(err, "by the signIn callback")
		withheld = authsvc.AuditEvent{Name: "email.refused", Code: authsvc.CodeAccessDenied, Reason: reason}
	}
	confirms, err := f.room.confirms(rq, user)
	if err != nil {
		return storeFailed(authsvc.CodeEmailSignin, err)
	}
	return f.mailLink(rq, address, confirms, withheld)
}

// deviceKey names an address in the cookie of browsers that signed in with it.
func (f *emailFlow) deviceKey(address string) string { return accountKey(f.ID, address) }

func (f *emailFlow) account(address string) authsvc.Account {
	return authsvc.Account{Type: "email", Provider: f.ID, ProviderAccountID: address}
}

// mailLink does the same work whether or not it sends a mail. If withheld has a name,
// no mail is sent, for the reason in it, and the stored token stays unknown to
// everyone.
func (f *emailFlow) mailLink(rq *request, address string, confirms bool, withheld authsvc.AuditEvent) outcome {
	send := withheld.Name == ""
	plain := seal.Token()
	expires := rq.now.Add(f.MaxAge)
	stored := f.room.mailing.linkDigests(plain)[0]
	code := f.newCode()
	payload, err := f.sealMail(rq, address, mailtext.Data{URL: f.link(rq.callbackURL(), address, plain), Code: shownCode(code), Confirm: confirms})
	if err != nil {
		return fail(authsvc.CodeEmailSignin, err)
	}
	m := adapter.Mail{ID: stored, Payload: payload, Due: rq.now, Expires: expires}
	var next claim
	if send {
		next = f.room.mailing.mails.claimFirst(&m)
		defer next.cancel()
	} else {
		m.Payload, m.Due = nil, expires // no worker claims it before it is removed
	}
	err = f.room.Adapter.PutToken(rq.ctx, adapter.VerificationToken{Identifier: address, Token: stored, Expires: expires}, m, maxQueuedMails)
	if err != nil {
		return storeFailed(authsvc.CodeEmailSignin, err)
	}
	if send {
		withheld.Name = "email.requested"
	}
	rq.audit(withheld.Name, withheld.Code, withheld.Reason) // before events of the mail queue
	if send {
		next.send(m)
	} else {
		f.room.mailing.mails.unqueue(m)
	}
	e := emailRequest{Address: address, Token: seal.Digest(plain), CallbackURL: rq.callbackURL(), Expires: expires.Unix(), Session: rq.sid(), Confirms: confirms}
	if f.codes {
		e.bindCode(f.room.mailing.codeKey, stored, code, send)
	}
	f.room.rememberLink(rq, e)
	return redirect{to: weburl.WithQuery(rq.base+"/verify-request", "provider", f.ID, "type", "email", "ui_locales", rq.askedLocales())}
}

// link returns {base}/callback/{id}?callbackUrl=…&token=…&email=….
func (f *emailFlow) link(callbackURL, address, token string) string {
	return weburl.WithQuery(f.room.site.base+"/callback/"+f.ID, "callbackUrl", callbackURL, "token", token, "email", address)
}

// sealMail seals a mail with the link and the code in d.
func (f *emailFlow) sealMail(rq *request, address string, d mailtext.Data) ([]byte, error) {
	d.Email, d.Minutes = address, int(f.MaxAge/time.Minute)
	if err := f.describe(asks(rq), &d); err != nil {
		return nil, err
	}
	return f.sealQueued(queuedMail{UserID: rq.auditUser, RequestID: rq.requestID()}, d)
}

// language chooses the language of a mail.
func (f *emailFlow) language(uiLocales, acceptLanguage string) string {
	return f.text.Language(uiLocales, acceptLanguage)
}

// describe sets the language of a mail and the network and device that caused it.
func (f *emailFlow) describe(by cause, d *mailtext.Data) (err error) {
	d.Language, d.Network = f.language(by.uiLocales, by.acceptLanguage), by.network
	if by.browser {
		d.Device, err = f.text.Device(d.Language, by.agent)
	}
	return err
}

// sealQueued seals a mail to d.Email for the queue.
func (f *emailFlow) sealQueued(q queuedMail, d mailtext.Data) (payload []byte, err error) {
	q.Provider, q.Data = f.ID, d
	return f.room.mailing.mails.seal(q)
}

// complete redeems a link. A GET redeems it at once only in the browser that asked for
// it. Otherwise the GET checks whether the link is still valid and shows a page; a POST
// from there redeems it.
func (f *emailFlow) complete(rq *request) outcome {
	get := rq.query
	if rq.r.Method == http.MethodPost {
		if !rq.csrfOK() {
			return rq.csrfRefused("/signin")
		}
		if _, typed := rq.body.fields["code"]; typed && f.codes && rq.body.get("token") == "" {
			return f.redeemCode(rq)
		}
		get = rq.body.get
	}
	token, address := get("token"), get("email")
	if len(token) < 20 || len(token) > 200 {
		return fail(authsvc.CodeVerification, fixedReason("the link has no token"))
	}
	address, err := emailaddr.Normalise(address)
	if err != nil {
		return fail(authsvc.CodeVerification, err)
	}
	if rq.r.Method == http.MethodGet {
		if out := f.askBeforeRedeem(rq, token, address); out != nil {
			return out
		}
	}
	if out := f.room.mailing.countLink(rq); out != nil {
		return out
	}
	return f.redeem(rq, token, address)
}

// askBeforeRedeem returns the page that asks for confirmation, or the answer that the
// link is not valid. It returns nil if the browser has the sealed cookie of this very
// request, a person navigated here, and no other user is signed in.
func (f *emailFlow) askBeforeRedeem(rq *request, token, address string) outcome {
	s, err := f.room.keeper.current(rq)
	if err != nil {
		return storeFailed(authsvc.CodeCallback, err)
	}
	current := ""
	if s != nil && s.Email != address {
		current = nameOf(s)
	}
	if current == "" && f.room.askedFor(rq, token) && isNavigation(rq.r.Header) {
		return nil
	}
	alive, err := f.room.lookAtLink(rq, address, token)
	if err != nil {
		return storeFailed(authsvc.CodeCallback, err)
	}
	if !alive {
		if out := f.room.mailing.countLink(rq); out != nil {
			return out
		}
		return f.dead(rq, address, fixedReason("the link is unknown, was used or has expired"))
	}
	return page{name: pages.Confirm, view: pages.ConfirmView{Email: address, Token: token, CallbackURL: rq.callbackURL(),
		CSRFToken: rq.ensureCSRF(), Action: rq.base + "/callback/" + f.ID, Current: current}}
}

// redeem takes the token, once, and returns the identity that it proves.
func (f *emailFlow) redeem(rq *request, token, address string) outcome {
	t, owner, err := f.room.takeLink(rq, address, token)
	return f.proved(rq, address, t, owner, err)
}

// proved returns the identity of the person who got the mail whose token was taken. owner
// is the user with its address, or the zero User.
func (f *emailFlow) proved(rq *request, address string, t adapter.VerificationToken, owner authsvc.User, err error) outcome {
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return f.dead(rq, address, fixedReason("the link is unknown or was used"))
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	case !rq.now.Before(t.Expires):
		return f.dead(rq, address, fixedReason("the link has expired"))
	}
	f.room.forgetLinks(rq, address)
	return identity{user: authsvc.User{Email: address}, owner: &owner, account: f.account(address), proof: true, authTime: rq.now,
		callbackURL: rq.callbackURL(), createCode: authsvc.CodeEmailCreateAccount, accountName: f.deviceKey(address)}
}

// dead answers a link or a code that signs no one in. A person who is already signed in
// with its address does not need one. Others get the form for a new one, with the
// address in it.
func (f *emailFlow) dead(rq *request, address string, why error) outcome {
	refused := fail(authsvc.CodeVerification, why)
	if s, err := f.room.keeper.current(rq); err == nil && s != nil && s.Email == address && !rq.wantsJSON() {
		rq.auditRefusal(refused)
		return page{name: pages.Used, view: pages.UsedView{Email: address, ContinueURL: rq.callbackURL()}}
	}
	rq.keepTyped(f.ID, address)
	rq.keepCallbackURL()
	return refused
}

// lookAtLink reports whether the link is valid and uses nothing up. Only a person with
// the token can ask: its 256 bits cannot be guessed.
func (em *emailRoom) lookAtLink(rq *request, address, token string) (alive bool, err error) {
	for _, stored := range em.mailing.linkDigests(token) {
		t, err := em.Adapter.GetToken(rq.ctx, address, stored)
		if !errors.Is(err, adapter.ErrNotFound) {
			return err == nil && rq.now.Before(t.Expires), err
		}
	}
	return false, nil
}

// takeLink takes the link's token, whichever secret it was stored under.
func (em *emailRoom) takeLink(rq *request, address, token string) (t adapter.VerificationToken, owner authsvc.User, err error) {
	for _, stored := range em.mailing.linkDigests(token) {
		if t, owner, err = em.Adapter.TakeToken(rq.ctx, address, stored, rq.now); !errors.Is(err, adapter.ErrNotFound) {
			return t, owner, err
		}
	}
	return t, owner, err
}

// buildEmail checks the provider and compiles it.
func buildEmail(b *builder, e *authsvc.Email) flow {
	f := &emailFlow{Email: *e, room: b.storeys.emailRoom}
	f.ID, f.Name = cmp.Or(e.ID, "email"), cmp.Or(e.Name, "Email")
	f.MaxAge = cmp.Or(e.MaxAge, 10*time.Minute)
	f.wire = info{id: f.ID, name: f.Name, kind: "email", form: "email", namedBy: "email", linkAge: f.MaxAge, inboxURL: e.InboxURL,
		hidden: e.NoSignIn, limit: func() *limit.Limiter { return f.room.mailing.linkLimit }}
	b.needStorage("email_without_storage", "", "is email, but there is no storage", "links are kept in the store; set Adapter")
	if f.MaxAge < time.Minute || f.MaxAge > 24*time.Hour {
		b.fail("MaxAge", "is out of range", "use 1m to 24h; 10m is the default")
	}
	if from, err := mail.ParseAddress(e.From); err != nil || strings.ContainsFunc(e.From+from.Name, unicode.IsControl) { // including encoded ones
		b.fail("From", "must be an email address", `write "Acme <no-reply@example.com>"`)
	}
	if _, _, ok := weburl.Parse(e.InboxURL); e.InboxURL != "" && !ok {
		b.fail("InboxURL", "is not an address with http or https", "write https://mail.example.com")
	}
	if e.Send == nil {
		b.fail("Send", "is missing", "set the function that sends mails; package mail has senders").Code = "no_sender"
	}
	var err error
	var found mailtext.Mistakes
	if f.text, err = compileTemplates(e.Templates); errors.As(err, &found) {
		for _, m := range found {
			b.fail("Templates", strings.TrimSpace(m.File+" "+m.Problem), m.Fix)
		}
	} else {
		f.chooseCodes(b)
	}
	f.wire.codes, f.wire.forScripts = f.codes, f.codes
	return f
}

// emailRoutes returns the routes for mailed links.
func emailRoutes(s *emailRoom) map[string]*route {
	return map[string]*route{"verify-request": {get: s.verifyRequestPage}}
}

// emailEvents are the audit events of mailed links and codes.
var emailEvents = []audit.Kind{
	{Name: "email.requested", Outcome: authsvc.AuditSuccess, Meaning: "A sign-in link was requested and its mail was queued."},
	{Name: "email.refused", Outcome: authsvc.AuditRefused, Meaning: "A link was requested, but the sign-in conditions, the sign-up rules or the signIn callback refused it, so no mail was sent. The answer did not show that."},
	{Name: "code.refused", Outcome: authsvc.AuditRefused, SignIn: true, Meaning: "A mailed code was wrong."},
	{Name: "code.spent", Outcome: authsvc.AuditRefused, SignIn: true, Meaning: "A mailed code was not checked: the five tries of its request were used up. The link in the mail still works."},
}

// invitation implements [inviter]. The mail has no code: a code counts only with the
// cookie of the browser that asked for it, and no browser did.
func (f *emailFlow) invitation(u authsvc.User, language string) (adapter.Mail, error) {
	now := f.room.fleet.Now()
	plain := seal.Token()
	payload, err := f.sealQueued(queuedMail{UserID: u.ID}, mailtext.Data{Invited: true, Sender: f.From,
		URL: f.link(f.room.site.origin, u.Email, plain), Email: u.Email, Language: f.text.Language(language, ""), Minutes: int(invitationAge / time.Minute)})
	return adapter.Mail{ID: f.room.mailing.linkDigests(plain)[0], Payload: payload, Due: now, Expires: now.Add(invitationAge)}, err
}
