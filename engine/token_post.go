package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/access"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/seal/signingkeys"
	"authsvc/internal/text"
)

// Limits of TokenOptions.
const (
	minRotate = 24 * time.Hour
	maxRotate = 87600 * time.Hour
	minTTL    = time.Minute
	maxTTL    = 15 * time.Minute
)

// claimSources returns the names that Audience.Claims may contain, including those in
// SessionOptions.Claims. Only this function resolves them.
func (b *builder) claimSources() map[string]claimSource {
	text := func(name string, of func(*authsvc.Session) string) claimSource {
		return func(_ context.Context, _ adapter.Adapter, v *authsvc.Session, claims map[string]any) error {
			if s := of(v); s != "" {
				claims[name] = s
			}
			return nil
		}
	}
	sources := map[string]claimSource{}
	for name := range b.config.Session.Claims {
		sources[name] = keptClaim(name)
	}
	sources["name"] = text("name", func(v *authsvc.Session) string { return v.Name })
	sources["picture"] = text("picture", pictureAddress)
	sources["email"] = emailClaims
	return sources
}

// pictureAddress returns the address of a user's picture. A picture that is itself the
// address (data:) could exceed the limit of a token.
func pictureAddress(v *authsvc.Session) string {
	if strings.HasPrefix(v.Image, "data:") {
		return ""
	}
	return v.Image
}

// keptClaim returns the source of a claim that is kept in the session.
func keptClaim(name string) claimSource {
	return func(_ context.Context, _ adapter.Adapter, v *authsvc.Session, claims map[string]any) error {
		if kept, there := v.Claims()[name]; there {
			claims[name] = kept
		}
		return nil
	}
}

// emailClaims adds the address and whether it is verified. The store decides that or,
// if the store does not have the user, the session.
func emailClaims(ctx context.Context, store adapter.Adapter, v *authsvc.Session, claims map[string]any) error {
	if v.Email == "" {
		return nil
	}
	u, err := store.GetUser(ctx, v.UserID)
	switch {
	case errors.Is(err, fleet.ErrNoStorage) || errors.Is(err, adapter.ErrNotFound):
		claims["email_verified"] = v.EmailVerified
	case err != nil:
		return err
	default:
		claims["email_verified"] = u.Email == v.Email && !u.EmailVerified.IsZero()
	}
	claims["email"] = v.Email
	return nil
}

// reservedClaims are set by the engine, whatever an audience asks for. Names that differ
// from them only in case are reserved, too, because encoding/json and other parsers of
// resource servers would take one for the other.
var reservedClaims = []string{"iss", "sub", "aud", "iat", "exp", "nbf", "jti", "auth_time", "amr", "acr", "second_at", "act", "sid", "idp", "email_verified", claimUse}

// checkTokens checks TokenOptions.
func checkTokens(b *builder, s *tokenRoom) {
	o := b.config.Tokens
	s.issuer.signing.plan.Every = cmp.Or(o.Rotate, 2160*time.Hour)
	if s.issuer.signing.plan.Every < minRotate || s.issuer.signing.plan.Every > maxRotate {
		b.fail("Tokens.Rotate", "must be between 24 h and 87600 h", "use a duration such as 2160h")
	}
	ids := map[string]bool{}
	for i, a := range o.Audiences {
		b.prefix = fmt.Sprintf("Tokens.Audiences[%d].", i)
		one := b.audience(a)
		if one.id != "" && ids[one.id] {
			b.fail("ID", "is given twice", "give each audience an id of its own")
		}
		ids[one.id] = true
		s.issuer.audiences = append(s.issuer.audiences, one)
		if !slices.Contains(s.issuer.signing.plan.Algs, one.alg) {
			s.issuer.signing.plan.Algs = append(s.issuer.signing.plan.Algs, one.alg)
		}
	}
	b.prefix = ""
	asserts := len(b.config.Gate.Headers.Assertion) > 0
	if asserts && !slices.Contains(s.issuer.signing.plan.Algs, asserted.alg) {
		s.issuer.signing.plan.Algs = append(s.issuer.signing.plan.Algs, asserted.alg)
	}
	if s.issuer.signing.enabled = len(s.issuer.audiences) > 0 || asserts; !s.issuer.signing.enabled {
		return
	}
	if !s.issuer.signing.stored && slices.ContainsFunc(b.config.Secrets, func(secret string) bool { return len(strings.TrimSpace(secret)) < minSecret }) {
		b.fail("Tokens.Audiences", "need secrets of 32 bytes: without storage the signing keys are derived from them, and a short secret could be guessed",
			"set Adapter, or replace the short secret", "Secrets", "Adapter").Code = "keys_of_short_secret"
	}
	s.metadata = issuerDocument(s.site.base)
}

