package authsvc

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Mails for which rate_limit.email_total has no room wait for a turn. A drop
// that nobody sees would be a switch by which strangers turn sign-in off.
const (
	maxWaitingMails = 1024            // in this process
	maxWaitingOfOne = 4               // of one client
	mailTurnPoll    = 5 * time.Second // longest wait between looks at the line
)

// A waitingMail is in the store and due when its link is over, so that no
// worker claims it before its turn.
type waitingMail struct {
	mail Mail
	queuedMail
}

// A mailLine is the line of this process. Clients have their turns one after
// another, whatever the number of mails that each has waiting.
type mailLine struct {
	mu      sync.Mutex
	clients map[string][]waitingMail
	turns   []string // clients that wait, the next one first
	waiting int
	sharers int // services that have the line: more than one during a reload
	signal  chan struct{}
}

func newMailLine() *mailLine {
	return &mailLine{clients: map[string][]waitingMail{}, signal: make(chan struct{}, 1)}
}

func (l *mailLine) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

func (l *mailLine) empty() bool { return l.length() == 0 }

// share counts who has the line by one more, or one less, and returns how many
// there are then.
func (l *mailLine) share(by int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sharers += by
	return l.sharers
}

// wake lets whoever gives turns look at the line.
func (l *mailLine) wake() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// enter puts a mail at the end of its client's and returns the one that has to
// go for want of room: this one, or one of the client that has the most.
func (l *mailLine) enter(m waitingMail) (out []waitingMail) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.clients[m.Client]
	if len(list) >= maxWaitingOfOne {
		return []waitingMail{m}
	}
	if l.waiting >= maxWaitingMails {
		out = append(out, l.dropOfMost())
		list = l.clients[m.Client]
	}
	if len(list) == 0 {
		l.turns = append(l.turns, m.Client)
	}
	l.clients[m.Client] = append(list, m)
	l.waiting++
	l.wake()
	return out
}

// dropOfMost removes the last mail of the client that has the most; of several
// the order of the map, which is of chance, decides.
func (l *mailLine) dropOfMost() waitingMail {
	most := ""
	for client, list := range l.clients {
		if len(list) > len(l.clients[most]) {
			most = client
		}
	}
	list := l.clients[most]
	last := list[len(list)-1]
	l.keep(most, list[:len(list)-1])
	l.waiting--
	return last
}

// keep sets what a client has waiting.
func (l *mailLine) keep(client string, list []waitingMail) {
	if len(list) > 0 {
		l.clients[client] = list
		return
	}
	delete(l.clients, client)
	l.turns = slices.DeleteFunc(l.turns, func(c string) bool { return c == client })
}

// next removes the mail whose turn it is; its client's next turn is the last.
func (l *mailLine) next() (m waitingMail, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == 0 {
		return m, false
	}
	client := l.turns[0]
	list := l.clients[client]
	m = list[0]
	l.waiting--
	l.keep(client, list[1:])
	if len(list) > 1 {
		l.turns = append(l.turns[1:], client)
	}
	return m, true
}

// over removes the mails whose links are.
func (l *mailLine) over(now time.Time) (out []waitingMail) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for client, list := range l.clients {
		var live []waitingMail
		for _, m := range list {
			if now.Before(m.mail.Expires) {
				live = append(live, m)
			} else {
				out = append(out, m)
			}
		}
		if len(live) < len(list) {
			l.keep(client, live)
		}
	}
	l.waiting -= len(out)
	return out
}

// mayGo counts a mail, at its first attempt, against what may go out in all,
// or puts it into the line. A browser that is known to the address does not
// stand in line as long as there is room in what is kept for such.
func (q *mailQueue) mayGo(ctx context.Context, m Mail, mail queuedMail, now time.Time) bool {
	if m.Attempts > 1 || mail.Provider == "" || !now.Before(m.Expires) {
		return true
	}
	if q.line.empty() { // nobody is overtaken
		if _, ok := q.permit(ctx, q.limits.mailTotal, "", now); ok {
			return true
		}
	}
	if mail.Known && q.limits.mailKept != nil {
		if _, ok := q.permit(ctx, q.limits.mailKept, "", now); ok {
			return true
		}
	}
	q.wait(ctx, waitingMail{m, mail})
	return false
}

