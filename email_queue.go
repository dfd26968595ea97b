package authsvc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// queuedMail is what a queued mail's payload holds, sealed.
type queuedMail struct {
	Provider  string  `json:"p"`
	Message   Message `json:"m"`
	UserID    string  `json:"u,omitempty"` // who has the address, if anybody had it
	Client    string  `json:"c,omitempty"` // that asked for it, see networkKey
	Known     bool    `json:"k,omitempty"` // the browser that asked signed in with the address before
	RequestID string  `json:"r,omitempty"` // that asked for it
}

// mailWorkers send at a time: one mail that a server is slow with does not hold
// up the others.
const mailWorkers = 4

// Times of the mail queue.
const (
	mailIdle    = 5 * time.Second // between looks at an empty queue
	mailTimeout = 60 * time.Second
	mailLease   = 90 * time.Second // another worker may claim a mail after this
	mailBackoff = 5 * time.Second  // doubled with each attempt
	mailMaxWait = 2 * time.Minute
)

// A mailQueue delivers stored mails, apart from any request.
type mailQueue struct {
	svc     *Service
	signal  chan struct{}
	waiting *fairQueue
	// unwanted are mails that are not to go out.
	unwanted chan Mail
}

func newMailQueue(s *Service) *mailQueue {
	return &mailQueue{svc: s, signal: make(chan struct{}, 1), waiting: newFairQueue(), unwanted: make(chan Mail, 1024)}
}

// wake says that there is a mail to send.
func (q *mailQueue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// run works until ctx ends; the mail in hand is finished first.
func (q *mailQueue) run(ctx context.Context) {
	for ctx.Err() == nil {
		if q.deliver(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-q.signal:
		case <-time.After(mailIdle):
		}
	}
}

// deliver claims and sends the next mail that is due; false if there is none.
func (q *mailQueue) deliver(ctx context.Context) bool {
	now := q.svc.now()
	m, err := q.svc.adapter.ClaimMail(ctx, now, now.Add(mailLease))
	if err != nil {
		if !errors.Is(err, ErrNotFound) && ctx.Err() == nil {
			q.svc.log.Error("mail queue cannot be read", "err", err)
		}
		return false
	}
	q.wake() // there may be more of them, for another worker
	mail, err := q.open(m)
	if err == nil && !q.admit(ctx, m, mail, now) {
		return true
	}
	if err == nil {
		err = q.send(ctx, m, mail, now)
	}
	if err != nil {
		q.postpone(ctx, m, mail, err)
		return true
	}
	if err := q.remove(ctx, m); err != nil {
		q.svc.log.Error("a sent mail could not be removed from the queue; it may go out twice", "err", err)
	}
	return true
}

// open reads what is queued; the zero mail is one that nobody was to get.
func (q *mailQueue) open(m Mail) (mail queuedMail, err error) {
	if len(m.Payload) == 0 {
		return mail, nil
	}
	raw, _, err := q.svc.keys.mail.Open(string(m.Payload))
	if err != nil || json.Unmarshal(raw, &mail) != nil {
		return queuedMail{}, fmt.Errorf("%w: queued under a secret that is no longer configured", ErrMailRefused)
	}
	return mail, nil
}

// errLinkExpired: a mail that is not worth sending any more.
var errLinkExpired = errors.New("its link has expired")

// send hands a mail to its provider, for as long as its link is good.
func (q *mailQueue) send(ctx context.Context, m Mail, mail queuedMail, now time.Time) (err error) {
	defer q.svc.recovered("Send of an e-mail provider", func() { err = errors.New("send panicked") })
	if mail.Provider == "" {
		return nil
	}
	if !now.Before(m.Expires) {
		return errLinkExpired
	}
	f, ok := q.svc.flows[mail.Provider].(deliverer)
	if !ok {
		return fmt.Errorf("%w: its provider is no longer configured", ErrMailRefused)
	}
	ctx, cancel := detached(ctx, min(mailTimeout, m.Expires.Sub(now)))
	defer cancel()
	defer context.AfterFunc(q.svc.background.sending, cancel)()
	return f.deliver(ctx, mail.Message)
}

// postpone decides what a failed mail is still worth. One that may have been
// delivered is tried again only after the first attempt, so that at most one
// goes out in excess.
func (q *mailQueue) postpone(ctx context.Context, m Mail, mail queuedMail, cause error) {
	wait := min(mailBackoff<<min(max(m.Attempts-1, 0), 10), mailMaxWait)
	if q.svc.background.sending.Err() != nil { // it was cut short; another process may begin at once
		wait = 0
	}
	due := q.svc.now().Add(wait)
	switch {
	case errors.Is(cause, ErrMailRefused):
		q.giveUp(ctx, m, mail, "it was refused for good", cause)
		return
	case errors.Is(cause, ErrMailUnconfirmed) && m.Attempts > 1:
		q.giveUp(ctx, m, mail, "it was sent twice or more and not confirmed", cause)
		return
	case !due.Before(m.Expires):
		q.giveUp(ctx, m, mail, "its link has expired, or will be before the next attempt", cause)
		return
	}
	q.svc.log.Warn("mail could not be sent, will be tried again", "attempts", m.Attempts, "wait", wait, "cause", cause)
	ctx, cancel := detached(ctx, storeTimeout)
	defer cancel()
	if err := q.svc.adapter.DelayMail(ctx, m.ID, due); err != nil {
		q.svc.log.Error("mail queue cannot be written", "err", err)
	}
}

func (q *mailQueue) giveUp(ctx context.Context, m Mail, mail queuedMail, reason string, cause error) {
	q.svc.log.Error("mail given up", "attempts", m.Attempts, "provider", mail.Provider, "cause", cause)
	q.svc.record(context.WithoutCancel(ctx), AuditEvent{Name: "email.given_up", Provider: mail.Provider, UserID: mail.UserID, RequestID: mail.RequestID, Reason: reason})
	if err := q.remove(ctx, m); err != nil {
		q.svc.log.Error("a mail that was given up could not be removed from the queue", "err", err)
	}
}

func (q *mailQueue) remove(ctx context.Context, m Mail) error {
	ctx, cancel := detached(ctx, storeTimeout)
	defer cancel()
	return q.svc.adapter.DeleteMail(ctx, m.ID)
}

// unqueue removes, beside the request, the mail of a link that is not to go
// out, so that it takes no place.
func (q *mailQueue) unqueue(m Mail) {
	select {
	case q.unwanted <- m:
	default: // it goes with its link
	}
}

// runUnqueue removes unwanted mails, at the end those that are left.
func (q *mailQueue) runUnqueue(ctx context.Context) {
	for ended := ctx.Done(); ; {
		select {
		case m := <-q.unwanted:
			if err := q.remove(ctx, m); err != nil {
				q.svc.log.Error("a mail that is not to go out is in the queue until its link has expired", "err", err)
			}
		case <-ended:
			if len(q.unwanted) == 0 {
				return
			}
		}
	}
}