// audience checks one entry.
func (b *builder) audience(a authsvc.Audience) audience {
	one := audience{id: a.ID, alg: string(cmp.Or(a.Alg, authsvc.SigningES256)), typ: cmp.Or(a.Typ, "JWT"), ttl: cmp.Or(a.TTL, 5*time.Minute), when: a.When}
	if a.ID == "" || len(a.ID) > maxAudName || strings.ContainsFunc(a.ID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		b.fail("ID", "is missing or not printable", "name the program that accepts the tokens, for example by its address: up to 255 characters without spaces")
	}
	switch {
	case !signingkeys.Known(one.alg):
		b.fail("Alg", fmt.Sprintf("%q is not known", text.Printable(one.alg, 20)), "use ES256, EdDSA or RS256")
	case one.alg == signingkeys.RS256:
		b.needStorage("rs256_without_storage", "Alg", "is RS256, but there is no storage to keep such a key", "set Adapter, or use ES256 or EdDSA")
	}
	if one.typ != "JWT" && one.typ != "at+jwt" {
		b.fail("Typ", fmt.Sprintf("%q is not known", text.Printable(one.typ, 20)), "use JWT or at+jwt")
	}
	if one.ttl < minTTL || one.ttl > maxTTL {
		b.fail("TTL", "must be between 1 and 15 minutes", "use a duration such as 5m: a token cannot be revoked before it expires")
	}
	sources := b.claimSources()
	for i, name := range a.Claims {
		key := fmt.Sprintf("Claims[%d]", i)
		source := sources[name]
		if source == nil && b.config.Callbacks.Claims != nil && sessionshape.UsableName(name) { // the callback may keep a claim of that name
			source = keptClaim(name)
		}
		switch {
		case slices.ContainsFunc(reservedClaims, func(r string) bool { return strings.EqualFold(r, name) }):
			b.fail(key, fmt.Sprintf("%q is reserved", name), "leave it out: the token has it whenever its value is known")
		case source == nil:
			b.fail(key, fmt.Sprintf("%q is not known", text.Printable(name, 40)), "use "+strings.Join(slices.Sorted(maps.Keys(sources)), ", ")+", or keep a claim of that name with the session")
		case slices.Contains(a.Claims[:i], name):
			b.fail(key, fmt.Sprintf("%q is given twice", name), "remove one")
		default:
			one.claims = append(one.claims, source)
		}
	}
	return one
}

// postToken handles POST token, which returns a token for an audience that says who is
// signed in. It needs the CSRF token and extends the session as GET session does.
// Alternatively, it accepts a personal access token for the audience.
func (tk *tokenRoom) postToken(rq *request) outcome {
	v, personal, out := tk.tokenHolder(rq)
	if out != nil {
		return out
	}
	counted := cmp.Or(rq.sid(), v.UserID)
	if personal != nil {
		counted = "personal " + personal.id
	}
	if wait, ok := rq.permit(tk.limit, counted); !ok {
		return rq.limited(wait)
	}
	rq.auditUser = v.UserID
	a := tk.audience(rq)
	if a == nil {
		rq.audit("token.denied", "", "no such audience")
		return refused(problemUnknownAudience)
	}
	if personal != nil && !personal.forAudience(a.id) {
		rq.audit("pat.refused", "", "it is not for this audience")
		return refused(problemForbidden)
	}
	if reason := tk.mayHave(rq, a, accessRequest(rq, v)); reason != "" {
		rq.audit("token.denied", "", reason)
		return refused(problemForbidden)
	}
	return tk.issue(rq, a, v)
}

// tokenHolder returns the session that a token is requested for, and the personal
// access token of the request, if any.
func (tk *tokenRoom) tokenHolder(rq *request) (v *authsvc.Session, personal *personalGrant, out outcome) {
	if tk.issuer.bearsToken(rq) {
		g, err := tk.issuer.personalToken(rq)
		if err != nil {
			return nil, nil, tk.issuer.personalProblem(rq, err)
		}
		return g.session, g, nil
	}
	if !rq.csrfOK() {
		rq.audit("csrf.refused", "", "token missing or does not match the cookie")
		return nil, nil, refused(problemCSRF)
	}
	v, out = tk.tokenSession(rq)
	return v, nil, out
}

// tokenSession returns the session that a token is requested for. Tokens cannot be
// revoked, so the store, not this replica's copy, decides whether the session has
// ended.
func (tk *tokenRoom) tokenSession(rq *request) (*authsvc.Session, outcome) {
	var v *authsvc.Session
	err := tk.keeper.revoked.catchUp(rq.ctx, tk.Adapter, rq.now)
	if err == nil {
		v, err = tk.keeper.slideSession(rq, readOptions{touch: true, full: true})
	}
	switch {
	case err != nil:
		tk.Log.Error("cannot read the session", "request", rq.requestID(), "err", err)
		return nil, refused(problemUnavailable)
	case v == nil && rq.sessionPresent && !rq.unknownKey:
		rq.clearSession()
		fallthrough
	case v == nil:
		return nil, refused(problemUnauthenticated)
	}
	return v, nil
}

