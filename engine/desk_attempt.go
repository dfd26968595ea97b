package engine

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/cookie"
	"authsvc/internal/seal"
	"authsvc/internal/text"
)

// Limits on sign-in attempts that wait for an identity provider.
const (
	txLifetime   = 15 * time.Minute
	txMaxPending = 5
	txMaxOthers  = 10      // cookies of attempts that do not open, such as another service's
	txMaxCookie  = 3 << 10 // bytes of one transaction cookie
	cookieBudget = 6 << 10 // bytes of the Cookie header; beyond it, the oldest attempts are dropped
)

// A transaction is one attempt to sign in at an identity provider or, without a
// Provider, a sign-out that continues at one. It is stored only in a sealed cookie of
// the browser that started it. Each attempt has its own cookie, so tabs do not disturb
// each other and starting an attempt costs the server nothing.
//
// The state parameter is random.mac: 144 random bits and an HMAC that binds them to the
// hash of the CSRF token's browser part, the provider and the expiry (RFC 6749 §10.12,
// RFC 9700 §4.7). The browser part outlives the session, so the attempt does too.
type transaction struct {
	Provider    string `json:"p"`
	Issuer      string `json:"i,omitempty"`
	RedirectURI string `json:"r"`
	Verifier    string `json:"v,omitempty"` // PKCE
	Nonce       string `json:"n,omitempty"`
	CallbackURL string `json:"c,omitempty"`
	CallbackIs  string `json:"d,omitempty"` // digest of the callback URL, if only its own cookie has room for it
	LinkTo      string `json:"l,omitempty"` // id of the user who asked to link
	LinkImplied bool   `json:"m,omitempty"` // implied by being signed in, not asked for
	Browser     string `json:"b"`           // browserHash of the CSRF token
	Expires     int64  `json:"e"`           // seconds since 1970
	State       string `json:"s"`
	StepUpUser  string `json:"f,omitempty"` // id of the user who must prove their identity again
	MaxAge      *int64 `json:"a,omitempty"` // the max_age that was requested, in seconds
	Again       bool   `json:"g,omitempty"` // without storage: the signed-in user must prove their identity again
	Token       string `json:"t,omitempty"` // OAuth 1: the request token
	TokenSecret string `json:"k,omitempty"` // OAuth 1: the secret of the request token
	EndedUser   string `json:"u,omitempty"` // sign-out: id of the user whose session ended
	EndedAt     string `json:"o,omitempty"` // sign-out: the provider that the session began with

	Params   map[string]string `json:"q,omitempty"` // OAuth 2: the caller's parameters of the request
	Repeated bool              `json:"x,omitempty"` // OAuth 2: the request must not be made again
}

func browserHash(token string) string { return seal.Digest("csrf lineage " + browserPart(token)) }

func (dk *desk) txName(state string) string { return dk.txPrefix + seal.Digest(state)[:16] }

// startTx makes the state of a new attempt and sets its cookie.
func (dk *desk) startTx(rq *request, tx *transaction) *authError {
	dk.makeState(rq, tx)
	return dk.keepTx(rq, tx)
}

// makeState binds a new attempt to this browser, the provider and the current time. An
// attempt that begins again stays bound to its browser.
func (dk *desk) makeState(rq *request, tx *transaction) {
	tx.Expires = rq.now.Add(txLifetime).Unix()
	if tx.Browser == "" {
		tx.Browser = browserHash(rq.csrfToken())
	}
	random := b64(seal.Random(18))
	tx.State = random + "." + b64(dk.stateKey.Sum(random, tx.Browser, tx.Provider, strconv.FormatInt(tx.Expires, 10)))
}

// keepTx sets the cookie of a new attempt that already has a state.
func (dk *desk) keepTx(rq *request, tx *transaction) *authError {
	value, err := dk.sealTx(rq, tx)
	if errors.Is(err, errTxSize) { // the callback URL also has its own cookie
		slim := *tx
		slim.CallbackURL, slim.CallbackIs = "", seal.Digest(tx.CallbackURL)
		if value, err = dk.sealTx(rq, &slim); errors.Is(err, errTxSize) { // as JSON, parameters can be six times as long
			slim.Params, slim.Repeated = nil, true
			value, err = dk.sealTx(rq, &slim)
		}
	}
	if err != nil {
		return fail(authsvc.CodeOAuthSignin, err)
	}
	dk.dropOldest(rq, len(value))
	rq.setCookie(cookie.Cookie{Name: dk.txName(tx.State), Value: value, Expires: time.Unix(tx.Expires, 0)})
	return nil
}

