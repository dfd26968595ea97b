package authsvc

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"authsvc/internal/outbound"
	"authsvc/internal/plainlog"
	"authsvc/internal/uuid"
)

// AuditOptions configure the storage of audit events. The log has each of them
// in any case.
type AuditOptions struct {
	// Store also writes events to the Adapter, which then has to be an AuditLog.
	Store bool
	// Keep is how long they are stored, default 8760 h, at least 1 h.
	Keep time.Duration
}

// An AuditEvent is a security-relevant event: a line in the log with the message
// "audit", a call of Events.Audit and, with Config.Audit.Store, a record in the
// store. It holds no secret, token, cookie or e-mail address. Its texts have
// printable characters only and at most 255 bytes. docs/audit.md lists the
// names.
type AuditEvent struct {
	Name     string       `json:"name"` // such as "sign_in.refused"
	Time     time.Time    `json:"time"` // UTC, milliseconds
	Outcome  AuditOutcome `json:"outcome"`
	Code     ErrorCode    `json:"code,omitempty"`
	Reason   string       `json:"reason,omitempty"` // a fixed text of the engine
	Provider string       `json:"provider,omitempty"`
	UserID   string       `json:"user,omitempty"` // the user concerned, if known
	// Actor is who did it when that is neither the user nor the service: an
	// operator at the command line ("cli:root").
	Actor     string `json:"actor,omitempty"`
	ClientIP  string `json:"client,omitempty"`
	UserAgent string `json:"agent,omitempty"` // at most 200 bytes
	RequestID string `json:"request,omitempty"`
}

// AuditOutcome says how what an event reports ended. It follows from the name of
// the event.
type AuditOutcome string

// The outcomes.
const (
	AuditSuccess AuditOutcome = "success"
	AuditRefused AuditOutcome = "refused" // by a rule
	AuditFailed  AuditOutcome = "failed"  // by an error
)

// An auditKind describes the events of one name.
type auditKind struct {
	name    string
	outcome AuditOutcome
	meaning string // one line of docs/audit.md
}

