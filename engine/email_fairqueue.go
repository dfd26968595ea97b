package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"authsvc/engine/internal/fleet"

	"authsvc"
)

// Mails past RateLimit.EmailTotal wait for a turn. If they were dropped,
// strangers could turn e-mail sign-in off.
const (
	maxWaitingMails     = 1024            // in this process
	maxWaitingPerClient = 4               // of one client
	waitingPoll         = 5 * time.Second // longest wait between polls
)

// A waitingMail is in the store, due only when its link expires, so that no
// worker claims it before its turn.
type waitingMail struct {
	mail authsvc.Mail
	queuedMail
}

// A fairQueue holds the waiting mails of this process. Clients take turns (round
// robin), whatever the number of mails that each has waiting.
type fairQueue struct {
	mu      sync.Mutex
	clients map[string][]waitingMail
	turns   []string // waiting clients, next first
	waiting int
	sharers int // services that use the queue: more than one during a reload
	signal  chan struct{}
}

func newFairQueue() *fairQueue {
	return &fairQueue{clients: map[string][]waitingMail{}, signal: make(chan struct{}, 1)}
}

func (q *fairQueue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

func (q *fairQueue) empty() bool { return q.length() == 0 }

// share adds by to the number of services that use the queue, and returns it.
func (q *fairQueue) share(by int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sharers += by
	return q.sharers
}

// wake makes runWaiting look at the queue.
func (q *fairQueue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// enter adds a mail to its client's and returns the mails that are dropped for
// lack of room: this one, or one of the client that has the most.
func (q *fairQueue) enter(m waitingMail) (out []waitingMail) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.clients[m.Client]
	if len(list) >= maxWaitingPerClient {
		return []waitingMail{m}
	}
	if q.waiting >= maxWaitingMails {
		out = append(out, q.dropFromLongest())
		list = q.clients[m.Client]
	}
	if len(list) == 0 {
		q.turns = append(q.turns, m.Client)
	}
	q.clients[m.Client] = append(list, m)
	q.waiting++
	q.wake()
	return out
}

// dropFromLongest removes the last mail of the client that has the most; of
// several clients a random one.
func (q *fairQueue) dropFromLongest() waitingMail {
	most := ""
	for client, list := range q.clients {
		if len(list) > len(q.clients[most]) {
			most = client
		}
	}
	list := q.clients[most]
	last := list[len(list)-1]
	q.set(most, list[:len(list)-1])
	q.waiting--
	return last
}

// set replaces the waiting mails of a client.
func (q *fairQueue) set(client string, list []waitingMail) {
	if len(list) > 0 {
		q.clients[client] = list
		return
	}
	delete(q.clients, client)
	q.turns = slices.DeleteFunc(q.turns, func(c string) bool { return c == client })
}

// next removes and returns the mail whose turn it is; its client goes to the
// end.
func (q *fairQueue) next() (m waitingMail, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 {
		return m, false
	}
	client := q.turns[0]
	list := q.clients[client]
	m = list[0]
	q.waiting--
	q.set(client, list[1:])
	if len(list) > 1 {
		q.turns = append(q.turns[1:], client)
	}
	return m, true
}

// expired removes and returns the mails whose links have expired.
func (q *fairQueue) expired(now time.Time) (out []waitingMail) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for client, list := range q.clients {
		var live []waitingMail
		for _, m := range list {
			if now.Before(m.mail.Expires) {
				live = append(live, m)
			} else {
				out = append(out, m)
			}
		}
		if len(live) < len(list) {
			q.set(client, live)
		}
	}
	q.waiting -= len(out)
	return out
}

// admit counts a mail, at its first attempt, against the limit of all mails, or
// puts it into the queue and returns false. A mail for a known device uses the
// reserved part first.
func (q *mailQueue) admit(ctx context.Context, m authsvc.Mail, mail queuedMail, now time.Time) bool {
	if m.Attempts > 1 || mail.Provider == "" || !now.Before(m.Expires) {
		return true
	}
	if q.waiting.empty() { // nobody is overtaken
		if _, ok := q.svc.limits.Permit(ctx, q.svc.totalLimit, "", now); ok {
			return true
		}
	}
	if mail.Known && q.svc.reservedLimit != nil {
		if _, ok := q.svc.limits.Permit(ctx, q.svc.reservedLimit, "", now); ok {
			return true
		}
	}
	q.delay(ctx, waitingMail{m, mail})
	return false
}