// wait puts a mail into the line.
func (q *mailQueue) wait(ctx context.Context, w waitingMail) {
	q.tell(ctx, w.Client, w.event("email.delayed", "", "more links than may go out in all: the mail waits for a turn"))
	hand, cancel := inHand(ctx, storeTimeout)
	defer cancel()
	if err := q.adapter.DelayMail(hand, w.mail.ID, w.mail.Expires); err != nil {
		q.log.Error("mail queue cannot be written", "err", err)
	}
	for _, out := range q.line.enter(w) {
		q.noTurn(ctx, out)
	}
}

// noTurn gives up a mail that had no room in the line, or no turn in time.
func (q *mailQueue) noTurn(ctx context.Context, w waitingMail) {
	q.tell(context.WithoutCancel(ctx), w.Client, w.event("email.limited", RateLimited, "too many links in all"))
	if err := q.remove(ctx, w.mail); err != nil {
		q.log.Error("a mail that was given up could not be removed from the queue", "err", err)
	}
}

func (w *waitingMail) event(name string, code ErrorCode, reason string) AuditEvent {
	return AuditEvent{Name: name, Code: code, Reason: reason, Provider: w.Provider, UserID: w.UserID, RequestID: w.RequestID}
}

// runLine gives turns until ctx ends. What waits then is the business of the
// service that took over, or of the processes that go on.
func (q *mailQueue) runLine(ctx context.Context) {
	defer func() {
		if q.line.share(-1) == 0 {
			q.leaveLine(ctx)
		}
		q.line.wake()
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.line.signal:
		}
		for pause := time.Duration(0); !q.line.empty() && rest(ctx, pause); {
			pause = q.giveTurn(ctx)
		}
	}
}

// leaveLine makes the mails that wait due one after another, as far apart as
// they may go out: whoever claims them then does not count them.
func (q *mailQueue) leaveLine(ctx context.Context) {
	hand, cancel := inHand(ctx, storeTimeout)
	defer cancel()
	for due := q.now(); ; {
		w, ok := q.line.next()
		if !ok {
			return
		}
		due = due.Add(q.limits.mailTotal.interval)
		if !due.Before(w.mail.Expires) {
			q.noTurn(hand, w)
		} else if err := q.adapter.DelayMail(hand, w.mail.ID, due); err != nil {
			q.log.Error("mails that wait for a turn are lost", "mails", q.line.length()+1, "err", err)
			return
		}
	}
}

// giveTurn lets the next mail go out if one may, and says when to look again.
func (q *mailQueue) giveTurn(ctx context.Context) (pause time.Duration) {
	now := q.now()
	for _, w := range q.line.over(now) {
		q.noTurn(ctx, w)
	}
	if q.line.empty() {
		return 0
	}
	if wait, ok := q.permit(ctx, q.limits.mailTotal, "", now); !ok {
		q.warnTotal(now)
		return min(wait, mailTurnPoll)
	}
	w, ok := q.line.next()
	if !ok {
		return 0
	}
	hand, cancel := inHand(ctx, storeTimeout)
	defer cancel()
	if err := q.adapter.DelayMail(hand, w.mail.ID, now); err != nil {
		q.log.Warn("a mail that waited for a turn cannot go out", "request", w.RequestID, "err", err)
	}
	q.wake()
	return 0
}

// warnTotal says, once a minute, that links wait or are lost.
func (q *mailQueue) warnTotal(now time.Time) {
	const mark = "mails in all"
	if q.limits.warned.use(mark, now, now.Add(time.Minute)) == nil {
		q.log.Warn("more links are asked for than rate_limit.email_total lets go out; mails wait for a turn", "waiting", q.line.length())
	}
}