// auditKinds lists every event, in the order of docs/audit.md.
var auditKinds = []auditKind{
	{"sign_in.succeeded", AuditSuccess, "A session began. The reason says whether the user was created by it."},
	{"sign_in.refused", AuditRefused, "A sign-in came to nothing: wrong state, unknown or used link, a refusal by the provider, by the person, by the conditions of sign-in or the rules of sign-up, by the signIn, claims or createUser callback (with `serve`: by a rule or a hook), or more claims than stay with a session."},
	{"sign_in.failed", AuditFailed, "A sign-in came to nothing because the store, the provider or a callback did not work."},
	{"credentials.refused", AuditRefused, "Authorize refused the credentials."},
	{"csrf.refused", AuditRefused, "A POST had no CSRF token or not that of its cookie."},
	{"request.cross_site", AuditRefused, "A POST came from an origin that is neither ours nor trusted."},
	{"request.limited", AuditRefused, "A rate limit refused the request."},
	{"request.failed", AuditFailed, "The request ended by a panic."},
	{"session.ambiguous", AuditRefused, "The session was asked for with session cookies that contradict each other or are incomplete, so none counted: somebody may have planted one. All were expired."},
	{"email.requested", AuditSuccess, "A sign-in link was asked for and its mail was queued."},
	{"email.refused", AuditRefused, "A link was asked for, and the conditions of sign-in, the rules of sign-up or the signIn callback let no mail go out. The answer did not show that."},
	{"email.limited", AuditRefused, "A link was asked for, and a limit let no mail go out. The answer did not show that."},
	{"email.delayed", AuditRefused, "A link was asked for past `rate_limit.email_total`: its mail waits for a turn. The answer did not show that."},
	{"email.given_up", AuditFailed, "A queued mail was not delivered and will not be tried again. The request is the one that asked for it."},
	{"code.refused", AuditRefused, "A mailed code was wrong."},
	{"code.spent", AuditRefused, "A mailed code was not judged: the five tries of its request were used up. The link in the mail still works."},
	{"email.first_proof", AuditSuccess, "A link proved the address of a user for the first time: accounts and sessions of before were removed."},
	{"email.change_requested", AuditSuccess, "A change of address was asked for, by the person or by the application, and its mails were queued. The answer did not show whether the new address is somebody's."},
	{"email.change_proved", AuditSuccess, "One end agreed to a change of address: the reason says whether it was the new one or the old one."},
	{"email.change_completed", AuditSuccess, "The address of a user was changed: links to both addresses are void, and other sessions have ended."},
	{"email.change_stopped", AuditSuccess, "A change of address was dropped: by the old address, by the person, or since all sessions were ended."},
	{"email.change_refused", AuditRefused, "A change of address was not begun, or not made: the address cannot be used or was taken meanwhile, the link or the change is of no use any more, it is not due yet, or there were too many mails."},
	{"account.linked", AuditSuccess, "An account was added to a user who existed."},
	{"account.link_refused", AuditRefused, "An account was not added: it is another user's, or the session changed meanwhile."},
	{"account.not_linked", AuditRefused, "A sign-in was refused since the address is that of a user (named here) without this account."},
	{"account.unlinked", AuditSuccess, "An account was removed, by the application, by the person or by a first proof."},
	{"account.unlink_refused", AuditRefused, "An account was not removed: there is no such account, or it is the last way to sign in."},
	{"account.unlink_failed", AuditFailed, "An account could not be removed: the store failed, or another replica held it up."},
	{"notice.sent", AuditSuccess, "A mail that tells a user of a change of the account was queued: the reason says which, `linked`, `unlinked`, `ended`, `browser`, `address`, `deletion` or `kept`."},
	{"notice.limited", AuditRefused, "A user was not told of a change by mail, past `rate_limit.notices_per_user` or since the queue is full."},
	{"change.undone", AuditSuccess, "The link in a notice took a change back and ended all sessions of the user: the reason says which."},
	{"change.undo_refused", AuditRefused, "The link in a notice is unknown, was used or has expired."},
	{"fresh.required", AuditRefused, "What was asked for needs a fresh proof of who the person is; they were led to the page that asks for it."},
	{"account.exported", AuditSuccess, "A person began to download what is kept of them, or the application or an operator had it written."},
	{"sign_out.succeeded", AuditSuccess, "A person ended their session."},
	{"sign_out.failed", AuditFailed, "The session could not be ended."},
	{"sign_out.return_refused", AuditRefused, "A browser came back from a sign-out at a provider, or wanted the page that leads there, without its state; or a script or a frame wanted that page."},
	{"session.ended", AuditSuccess, "EndSession ended one session of a user, or ten wrong proofs of the person did: the reason says which."},
	{"session.end_failed", AuditFailed, "EndSession failed, or there is no such session."},
	{"sessions.ended", AuditSuccess, "EndSessions ended all sessions of a user, or EndOtherSessions all but one: the reason says which."},
	{"sessions.end_failed", AuditFailed, "EndSessions or EndOtherSessions failed. Some sessions may have ended."},
	{"user.blocked", AuditSuccess, "Block took all access from a user."},
	{"user.block_failed", AuditFailed, "Block failed, or there is no such user."},
	{"user.unblocked", AuditSuccess, "Unblock lets a user sign in again."},
	{"user.created", AuditSuccess, "CreateUser or Invite stored a user. Those who sign up are in `sign_in.succeeded`."},
	{"user.invited", AuditSuccess, "Invite queued a mail with a link to a user."},
	{"user.updated", AuditSuccess, "A person changed their name, or UpdateUser changed a user: the reason says which."},
	{"user.deleted", AuditSuccess, "A user was removed with sessions and accounts, by DeleteUser or at the end of a grace."},
	{"user.deletion_cancelled", AuditSuccess, "A user who was to be deleted stays."},
	{"user.deletion_scheduled", AuditSuccess, "A user is to be deleted, and all sessions ended."},
	{"user.delete_failed", AuditFailed, "A user was not deleted: the DeleteUser callback or the store refused, or there is no such user. Sessions may have ended."},
	{"session.ended_by_provider", AuditSuccess, "A provider's logout token ended the sessions that a user began by it, or would have: the reason says which."},
	{"backchannel_logout.refused", AuditRefused, "A logout token was not valid or was used before."},
	{"backchannel_logout.failed", AuditFailed, "A logout token could not be obeyed. Ending the sessions is tried again if the reason says so."},
	{"token.refused", AuditRefused, "A provider does not honour the refresh token of an account any more."},
	{"token.refresh_failed", AuditFailed, "Tokens of a provider could not be refreshed or not be stored."},
	{"token.misaddressed", AuditRefused, "A refresh was answered with an ID token of another issuer or for another client."},
	{"token.wrong_subject", AuditRefused, "A refresh was answered with tokens of somebody else."},
	{"token.denied", AuditRefused, "A token was asked for an audience that is not configured, or its conditions or its rule refused, or its rule failed."},
	{"pat.created", AuditSuccess, "A personal access token was made for a user."},
	{"pat.revoked", AuditSuccess, "A personal access token of a user was revoked, or all of them: the reason says which."},
	{"pat.refused", AuditRefused, "A personal access token was not accepted: it is none, is unknown, expired or sealed under a lost secret, its user is blocked, or it is not for that audience or host."},
	{"gate.refused", AuditRefused, "A request for a program behind the gate, by whoever is signed in, or by anybody where nobody may, was refused by its rules or since a WebSocket came from another origin."},
	{"gate.malformed", AuditRefused, "A request for a program behind the gate had a target that servers could read in too many ways, or that is none."},
	{"gate.untrusted_proxy", AuditRefused, "Somebody asked whether a request for a program behind the gate may pass who is none of the proxies that may ask."},
	{"gate.misconfigured", AuditRefused, "A person who may pass was sent to sign in: what checks the requests does not get their cookies. Or a proxy asks whether requests for our own routes may pass. Or what is for the host of `url` comes under the name of a host of the gate."},
	{"gate.entered", AuditSuccess, "A person who is signed in got the cookie of a host of the gate that the session cookie does not get to."},
	{"gate.enter_refused", AuditRefused, "That came to nothing: a code that is forged, late, used before, for another host or of another browser; a host that is not configured, too much to tell it, or a browser that keeps no cookies for it."},
	{"keys.rotated", AuditSuccess, "A signing key of tokens was made: it signs a day later, or at once if it is the first or an operator wanted that."},
	{"keys.retired", AuditSuccess, "An operator took a signing key out of the set, and with it the tokens that it signed."},
	{"configuration.changed", AuditSuccess, "The program took over another configuration."},
	{"configuration.change_failed", AuditFailed, "Another configuration could not be taken over; the one before holds."},
	{"service.started", AuditSuccess, "New started a service. It is recorded before New returns, and not by Reconfigure."},
	{"service.stopped", AuditSuccess, "Close ended a service that no other took over from by Reconfigure."},
}

