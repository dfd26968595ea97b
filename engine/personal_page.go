package engine

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// personalRoom serves the page on which users make and revoke their personal access
// tokens.
type personalRoom struct {
	*fleet.Common
	keeper  *keeper
	mailing *mailing
	issuer  *issuer
	desk    *desk

	hosts []string // of the gate that accept personal access tokens
	on    bool
}

func personalPart(h *storeys) part {
	p := &personalRoom{Common: h.common, keeper: h.keeper, mailing: h.mailing, issuer: h.issuer, desk: h.desk}
	return part{of: p, check: p.compile, account: p.entry, routes: func() map[string]*route {
		has := func(*request) bool { return p.on }
		return map[string]*route{
			"account/tokens":        {get: p.getTokens, post: p.postToken, cors: always, when: has, own: true},
			"account/tokens/revoke": {post: p.postRevoke, cors: always, when: has, own: true},
		}
	}}
}

// compile finds the audiences and hosts that a user can choose for a token. The
// application and the operator can also name hosts that are not behind this gate.
func (p *personalRoom) compile(b *builder) {
	for _, h := range b.config.Gate.Hosts {
		if origin, ok := weburl.ExactOrigin(h.Origin); ok && acceptsTokens(&h) {
			p.hosts = append(p.hosts, origin)
		}
	}
	p.on = b.config.PersonalTokens.Enabled && p.desk.canStepUp && !b.config.Account.Disabled && len(b.config.Tokens.Audiences)+len(p.hosts) > 0
}

// personalPath is the path of the page, below the base path.
const personalPath = "/account/tokens"

// typedPersonal identifies the token name's form in the typed-input cookie. No provider
// has this ID.
const typedPersonal = "account/tokens"

func (p *personalRoom) entry(rq *request, _ *authsvc.Session) []pages.Entry {
	if !p.on {
		return nil
	}
	return []pages.Entry{{Href: rq.base + personalPath, Key: "entry.tokens"}}
}

// A tokensObject is the answer of GET account/tokens to a script.
type tokensObject struct {
	Tokens    []tokenObject `json:"tokens"`
	Audiences []string      `json:"audiences"` // for a new token
	Hosts     []string      `json:"hosts"`
	MaxDays   int           `json:"maxDays"` // of a new token
}

type tokenObject struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Audiences []string `json:"audiences"`
	Hosts     []string `json:"hosts"`
	Created   *string  `json:"created"`
	Used      *string  `json:"used"` // the day
	Expires   *string  `json:"expires"`
	Sealed    bool     `json:"sealed"` // sealed under a lost secret: the token is not accepted
}

func newTokenObject(t *authsvc.PersonalToken) tokenObject {
	return tokenObject{ID: t.ID, Name: t.Name, Audiences: append([]string{}, t.Audiences...), Hosts: append([]string{}, t.Hosts...),
		Created: isoTime(t.Created), Used: isoTime(t.Used), Expires: isoTime(t.Expires), Sealed: t.Sealed}
}

// audienceIDs returns the IDs of the configured audiences.
func (p *personalRoom) audienceIDs() []string {
	ids := []string{}
	for _, a := range p.issuer.audiences {
		ids = append(ids, a.id)
	}
	return ids
}

// maxDays returns the longest life of a new token in days, at least one.
func (p *personalRoom) maxDays() int { return max(1, int(p.issuer.pats.maxAge/(24*time.Hour))) }

