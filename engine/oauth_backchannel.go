package engine

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/engine/internal/limit"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/seal"
)

// A logoutReceiver is a flow whose provider may send logout tokens.
type logoutReceiver interface {
	// loggedOut verifies a logout token. ok is false if the provider sends no such
	// tokens.
	loggedOut(ctx context.Context, raw string) (t *oidc.LogoutToken, ok bool, err error)
	// logoutID returns the account id under which the token's subject is stored.
	logoutID(t *oidc.LogoutToken) (string, formerID)
}

// loggedOut needs a provider whose account ids are the subjects of its tokens.
func (f *oauthFlow) loggedOut(ctx context.Context, raw string) (*oidc.LogoutToken, bool, error) {
	if !f.openID {
		return nil, false, nil
	}
	if !f.subjectIsID() {
		return nil, true, errors.New("the provider's account ids are not the subjects of its tokens")
	}
	t, err := f.oidc.VerifyLogoutToken(ctx, raw)
	return t, true, err
}

func (f *oauthFlow) logoutID(t *oidc.LogoutToken) (string, formerID) {
	return f.accountID(authsvc.Profile{"tid": t.Tenant, "iss": t.Issuer}, t.Subject)
}

// backchannelLogout serves POST backchannel-logout/:provider. The provider itself sends
// the logout token (OpenID Connect Back-Channel Logout 1.0 §2.5). The token ends the
// sessions that the person began with that provider. The provider's sid is not stored,
// so a token with a sid and without a sub is refused.
func (oa *oauthRoom) backchannelLogout(rq *request) outcome {
	flow, ok := rq.flow.(logoutReceiver)
	if !ok {
		return unknown(rq)
	}
	if wait, ok := rq.permit(oa.logoutLimit, rq.clientKey()); !ok {
		rq.retryAfter = wait
		rq.audit("request.limited", authsvc.CodeRateLimited, "too many logout tokens")
		return problem{status: http.StatusTooManyRequests, text: "too many requests"}
	}
	over := startProviderTimeout(rq)
	t, ok, err := flow.loggedOut(rq.ctx, rq.body.get("logout_token"))
	over()
	switch {
	case ok && !strings.HasPrefix(rq.r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		return oa.logoutRefused(rq, "invalid_request", "send a form", errors.New("not a form"))
	case !ok:
		return unknown(rq)
	case err != nil:
		return oa.logoutRefused(rq, "invalid_request", "the logout token is not valid", err)
	case t.Subject == "":
		return oa.logoutRefused(rq, "unsupported", "a logout token must contain sub; sid alone is not supported", errors.New("sid without sub"))
	}
	id, former := flow.logoutID(t)
	return oa.endByProvider(rq, t, id, former)
}

// endByProvider ends the sessions of the person that a logout token names. If the
// person has no account, there are no sessions to end. The token is used up before the
// sessions end, so that a replay never ends a later session. If ending them then fails,
// this process tries again in the background, because the provider cannot use the token
// again.
func (oa *oauthRoom) endByProvider(rq *request, t *oidc.LogoutToken, id string, former formerID) outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(rq.ctx), loginTimeout)
	defer cancel()
	provider := rq.providerID()
	u, _, err := oa.desk.userByAccount(ctx, provider, id, former)
	if errors.Is(err, fleet.ErrNoStorage) {
		return oa.logoutFailed(rq, "unsupported", "without storage sessions cannot be ended from the server", err)
	}
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		return oa.logoutFailed(rq, "temporarily_unavailable", "try again", err)
	}
	unknown := err != nil
	rq.auditUser = u.ID
	err = oa.Adapter.UseOnce(ctx, "logout:"+seal.Digest(provider+" "+t.ID), t.Until)
	switch {
	case errors.Is(err, adapter.ErrConflict):
		return oa.logoutRefused(rq, "invalid_request", "the logout token was used before", err)
	case err != nil:
		return oa.logoutFailed(rq, "temporarily_unavailable", "try again", err)
	case unknown:
		rq.audit("session.ended_by_provider", "", "the person has no account here")
		return noContent{http.StatusOK}
	}
	if err := oa.endSessionsBy(ctx, u.ID, provider, rq.now); err != nil {
		oa.endSessionsLater(u.ID, provider, rq.now)
		return oa.logoutFailed(rq, "temporarily_unavailable", "the sessions will be ended as soon as possible", err)
	}
	rq.audit("session.ended_by_provider", "", "the person signed out at the provider")
	return noContent{http.StatusOK}
}

