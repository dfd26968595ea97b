package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
	"authsvc/internal/text/mailtext"
)

func internalTemplates(m authsvc.MailTemplates) mailtext.Templates {
	return mailtext.Templates{SignIn: mailtext.Set{Subject: m.Subject, Text: m.Text, HTML: m.HTML},
		Notice:  mailtext.Set{Subject: m.NoticeSubject, Text: m.NoticeText, HTML: m.NoticeHTML},
		Address: mailtext.Set{Subject: m.AddressSubject, Text: m.AddressText, HTML: m.AddressHTML}}
}

// compileTemplates checks the templates.
func compileTemplates(m authsvc.MailTemplates) (*mailtext.Composer, error) {
	t := internalTemplates(m)
	t.Languages = map[string]mailtext.Templates{}
	for lang, l := range m.Languages {
		t.Languages[lang] = internalTemplates(l)
	}
	return mailtext.New(t)
}

// queuedMail is the payload of a queued mail, which is stored encrypted. The mail is
// composed when it is sent.
type queuedMail struct {
	Provider  string           `json:"p"`
	Data      mailtext.Data    `json:"d,omitzero"`
	Composed  *authsvc.Message `json:"m,omitempty"` // in place of Data, if an earlier version queued the mail
	UserID    string           `json:"u,omitempty"` // the user with the address, if there was one
	RequestID string           `json:"r,omitempty"` // the request that asked for it
}

// mailWorkers is the number of mails sent at a time, so that a slow one does not delay
// the others.
const mailWorkers = 4

// Times of the mail queue.
const (
	mailIdle    = 5 * time.Second // between polls of an empty queue
	mailTimeout = 60 * time.Second
	mailLease   = 90 * time.Second // another worker may claim a mail after this
	mailBackoff = 5 * time.Second  // doubled with each attempt
	mailMaxWait = 2 * time.Minute
)

// A mailQueue delivers stored mails in the background.
type mailQueue struct {
	svc     *mailing
	signal  chan struct{}
	workers workers
	// unwanted receives stored mails to remove unsent.
	unwanted chan adapter.Mail
}

func newMailQueue(s *mailing) *mailQueue {
	return &mailQueue{svc: s, signal: make(chan struct{}, 1), workers: newWorkers(), unwanted: make(chan adapter.Mail, 1024)}
}

// wake makes a worker look for a mail.
func (q *mailQueue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// run delivers mails until ctx ends, and completes the current delivery first. It first
// looks for a mail after wait, so that workers do not all look at once. Then it looks at
// least every mailIdle: mails that are handed over do not put that off.
func (q *mailQueue) run(ctx context.Context, wait time.Duration) {
	look := time.NewTimer(wait)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			q.returnHanded(ctx)
			return
		case m := <-q.workers.handed:
			q.finishHanded(ctx, m)
			continue
		case <-q.signal:
		case <-look.C:
		}
		if ctx.Err() == nil && q.workers.reserveToClaim() && q.deliver(ctx) {
			look.Reset(0)
		} else {
			look.Reset(mailIdle)
		}
	}
}

// finishHanded is finish for a mail that was handed to this worker.
func (q *mailQueue) finishHanded(ctx context.Context, m adapter.Mail) {
	defer q.release() // even if the store panics
	if now := q.svc.fleet.Now(); leased(m, now) > 0 {
		q.finish(ctx, m, now)
	} // else the store was slow, and another process may claim the mail
}

// leased returns how long a claimed mail may be sent. Then there is time to write the
// outcome before another process may claim it.
func leased(m adapter.Mail, now time.Time) time.Duration { return m.Due.Sub(now) - storeTimeout }

// deliver claims and sends the next mail that is due, and then ends the reservation of
// this worker. It returns false if there is none or the store fails.
func (q *mailQueue) deliver(ctx context.Context) bool {
	defer q.release() // even if the store panics
	now := q.svc.fleet.Now()
	m, err := q.svc.Adapter.ClaimMail(ctx, now, now.Add(mailLease))
	if err != nil {
		if !errors.Is(err, adapter.ErrNotFound) && ctx.Err() == nil && q.svc.fleet.FirstInMinute("mail queue", now) {
			q.svc.Log.Error("cannot read the mail queue", "err", err)
		}
		return false
	}
	q.wake() // there may be more mails for another worker
	q.finish(ctx, m, now)
	return true
}

// finish sends a mail that this process has claimed, and removes it from the queue or
// postpones it.
func (q *mailQueue) finish(ctx context.Context, m adapter.Mail, now time.Time) {
	mail, err := q.open(m)
	if err == nil {
		err = q.send(ctx, m, mail, now)
	}
	if err != nil {
		q.postpone(ctx, m, mail, err)
		return
	}
	if err := q.remove(ctx, m); err != nil {
		q.svc.Log.Error("cannot remove a sent mail from the queue; it may be sent twice", "err", err)
	}
}

// seal encrypts the payload of a mail.
func (q *mailQueue) seal(m queuedMail) ([]byte, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	value, err := q.svc.key.Seal(raw)
	return []byte(value), err
}

// put queues a sealed mail, which expires after life.
func (q *mailQueue) put(ctx context.Context, payload []byte, life time.Duration) error {
	now := q.svc.fleet.Now()
	m := adapter.Mail{ID: seal.Token(), Payload: payload, Due: now, Expires: now.Add(life)}
	next := q.claimFirst(&m)
	defer next.cancel()
	if err := q.svc.Adapter.PutMail(ctx, m, maxQueuedMails); err != nil {
		return err
	}
	next.send(m)
	return nil
}