func outcomeOf(name string) AuditOutcome {
	for i := range auditKinds {
		if auditKinds[i].name == name {
			return auditKinds[i].outcome
		}
	}
	return AuditFailed // a test knows every name that is in use
}

// Limits of the texts of an event, in bytes.
const (
	maxAuditText = 255
	maxAgent     = 200
)

// audit records the result of a request. Each request has at most one such
// event; note is for facts on the way. It reports whether the event was
// recorded, rather than counted as a repetition: then log lines about the same
// are to be written, too.
func (rq *request) audit(name string, code ErrorCode, reason string) (recorded bool) {
	rq.audited = true
	rq.quiet = !rq.note(AuditEvent{Name: name, Code: code, Reason: reason, UserID: rq.auditUser})
	return !rq.quiet
}

// note records an event with the client of the request. It reports what audit
// does.
func (rq *request) note(e AuditEvent) (recorded bool) {
	if e.Provider == "" {
		e.Provider = rq.providerID()
	}
	if ip := rq.clientIP(); ip.IsValid() {
		e.ClientIP = ip.String()
	}
	e.RequestID, e.UserAgent = rq.requestID(), rq.r.UserAgent()
	return rq.recordLimited(rq.ctx, rq.networkKey(), e)
}

// record writes an audit event to the log, queues it for the store and calls
// Events.Audit.
func (s *Service) record(ctx context.Context, e AuditEvent) {
	e = s.announce(ctx, e)
	if s.auditQueue != nil {
		s.auditQueue.add(AuditRecord{ID: uuid.V7(), AuditEvent: e})
	}
}

// recordAtOnce is record for what an operator does, also by a service that was
// only prepared, which stores no queued events: when it returns, the event is
// stored, or the log says why not.
func (s *Service) recordAtOnce(ctx context.Context, e AuditEvent) {
	e = s.announce(ctx, e)
	if s.auditQueue == nil {
		return
	}
	ctx, cancel := detached(ctx, auditTimeout)
	defer cancel()
	if err := s.auditQueue.store.PutAudit(ctx, []AuditRecord{{ID: uuid.V7(), AuditEvent: e}}); err != nil {
		s.log.Error("an audit event that is in the log did not get into the store", "event", e.Name, "err", err)
	}
}

// actorKey is where a context has an actor.
type actorKey struct{}

// WithActor says who is behind calls of a Service with the context, when that is
// not the application on behalf of the user: audit events then have it as Actor,
// and are in the store when the call returns. An operator at the command line is
// "cli:" and the name of the account.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

func actorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

