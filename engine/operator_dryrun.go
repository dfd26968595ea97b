package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"authsvc"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text/profilepath"
)

// What follows asks what a configuration decides, for tests of it. Nobody signs
// in, nothing is stored, recorded or sent; callbacks are called as they would be.

// A SignInVerdict is what a configuration decides about a sign-in.
type SignInVerdict struct {
	Allowed bool
	// Reason is why not, in the words of the audit.
	Reason string
	// Redirect is where the SignIn callback leads instead; the sign-in then ends
	// there and Allowed is false.
	Redirect string
	// Claims are those that would stay with the session.
	Claims authsvc.Claims
	// User is the person as a sign-in would store them, if they are new.
	User authsvc.User
	// Err is why it was refused, with what a callback returned.
	Err error
}

// DryRunSignIn asks conditions and callbacks about a sign-in. Of a they get all but
// EmailProved for users whose EmailVerified is set, which is then true.
func (o *Operator) DryRunSignIn(ctx context.Context, a authsvc.SignInAttempt) SignInVerdict {
	rq := o.dryRun(ctx)
	rq.now = a.Time
	a.EmailProved = a.EmailProved || !a.User.EmailVerified.IsZero()
	refused := func(err error, by string) SignInVerdict {
		_, reason := refusal(err, by)
		return SignInVerdict{Reason: reason, Err: err}
	}
	claims := o.keeper.shape.Claims(profilepath.Roots{Profile: a.Profile})
	to, err := o.desk.maySignIn(rq, a, claims)
	switch {
	case err != nil:
		return refused(err, "by the signIn callback")
	case to != "":
		return SignInVerdict{Reason: "the signIn callback led elsewhere", Redirect: to}
	case a.VerificationRequest: // a link is mailed, no session begins
		return SignInVerdict{Allowed: true}
	}
	kept, err := o.desk.claimsCallback(rq, a, claims)
	if err == nil {
		_, err = sessionshape.Encode(kept)
	}
	if err != nil {
		return refused(err, "by the claims callback")
	}
	v := SignInVerdict{Allowed: true, Claims: kept, User: a.User}
	if a.IsNewUser {
		l := &login{desk: o.desk, rq: rq}
		if v.User, err = l.mayCreate(a, a.User); err != nil {
			return refused(err, "by the createUser callback")
		}
	}
	return v
}

// DryRunRedirect returns where a callbackUrl leads, absolute and in canonical
// spelling, if it is allowed.
func (o *Operator) DryRunRedirect(ctx context.Context, callbackURL string) (to string, ok bool) {
	return judgeCallbackURL(o.dryRun(ctx), callbackURL)
}

// DryRunToken asks whether a session with these claims gets a token for an
// audience, and returns "" or the reason why not. The error says that there is no
// such audience, or that the claims are not JSON.
func (o *Operator) DryRunToken(ctx context.Context, id string, r authsvc.AccessRequest, claims authsvc.Claims) (reason string, err error) {
	a := o.issuer.audienceOf(id)
	if a == nil {
		return "", fmt.Errorf("there is no audience %q", id)
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	with := *r.Session
	with.Internal().Kept = string(raw)
	r.Session = &with
	return o.tokenRoom.mayHave(o.dryRun(ctx), a, r), nil
}

// dryRun is a request that nobody sent.
func (h *storeys) dryRun(ctx context.Context) *request {
	return &request{site: h.site, ctx: ctx, r: (&http.Request{Header: http.Header{}}).WithContext(ctx)}
}
