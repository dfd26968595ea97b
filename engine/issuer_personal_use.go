package engine

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
	"authsvc/internal/seal/personaltoken"
	"authsvc/internal/text"
)

// A personalGrant holds the access that a personal access token gives.
type personalGrant struct {
	id      string           // of the token, for rate limits
	session *authsvc.Session // see sessionOf
	uses    personalUses
}

// forAudience reports whether the token is for an audience.
func (g *personalGrant) forAudience(id string) bool { return slices.Contains(g.uses.Audiences, id) }

// forHost reports whether the token is for a host, given the host's canonical origin.
func (g *personalGrant) forHost(origin string) bool { return slices.Contains(g.uses.Hosts, origin) }

// bearer returns the token of Authorization: Bearer (RFC 6750 section 2.1). It reports
// as there whether a header names that scheme, and as ok whether that is the only
// Authorization header.
func bearer(h http.Header) (token string, there, ok bool) {
	lines := h["Authorization"]
	for _, line := range lines {
		scheme, rest, _ := strings.Cut(line, " ")
		if strings.EqualFold(scheme, "Bearer") {
			token, there = strings.TrimLeft(rest, " "), true
		}
	}
	return token, there, there && len(lines) == 1
}

// bearsToken reports whether the request must be judged by a personal access token. If
// personal access tokens are not enabled, the header has no meaning.
func (is *issuer) bearsToken(rq *request) bool {
	_, there, _ := bearer(rq.r.Header)
	return there && is.pats.enabled
}

// bearsPersonal reports whether a request for a program behind the gate carries a
// personal access token. Bearer tokens of any other form are for the program.
func (is *issuer) bearsPersonal(h http.Header) bool {
	return is.pats.enabled && slices.ContainsFunc(h["Authorization"], func(line string) bool {
		token, there, _ := bearer(http.Header{"Authorization": {line}})
		return there && personaltoken.Prefixed(token)
	})
}

// personalAt judges the personal access token of a request for a host of the gate.
func (is *issuer) personalAt(rq *request, h http.Header, origin string) (*authsvc.Session, error) {
	token, err := is.bearerAt(rq, h)
	if err != nil {
		return nil, err
	}
	g, err := is.judgePersonal(rq, token)
	switch {
	case err != nil:
		return nil, err
	case !g.forHost(origin):
		rq.audit("pat.refused", "", "it is not for this host")
		return nil, errPersonalElsewhere
	}
	return g.session, nil
}

// bearerAt returns the token of a request for a host of the gate. The request must not
// carry cookies of ours; it may carry the program's own.
func (is *issuer) bearerAt(rq *request, h http.Header) (token string, err error) {
	token, _, ok := bearer(h)
	if !ok || len(rq.jar.Pairs) > 0 || rq.jar.Overflow {
		return "", errPersonalMixed
	}
	return token, nil
}

// Errors of personalToken, personalAt and accessAt. Any other error means that the store failed.
var (
	errPersonalRefused = errors.New("the token was refused")
	errPersonalLimited = errors.New("too many tokens were refused")
	errPersonalMixed   = errors.New("a token came with cookies, or with another Authorization header")
	// errPersonalElsewhere says that the token is valid, but not for this host.
	errPersonalElsewhere = errors.New("the personal access token is for other hosts")
)

// personalToken judges the personal access token of a request for POST token. The
// caller checks forAudience. No CSRF token is needed, since a browser does not add such
// a header by itself. Cookies are refused, so that a request cannot speak for two
// users.
func (is *issuer) personalToken(rq *request) (*personalGrant, error) {
	token, _, ok := bearer(rq.r.Header)
	if !ok || len(rq.r.Header["Cookie"]) > 0 {
		return nil, errPersonalMixed
	}
	return is.judgePersonal(rq, token)
}

// judgePersonal judges a personal access token.
func (is *issuer) judgePersonal(rq *request, token string) (g *personalGrant, err error) {
	err = is.judgeToken(rq, "pat.refused", func() (reason string, err error) {
		g, reason, err = is.findPersonal(rq, token)
		return reason, err
	})
	return g, err
}

