package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/limit"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
)

// reservedFields are the fields of a POST that belong to the interface.
var reservedFields = []string{"csrfToken", "callbackUrl", "json", "redirect", "repost", "confirm"}

// credentialsFlow is a compiled *Credentials.
type credentialsFlow struct {
	authsvc.Credentials
	room *credentialsRoom
	wire info
}

func (f *credentialsFlow) info() info { return f.wire }

// begin redirects to the sign-in page: the form there posts to the callback.
func (f *credentialsFlow) begin(rq *request) outcome { return redirect{to: rq.base + "/signin"} }

// complete checks the submitted fields.
func (f *credentialsFlow) complete(rq *request) outcome {
	if rq.r.Method != http.MethodPost {
		return rq.notCallback(http.MethodPost)
	}
	if !rq.csrfOK() {
		return rq.csrfRefused("/signin")
	}
	account := ""
	if name := rq.body.get(f.Fields[0].Name); name != "" {
		account = accountKey(f.ID, name)
	}
	rq.keepCallbackURL()
	if out := f.limit(rq, account); out != nil {
		return out
	}
	rq.waitsSince = time.Time{} // the request may have waited for a turn
	fields := maps.Clone(rq.body.fields)
	for _, name := range reservedFields {
		delete(fields, name)
	}
	u, err := f.authorize(rq, fields)
	if err == nil && u.ID != "" && !usableID(u.ID) {
		f.room.Log.Warn("Authorize returned an id that is blank or has control characters", "provider", f.ID, "request", rq.requestID())
	}
	if err == nil && !usableID(u.ID) {
		err = authsvc.ErrAccessDenied
	}
	if err != nil {
		if event, reason := refusal(err, "by Authorize"); event == "sign_in.failed" {
			rq.audit(event, authsvc.CodeCredentialsSignin, reason, err)
		} else {
			rq.audit("credentials.refused", authsvc.CodeCredentialsSignin, reason, err)
		}
		return fail(authsvc.CodeCredentialsSignin, err)
	}
	return identity{user: u, stored: true, authTime: rq.now, plainRedirect: true, credentials: fields, callbackURL: rq.callbackURL(), accountName: account,
		account: authsvc.Account{Type: "credentials", Provider: f.ID, ProviderAccountID: u.ID}}
}

// limit counts the attempt against the client and the account. Beyond the account's
// limit, the attempt is queued, not refused: strangers may have used up the limit.
func (f *credentialsFlow) limit(rq *request, account string) outcome {
	if wait, ok := rq.permit(f.room.desk.signInLimit, rq.clientKey()); !ok {
		return rq.limited(wait)
	}
	if account == "" {
		return nil
	}
	bucket := f.room.desk.accountBucket(rq, account)
	if _, ok := rq.permit(f.room.accountLimit, bucket); ok {
		return nil
	}
	f.room.Log.Info("too many attempts at one account; this one waits for a turn", "provider", f.ID, "request", rq.requestID())
	if wait, ok := f.room.waitForTurn(rq, bucket); !ok {
		return rq.limited(wait)
	}
	return nil
}

func (f *credentialsFlow) authorize(rq *request, fields map[string]string) (u authsvc.User, err error) {
	defer f.room.fleet.Recovered("authorize callback", func() { u, err = authsvc.User{}, errors.New("authorize panicked") })
	return f.Authorize(rq.callbackContext(), fields)
}

// buildCredentials checks the provider and compiles it.
func buildCredentials(b *builder, c *authsvc.Credentials) flow {
	f := &credentialsFlow{Credentials: *c, room: b.storeys.credentialsRoom}
	f.ID, f.Name = cmp.Or(c.ID, "credentials"), cmp.Or(c.Name, "Credentials")
	if c.Authorize == nil {
		b.fail("Authorize", "is missing", "set the function that checks the credentials").Code = "no_authorize"
	}
	if len(f.Fields) == 0 {
		f.Fields = []authsvc.Field{
			{Name: "username", Label: "User name", Autocomplete: "username"},
			{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password"},
		}
	}
	for i, field := range f.Fields {
		if field.Name == "" || slices.Contains(reservedFields, field.Name) {
			b.fail(fmt.Sprintf("Fields[%d].Name", i), "cannot be used", "name it after what people enter, such as username")
		}
	}
	if _, ok := pageAddress(weburl.OriginOf(b.base), f.ForgotURL); f.ForgotURL != "" && !ok {
		b.fail("ForgotURL", fmt.Sprintf("%q is neither a path nor an address", text.Printable(f.ForgotURL, 80)), "write /path or https://host/path")
	}
	f.wire = info{id: f.ID, name: f.Name, kind: "credentials", form: "fields", forScripts: true, fields: f.Fields, forgotURL: f.ForgotURL, namedBy: namedBy(f.Fields),
		limit: func() *limit.Limiter { return f.room.desk.signInLimit }}
	return f
}

// namedBy returns the name of the first field, which names the account, or "" if that
// field is a secret.
func namedBy(fields []authsvc.Field) string {
	if f := fields[0]; f.Type != "password" && f.Autocomplete != "one-time-code" && !strings.HasSuffix(f.Autocomplete, "-password") {
		return f.Name
	}
	return ""
}

// setLimits makes the rate limits for attempts at one account.
func (cr *credentialsRoom) setLimits(r *limit.Rating, o *authsvc.RateLimit) {
	cr.accountLimit = r.Limiter("account", r.Rate("CredentialsPerAccount", o.CredentialsPerAccount, authsvc.Rate{N: 10, Per: time.Minute}))
	cr.turn = r.Limiter("late", authsvc.Rate{N: 1, Per: turnEvery})
}

// credentialsEvents are the audit events of the application's own check.
var credentialsEvents = []audit.Kind{
	{Name: "credentials.refused", Outcome: authsvc.AuditRefused, SignIn: true, Meaning: "Authorize refused the credentials."},
}