func (dk *desk) sealTx(rq *request, tx *transaction) (string, error) {
	raw, err := json.Marshal(tx)
	if err != nil {
		return "", err
	}
	value, err := dk.txKey.Seal(raw)
	if err == nil && len(value)+len(dk.txPrefix)+16 > txMaxCookie {
		err = errTxSize
	}
	return value, err
}

var errTxSize = errors.New("the sign-in attempt does not fit into its cookie")

// pending opens the attempts that the request carries and returns them oldest first.
// others holds the names of cookies that do not open or have expired. Browsers send
// cookies to every port and path of a host name, so they may be of another service.
func (dk *desk) pending(rq *request) (txs []transaction, others []string) {
	for _, p := range rq.jar.Pairs {
		if !strings.HasPrefix(p.Name, dk.txPrefix) {
			continue
		}
		if tx, ok := dk.openTx(rq, p); ok {
			txs = append(txs, tx)
		} else if cookie.ValidName(p.Name) {
			others = append(others, p.Name)
		}
	}
	slices.SortStableFunc(txs, func(a, b transaction) int { return cmp.Compare(a.Expires, b.Expires) })
	return txs, others
}

func (dk *desk) openTx(rq *request, p cookie.Pair) (tx transaction, ok bool) {
	if len(p.Value) > txMaxCookie {
		return tx, false
	}
	raw, _, err := dk.txKey.Open(p.Value)
	if err != nil || json.Unmarshal(raw, &tx) != nil {
		return tx, false
	}
	return tx, dk.txName(tx.State) == p.Name && rq.now.Unix() < tx.Expires && tx.Browser != ""
}

// dropOldest makes room for one more attempt of the given size.
func (dk *desk) dropOldest(rq *request, size int) {
	txs, others := dk.pending(rq)
	names := make([]string, len(txs))
	for i := range txs {
		names[i] = dk.txName(txs[i].State)
	}
	for _, name := range others {
		if value, _ := rq.jar.Get(name); dk.txKey.NamesOther(value) {
			warnShared(rq, name)
		}
	}
	makeRoom(rq, others, names, size)
}

// makeRoom drops attempts until one more of the given size fits. others and names hold
// the names of their cookies. Those of others do not open: they are left alone as long
// as there is room, and dropped first. names are of this service, oldest first.
func makeRoom(rq *request, others, names []string, size int) {
	total := rq.jar.Size + size
	drop := func(list []string, most int) {
		for i, name := range list {
			if len(list)-i <= most && total <= cookieBudget {
				return
			}
			value, _ := rq.jar.Get(name)
			total -= len(name) + len(value) + 3
			rq.expireCookie(name, "")
		}
	}
	drop(others, txMaxOthers)
	drop(names, txMaxPending-1)
}

// finishTx opens the attempt that state belongs to and uses it up. It clears the cookie
// on every outcome; the store ensures that an attempt counts only once. Without a
// store, a cancelled attempt is not remembered: nothing was exchanged that could be
// exchanged again, and strangers cannot fill the set.
func (dk *desk) finishTx(rq *request, state string, cancelled bool) (*transaction, *authError) {
	dk.dropTx(rq, state)
	tx, refused := dk.findTx(rq, state)
	if refused != nil {
		return nil, refused
	}
	if cancelled && !dk.cancelsOnce {
		return tx, nil
	}
	err := dk.fleet.UseAttempt(rq.ctx, seal.Digest(state), time.Unix(tx.Expires, 0).Add(time.Minute))
	switch {
	case errors.Is(err, adapter.ErrConflict):
		return nil, fail(authsvc.CodeOAuthCallback, hintedReason{hintStale, "this attempt was finished before"})
	case err != nil:
		return nil, storeFailed(authsvc.CodeOAuthCallback, err)
	}
	return tx, nil
}