// judgeToken calls find, which looks a token up and says why it refuses it, if it does.
// Refusals are recorded as event and counted for each client. Past the rate limit, no
// token is looked up.
func (is *issuer) judgeToken(rq *request, event string, find func() (reason string, err error)) error {
	if is.personalLimit.Over(rq.clientKey(), rq.now) {
		rq.retryAfter = is.personalLimit.Interval
		return errPersonalLimited
	}
	reason, err := find()
	if err != nil || reason == "" {
		return err
	}
	if wait, ok := rq.permit(is.personalLimit, rq.clientKey()); !ok {
		rq.retryAfter = wait
		return errPersonalLimited
	}
	rq.audit(event, "", reason)
	return errPersonalRefused
}

// findPersonal looks a token up by its digest, so no byte of the token is compared. A
// malformed token never reaches the store. If the token is refused, reason says why.
func (is *issuer) findPersonal(rq *request, token string) (g *personalGrant, reason string, err error) {
	if !personaltoken.WellFormed(token) {
		return nil, "it is not a token", nil
	}
	digest := seal.Digest(token)
	c, err := is.Adapter.GetCredential(rq.ctx, adapter.CredentialToken, digest)
	switch {
	case errors.Is(err, adapter.ErrNotFound) || err == nil && !text.Same(c.ID, digest): // a store may compare loosely
		return nil, "it is unknown", nil
	case err != nil:
		return nil, "", err
	}
	rq.auditUser, rq.auditActor = c.UserID, tokenActor(personalID(c.ID))
	end := is.personalEnd(&c)
	if !rq.now.Before(end) {
		return nil, "it has expired", nil
	}
	uses, stale, err := is.openPersonal(&c)
	if err != nil {
		is.Log.Error("a personal access token is sealed under a secret that is not configured; revoke it and make a new one", "user", c.UserID, "id", personalID(c.ID), "request", rq.requestID())
		return nil, "it is sealed under another secret", nil
	}
	session, reason, err := is.sessionOf(rq, c.UserID, end)
	if err != nil || reason != "" {
		return nil, reason, err
	}
	is.usePersonal(rq, c, uses, stale)
	return &personalGrant{id: personalID(c.ID), uses: uses, session: session}, "", nil
}

// usePersonal records the day of the use, and reseals data that an older secret sealed.
// It does so after the request. If several requests do so at once, one write is enough.
func (is *issuer) usePersonal(rq *request, c adapter.Credential, uses personalUses, stale bool) {
	day := rq.now.UTC().Truncate(24 * time.Hour)
	if !stale && !c.Used.Before(day) {
		return
	}
	c.Used = day
	if sealed, err := is.fleet.SealData(&c, uses); stale && err == nil {
		c.Data = sealed
	}
	log, store := is.Log, is.Adapter
	is.fleet.RunTask("use of a personal access token", func(life context.Context) {
		ctx, cancel := fleet.Detached(life, personalTimeout)
		defer cancel()
		if err := store.UpdateCredential(ctx, c); err != nil && !errors.Is(err, adapter.ErrStale) && !errors.Is(err, adapter.ErrNotFound) {
			log.Warn("cannot record the use of a personal access token", "user", c.UserID, "err", err)
		}
	})
}

// personalTimeout limits the write of usePersonal.
const personalTimeout = 10 * time.Second

// personalProblem answers an error of personalToken, personalAt or accessAt.
func (is *issuer) personalProblem(rq *request, err error) outcome {
	switch {
	case errors.Is(err, errPersonalRefused):
		p := refused(problemUnauthenticated)
		p.text = "the token is not valid"
		p.challenge = `Bearer realm="authsvc", error="invalid_token"`
		return p
	case errors.Is(err, errPersonalLimited):
		return rq.limited(rq.retryAfter)
	case errors.Is(err, errPersonalElsewhere):
		return refused(problemForbidden)
	case errors.Is(err, errPersonalMixed):
		return problem{status: http.StatusBadRequest, name: problemMalformed, text: "send either a token, in one Authorization header, or cookies"}
	}
	is.Log.Error("cannot check a token", "request", rq.requestID(), "err", err)
	if rq.route == &gateRoute {
		rq.retryAfter = gateRetry
	}
	return refused(problemUnavailable)
}
