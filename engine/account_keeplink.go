package engine

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// A keepLink is the sealed token of the link in the notice of a deletion. The link only
// cancels that deletion: it begins no session, and is void once the account is kept.
type keepLink struct {
	UserID      string `json:"u"`
	DeleteAfter int64  `json:"d"` // of the deletion; milliseconds since 1970
}

// maxKeepToken limits the size of a token that is opened, in bytes.
const maxKeepToken = 1 << 10

// keepURL returns the link that cancels the deletion of u. It returns "" if the address
// of u was not proved, because anyone may have that address.
func (ac *accountRoom) keepURL(u authsvc.User) string {
	if !emailProved(u) {
		return ""
	}
	raw, err := json.Marshal(keepLink{u.ID, u.DeleteAfter.UnixMilli()})
	if err != nil {
		return ""
	}
	token, err := ac.keepKey.Seal(raw)
	if err != nil || len(token) > maxKeepToken { // the mail then says to sign in
		return ""
	}
	return weburl.WithQuery(ac.site.base+"/account/keep", "token", token)
}

// cancels reports whether a link cancels the deletion of u: that deletion must not be
// cancelled or due, and u must not be blocked. A blocked user could not keep the account
// by signing in either.
func (link *keepLink) cancels(u authsvc.User, now time.Time) bool {
	return u.DeleteAfter.UnixMilli() == link.DeleteAfter && now.Before(u.DeleteAfter) && u.Blocked.IsZero()
}

// openKeepLink returns the link that a token seals, and its user. It returns ErrNotFound
// if the token is not valid, or if the link cancels nothing.
func (ac *accountRoom) openKeepLink(rq *request, token string) (link keepLink, u authsvc.User, err error) {
	if len(token) > maxKeepToken {
		return link, u, adapter.ErrNotFound
	}
	raw, _, err := ac.keepKey.Open(token)
	if err != nil || json.Unmarshal(raw, &link) != nil {
		return link, u, adapter.ErrNotFound
	}
	u, err = ac.Adapter.GetUser(rq.ctx, link.UserID)
	if err == nil && !link.cancels(u, rq.now) {
		err = adapter.ErrNotFound
	}
	return link, u, err
}

// keepLinkPage handles the GET of a mailed link. It changes nothing: scanners open links.
func (ac *accountRoom) keepLinkPage(rq *request, v pages.KeepView, token string) outcome {
	_, u, err := ac.openKeepLink(rq, token)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		if out := ac.mailing.countLink(rq); out != nil {
			return out
		}
		v.Spent = true
		return page{name: pages.Keep, status: http.StatusNotFound, view: v}
	case err != nil:
		return rq.storeUnavailable(err)
	}
	v.Token = token
	return askKeep(rq, v, u)
}

// keepByLink cancels the deletion that a token names.
func (ac *accountRoom) keepByLink(rq *request, token string) outcome {
	again := weburl.WithQuery("/account/keep", "token", token)
	if wait, ok := rq.permit(ac.mailing.linkLimit, rq.clientKey()); !ok {
		rq.retryAfter = wait
		rq.audit("request.limited", authsvc.CodeRateLimited, "too many attempts")
		return rq.refuseOwn(again, authsvc.CodeRateLimited, http.StatusTooManyRequests)
	}
	ctx, cancel := fleet.Detached(rq.ctx, loginTimeout) // finishes even if the browser has gone
	defer cancel()
	rq.ctx = ctx
	link, u, err := ac.openKeepLink(rq, token)
	if err == nil {
		rq.auditUser = u.ID
		allowed := func(u authsvc.User) bool { return link.cancels(u, rq.now) }
		err = ac.cancelDeletionIf(rq.ctx, u.ID, allowed, ac.mailing.byPerson(rq))
	}
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		rq.audit("change.undo_refused", authsvc.CodeNotFound, "the link is unknown, was used or has expired")
		return rq.refuseOwn(again, authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	return withoutSession(rq, rq.base+keptPath)
}