// recordAct records what a method of Service did. more adds to the reason.
func (s *Service) recordAct(ctx context.Context, e AuditEvent, more ...string) {
	if actorOf(ctx) == "" {
		e.Reason = strings.Join(append(more, "by the application"), ", ")
		s.record(ctx, e)
		return
	}
	e.Reason = strings.Join(append(more, "by an operator"), ", ")
	s.recordAtOnce(ctx, e)
}

// announce completes an event, writes it to the log and calls Events.Audit.
func (s *Service) announce(ctx context.Context, e AuditEvent) AuditEvent {
	if e.Actor == "" {
		e.Actor = actorOf(ctx)
	}
	e.Time, e.Outcome = s.now().UTC().Truncate(time.Millisecond), outcomeOf(e.Name)
	e.plain()
	attrs := []slog.Attr{slog.String("event", e.Name), slog.String("outcome", string(e.Outcome)), slog.String("utc", e.Time.Format(timeFormat))}
	for _, a := range [][2]string{{"code", string(e.Code)}, {"reason", e.Reason}, {"provider", e.Provider}, {"user", e.UserID}, {"actor", e.Actor},
		{"client", e.ClientIP}, {"agent", e.UserAgent}, {"request", e.RequestID}} {
		if a[1] != "" {
			attrs = append(attrs, slog.String(a[0], a[1]))
		}
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
	if s.events.Audit != nil {
		s.emit("audit", func() { s.events.Audit(ctx, e) })
	}
	return e
}

// plain makes the texts of an event printable and bounds their length.
func (e *AuditEvent) plain() {
	for text, limit := range map[*string]int{&e.Reason: maxAuditText, &e.Provider: maxAuditText, &e.UserID: maxAuditText, &e.Actor: maxAuditText,
		&e.ClientIP: maxAuditText, &e.RequestID: maxAuditText, &e.UserAgent: maxAgent} {
		*text = shortened(plainlog.Text(shortened(*text, limit)), limit)
	}
	e.Code = ErrorCode(shortened(plainlog.Text(string(e.Code)), maxAuditText))
}

// shortened cuts a text to at most limit bytes, between two characters.
func shortened(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

func (b fixedReason) Error() string { return string(b) }

// auditRefusal records a refusal, or a failure if it is due to a fault.
func (rq *request) auditRefusal(e *authError) {
	if rq.audited {
		return
	}
	verb := ".refused"
	if failed(e) {
		verb = ".failed"
	}
	if rq.signsOut {
		rq.audit("sign_out.failed", e.Code, reason(e))
		return
	}
	rq.audit("sign_in"+verb, e.Code, reason(e))
}

// failed reports whether e is due to a fault, of the service or of something it
// depends on, rather than a refusal.
func failed(e *authError) bool {
	var why fixedReason
	switch {
	case errors.Is(e.Err, errStore), errors.Is(e.Err, outbound.ErrUnavailable), e.Code == Configuration, e.Code == OAuthCreateAccount, e.Code == EmailCreateAccount:
		return true
	case e.Code == OAuthSignin:
		return true
	case e.Code == Callback:
		return !errors.As(e.Err, &why)
	}
	return false
}

func reason(e *authError) string {
	var why fixedReason
	switch {
	case errors.Is(e.Err, errStore):
		return "the store could not be asked"
	case errors.Is(e.Err, outbound.ErrUnavailable):
		return "the provider could not be asked"
	case errors.As(e.Err, &why):
		return string(why)
	}
	return "the log line of this request says why"
}

// ConfigurationChanged records that the program has taken over another
// configuration or, with an error, that it could not. The error is not part of
// the event, since it may quote what is configured: log it.
func (s *Service) ConfigurationChanged(ctx context.Context, err error) {
	if err != nil {
		s.record(ctx, AuditEvent{Name: "configuration.change_failed", Reason: "the log says why"})
		return
	}
	s.record(ctx, AuditEvent{Name: "configuration.changed"})
}

// checkAudit checks AuditOptions. It also wraps the log, so that all lines of
// the engine are plain text.
func checkAudit(b *builder, s *Service) {
	s.log = slog.New(plainlog.Handler(s.log.Handler()))
	o := b.config.Audit
	keep := o.Keep
	if keep == 0 {
		keep = 8760 * time.Hour
	}
	if keep < time.Hour {
		b.fail("Audit.Keep", "is under an hour", "use a duration such as 8760h")
	}
	if !o.Store {
		return
	}
	store, ok := s.adapter.(AuditLog)
	if !ok {
		b.fail("Audit.Store", "is set, but there is no storage that keeps audit events", "set Adapter to one that is an AuditLog, or leave the events to the log")
		return
	}
	s.auditQueue = newAuditQueue(store, s.log, keep)
}