// open decrypts a queued mail. The zero value is a mail that must not be sent.
func (q *mailQueue) open(m adapter.Mail) (mail queuedMail, err error) {
	if len(m.Payload) == 0 {
		return mail, nil
	}
	raw, _, err := q.svc.key.Open(string(m.Payload))
	if err != nil || json.Unmarshal(raw, &mail) != nil {
		return queuedMail{}, fmt.Errorf("%w: queued under a secret that is no longer configured", authsvc.ErrMailRefused)
	}
	return mail, nil
}

// errLinkExpired says that the mail is no longer useful.
var errLinkExpired = errors.New("its link has expired")

// send passes a mail to its provider's Send. The context ends when the link expires or
// the lease ends.
func (q *mailQueue) send(ctx context.Context, m adapter.Mail, mail queuedMail, now time.Time) (err error) {
	defer q.svc.fleet.Recovered("Send of an email provider", func() { err = errors.New("send panicked") })
	if mail.Provider == "" {
		return nil
	}
	if !now.Before(m.Expires) {
		return errLinkExpired
	}
	f, ok := q.svc.site.flows[mail.Provider].(deliverer)
	if !ok {
		return fmt.Errorf("%w: its provider is no longer configured", authsvc.ErrMailRefused)
	}
	ctx, cancel := fleet.Detached(ctx, min(mailTimeout, m.Expires.Sub(now), leased(m, now)))
	defer cancel()
	defer context.AfterFunc(q.svc.fleet.Sending(), cancel)()
	return f.deliver(ctx, mail)
}

// postpone makes a failed mail due again or gives it up. A mail that may have been
// delivered is retried once, so at most one duplicate is sent.
func (q *mailQueue) postpone(ctx context.Context, m adapter.Mail, mail queuedMail, cause error) {
	wait := min(mailBackoff<<min(max(m.Attempts-1, 0), 10), mailMaxWait)
	if q.svc.fleet.Sending().Err() != nil { // it was interrupted; another process may start at once
		wait = 0
	}
	due := q.svc.fleet.Now().Add(wait)
	switch {
	case errors.Is(cause, authsvc.ErrMailRefused):
		q.giveUp(ctx, m, mail, "it was refused permanently", cause)
		return
	case errors.Is(cause, authsvc.ErrMailUnconfirmed) && m.Attempts > 1:
		q.giveUp(ctx, m, mail, "it was sent at least twice and not confirmed", cause)
		return
	case !due.Before(m.Expires):
		q.giveUp(ctx, m, mail, "its link has expired, or will expire before the next attempt", cause)
		return
	}
	q.svc.Log.Warn("cannot send a mail; will retry", "attempts", m.Attempts, "wait", wait, "cause", cause)
	q.delay(ctx, m, due)
}

func (q *mailQueue) delay(ctx context.Context, m adapter.Mail, due time.Time) {
	ctx, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	if err := q.svc.Adapter.DelayMail(ctx, m.ID, due); err != nil {
		q.svc.Log.Error("cannot write the mail queue", "err", err)
	}
}

func (q *mailQueue) giveUp(ctx context.Context, m adapter.Mail, mail queuedMail, reason string, cause error) {
	q.svc.Log.Error("mail given up", "attempts", m.Attempts, "provider", mail.Provider, "cause", cause)
	q.svc.auditor.Record(context.WithoutCancel(ctx), authsvc.AuditEvent{Name: "email.given_up", Provider: mail.Provider, UserID: mail.UserID, RequestID: mail.RequestID, Reason: reason})
	if err := q.remove(ctx, m); err != nil {
		q.svc.Log.Error("cannot remove a mail that was given up from the queue", "err", err)
	}
}

func (q *mailQueue) remove(ctx context.Context, m adapter.Mail) error {
	ctx, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	return q.svc.Adapter.DeleteMail(ctx, m.ID)
}

// unqueue removes a mail that must not be sent, in the background, so that it does not
// count towards maxQueuedMails.
func (q *mailQueue) unqueue(m adapter.Mail) {
	select {
	case q.unwanted <- m:
	default: // it is removed when its link expires
	}
}

// runUnqueue removes unwanted mails until ctx has ended and none are left.
func (q *mailQueue) runUnqueue(ctx context.Context) {
	for ended := ctx.Done(); ; {
		select {
		case m := <-q.unwanted:
			if err := q.remove(ctx, m); err != nil {
				q.svc.Log.Error("cannot remove an unwanted mail from the queue; it stays there until its link expires", "err", err)
			}
		case <-ended:
			if len(q.unwanted) == 0 {
				return
			}
		}
	}
}

func (ml *mailing) deriveKeys(ring *seal.Ring) {
	ml.key, ml.codeKey = ring.Sealer("mail"), ring.MAC("email code "+ml.site.base)
	ml.mails = newMailQueue(ml)
}

// mailEvents lists the events of mails.
var mailEvents = []audit.Kind{
	{Name: "email.limited", Outcome: authsvc.AuditRefused, Meaning: "A link was requested, but a limit stopped its mail. The answer did not show that."},
	{Name: "email.given_up", Outcome: authsvc.AuditFailed, Meaning: "A queued mail was not delivered and will not be tried again. The request id is that of the request that asked for the mail."},
	{Name: "notice.sent", Outcome: authsvc.AuditSuccess, Meaning: "A mail that tells a user about an account change was queued. The reason says which change: `linked`, `unlinked`, `ended`, `browser`, `address`, `noaddress`, `restored`, `token`, `deletion`, `deleted`, `kept` or `blocked`."},
	{Name: "notice.limited", Outcome: authsvc.AuditRefused, Meaning: "A user got no mail about a change: `rate_limit.notices_per_user` was exceeded, or the queue is full."},
}

// maxQueuedMails limits the mail queue.
const maxQueuedMails = 10_000
