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
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// personalRoom is the page on which people make and revoke their personal access
// tokens.
type personalRoom struct {
	*fleet.Given
	keeper *keeper
	issuer *issuer
	desk   *desk

	hosts []string // of the gate that take such tokens
	on    bool
}

func personalPart(h *storeys) part {
	p := &personalRoom{Given: h.given, keeper: h.keeper, issuer: h.issuer, desk: h.desk}
	return part{of: p, check: p.compile, account: p.entry, routes: func() map[string]*route {
		has := func(*request) bool { return p.on }
		return map[string]*route{
			"account/tokens":        {get: p.getTokens, post: p.postToken, cors: always, when: has, own: true},
			"account/tokens/revoke": {post: p.postRevoke, cors: always, when: has, own: true},
		}
	}}
}

// compile finds out what tokens can be for. A person chooses among that; the
// application and the operator can also name hosts that are not behind this gate.
func (p *personalRoom) compile(b *builder) {
	for _, h := range b.config.Gate.Hosts {
		takes := func(a authsvc.Allow) bool {
			return slices.ContainsFunc(a.AnyOf, func(c authsvc.Condition) bool { return c.Tokens })
		}
		if origin, ok := weburl.ExactOrigin(h.Origin); ok && (takes(h.Default) || slices.ContainsFunc(h.Rules, func(r authsvc.GateRule) bool { return takes(r.Allow) })) {
			p.hosts = append(p.hosts, origin)
		}
	}
	p.on = b.config.PersonalTokens.Enabled && p.desk.canStepUp && !b.config.Account.Disabled && len(b.config.Tokens.Audiences)+len(p.hosts) > 0
}

// personalPath is the path of the page, below the base path.
const personalPath = "/account/tokens"

// typedPersonal is the form in the cookie of what was typed whose field is the name. No
// provider has this id.
const typedPersonal = "account/tokens"

func (p *personalRoom) entry(rq *request, _ *authsvc.Session) []pages.Entry {
	if !p.on {
		return nil
	}
	return []pages.Entry{{Href: rq.base + personalPath, Key: "entry.tokens"}}
}

// A tokensObject is what GET account/tokens answers a script.
type tokensObject struct {
	Tokens    []tokenObject `json:"tokens"`
	Audiences []string      `json:"audiences"` // that a new one can be for
	Hosts     []string      `json:"hosts"`
	MaxDays   int           `json:"maxDays"` // of a new one
}

type tokenObject struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Audiences []string `json:"audiences"`
	Hosts     []string `json:"hosts"`
	Created   *string  `json:"created"`
	Used      *string  `json:"used"` // the day
	Expires   *string  `json:"expires"`
	Sealed    bool     `json:"sealed"` // under a secret that is gone: it is not accepted
}

func newTokenObject(t *authsvc.PersonalToken) tokenObject {
	return tokenObject{ID: t.ID, Name: t.Name, Audiences: append([]string{}, t.Audiences...), Hosts: append([]string{}, t.Hosts...),
		Created: isoTime(t.Created), Used: isoTime(t.Used), Expires: isoTime(t.Expires), Sealed: t.Sealed}
}

// audienceIDs are those of the configuration.
func (p *personalRoom) audienceIDs() []string {
	ids := []string{}
	for _, a := range p.issuer.audiences {
		ids = append(ids, a.id)
	}
	return ids
}

// maxDays is the longest life of a new token, at least a day.
func (p *personalRoom) maxDays() int { return max(1, int(p.issuer.pats.maxAge/(24*time.Hour))) }

// getTokens: GET account/tokens lists the tokens of the person, and has the form for
// a new one.
func (p *personalRoom) getTokens(rq *request) outcome {
	s, err := p.keeper.current(rq)
	switch {
	case err != nil:
		return rq.accountAway(err)
	case s == nil:
		return rq.signInFirst(personalPath)
	}
	list, err := p.issuer.PersonalTokens(rq.ctx, s.UserID)
	switch {
	case errors.Is(err, authsvc.ErrNotFound): // one of the application's, who is not stored
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.accountAway(err)
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

// How the fields of the form's checkboxes begin. A script sends lists, separated by
// spaces, which neither ids of audiences nor origins have: audiences and hosts.
const (
	useAudience = "audience."
	useHost     = "host."
)

// usesOf are the values of a field with a list and of those that begin with prefix,
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

// postToken: POST account/tokens makes a token and answers it, once: only its digest
// is stored. It needs a fresh proof, since the token outlives the session.
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
	token, info, err := p.issuer.makePersonal(rq.ctx, s.UserID, &r, uses, func() error { return p.stillSignedIn(rq, s) })
	switch {
	case errors.Is(err, errSignedOut):
		return rq.signInFirst(personalPath)
	case errors.Is(err, authsvc.ErrTooMany): // as many as there may be
		return rq.refuseOwn(personalPath, authsvc.CodeInvalid, http.StatusConflict)
	case errors.Is(err, authsvc.ErrAccessDenied), errors.Is(err, authsvc.ErrNotFound):
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.accountAway(err)
	}
	rq.forgetTyped()
	rq.note(authsvc.AuditEvent{Name: "pat.created", UserID: s.UserID, Reason: "by the person"})
	if rq.wantsJSON() {
		return object{v: map[string]any{"url": rq.base + personalPath, "token": token, "info": newTokenObject(&info)}}
	}
	list, err := p.issuer.PersonalTokens(rq.ctx, s.UserID)
	if err != nil { // it is made, and must be shown now
		list = []authsvc.PersonalToken{info}
	}
	v := p.view(rq, s, list)
	v.Made, v.MadeName = token, info.Name
	return page{name: pages.Tokens, view: v}
}

// errSignedOut: the session ended while a token was made.
var errSignedOut = errors.New("the session has ended")

// stillSignedIn reads the session once more, with all revocations that the store has:
// a token outlives a sign-out, so that one which has ended must make none.
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

// request reads what a token is to be good for. ok: a person may choose that.
func (p *personalRoom) readForm(rq *request) (r authsvc.PersonalTokenRequest, ok bool) {
	r = authsvc.PersonalTokenRequest{Name: rq.body.get("name"), Audiences: usesOf(rq, "audiences", useAudience), Hosts: usesOf(rq, "hosts", useHost)}
	for _, name := range []string{"name", "audiences", "hosts", "days"} {
		if rq.body.other[name] { // a number or a list of JSON
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

// postRevoke: POST account/tokens/revoke ends a token of the person's. No fresh proof
// is needed to take access away.
func (p *personalRoom) postRevoke(rq *request) outcome {
	s, done, refused := p.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	err := p.issuer.dropPersonal(rq.ctx, s.UserID, rq.body.get("id"))
	switch {
	case errors.Is(err, authsvc.ErrNotFound):
		return rq.refuseOwn(personalPath, authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.accountAway(err)
	}
	rq.note(authsvc.AuditEvent{Name: "pat.revoked", UserID: s.UserID, Reason: "one, by the person"})
	to := weburl.WithQuery(rq.base+personalPath, "done", "revoked")
	if rq.wantsJSON() {
		return object{v: map[string]any{"url": to}}
	}
	return redirect{to: to}
}