// delay puts a mail into the line.
func (q *mailQueue) delay(ctx context.Context, w waitingMail) {
	q.svc.auditor.RecordLimited(ctx, w.Client, w.event("email.delayed", "", "more links than may go out in all: the mail waits for a turn"))
	hand, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	if err := q.svc.Adapter.DelayMail(hand, w.mail.ID, w.mail.Expires); err != nil {
		q.svc.Log.Error("mail queue cannot be written", "err", err)
	}
	for _, out := range q.waiting.enter(w) {
		q.dropWaiting(ctx, out)
	}
}

// dropWaiting gives up a mail that had no room in the line, or no turn in time, and
// with it its token: what nobody was sent is not to be guessed either, or a flood
// of requests would make more codes than email_total has mails.
func (q *mailQueue) dropWaiting(ctx context.Context, w waitingMail) {
	q.svc.auditor.RecordLimited(context.WithoutCancel(ctx), w.Client, w.event("email.limited", authsvc.RateLimited, "too many links in all"))
	if err := q.remove(ctx, w.mail); err != nil {
		q.svc.Log.Error("a mail that was given up could not be removed from the queue", "err", err)
	}
	hand, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	if _, err := q.svc.Adapter.TakeToken(hand, w.Message.To, w.mail.ID); err != nil && !errors.Is(err, authsvc.ErrNotFound) {
		q.svc.Log.Error("the link of a mail that was given up could not be made void", "err", err)
	}
}

func (w *waitingMail) event(name string, code authsvc.ErrorCode, reason string) authsvc.AuditEvent {
	return authsvc.AuditEvent{Name: name, Code: code, Reason: reason, Provider: w.Provider, UserID: w.UserID, RequestID: w.RequestID}
}

// runWaiting gives turns until ctx ends. What waits then is the business of the
// service that took over, or of the processes that go on.
func (q *mailQueue) runWaiting(ctx context.Context) {
	defer func() {
		if q.waiting.share(-1) == 0 {
			q.releaseWaiting(ctx)
		}
		q.waiting.wake()
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.waiting.signal:
		}
		for pause := time.Duration(0); !q.waiting.empty() && fleet.Sleep(ctx, pause); {
			pause = q.sendNext(ctx)
		}
	}
}

// releaseWaiting makes the mails that wait due one after another, as far apart
// as they may go out: whoever claims them then does not count them.
func (q *mailQueue) releaseWaiting(ctx context.Context) {
	hand, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	for due := q.svc.fleet.Now(); ; {
		w, ok := q.waiting.next()
		if !ok {
			return
		}
		due = due.Add(q.svc.totalLimit.Interval)
		if !due.Before(w.mail.Expires) {
			q.dropWaiting(hand, w)
		} else if err := q.svc.Adapter.DelayMail(hand, w.mail.ID, due); err != nil {
			q.svc.Log.Error("mails that wait for a turn are lost", "mails", q.waiting.length()+1, "err", err)
			return
		}
	}
}

// sendNext lets the next mail go out if one may, and says when to look again.
func (q *mailQueue) sendNext(ctx context.Context) (pause time.Duration) {
	now := q.svc.fleet.Now()
	for _, w := range q.waiting.expired(now) {
		q.dropWaiting(ctx, w)
	}
	if q.waiting.empty() {
		return 0
	}
	if wait, ok := q.svc.limits.Permit(ctx, q.svc.totalLimit, "", now); !ok {
		q.warnTotal(now)
		return min(wait, waitingPoll)
	}
	w, ok := q.waiting.next()
	if !ok {
		return 0
	}
	hand, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	if err := q.svc.Adapter.DelayMail(hand, w.mail.ID, now); err != nil {
		q.svc.Log.Warn("a mail that waited for a turn cannot go out", "request", w.RequestID, "err", err)
	}
	q.wake()
	return 0
}

// warnTotal says, once a minute, that links wait or are lost.
func (q *mailQueue) warnTotal(now time.Time) {
	const mark = "mails in all"
	if q.svc.fleet.FirstInMinute(mark, now) {
		q.svc.Log.Warn("more links are requested than the limit of all mails lets go out; mails wait for a turn",
			"field", "RateLimit.EmailTotal", "waiting", q.waiting.length())
	}
}