// endSessionsBy ends a user's sessions of one provider and emits the events.
func (oa *oauthRoom) endSessionsBy(ctx context.Context, userID, provider string, now time.Time) error {
	ended, err := oa.keeper.sessions.endBy(ctx, userID, provider, now)
	if oa.Events.SignOut == nil {
		return err
	}
	for _, r := range ended {
		oa.fleet.Emit("signOut", func() { oa.Events.SignOut(ctx, authsvc.SignOutEvent{Session: &r}) })
	}
	return err
}

// endSessionsWait is the pause before the first further try. It doubles with each try.
const endSessionsWait = time.Second

func (oa *oauthRoom) endSessionsLater(userID, provider string, now time.Time) {
	taken := oa.fleet.RunTask("end of sessions", func(life context.Context) {
		var err error
		for wait := endSessionsWait; wait < time.Minute && fleet.Sleep(life, wait); wait *= 2 {
			ctx, cancel := fleet.Detached(life, storeTimeout)
			err = oa.endSessionsBy(ctx, userID, provider, now)
			cancel()
			if err == nil {
				oa.auditor.Record(life, authsvc.AuditEvent{Name: "session.ended_by_provider", Provider: provider, UserID: userID, Reason: "at a later attempt"})
				return
			}
		}
		oa.sessionsGoOn(life, userID, provider, err)
	})
	if !taken {
		oa.sessionsGoOn(oa.fleet.Life(), userID, provider, fleet.ErrNoTask)
	}
}

func (oa *oauthRoom) sessionsGoOn(ctx context.Context, userID, provider string, err error) {
	oa.Log.Error("cannot end sessions that a provider ended; they continue here", "provider", provider, "user", userID, "err", err)
	oa.auditor.Record(ctx, authsvc.AuditEvent{Name: "backchannel_logout.failed", Provider: provider, UserID: userID, Reason: "given up: the sessions continue"})
}

// logoutRefused answers a logout token that is refused (§2.8).
func (oa *oauthRoom) logoutRefused(rq *request, code, description string, cause error) outcome {
	return oa.logoutAnswer(rq, "backchannel_logout.refused", code, description, cause)
}

// logoutFailed is like logoutRefused, for failures that are not the token's fault.
func (oa *oauthRoom) logoutFailed(rq *request, code, description string, cause error) outcome {
	return oa.logoutAnswer(rq, "backchannel_logout.failed", code, description, cause)
}

func (oa *oauthRoom) logoutAnswer(rq *request, event, code, description string, cause error) outcome {
	if rq.audit(event, "", description, cause) {
		oa.Log.Warn("logout token refused", "provider", rq.providerID(), "request", rq.requestID(), "cause", cause)
	}
	return object{v: map[string]string{"error": code, "error_description": description}, status: http.StatusBadRequest}
}

// oauthRoutes returns the routes that identity providers themselves call. They use no
// cookies and no CSRF token: only the signature counts.
func oauthRoutes(s *oauthRoom) map[string]*route {
	limit := func(*request) *limit.Limiter { return s.logoutLimit }
	return map[string]*route{"backchannel-logout/:provider": {post: s.backchannelLogout, limit: limit, foreign: always}}
}

// oauthEvents are the audit events that identity providers cause.
var oauthEvents = []audit.Kind{
	{Name: "session.ended_by_provider", Outcome: authsvc.AuditSuccess, Meaning: "A provider's logout token ended the sessions that a user began through that provider, or it named a person without an account here: the reason says which."},
	{Name: "backchannel_logout.refused", Outcome: authsvc.AuditRefused, Meaning: "A logout token was not valid or was used before."},
	{Name: "backchannel_logout.failed", Outcome: authsvc.AuditFailed, Meaning: "A logout token could not be carried out. Ending the sessions is tried again if the reason says so."},
}
