package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text/profilepath"
)

// The methods below report what a configuration decides, so that you can test it. They
// sign no one in, and store, record and send nothing; they call callbacks as usual.

// A SignInVerdict holds the decision of a configuration about a sign-in.
type SignInVerdict struct {
	Allowed bool
	// Reason says why the sign-in is refused, in the words of the audit log.
	Reason string
	// Redirect is the address to which the SignIn callback leads instead; the sign-in
	// then ends there and Allowed is false.
	Redirect string
	// Claims holds the claims that would stay with the session.
	Claims authsvc.Claims
	// User is the user; a new one is as a sign-in would store it.
	User authsvc.User
	// Err is the error that refuses the sign-in, including a callback's error.
	Err error
}

// DryRunSignIn checks a sign-in against conditions and callbacks. They get a as it is,
// except that EmailProved is true if the user's EmailVerified is set.
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
		return SignInVerdict{Reason: "the signIn callback redirected", Redirect: to}
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

// DryRunRedirect returns the address to which a callbackUrl leads, absolute and in
// canonical spelling. ok is false if the callbackUrl is not allowed.
func (o *Operator) DryRunRedirect(ctx context.Context, callbackURL string) (to string, ok bool) {
	return judgeCallbackURL(o.dryRun(ctx), callbackURL)
}

// DryRunToken reports why a session with these claims gets no token for an audience.
// The reason is "" if it gets one. DryRunToken returns an error if there is no such
// audience or if the claims cannot be encoded as JSON.
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

// dryRun returns a request that no client sent.
func (h *storeys) dryRun(ctx context.Context) *request {
	return &request{site: h.site, ctx: ctx, r: (&http.Request{Header: http.Header{}}).WithContext(ctx)}
}

// DryRunUpdate returns the error with which [People.UpdateUser] would refuse a change of
// a user, and changes nothing.
func (o *Operator) DryRunUpdate(ctx context.Context, userID string, change authsvc.UserUpdate) error {
	change, err := cleanChange(change)
	if err != nil || change.Email == nil || *change.Email == "" {
		return err
	}
	other, err := o.common.Adapter.GetUserByEmail(ctx, *change.Email)
	switch {
	case errors.Is(err, adapter.ErrNotFound), err == nil && other.ID == userID:
		return nil
	case err == nil:
		return adapter.ErrConflict
	}
	return err
}