// findTx opens the attempt that state belongs to, if the attempt may continue in this
// request. It does not use it up.
func (dk *desk) findTx(rq *request, state string) (*transaction, *authError) {
	if state == "" || len(state) > 200 {
		return nil, fail(authsvc.CodeOAuthCallback, fixedReason("no state"))
	}
	name := dk.txName(state)
	value, ok := rq.jar.Get(name)
	if !ok {
		return nil, fail(authsvc.CodeOAuthCallback, hintedReason{hintStale, "state is not one of this browser's pending attempts"})
	}
	tx, ok := dk.openTx(rq, cookie.Pair{Name: name, Value: value})
	if !ok || !dk.verifyState(rq, &tx, state) {
		return nil, fail(authsvc.CodeOAuthCallback, hintedReason{hintStale, "state does not verify or has expired"})
	}
	if tx.Provider != rq.providerID() {
		return nil, fail(authsvc.CodeOAuthCallback, fixedReason("state belongs to an attempt at another provider"))
	}
	if !began(rq, &tx) {
		return nil, fail(authsvc.CodeOAuthCallback, hintedReason{hintStale, "the CSRF token differs from the one at the start"})
	}
	if tx.CallbackIs != "" {
		tx.CallbackURL = rq.origin
		if kept := callbackURLCookie(rq); text.Same(seal.Digest(kept), tx.CallbackIs) {
			tx.CallbackURL = kept
		}
	}
	return &tx, nil
}

// dropTx clears the cookie of an attempt.
func (dk *desk) dropTx(rq *request, state string) {
	if len(state) > 200 {
		return
	}
	if _, ok := rq.jar.Get(dk.txName(state)); ok {
		rq.expireCookie(dk.txName(state), "")
	}
}

// latestState returns the state of the newest attempt at the callback's provider. It
// serves providers that are configured not to get a state parameter.
func (dk *desk) latestState(rq *request) string {
	state := ""
	txs, _ := dk.pending(rq)
	for _, tx := range txs {
		if tx.Provider == rq.providerID() {
			state = tx.State
		}
	}
	return state
}

func (dk *desk) verifyState(rq *request, tx *transaction, state string) bool {
	random, sum, ok := strings.Cut(state, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sum)
	if !ok || err != nil || tx.State != state {
		return false
	}
	ok, _ = dk.stateKey.Verify(raw, random, tx.Browser, tx.Provider, strconv.FormatInt(tx.Expires, 10))
	return ok
}

// began reports whether this browser began the attempt.
//
// If a user is signed in, the CSRF cookie must verify. This defeats a sibling host that
// plants a pair of cookies: its own attempt and the token for it. If no user is signed
// in, a token also counts if its proof belongs to a session that expired or was cleared
// while the person was at the provider. This opens no hole: only the browser of the
// attempt has a token with this browser part, and an attacker who can plant a pair
// could equally plant one that was made without a session.
func began(rq *request, tx *transaction) bool {
	token := rq.csrfToken()
	if token == "" && rq.sid() == "" {
		token = rq.csrfClaim
	}
	return token != "" && text.Same(tx.Browser, browserHash(token))
}

// waits reports whether this browser has a pending attempt.
func (dk *desk) waits(rq *request) bool {
	txs, _ := dk.pending(rq)
	return slices.ContainsFunc(txs, func(tx transaction) bool { return began(rq, &tx) })
}

// rotateCSRF replaces the CSRF token for the new session sid of the user userID, and
// ends other users' attempts to link. sid and userID are "" after a sign-out.
func (dk *desk) rotateCSRF(rq *request, sid, userID string) {
	rq.setCSRF(sid)
	dk.endLinks(rq, userID)
}

// endLinks ends the pending attempts to link, except attempts by the user userID, who
// is now signed in. userID is "" after a sign-out. It opens no attempt that has ended.
func (dk *desk) endLinks(rq *request, userID string) {
	for _, p := range rq.jar.Pairs {
		if strings.HasPrefix(p.Name, dk.txPrefix) && !rq.expires(p.Name) {
			if tx, ok := dk.openTx(rq, p); ok && tx.LinkTo != "" && tx.LinkTo != userID {
				rq.expireCookie(p.Name, "")
			}
		}
	}
}

// The redirect protocols (OAuth 2, OAuth 1, OpenID 2.0) share the code below: it begins
// attempts and handles their callbacks.

// startProviderTimeout bounds rq.ctx by providerTimeout until done is called.
func startProviderTimeout(rq *request) (done func()) {
	whole := rq.ctx
	ctx, cancel := context.WithTimeout(whole, providerTimeout)
	rq.ctx = ctx
	return func() { cancel(); rq.ctx = whole }
}

