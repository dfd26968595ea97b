package authsvc

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc/internal/seal"
)

// Limits of sign-in attempts that wait for an identity provider.
const (
	txLifetime    = 15 * time.Minute
	txMaxPending  = 5
	txMaxCookie   = 3 << 10 // bytes of one transaction cookie
	cookieBudget  = 6 << 10 // of the Cookie header, then the oldest attempts go
	txMaxAccepted = 8       // CSRF hashes that one attempt may collect
)

// A transaction is one attempt to sign in at an identity provider, or, with no
// Provider, a sign-out that goes on there. It lives
// only in a sealed cookie of the browser that started it, one per attempt, so
// that tabs do not disturb each other and starting costs the server nothing.
//
// The state parameter is random.mac: 144 random bits and an HMAC that binds
// them to the hash of the CSRF token at the start, the provider and the
// expiry (RFC 6749 §10.12, RFC 9700 §4.7).
type transaction struct {
	Provider    string   `json:"p"`
	Issuer      string   `json:"i,omitempty"`
	RedirectURI string   `json:"r"`
	Verifier    string   `json:"v,omitempty"` // PKCE
	Nonce       string   `json:"n,omitempty"`
	CallbackURL string   `json:"c"`
	LinkTo      string   `json:"l,omitempty"` // id of the user who asked to link
	CSRF        []string `json:"h"`           // hashes of accepted CSRF tokens; the first is that of the start
	Expires     int64    `json:"e"`           // seconds since 1970
	State       string   `json:"s"`
	MaxAge      *int64   `json:"a,omitempty"` // max_age that was asked for, seconds
	Token       string   `json:"t,omitempty"` // OAuth 1: the request token,
	TokenSecret string   `json:"k,omitempty"` // and its secret
	EndedUser   string   `json:"u,omitempty"` // a sign-out: id of the user whose session ended,
	EndedAt     string   `json:"o,omitempty"` // and the provider that it began by
}

func csrfHash(token string) string { return seal.Digest("csrf " + token) }

// accepts reports whether the attempt may end under the CSRF token of a hash.
func (tx *transaction) accepts(hash string) bool {
	return slices.ContainsFunc(tx.CSRF, func(h string) bool { return sameSecret(h, hash) })
}

func (s *Service) txName(state string) string { return s.names.txPrefix + seal.Digest(state)[:16] }

// startTx makes the state and sets the cookie of a new attempt.
func (rq *request) startTx(tx *transaction) *Error {
	rq.makeState(tx)
	return rq.keepTx(tx)
}

// makeState binds a new attempt to this browser, now and the provider.
func (rq *request) makeState(tx *transaction) {
	tx.Expires = rq.now.Add(txLifetime).Unix()
	tx.CSRF = []string{csrfHash(rq.csrfToken())}
	random := b64(seal.Random(18))
	tx.State = random + "." + b64(rq.stateMAC.Sum(random, tx.CSRF[0], tx.Provider, strconv.FormatInt(tx.Expires, 10)))
}

// keepTx sets the cookie of a new attempt that has a state.
func (rq *request) keepTx(tx *transaction) *Error {
	value, err := rq.sealTx(tx)
	if err != nil {
		return fail(OAuthSignin, err)
	}
	rq.dropOldest(len(value))
	rq.setCookie(cookie{name: rq.txName(tx.State), value: value, expires: time.Unix(tx.Expires, 0)})
	return nil
}

func (rq *request) sealTx(tx *transaction) (string, error) {
	raw, err := json.Marshal(tx)
	if err != nil {
		return "", err
	}
	value, err := rq.txSeal.Seal(raw)
	if err == nil && len(value)+len(rq.names.txPrefix)+16 > txMaxCookie {
		err = errors.New("the sign-in attempt does not fit into its cookie; the callbackUrl is too long")
	}
	return value, err
}

// pending opens the attempts that the request carries, oldest first, without
// those that are over. Cookies that do not open are expired.
func (rq *request) pending() []transaction {
	var txs []transaction
	for _, p := range rq.jar.pairs {
		if !strings.HasPrefix(p.name, rq.names.txPrefix) {
			continue
		}
		tx, ok := rq.openTx(p)
		switch {
		case ok:
			txs = append(txs, tx)
		case validCookieName(p.name):
			rq.expireCookie(p.name, "")
		}
	}
	slices.SortStableFunc(txs, func(a, b transaction) int { return cmp.Compare(a.Expires, b.Expires) })
	return txs
}