// audience returns the audience that the body names. If there is only one, the body may
// omit it.
func (tk *tokenRoom) audience(rq *request) *audience {
	id, given := rq.body.fields["audience"]
	switch {
	case given:
		return tk.issuer.audienceOf(id)
	case !rq.body.other["audience"] && len(tk.issuer.audiences) == 1:
		return &tk.issuer.audiences[0]
	}
	return nil
}

// issue signs a token. The token expires with the session at the latest.
func (tk *tokenRoom) issue(rq *request, a *audience, v *authsvc.Session) outcome {
	now := rq.now.Unix()
	expires := min(rq.now.Add(a.ttl).Unix(), v.Expires.Unix())
	if expires <= now { // the leeway of compat modes is for sessions only
		return refused(problemUnauthenticated)
	}
	claims := tk.issuer.standardClaims(v, rq.sid(), now, expires)
	claims["aud"] = a.id
	for _, source := range a.claims {
		if err := source(rq.ctx, tk.Adapter, v, claims); err != nil {
			tk.Log.Error("cannot read the claims of a token", "request", rq.requestID(), "err", err)
			return refused(problemUnavailable)
		}
	}
	token, err := tk.issuer.sign(a, claims)
	if err != nil {
		tk.Log.Error("cannot issue a token", "audience", a.id, "request", rq.requestID(), "err", err)
		return problem{status: http.StatusInternalServerError, text: "cannot issue the token; the log says why"}
	}
	tk.issued.Add(a.id)
	return object{v: struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"`
	}{token, "Bearer", expires - now}}
}

// issuerMetadata is the route of the metadata (OpenID Connect Discovery 1.0).
const issuerMetadata = ".well-known/openid-configuration"

// issuerDocument returns metadata that says where the keys are. There are no sign-in
// endpoints, so the lists that the standards require (Discovery section 3, RFC 8414
// section 2) are empty.
func issuerDocument(base string) []byte {
	none := []string{}
	raw, err := json.Marshal(map[string]any{"issuer": base, "jwks_uri": base + "/jwks",
		"response_types_supported": none, "subject_types_supported": none, "id_token_signing_alg_values_supported": none})
	if err != nil { // strings always marshal
		panic(err)
	}
	return raw
}

// getJWKS handles GET jwks, which returns the public keys that tokens are signed with.
func (tk *tokenRoom) getJWKS(rq *request) outcome { return tk.issuer.signing.known.Load().jwks }

// getIssuer handles GET .well-known/openid-configuration. It tells programs that read
// issuer metadata where the keys are.
func (tk *tokenRoom) getIssuer(rq *request) outcome { return publicDocument(tk.metadata) }

// tokenRoutes returns the routes of the issuer of tokens.
func tokenRoutes(s *tokenRoom) map[string]*route {
	// There are audiences, or the gate makes assertions.
	issues := func(*request) bool { return s.issuer.signing.enabled }
	return map[string]*route{
		"token":        {post: s.postToken, cors: always, internal: http.MethodPost, when: issues, problems: true},
		"jwks":         {get: s.getJWKS, internal: http.MethodGet, when: issues, problems: true},
		issuerMetadata: {get: s.getIssuer, when: issues, problems: true},
	}
}

// tokenEvents lists the events of POST token.
var tokenEvents = []audit.Kind{
	{Name: "token.denied", Outcome: authsvc.AuditRefused, Meaning: "A token was requested for an audience that is not configured, or the conditions or the rule of the audience refused it, or the rule failed."},
}

// mayHave asks the conditions of an audience, then When, whether a session gets its
// tokens. If not, reason says why.
func (tk *tokenRoom) mayHave(rq *request, a *audience, r authsvc.AccessRequest) (reason string) {
	v := r.Session
	if len(a.allow) > 0 {
		who := &access.Subject{UserID: v.UserID, Email: v.Email, Proved: v.EmailVerified, Provider: v.Provider, Claims: v.Claims(), Client: r.Client.IP}
		if !anyHolds(a.allow, who) {
			return because("by the conditions of the audience", misshapen(a.allow, who))
		}
	}
	if a.when == nil {
		return ""
	}
	ok, err := tk.callWhen(rq, a, r)
	switch {
	case err != nil:
		tk.Log.Error("cannot decide whether a session gets a token", "audience", a.id, "request", rq.requestID(), "err", err)
		return "the rule of the audience failed"
	case !ok:
		return "by the rule of the audience"
	}
	return ""
}

func (tk *tokenRoom) callWhen(rq *request, a *audience, of authsvc.AccessRequest) (ok bool, err error) {
	defer tk.fleet.Recovered("when of an audience", func() { ok, err = false, authsvc.ErrAccessDenied })
	return a.when(rq.callbackContext(), of)
}