// A remote is a provider and the redirect URI that an attempt is bound to.
type remote struct {
	id          string
	issuer      string // issuer, or the address that replaces it
	redirectURI string
}

// newAttempt makes the transaction of a sign-in, with its callback URL. If the identity
// is to be linked, the transaction names the signed-in user.
func (dk *desk) newAttempt(rq *request, at remote) (*transaction, outcome) {
	tx := &transaction{Provider: at.id, Issuer: at.issuer, RedirectURI: at.redirectURI, CallbackURL: rq.callbackURL()}
	if tx.StepUpUser = rq.stepUpUser; tx.StepUpUser != "" {
		return tx, nil
	}
	tx.Again = !dk.canStepUp && rq.body.get("again") == "true"
	asked := rq.body.get("link") == "true"
	if !(asked && dk.linksAsked || dk.linksSignedIn) {
		return tx, nil
	}
	s, err := dk.keeper.current(rq)
	switch {
	case err != nil:
		return nil, storeFailed(authsvc.CodeOAuthSignin, err)
	case asked && s != nil && dk.linksFresh && !dk.provedFresh(rq, s, "signin"):
		return nil, stepUpFirst(rq, rq.base+"/signin?callbackUrl="+url.QueryEscape(tx.CallbackURL), s)
	case s != nil:
		tx.LinkTo, tx.LinkImplied = s.UserID, !asked
	case asked:
		return nil, fail(authsvc.CodeSessionRequired, fixedReason("linking was requested without a session"))
	}
	return tx, nil
}

// notPrefetched refuses a prefetch, which would use up a code or a state.
var notPrefetched = problem{status: http.StatusServiceUnavailable, text: "must not be prefetched"}

// An authResponse holds the parts of an authorization response that all protocols
// share.
type authResponse struct {
	state  string
	denied bool  // nothing was granted
	err    error // set if the response is malformed
}

// finishAttempt uses up the attempt that a response belongs to. It returns the identity
// that identify, which knows the protocol, gets from the response.
func (dk *desk) finishAttempt(rq *request, at remote, a authResponse, identify func(*transaction) (identity, error)) outcome {
	if a.err != nil {
		dk.dropTx(rq, a.state)
		return fail(authsvc.CodeOAuthCallback, a.err)
	}
	tx, refused := dk.finishTx(rq, a.state, a.denied)
	if refused != nil {
		return refused
	}
	rq.stepUpUser = tx.StepUpUser
	if tx.Issuer != at.issuer || tx.RedirectURI != at.redirectURI {
		return fail(authsvc.CodeOAuthCallback, fixedReason("the provider's issuer or address was changed since the attempt began"))
	}
	id, err := identify(tx)
	switch {
	case errors.Is(err, authsvc.ErrAccessDenied), errors.Is(err, errDenied):
		return fail(authsvc.CodeAccessDenied, err)
	case err != nil:
		return fail(authsvc.CodeOAuthCallback, err)
	}
	id.callbackURL, id.linkTo, id.linkImplied, id.again = tx.CallbackURL, tx.LinkTo, tx.LinkImplied, tx.Again
	return id
}

// responseParam returns a parameter of a response. If the parameter is repeated,
// responseParam returns the first value and sets a.err.
func responseParam(rq *request, a *authResponse, name string) string {
	if rq.body != nil {
		return rq.body.get(name)
	}
	all := rq.queryValues()[name]
	if len(all) == 0 {
		return ""
	}
	if len(all) > 1 {
		a.err = repeatedParamError(name)
	}
	return all[0]
}

// repeatedParamError names a parameter that appears more than once (RFC 6749 §3.1).
type repeatedParamError string

func (e repeatedParamError) Error() string { return "parameter " + string(e) + " came twice" }

// nameCookies names the cookies for signing in.
func (dk *desk) nameCookies(n *cookie.Names) {
	dk.txPrefix, dk.lastCookie = n.AddPrefix("tx"), n.Add("last")
	dk.deviceCookieName, dk.pendingCookie = n.Add("known"), n.Add("pending")
}

func (dk *desk) deriveKeys(ring *seal.Ring) {
	dk.stateKey, dk.txKey = ring.MAC("state "+dk.site.base), ring.Sealer("transaction "+dk.site.base)
	dk.deviceKey, dk.freshKey = ring.Sealer("known accounts "+dk.site.base), ring.Sealer("fresh "+dk.site.base)
}