func (rq *request) openTx(p pair) (tx transaction, ok bool) {
	if len(p.value) > txMaxCookie {
		return tx, false
	}
	raw, _, err := rq.txSeal.Open(p.value)
	if err != nil || json.Unmarshal(raw, &tx) != nil {
		return tx, false
	}
	return tx, rq.txName(tx.State) == p.name && rq.now.Unix() < tx.Expires && len(tx.CSRF) > 0
}

// dropOldest makes room for one more attempt of the given size.
func (rq *request) dropOldest(size int) {
	txs := rq.pending()
	total := rq.jar.size + size
	for i, tx := range txs {
		if len(txs)-i < txMaxPending && total <= cookieBudget {
			return
		}
		name := rq.txName(tx.State)
		value, _ := rq.jar.get(name)
		total -= len(name) + len(value) + 3
		rq.expireCookie(name, "")
	}
}

// finishTx opens the attempt that state belongs to and uses it up. The cookie
// is cleared on every outcome; the store makes sure that it counts once.
func (rq *request) finishTx(state string) (*transaction, *Error) {
	rq.dropTx(state)
	tx, refused := rq.findTx(state)
	if refused != nil {
		return nil, refused
	}
	err := rq.usedOnce(seal.Digest(state), time.Unix(tx.Expires, 0).Add(time.Minute))
	switch {
	case errors.Is(err, ErrConflict):
		return nil, fail(OAuthCallback, because("this attempt was finished before"))
	case err != nil:
		return nil, storeFailed(OAuthCallback, err)
	}
	return tx, nil
}

// findTx opens the attempt that state belongs to if it may go on in this
// request. It uses nothing up.
func (rq *request) findTx(state string) (*transaction, *Error) {
	if state == "" || len(state) > 200 {
		return nil, fail(OAuthCallback, because("no state"))
	}
	name := rq.txName(state)
	value, ok := rq.jar.get(name)
	if !ok {
		return nil, fail(OAuthCallback, because("state is not one of this browser's pending attempts"))
	}
	tx, ok := rq.openTx(pair{name, value})
	if !ok || !rq.verifyState(&tx, state) {
		return nil, fail(OAuthCallback, because("state does not verify or is over"))
	}
	if tx.Provider != rq.providerID() {
		return nil, fail(OAuthCallback, because("state belongs to an attempt at another provider"))
	}
	if token := rq.csrfToken(); token == "" || !tx.accepts(csrfHash(token)) {
		return nil, fail(OAuthCallback, because("the CSRF token is not that of the start"))
	}
	return &tx, nil
}

// dropTx clears the cookie of an attempt.
func (rq *request) dropTx(state string) {
	if len(state) > 200 {
		return
	}
	if _, ok := rq.jar.get(rq.txName(state)); ok {
		rq.expireCookie(rq.txName(state), "")
	}
}

// latestState is the state of the newest attempt at the callback's provider,
// for providers that are configured to get no state parameter.
func (rq *request) latestState() string {
	state := ""
	for _, tx := range rq.pending() {
		if tx.Provider == rq.providerID() {
			state = tx.State
		}
	}
	return state
}

func (rq *request) verifyState(tx *transaction, state string) bool {
	random, sum, ok := strings.Cut(state, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sum)
	if !ok || err != nil || tx.State != state {
		return false
	}
	ok, _ = rq.stateMAC.Verify(raw, random, tx.CSRF[0], tx.Provider, strconv.FormatInt(tx.Expires, 10))
	return ok
}

func (rq *request) usedOnce(key string, expires time.Time) error {
	if rq.adapter == nil {
		return rq.once.use(key, rq.now, expires)
	}
	return rq.adapter.UseOnce(rq.ctx, "tx:"+key, expires)
}

// reseal lets every pending attempt of this browser accept the new CSRF token.
// Attempts to link end with the session that asked for them.
func (rq *request) reseal(token string, keepLinks bool) {
	hash := csrfHash(token)
	for _, tx := range rq.pending() {
		name := rq.txName(tx.State)
		if rq.expiring(name) {
			continue
		}
		if tx.LinkTo != "" && !keepLinks {
			rq.expireCookie(name, "")
			continue
		}
		if tx.CSRF = append(tx.CSRF, hash); len(tx.CSRF) > txMaxAccepted {
			tx.CSRF = slices.Delete(tx.CSRF, 1, len(tx.CSRF)-txMaxAccepted+1)
		}
		if value, err := rq.sealTx(&tx); err == nil {
			rq.setCookie(cookie{name: name, value: value, expires: time.Unix(tx.Expires, 0)})
		}
	}
}

// expiring reports whether this answer already deletes the cookie.
func (rq *request) expiring(name string) bool {
	return slices.ContainsFunc(rq.set, func(c cookie) bool { return c.name == name && c.expire })
}
