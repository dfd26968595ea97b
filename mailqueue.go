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
	RequestID string  `json:"r,omitempty"` // that asked for it
}

// Times of the mail queue.
const (
	mailIdle    = 5 * time.Second // between looks at an empty queue
	mailTimeout = 60 * time.Second
	mailLease   = 90 * time.Second // another worker may claim a mail after this
	mailBackoff = 5 * time.Second  // doubled with each attempt
	mailMaxWait = 2 * time.Minute
)

// A mailQueue delivers stored mails, one at a time, apart from any request.
type mailQueue struct {
	*Service
	signal chan struct{}
}

func newMailQueue(s *Service) *mailQueue {
	return &mailQueue{Service: s, signal: make(chan struct{}, 1)}
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
	now := time.Now()
	m, err := q.adapter.ClaimMail(ctx, now, now.Add(mailLease))
	if err != nil {
		if !errors.Is(err, ErrNotFound) && ctx.Err() == nil {
			q.log.Error("mail queue cannot be read", "err", err)
		}
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mailTimeout)
	defer cancel()
	if err := q.send(ctx, m, now); err != nil {
		q.postpone(ctx, m, now, err)
		return true
	}
	if err := q.adapter.DeleteMail(ctx, m.ID); err != nil {
		q.log.Error("a sent mail could not be removed from the queue; it may go out twice", "err", err)
	}
	return true
}

func (q *mailQueue) send(ctx context.Context, m Mail, now time.Time) (err error) {
	defer q.recovered("Send of an e-mail provider", func() { err = errors.New("send panicked") })
	if len(m.Payload) == 0 { // nobody was to get one
		return nil
	}
	mail, err := q.open(m)
	switch {
	case err != nil:
		return err
	case !now.Before(m.Expires):
		return fmt.Errorf("%w: its link expired in the queue", ErrMailRefused)
	}
	f, ok := q.flows[mail.Provider].(deliverer)
	if !ok {
		return fmt.Errorf("%w: its provider is no longer configured", ErrMailRefused)
	}
	return f.deliver(ctx, mail.Message)
}

func (q *mailQueue) open(m Mail) (mail queuedMail, err error) {
	raw, _, err := q.mailSeal.Open(string(m.Payload))
	if err != nil || json.Unmarshal(raw, &mail) != nil {
		return queuedMail{}, fmt.Errorf("%w: queued under a secret that is no longer configured", ErrMailRefused)
	}
	return mail, nil
}

// givenUp records that a mail does not arrive.
func (q *mailQueue) givenUp(ctx context.Context, m Mail, cause error) {
	e := AuditEvent{Name: "email.given_up", Reason: "it could not be delivered in time"}
	if errors.Is(cause, ErrMailRefused) {
		e.Reason = "it was refused for good"
	}
	if mail, err := q.open(m); err == nil { // else nobody knows whose it is
		e.Provider, e.UserID, e.RequestID = mail.Provider, mail.UserID, mail.RequestID
	}
	q.record(ctx, e)
}

// postpone decides what a failed mail is still worth.
func (q *mailQueue) postpone(ctx context.Context, m Mail, now time.Time, cause error) {
	wait := min(mailBackoff<<min(max(m.Attempts-1, 0), 10), mailMaxWait)
	due := now.Add(wait)
	if errors.Is(cause, ErrMailRefused) || !due.Before(m.Expires) {
		q.log.Error("mail given up", "attempts", m.Attempts, "cause", cause)
		q.givenUp(ctx, m, cause)
		if err := q.adapter.DeleteMail(ctx, m.ID); err != nil {
			q.log.Error("a mail that was given up could not be removed from the queue", "err", err)
		}
		return
	}
	q.log.Warn("mail could not be sent, will be tried again", "attempts", m.Attempts, "wait", wait, "cause", cause)
	if err := q.adapter.DelayMail(ctx, m.ID, due); err != nil {
		q.log.Error("mail queue cannot be written", "err", err)
	}
}
