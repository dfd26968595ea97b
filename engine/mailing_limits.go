package engine

import (
	"time"

	"authsvc"
	"authsvc/engine/internal/limit"
)

// Parts of rate_limit.email_total.
const (
	mailClientPart   = 20 // one client may use a twentieth
	mailNetworkPart  = 10 // one IPv6 /48 may use a tenth
	mailReservedPart = 5  // a fifth is reserved for known devices
	mailPartFloor    = 10 // smallest part, unless the whole is smaller
)

// shareOf returns a part of a rate, at least mailPartFloor events.
func shareOf(all authsvc.Rate, of int) authsvc.Rate {
	return authsvc.Rate{N: max(all.N/of, min(all.N, mailPartFloor)), Per: all.Per}
}

// setLimits creates the rate limits for mails and for the links and codes in them.
func (ml *mailing) setLimits(r *limit.Rating, o *authsvc.RateLimit) {
	ml.mailboxRate = r.Rate("EmailPerAddress", o.EmailPerAddress, authsvc.Rate{N: 5, Per: time.Hour})
	all := r.Rate("EmailTotal", o.EmailTotal, authsvc.Rate{N: 1000, Per: time.Hour})
	ml.mailboxLimit = r.Limiter("mailbox", ml.mailboxRate)
	ml.linkLimit = r.Limiter("link", r.Rate("Link", o.Link, authsvc.Rate{N: 30, Per: time.Minute}))
	notices := r.Rate("NoticesPerUser", o.NoticesPerUser, authsvc.Rate{N: 20, Per: 24 * time.Hour})
	ml.noticeLimit = r.Limiter("notices", notices)
	ml.plainNoticeLimit = r.Limiter("notices-plain", authsvc.Rate{N: notices.N - notices.N/2, Per: notices.Per})
	ml.browserLimit = r.Limiter("notices-browser", authsvc.Rate{N: 1, Per: time.Hour})
	ml.clientLimit, ml.networkLimit = r.Limiter("mail-client", shareOf(all, mailClientPart)), r.Limiter("mail-network", shareOf(all, mailNetworkPart))
	if reserved := all.N / mailReservedPart; reserved > 0 {
		ml.reservedLimit = r.Limiter("mail-known", authsvc.Rate{N: reserved, Per: all.Per})
		all.N -= reserved
	}
	ml.totalLimit = r.Limiter("mail", all)
}

// limitMail counts a link against the rate limits of the client, its network, the
// mailbox and all mails. If one is exceeded, no mail is sent, and the returned event
// says why; the answer does not show it. A known device, which is not "", has counts of
// its own, so that strangers cannot use up the owner's. refused says that the link
// causes no mail in any case.
func (ml *mailing) limitMail(rq *request, mailbox, device string, refused bool) (withheld authsvc.AuditEvent) {
	whose := ""
	if device != "" {
		whose = "known\x00"
	}
	events := []limit.Event{{Limiter: ml.clientLimit, Key: whose + rq.clientKey()}}
	if rq.clientIP().Is6() {
		events = append(events, limit.Event{Limiter: ml.networkLimit, Key: whose + rq.networkKey()})
	}
	ofClient := len(events)
	if device != "" {
		whose += device + "\x00"
	}
	events = append(events, limit.Event{Limiter: ml.mailboxLimit, Key: whose + mailbox})
	switch n, _ := rq.limits.Permit(rq.ctx, rq.now, events...); {
	case n < ofClient:
		return authsvc.AuditEvent{Name: "email.limited", Code: authsvc.CodeRateLimited, Reason: "too many links for one client"}
	case n == ofClient:
		return authsvc.AuditEvent{Name: "email.limited", Code: authsvc.CodeRateLimited, Reason: "too many links for one mailbox"}
	case !ml.withinTotal(rq, device != "", refused):
		ml.warnTotal(rq.now)
		return authsvc.AuditEvent{Name: "email.limited", Code: authsvc.CodeRateLimited, Reason: "too many links in total"}
	}
	return withheld
}

// withinTotal counts a link against the limit of all mails. Beyond it, a known device
// may use the reserved part. A refused link makes as many store calls, so that the time
// taken does not reveal it. It counts only for its client, so no one can use up the
// limit of all mails with links that cause none. Together with the other limits in one
// step, a used up total would take longer, but not for a refused link.
func (ml *mailing) withinTotal(rq *request, known, refused bool) bool {
	key := ""
	if refused {
		if ml.totalLimit.Over(key, rq.now) { // no link calls the store now
			return true
		}
		key = "refused\x00" + rq.clientKey()
	}
	if _, ok := rq.permit(ml.totalLimit, key); ok || refused {
		return true
	}
	if !known || ml.reservedLimit == nil {
		return false
	}
	_, ok := rq.permit(ml.reservedLimit, "")
	return ok
}

// warnTotal warns the operator, once a minute, that people who ask for links get none.
func (ml *mailing) warnTotal(now time.Time) {
	if ml.fleet.FirstInMinute("mails in all", now) {
		ml.Log.Warn("more links are requested than the limit for all mails allows; links over the limit are not mailed", "field", "RateLimit.EmailTotal")
	}
}

// countLink counts a redeemed or invalid link. The page that asks for confirmation is
// not counted.
func (ml *mailing) countLink(rq *request) outcome {
	if wait, ok := rq.permit(ml.linkLimit, rq.clientKey()); !ok {
		return rq.limited(wait)
	}
	return nil
}

// linkDigests returns the forms in which the token of an email link may be stored:
// first the form for new links, then the forms for older secrets.
func (ml *mailing) linkDigests(token string) []string {
	var list []string
	for _, mac := range ml.linkKeys {
		list = append(list, b64(mac.Sum(token)))
	}
	for _, secret := range ml.hashSecrets {
		list = append(list, hashHex(token, secret))
	}
	return list
}
