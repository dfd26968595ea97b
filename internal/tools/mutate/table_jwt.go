package main

// jwts are the checks of the tokens that are issued and of their keys.
var jwts = []mutation{
	{"jwt/csrf", ".", "func postToken(rq *request) outcome {\n\tif !rq.csrfOK() {", "func postToken(rq *request) outcome {\n\tif " + never + "!rq.csrfOK() {", "."},
	{"jwt/audience-exact", ".", "if given && rq.audiences[i].id == id {", "if given && id != \"\" {", "."},
	{"jwt/audience-of-another-type", ".", `if !given && !rq.body.other["audience"] &&`, "if !given &&", "."},
	{"jwt/session-end", ".", "expires := min(rq.now.Add(a.ttl).Unix(), v.Expires.Unix())", "expires := rq.now.Add(a.ttl).Unix()", "."},
	{"jwt/limit", ".", "rq.permit(rq.limits.token, cmp.Or(rq.sid(), v.UserID)); !ok {", "rq.permit(rq.limits.token, cmp.Or(rq.sid(), v.UserID)); " + never + "!ok {", "."},
	{"jwt/email-proved", ".", "err == nil && u.Email == v.Email && !u.EmailVerified.IsZero()", "err == nil && u.Email == v.Email", "."},
	{"jwt/email-changed", ".", "err == nil && u.Email == v.Email && !u.EmailVerified.IsZero()", "err == nil && !u.EmailVerified.IsZero()", "."},
	{"jwt/short-secret", ".", "if !s.signing.stored && slices.ContainsFunc(b.config.Secrets", "if " + never + "slices.ContainsFunc(b.config.Secrets", "."},
	{"jwt/size", ".", "if err == nil && len(token) > maxJWT {", "if false {", "."},
	{"keys/sealed-otherwise", ".", "!(evenSealed && errors.Is(err, errSealedKeys))", "!errors.Is(err, errSealedKeys)", "."},
	{"keys/lease-once-more", ".", "\tif err := s.takeLease(ctx, metaKeys, holder); err != nil {", "\tif err := s.takeLease(ctx, metaKeys, holder); " + never + "err != nil {", "."},
	{"keys/deployments-apart", ".", `strconv.Itoa(n)+" "+s.base, 32)`, "strconv.Itoa(n), 32)", "."},
	{"keys/spread", "internal/signingkeys", "from = now.Add(Spread)", "from = now", "./internal/signingkeys"},
	{"keys/published-ahead", "internal/signingkeys", "from = later(keys[len(keys)-1].From.Add(p.Every), now.Add(PublishAhead))", "from = now", "./internal/signingkeys"},
	{"keys/kept-after", "internal/signingkeys", "return until.Add(KeepAfter)", "return until", "./internal/signingkeys"},
	{"keys/retired-signs-again", "internal/signingkeys", "return NewSet(append(after.keys, k)...), []*Key{k}, true, nil", "return after, nil, true, nil", "./internal/signingkeys"},
	{"keys/of-another-algorithm", "internal/signingkeys", "return alg == ES256 && k.Curve == elliptic.P256()", "return k.Curve == elliptic.P256()", "./internal/signingkeys"},
}
