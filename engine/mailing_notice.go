package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/text/mailtext"
)

// notices is how a service tells people.
type notices struct {
	by         mailer // nil: it does not
	newBrowser bool
}

// A mailer is a flow that can write a mail about anything.
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
			log.Info("people are not told by mail what changes on their account: there is no e-mail provider", "field", "Notices")
		})
	}
}

// A cause is the browser, or whatever else, that a mail is sent because of.
type cause struct {
	browser                              bool
	agent, network                       string // of the browser
	uiLocales, acceptLanguage, requestID string
}

// asks is the cause of mails that the browser of the request asks for.
func asks(rq *request) cause {
	c := cause{browser: true, agent: rq.r.UserAgent(), network: shownNetwork(rq.clientIP()), requestID: rq.requestID()}
	c.uiLocales, c.acceptLanguage = rq.locales()
	return c
}

// A notice tells a user what changed on the account.
type notice struct {
	what string       // a word of pages.News
	user authsvc.User // as stored
	name string       // what the text of the word names: a provider, an address
	to   string       // default: the address of user
	undo *undoable
}

const (
	noticeLife  = 24 * time.Hour // a mail that could not be sent within it is dropped
	noticeTries = loginTimeout   // longest wait for the store
)

// tell tells a user, by a mail in the queue, what this request changed. It never
// fails the request.
func (ml *mailing) tell(rq *request, n notice) {
	ml.queueNotice(rq.ctx, n, asks(rq), func(e authsvc.AuditEvent) { rq.note(e) })
}

// notify is tell for what a method of Service changed: nobody's
// browser did it, and the language is that of the person.
func (ml *mailing) notify(ctx context.Context, n notice) {
	if !ml.tells(&n) {
		return
	}
	by := cause{}
	if p, err := ml.Adapter.GetPerson(ctx, n.user.ID); err == nil {
		by.acceptLanguage = p.Locale
	}
	record := func(e authsvc.AuditEvent) { ml.auditor.Record(ctx, e) }
	if audit.ActorOf(ctx) != "" {
		record = func(e authsvc.AuditEvent) { ml.auditor.RecordAtOnce(ctx, e) }
	}
	ml.queueNotice(ctx, n, by, record)
}

// A reporter says who caused a change: it records the event, and tells the user.
type reporter struct {
	record func(authsvc.AuditEvent)
	notify func(notice)
}

// byPerson is the reporter of what the person of this request causes.
func (ml *mailing) byPerson(rq *request) reporter {
	return reporter{func(e authsvc.AuditEvent) {
		e.Reason = "by the person"
		rq.note(e)
	}, func(n notice) { ml.tell(rq, n) }}
}

// byOthers is that of what the application or an operator causes.
func (ml *mailing) byOthers(ctx context.Context) reporter {
	return reporter{func(e authsvc.AuditEvent) { ml.auditor.RecordAct(ctx, e) }, func(n notice) { ml.notify(ctx, n) }}
}

// notifyEnded tells a user that somebody else ended sessions.
func (ml *mailing) notifyEnded(ctx context.Context, userID string) {
	if ml.notices.by == nil {
		return
	}
	u, err := ml.Adapter.GetUser(ctx, userID)
	switch {
	case err == nil:
		ml.notify(ctx, notice{what: "ended", user: u})
	case !errors.Is(err, authsvc.ErrNotFound): // a user of the application's need not be stored
		ml.Log.Error("a person could not be told that sessions were ended", "user", userID, "err", err)
	}
}

// maxLocale is how long a Person.Locale may be, in bytes.
const maxLocale = 35

// anyMailer is whoever mails people of what they have not just asked for, nil if
// nobody does.
func (ml *mailing) anyMailer() mailer {
	if ml.notices.by != nil {
		return ml.notices.by
	}
	return ml.addresses
}

// tells reports whether the user is told of anything. Who is blocked gets no mail.
func (ml *mailing) tells(n *notice) bool {
	return ml.notices.by != nil && cmp.Or(n.to, n.user.Email) != "" && n.user.Blocked.IsZero()
}

// queueNotice counts a notice and puts it into the queue. What goes wrong is logged:
// the change that it tells of is made. The limit of all mails is not asked: strangers who
// use that up would keep people from being told.
func (ml *mailing) queueNotice(ctx context.Context, n notice, by cause, record func(authsvc.AuditEvent)) {
	if !ml.tells(&n) {
		return
	}
	ctx, cancel := fleet.Detached(ctx, noticeTries)
	defer cancel()
	now := ml.fleet.Now()
	e := authsvc.AuditEvent{Name: "notice.sent", UserID: n.user.ID, RequestID: by.requestID, Reason: n.what}
	_, ok := ml.limits.Permit(ctx, ml.noticeLimit, n.user.ID, now)
	if ok {
		err := ml.putNotice(ctx, n, by, now)
		if ok = !errors.Is(err, authsvc.ErrQueueFull); ok && err != nil {
			ml.Log.Error("a person could not be told of a change", "what", n.what, "user", n.user.ID, "request", by.requestID, "err", err)
			return
		}
	}
	if !ok {
		record(authsvc.AuditEvent{Name: "notice.limited", Code: authsvc.CodeRateLimited, UserID: e.UserID, RequestID: e.RequestID, Reason: n.what})
		return
	}
	record(e)
}

// putNotice composes a notice and stores it in the queue, with what its link
// undoes before.
func (ml *mailing) putNotice(ctx context.Context, n notice, by cause, now time.Time) error {
	d := mailtext.Data{Email: cmp.Or(n.to, n.user.Email), URL: ml.site.origin, Notice: n.what, About: n.name, When: now.UTC().Format("2006-01-02 15:04 UTC"), Minutes: int(undoLife / time.Minute)}
	if ml.accountURL != "" {
		d.URL = ml.accountURL
	}
	var err error
	if n.canUndo() {
		if d.UndoURL, err = ml.putUndo(ctx, &n, now); err != nil && !errors.Is(err, authsvc.ErrTooMany) {
			return err
		}
	}
	if err := ml.notices.by.describe(by, &d); err != nil {
		return err
	}
	payload, err := ml.notices.by.sealQueued(queuedMail{UserID: n.user.ID, RequestID: by.requestID}, d)
	if err != nil {
		return err
	}
	return ml.mails.put(ctx, payload, noticeLife)
}
