package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/engine/internal/limit"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/mailtext"
	"authsvc/internal/text/pages"
)

// notices holds how a service notifies people by mail.
type notices struct {
	by         mailer // nil: no notices are sent
	newBrowser bool
}

// A mailer is a flow that can compose a mail about any subject.
type mailer interface {
	flow
	deliverer
	language(uiLocales, acceptLanguage string) string
	describe(by cause, d *mailtext.Data) error
	sealQueued(q queuedMail, d mailtext.Data) (payload []byte, err error)
}

// checkNotices finds the provider that sends notices.
func checkNotices(b *builder, s *mailing, order []flow) {
	if b.config.Notices.Disabled {
		return
	}
	s.notices.newBrowser = !b.config.Notices.IgnoreNewBrowsers
	for _, f := range order {
		if m, can := f.(mailer); can && s.notices.by == nil {
			s.notices.by = m
		}
	}
	if s.notices.by == nil && b.config.Adapter != nil {
		b.warnings = append(b.warnings, func(log *slog.Logger) {
			log.Info("people get no mail about changes of their account: there is no email provider", "field", "Notices")
		})
	}
}

// A cause describes the browser or other cause of a mail.
type cause struct {
	browser                              bool
	agent, network                       string // of the browser
	uiLocales, acceptLanguage, requestID string
}

// asks returns the cause of mails that the request's browser asks for.
func asks(rq *request) cause {
	c := cause{browser: true, agent: rq.r.UserAgent(), network: shownNetwork(rq.clientIP()), requestID: rq.requestID()}
	c.uiLocales, c.acceptLanguage = rq.locales()
	return c
}

// A notice tells a user about a change of the account.
type notice struct {
	what string       // a word of pages.News
	user authsvc.User // as stored
	name string       // the name in the text, such as a provider, an address or a token
	on   time.Time    // the time in the text, in place of name
	to   string       // default: the address of user
	undo *undoable
	// keepURL is the link that cancels the deletion at the time on; empty: none.
	keepURL string
	// undoToken is the token of the link that undoes the change, if it was stored before
	// the change.
	undoToken string
}

const (
	noticeLife  = 24 * time.Hour // a mail that could not be sent within it is dropped
	noticeTries = loginTimeout   // longest wait for the store
)

// tell queues a mail that tells a user what this request changed. It never fails the
// request. The request may be an attacker's, so its language counts only if that of the
// user is unknown.
func (ml *mailing) tell(rq *request, n notice) {
	ml.queueNotice(rq.ctx, n, asks(rq), func(e authsvc.AuditEvent) { rq.note(e) })
}

// notify is like tell, for a change by a method of Service, which no browser caused.
func (ml *mailing) notify(ctx context.Context, n notice) {
	record := func(e authsvc.AuditEvent) { ml.auditor.Record(ctx, e) }
	if audit.ActorOf(ctx) != "" {
		record = func(e authsvc.AuditEvent) { ml.auditor.RecordAtOnce(ctx, e) }
	}
	ml.queueNotice(ctx, n, cause{}, record)
}

// A reporter records the event of a change and notifies the user, according to who
// caused the change.
type reporter struct {
	record func(authsvc.AuditEvent)
	notify func(notice)
}

// byPerson returns the reporter for changes by the user of this request.
func (ml *mailing) byPerson(rq *request) reporter {
	return reporter{func(e authsvc.AuditEvent) {
		e.Reason = "by the person"
		rq.note(e)
	}, func(n notice) { ml.tell(rq, n) }}
}

// byOthers returns the reporter for changes by the application or an operator.
func (ml *mailing) byOthers(ctx context.Context) reporter {
	return reporter{func(e authsvc.AuditEvent) { ml.auditor.RecordAct(ctx, e) }, func(n notice) { ml.notify(ctx, n) }}
}

// notifyEnded tells a user that the application or an operator ended sessions.
func (ml *mailing) notifyEnded(ctx context.Context, userID string) {
	if ml.notices.by == nil {
		return
	}
	u, err := ml.Adapter.GetUser(ctx, userID)
	switch {
	case err == nil:
		ml.notify(ctx, notice{what: "ended", user: u})
	case !errors.Is(err, adapter.ErrNotFound): // a user of the application need not be stored
		ml.Log.Error("cannot tell a user that sessions were ended", "user", userID, "err", err)
	}
}

// notifyMoved tells the old address that the application or an operator changed it. It
// returns false if there is nothing to tell, or if the old address was not proved: it
// may be anyone's. The mail has no undo link, because the change may be the answer to a
// stolen mailbox.
func (ml *mailing) notifyMoved(ctx context.Context, before, u authsvc.User) bool {
	if before.Email == u.Email || !emailProved(before) {
		return false
	}
	n := notice{what: "address", user: u, name: u.Email, to: before.Email}
	if u.Email == "" {
		n.what = "noaddress"
	}
	ml.notify(ctx, n)
	return true
}