// getTokens handles GET account/tokens. It lists the user's tokens and shows the form
// for a new one.
func (p *personalRoom) getTokens(rq *request) outcome {
	s, err := p.keeper.current(rq)
	switch {
	case err != nil:
		return rq.storeUnavailable(err)
	case s == nil:
		return rq.signInFirst(personalPath)
	}
	list, err := p.issuer.PersonalTokens(rq.ctx, s.UserID)
	switch {
	case errors.Is(err, adapter.ErrNotFound): // a user of the application that is not stored
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	if rq.wantsData() {
		o := tokensObject{Tokens: []tokenObject{}, Audiences: p.audienceIDs(), Hosts: append([]string{}, p.hosts...), MaxDays: p.maxDays()}
		for i := range list {
			o.Tokens = append(o.Tokens, newTokenObject(&list[i]))
		}
		return object{v: o}
	}
	v := p.view(rq, s, list)
	if rq.query("error") != "" {
		v.Error = string(plainErrorCode(authsvc.ErrorCode(rq.query("error"))))
	}
	v.Revoked = rq.query("done") == "revoked" && v.Error == ""
	if t := rq.typed(); t.Provider == typedPersonal {
		v.Typed = t.Name
	}
	rq.forgetTyped()
	return page{name: pages.Tokens, view: v}
}

func (p *personalRoom) view(rq *request, s *authsvc.Session, list []authsvc.PersonalToken) pages.TokensView {
	v := pages.TokensView{CSRFToken: rq.ensureCSRF(), Fresh: p.desk.freshField(rq, s, "account/tokens"), MaxDays: p.maxDays(), RequestID: rq.shownRequestID()}
	for _, t := range list {
		v.Tokens = append(v.Tokens, pages.TokenRow{ID: t.ID, Name: t.Name, Uses: slices.Concat(t.Audiences, t.Hosts), Used: t.Used, Expires: t.Expires, Expired: !rq.now.Before(t.Expires), Sealed: t.Sealed})
	}
	for i, id := range p.audienceIDs() {
		v.Uses = append(v.Uses, pages.TokenUse{Field: useAudience + strconv.Itoa(i), Value: id})
	}
	for i, origin := range p.hosts {
		v.Uses = append(v.Uses, pages.TokenUse{Field: useHost + strconv.Itoa(i), Value: origin})
	}
	v.Full = len(list) >= maxPersonalTokens
	return v
}

// Prefixes of the names of the form's checkboxes. A script instead sends the fields
// audiences and hosts, lists separated by spaces, which neither audience IDs nor
// origins contain.
const (
	useAudience = "audience."
	useHost     = "host."
)

// usesOf returns the values in the field list and in all fields that begin with prefix,
// in any order.
func usesOf(rq *request, list, prefix string) []string {
	values := strings.Fields(rq.body.get(list))
	for name, value := range rq.body.fields {
		if strings.HasPrefix(name, prefix) && value != "" {
			values = append(values, value)
		}
	}
	return values
}

// postToken handles POST account/tokens. It makes a token and shows it once, since only
// its digest is stored. It needs a fresh proof, since the token outlives the session.
func (p *personalRoom) postToken(rq *request) outcome {
	s, done, refused := p.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	if !p.desk.provedFresh(rq, s, "account/tokens") {
		rq.rememberTyped(typedPersonal, rq.body.get("name"))
		back := rq.base + personalPath
		if rq.body.get("callbackUrl") != "" {
			back = rq.callbackURL()
		}
		return stepUpFirst(rq, back, s)
	}
	r, ok := p.readForm(rq)
	uses, err := p.issuer.checkPersonal(&r)
	if !ok || err != nil {
		rq.rememberTyped(typedPersonal, rq.body.get("name"))
		return rq.refuseOwn(personalPath, authsvc.CodeInvalid, http.StatusBadRequest)
	}
	var owner authsvc.User
	token, info, err := p.issuer.makePersonal(rq.ctx, s.UserID, &r, uses, func(u authsvc.User) error {
		owner = u
		return p.stillSignedIn(rq, s)
	})
	switch {
	case errors.Is(err, errSignedOut):
		return rq.signInFirst(personalPath)
	case errors.Is(err, adapter.ErrTooMany): // the user has the maximum number of tokens
		return rq.refuseOwn(personalPath, authsvc.CodeInvalid, http.StatusConflict)
	case errors.Is(err, authsvc.ErrAccessDenied), errors.Is(err, adapter.ErrNotFound):
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	rq.forgetTyped()
	rq.note(authsvc.AuditEvent{Name: "pat.created", UserID: s.UserID, Reason: "token " + info.ID + ", by the person"})
	p.mailing.tell(rq, madePersonal(owner, &info))
	if rq.wantsJSON() {
		return object{v: map[string]any{"url": rq.base + personalPath, "token": token, "info": newTokenObject(&info)}}
	}
	list, err := p.issuer.PersonalTokens(rq.ctx, s.UserID)
	if err != nil { // the token exists and must be shown now
		list = []authsvc.PersonalToken{info}
	}
	v := p.view(rq, s, list)
	v.Made, v.MadeName = token, info.Name
	return page{name: pages.Tokens, view: v}
}

// errSignedOut says that the session ended while a token was made.
var errSignedOut = errors.New("the session has ended")

// stillSignedIn reads the session again, with all revocations in the store. A token
// outlives a sign-out, so a session that has ended must not make one.
func (p *personalRoom) stillSignedIn(rq *request, s *authsvc.Session) error {
	if err := p.keeper.revoked.catchUp(rq.ctx, p.Adapter, rq.now); err != nil {
		return err
	}
	now, err := p.keeper.current(rq)
	if err == nil && (now == nil || now.UserID != s.UserID) {
		err = errSignedOut
	}
	return err
}

// readForm reads the form for a new token. It reports as ok whether a user may choose
// these values.
func (p *personalRoom) readForm(rq *request) (r authsvc.PersonalTokenRequest, ok bool) {
	r = authsvc.PersonalTokenRequest{Name: rq.body.get("name"), Audiences: usesOf(rq, "audiences", useAudience), Hosts: usesOf(rq, "hosts", useHost)}
	for _, name := range []string{"name", "audiences", "hosts", "days"} {
		if rq.body.other[name] { // a JSON number or list
			return r, false
		}
	}
	days, err := strconv.Atoi(cmp.Or(rq.body.get("days"), "0"))
	if err != nil || days < 0 || days > p.maxDays() {
		return r, false
	}
	r.Life = min(time.Duration(days)*24*time.Hour, p.issuer.pats.maxAge)
	for _, host := range r.Hosts {
		if !slices.Contains(p.hosts, host) {
			return r, false
		}
	}
	return r, true
}

// postRevoke handles POST account/tokens/revoke, which revokes one of the user's
// tokens. Revoking access needs no fresh proof.
func (p *personalRoom) postRevoke(rq *request) outcome {
	s, done, refused := p.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	err := p.issuer.dropPersonal(rq.ctx, s.UserID, rq.body.get("id"))
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return rq.refuseOwn(personalPath, authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	rq.note(authsvc.AuditEvent{Name: "pat.revoked", UserID: s.UserID, Reason: "token " + rq.body.get("id") + ", by the person"})
	to := weburl.WithQuery(rq.base+personalPath, "done", "revoked")
	if rq.wantsJSON() {
		return object{v: map[string]any{"url": to}}
	}
	return redirect{to: to}
}