// notifyBlocked tells a user of a block, once if several callers blocked the user at
// the same time: they read the same epoch, which the block raised.
func (ml *mailing) notifyBlocked(ctx context.Context, before authsvc.User) {
	if ml.notices.by == nil {
		return
	}
	first := ml.Adapter.UseOnce(ctx, fmt.Sprintf("blocked:%s:%d", before.ID, before.Epoch), ml.fleet.Now().Add(time.Hour))
	if !errors.Is(first, adapter.ErrConflict) {
		ml.notify(ctx, notice{what: "blocked", user: before})
	}
}

// maxLocale is the maximum length of a Person.Locale, in bytes.
const maxLocale = 35

// anyMailer returns the provider that sends mails people did not just ask for, or nil
// if there is none.
func (ml *mailing) anyMailer() mailer {
	if ml.notices.by != nil {
		return ml.notices.by
	}
	return ml.addresses
}

// tells reports whether the user gets the notice. A blocked user gets none after the
// notice of the block.
func (ml *mailing) tells(n *notice) bool {
	return ml.notices.by != nil && cmp.Or(n.to, n.user.Email) != "" && n.user.Blocked.IsZero()
}

// queueNotice counts a notice and queues it. Failures are only logged, since the change
// is already made. Notices do not count against the limit of all mails: strangers could
// use it up and so keep people from being notified.
func (ml *mailing) queueNotice(ctx context.Context, n notice, by cause, record func(authsvc.AuditEvent)) {
	if !ml.tells(&n) {
		return
	}
	ctx, cancel := fleet.Detached(ctx, noticeTries)
	defer cancel()
	now := ml.fleet.Now()
	e := authsvc.AuditEvent{Name: "notice.sent", UserID: n.user.ID, RequestID: by.requestID, Reason: n.what}
	ok := ml.permitNotice(ctx, &n, now)
	if ok {
		err := ml.putNotice(ctx, n, by, now)
		if ok = !errors.Is(err, adapter.ErrQueueFull); ok && err != nil {
			ml.Log.Error("cannot tell a user about a change", "what", n.what, "user", n.user.ID, "request", by.requestID, "err", err)
			return
		}
	}
	if ok {
		record(e)
		return
	}
	record(authsvc.AuditEvent{Name: "notice.limited", Code: authsvc.CodeRateLimited, UserID: e.UserID, RequestID: e.RequestID, Reason: n.what})
	if !n.canUndo() {
		return
	}
	if err := ml.keepUndo(ctx, &n, now); err != nil {
		ml.Log.Error("a change was not mailed, and the links of earlier mails do not undo it", "what", n.what, "user", n.user.ID, "request", by.requestID, "err", err)
	}
}

// permitNotice counts a notice. Notices without an undo link may use only half of the
// limit, so that cheap changes do not keep the user from learning of a linked identity.
// A change of address always causes its notice: it needs mails that have a limit of
// their own, and no other mail tells the old address.
func (ml *mailing) permitNotice(ctx context.Context, n *notice, now time.Time) bool {
	events := []limit.Event{{Limiter: ml.noticeLimit, Key: n.user.ID}}
	if n.undo == nil {
		events = []limit.Event{{Limiter: ml.plainNoticeLimit, Key: n.user.ID}, events[0]}
	}
	permitted, _ := ml.limits.Permit(ctx, now, events...)
	return permitted == len(events) || n.undo != nil && n.undo.Address != ""
}

// putNotice queues a notice. Before that, it stores what the notice's
// link undoes.
func (ml *mailing) putNotice(ctx context.Context, n notice, by cause, now time.Time) error {
	d := mailtext.Data{Email: cmp.Or(n.to, n.user.Email), URL: ml.site.origin, Notice: n.what, About: n.name, Minutes: int(undoLife / time.Minute)}
	if ml.accountURL != "" {
		d.URL = ml.accountURL
	}
	if n.undoToken == "" && n.canUndo() {
		var err error
		n.undoToken, err = ml.putUndo(ctx, &n, now)
		if errors.Is(err, adapter.ErrTooMany) {
			err = ml.keepUndo(ctx, &n, now)
		}
		if err != nil {
			ml.Log.Error("cannot store the link that undoes a change; the mail goes without it", "what", n.what, "user", n.user.ID, "request", by.requestID, "err", err)
		}
	}
	switch {
	case n.undoToken != "":
		d.UndoURL = weburl.WithQuery(ml.site.base+"/account/undo", "token", n.undoToken)
	case n.keepURL != "":
		d.UndoURL, d.Minutes = n.keepURL, minutesUntil(n.on, now)
	}
	if p, err := ml.Adapter.GetPerson(ctx, n.user.ID); err == nil && p.Locale != "" {
		by.uiLocales, by.acceptLanguage = "", p.Locale
	}
	if err := ml.notices.by.describe(by, &d); err != nil {
		return err
	}
	var err error
	if d.When, err = pages.Time(d.Language, now); err == nil && !n.on.IsZero() {
		d.About, err = pages.Time(d.Language, n.on)
	}
	if err != nil {
		return err
	}
	payload, err := ml.notices.by.sealQueued(queuedMail{UserID: n.user.ID, RequestID: by.requestID}, d)
	if err != nil {
		return err
	}
	return ml.mails.put(ctx, payload, noticeLife)
}

// minutesUntil returns how long a link is valid, in whole minutes.
func minutesUntil(end, now time.Time) int { return max(1, int(end.Sub(now)/time.Minute)) }
