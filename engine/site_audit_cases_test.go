package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/dev/idp"
	"authsvc/internal/seal/personaltoken"
	"authsvc/internal/test/arena"
)

// brief holds the fields that cases name; User is an address.
type brief struct {
	Name     string
	Code     authsvc.ErrorCode
	Reason   string // a part of it
	Provider string
	User     string
	Apart    bool // not of a request
}

const (
	ada    = "ada@example.com" // of the provider
	mailed = "mail@app.test"
)

type auditCase struct {
	tune    func(*authsvc.Config)
	prepare func(w *audited, b *arena.Browser)
	run     func(w *audited, b *arena.Browser)
	want    []brief
}

func limits(set func(*authsvc.RateLimit)) func(*authsvc.Config) {
	return func(c *authsvc.Config) { set(&c.RateLimit) }
}

func refusing(a authsvc.SignInAttempt, to string, err error) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Callbacks.SignIn = func(_ context.Context, got authsvc.SignInAttempt) (string, error) {
			if got.VerificationRequest == a.VerificationRequest {
				return to, err
			}
			return "", nil
		}
	}
}

func viaOp(w *audited, b *arena.Browser)    { b.SignIn(w.OP, "ada") }
func viaLink(w *audited, b *arena.Browser)  { b.SignInByMail(w.World, mailed) }
func asksLink(_ *audited, b *arena.Browser) { b.Post("/api/auth/signin/email", "email", mailed) }
func gateAsks(path string) func(*audited, *arena.Browser) {
	return func(w *audited, b *arena.Browser) {
		gated := b.Clone()
		gated.H = w.Guard(http.NotFoundHandler())
		gated.Get(path)
	}
}
func entersCode(code string) func(*audited, *arena.Browser) {
	return func(_ *audited, b *arena.Browser) {
		b.Post("/api/auth/callback/email", "email", mailed, "code", code)
	}
}
func wrongToken(path string) func(*audited, *arena.Browser) {
	return func(_ *audited, b *arena.Browser) { b.Post(path, "csrfToken", "wrong") }
}

// unproved stores a user with an account and an unproved address.
func unproved(w *audited, _ *arena.Browser) {
	u, err := w.Store.CreateUser(w.T.Context(), authsvc.User{ID: "unproved", Email: mailed}, nil)
	if err == nil {
		_, err = w.Store.LinkAccount(w.T.Context(), authsvc.Account{ID: "a", UserID: u.ID, Type: "oauth", Provider: "op", ProviderAccountID: "squatter"}, 0)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *audited) logout(sub string, set map[string]any) {
	postLogoutToken(w.World, w.T, "op", url.Values{"logout_token": {logoutToken(w.World, w.T, sub, set)}})
}

// forTokens configures an audience to issue tokens for.
func forTokens(c *authsvc.Config) { c.Tokens.Audiences = []authsvc.Audience{{ID: "https://api.test"}} }

func (w *audited) rotate() {
	if _, err := w.RotateKeys(w.T.Context(), false); err != nil {
		w.T.Error(err)
	}
}

// retire removes the only key.
func (w *audited) retire() {
	keys, err := w.SigningKeys(w.T.Context())
	if err == nil {
		err = w.RetireKey(w.T.Context(), keys[0].ID)
	}
	if err != nil {
		w.T.Error(err)
	}
}

// personal makes a personal access token of ada.
func (w *audited) personal() string {
	token, _, err := w.CreatePersonalToken(w.T.Context(), w.user(ada), authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"api"}})
	if err != nil {
		w.T.Error(err)
	}
	return token
}

// revokePersonal revokes one token, then the others.
func (w *audited) revokePersonal() {
	list, err := w.PersonalTokens(w.T.Context(), w.user(ada))
	if err == nil {
		err = w.RevokePersonalToken(w.T.Context(), w.user(ada), list[0].ID)
	}
	if err == nil {
		_, err = w.RevokePersonalTokens(w.T.Context(), w.user(ada))
	}
	if err != nil {
		w.T.Error(err)
	}
}

func (w *audited) accessToken(answer string) {
	refreshing(w.World, func(*http.Request) string { return answer })
	w.Browser().SignIn(w.OP, "ada")
	w.prepared()
	for range 3 {
		if _, err := w.AccessToken(w.T.Context(), w.user(ada), "op", nil); errors.Is(err, adapter.ErrNotFound) {
			w.T.Fatal(err)
		}
	}
}

var auditCases = map[string]auditCase{
	"OAuth, first":   {run: viaOp, want: []brief{{Name: "sign_in.succeeded", Reason: "created", Provider: "op", User: ada}}},
	"OAuth, again":   {prepare: viaOp, run: viaOp, want: []brief{{Name: "sign_in.succeeded", Provider: "op", User: ada}}},
	"OAuth, cookies": {tune: func(c *authsvc.Config) { c.Session.Strategy = "jwt" }, run: viaOp, want: []brief{{Name: "sign_in.succeeded", Reason: "created", Provider: "op", User: ada}}},
	"email, first": {run: viaLink, want: []brief{{Name: "email.requested", Provider: "email"},
		{Name: "sign_in.succeeded", Reason: "created", Provider: "email", User: mailed}}},
	"email, again": {prepare: viaLink, run: viaLink, want: []brief{{Name: "email.requested", Provider: "email", User: mailed},
		{Name: "sign_in.succeeded", Provider: "email", User: mailed}}},
	"email, first proof": {prepare: unproved, run: viaLink, want: []brief{{Name: "email.requested", Provider: "email", User: mailed},
		{Name: "email.first_proof", Reason: "removed", Provider: "email", User: mailed},
		{Name: "account.unlinked", Reason: "first proof", Provider: "op", User: mailed},
		{Name: "sign_in.succeeded", Provider: "email", User: mailed}}},
	"a wrong code": {prepare: asksLink, run: entersCode("no digits"), want: []brief{{Name: "code.refused", Code: authsvc.CodeWrongCode, Reason: "not eight digits", Provider: "email"}}},
	"a code, too often": {prepare: func(w *audited, b *arena.Browser) {
		asksLink(w, b)
		m := w.Mail.Next(w.T)
		for i := range 5 { // each from another address, or the events would only be counted
			guesser := b.Clone()
			guesser.IP = fmt.Sprintf("198.51.%d.7:1", i)
			entersCode(wrong(arena.Code(m)))(w, guesser)
		}
	}, run: entersCode("12345678"), want: []brief{{Name: "code.spent", Code: authsvc.CodeWrongCode, Reason: "five codes", Provider: "email"}}},
	"a code elsewhere": {run: entersCode("12345678"), want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeVerification, Reason: "requested no code", Provider: "email"}}},
	"credentials": {tune: func(c *authsvc.Config) { c.Session.Strategy = "jwt" }, run: func(_ *audited, b *arena.Browser) { b.Login("ada") },
		want: []brief{{Name: "sign_in.succeeded", Provider: "credentials", User: "=ada-id"}}},
	"credentials, wrong": {run: func(_ *audited, b *arena.Browser) { b.Login("nobody") },
		want: []brief{{Name: "credentials.refused", Code: authsvc.CodeCredentialsSignin, Reason: "Authorize", Provider: "credentials"}}},
	"credentials, no stored user": {run: func(_ *audited, b *arena.Browser) { b.Login("ada") },
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeCredentialsSignin, Reason: "no such user", Provider: "credentials"}}},

	"a change of address": {prepare: viaOp, run: func(w *audited, b *arena.Browser) {
		askEmail(b, newAddress)
		mails := mailsTo(w.T, w.World, 2)
		confirmEmail(w.T, b, mails[newAddress].links[0])
		confirmEmail(w.T, b, mails[oldAddress].links[0])
	}, want: []brief{{Name: "email.change_requested", Reason: "by the person", User: newAddress}, {Name: "email.change_proved", Reason: "new address", User: newAddress},
		{Name: "email.change_proved", Reason: "old address", User: newAddress}, {Name: "email.change_completed", User: newAddress}, {Name: "notice.sent", Reason: "address", User: newAddress}}},
	"a change of address, stopped": {prepare: func(w *audited, b *arena.Browser) {
		viaOp(w, b)
		askEmail(b, newAddress)
	}, run: func(w *audited, b *arena.Browser) { b.Post("/api/auth/account/email/cancel") }, want: []brief{{Name: "email.change_stopped", Reason: "by the person", User: ada}}},
	"a change of address, refused": {prepare: viaOp, run: func(_ *audited, b *arena.Browser) { askEmail(b, "nobody") },
		want: []brief{{Name: "email.change_refused", Code: authsvc.CodeInvalid, Reason: "not an address", User: ada}}},

	"no CSRF token, sign-in":     {run: wrongToken("/api/auth/signin/op"), want: []brief{{Name: "csrf.refused", Provider: "op"}}},
	"no CSRF token, sign-out":    {prepare: viaOp, run: wrongToken("/api/auth/signout"), want: []brief{{Name: "csrf.refused"}}},
	"no CSRF token, session":     {prepare: viaOp, run: wrongToken("/api/auth/session"), want: []brief{{Name: "csrf.refused"}}},
	"no CSRF token, credentials": {run: wrongToken("/api/auth/callback/credentials"), want: []brief{{Name: "csrf.refused", Provider: "credentials"}}},
	"no CSRF token, link":        {run: wrongToken("/api/auth/callback/email"), want: []brief{{Name: "csrf.refused", Provider: "email"}}},
	"another site": {run: func(_ *audited, b *arena.Browser) {
		b.Header["Origin"] = []string{"https://evil.test"}
		b.Post("/api/auth/signin/op")
	}, want: []brief{{Name: "request.cross_site", Code: authsvc.CodeAccessDenied, Provider: "op"}}},
	"its own site by http": {run: func(w *audited, b *arena.Browser) {
		b.Header["Origin"] = []string{"http://app.test"}
		a := b.Post("/api/auth/signin/op")
		if !strings.Contains(a.Text, "This is served at "+arena.Origin) || !strings.Contains(a.Text, `href="`+arena.Origin+`"`) || strings.Count(w.Logs.String(), "opened by http, although") != 1 {
			w.T.Errorf("%s %s\n%s", a.Status, a.Text, w.Logs)
		}
	}, want: []brief{{Name: "request.cross_site", Code: authsvc.CodeAccessDenied, Reason: "opened by http, but the URL has https", Provider: "op"}}},
	"another site, credentials": {run: func(_ *audited, b *arena.Browser) {
		b.Header["Origin"] = []string{"https://evil.test"}
		b.Post("/api/auth/callback/credentials")
	}, want: []brief{{Name: "request.cross_site", Code: authsvc.CodeAccessDenied, Provider: "credentials"}}},
	"two session cookies": {prepare: viaOp, run: func(_ *audited, b *arena.Browser) {
		b.Header["Cookie"] = []string{arena.SessionName + "=planted"}
		b.Get("/api/auth/session")
	}, want: []brief{{Name: "session.ambiguous", Reason: "do not fit together"}}},
	"no state": {run: func(_ *audited, b *arena.Browser) { b.Get("/api/auth/callback/op?code=x") },
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeOAuthCallback, Reason: "no state", Provider: "op"}}},
	"foreign state": {run: func(_ *audited, b *arena.Browser) { b.Get("/api/auth/callback/op?code=x&state=y") },
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeOAuthCallback, Reason: "state is not one of this browser's", Provider: "op"}}},
	"earlier state": {run: func(w *audited, b *arena.Browser) {
		old, to := b.Clone(), b.Approve(w.OP, b.Begin("op"), "ada")
		old.Cookies = b.Clone().Cookies
		b.Get(to)
		old.Get(to)
	}, want: []brief{{Name: "sign_in.succeeded", Reason: "created", Provider: "op", User: ada},
		{Name: "sign_in.refused", Code: authsvc.CodeOAuthCallback, Reason: "finished before", Provider: "op"}}},
	"the user declines": {run: func(w *audited, b *arena.Browser) {
		state := arena.MustURL(w.T, b.Begin("op")).Query().Get("state")
		b.Get("/api/auth/callback/op?error=access_denied&state=" + url.QueryEscape(state))
	}, want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeAccessDenied, Reason: "refused", Provider: "op"}}},
	"provider down, start": {run: func(w *audited, b *arena.Browser) {
		w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 503}})
		b.Post("/api/auth/signin/op")
	}, want: []brief{{Name: "sign_in.failed", Code: authsvc.CodeOAuthSignin, Reason: "provider is unavailable", Provider: "op"}}},
	"provider down, return": {run: func(w *audited, b *arena.Browser) {
		to := b.Approve(w.OP, b.Begin("op"), "ada")
		w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 503}})
		b.Get(to)
	}, want: []brief{{Name: "sign_in.failed", Code: authsvc.CodeOAuthCallback, Reason: "provider is unavailable", Provider: "op"}}},
	"store down": {run: func(w *audited, b *arena.Browser) { w.broken("GetUserByAccount"); b.SignIn(w.OP, "ada") },
		want: []brief{{Name: "sign_in.failed", Code: authsvc.CodeCallback, Reason: "the store", Provider: "op"}}},
	"store down, session": {prepare: viaOp, run: func(w *audited, b *arena.Browser) { w.broken("CreateSession"); b.SignIn(w.OP, "ada") },
		want: []brief{{Name: "sign_in.failed", Code: authsvc.CodeCallback, Reason: "the store", Provider: "op", User: ada}}},
	"store down, email": {run: func(w *audited, b *arena.Browser) { w.broken("GetUserByEmail"); asksLink(w, b) },
		want: []brief{{Name: "sign_in.failed", Code: authsvc.CodeEmailSignin, Reason: "the store", Provider: "email"}}},
	"panic": {run: func(w *audited, b *arena.Browser) { w.broken("panic in GetUserByEmail"); asksLink(w, b) },
		want: []brief{{Name: "request.failed", Reason: "a panic", Provider: "email"}}},

	"callback refuses": {tune: refusing(authsvc.SignInAttempt{}, "", authsvc.ErrAccessDenied), run: viaOp,
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeAccessDenied, Reason: "by the signIn callback", Provider: "op"}}},
	"no condition holds": {tune: notAllowed, run: viaOp,
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeAccessDenied, Reason: "by the sign-in conditions", Provider: "op"}}},
	"no condition holds for a mail": {tune: notAllowed, run: asksLink,
		want: []brief{{Name: "email.refused", Code: authsvc.CodeAccessDenied, Reason: "by the sign-in conditions", Provider: "email"}}},
	"not invited": {tune: notInvited, run: viaOp,
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeAccessDenied, Reason: "not invited", Provider: "op"}}},
	"no mail to an uninvited person": {tune: notInvited, run: asksLink,
		want: []brief{{Name: "email.refused", Code: authsvc.CodeAccessDenied, Reason: "not invited", Provider: "email"}}},
	"another sign-up domain": {tune: func(c *authsvc.Config) { c.SignUp.Domains = []string{"other.test"} }, run: viaOp,
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeAccessDenied, Reason: "no proved address in a sign-up domain", Provider: "op"}}},
	"claims callback refuses": {tune: func(c *authsvc.Config) {
		c.Callbacks.Claims = func(context.Context, authsvc.SignInAttempt, authsvc.Claims) (authsvc.Claims, error) {
			return nil, authsvc.ErrAccessDenied
		}
	}, run: viaOp, want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeAccessDenied, Reason: "by the claims callback", Provider: "op"}}},
	"too many claims": {tune: func(c *authsvc.Config) {
		c.Callbacks.Claims = func(context.Context, authsvc.SignInAttempt, authsvc.Claims) (authsvc.Claims, error) {
			return authsvc.Claims{"a": strings.Repeat("a", 4<<10)}, nil
		}
	}, run: viaOp, want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeCallback, Reason: "larger than 4 KiB", Provider: "op"}}},
	"callback leads elsewhere": {tune: refusing(authsvc.SignInAttempt{}, "/sorry", nil), run: viaOp,
		want: []brief{{Name: "sign_in.refused", Reason: "callback redirected", Provider: "op"}}},
	"callback refuses a mail": {tune: refusing(authsvc.SignInAttempt{VerificationRequest: true}, "", authsvc.ErrAccessDenied), run: asksLink,
		want: []brief{{Name: "email.refused", Code: authsvc.CodeAccessDenied, Reason: "by the signIn callback", Provider: "email"}}},
	"callback refuses a mail, shown": {tune: func(c *authsvc.Config) {
		refusing(authsvc.SignInAttempt{VerificationRequest: true}, "", authsvc.ErrAccessDenied)(c)
		c.ShowRefusal = true
	}, run: asksLink, want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeAccessDenied, Provider: "email"}}},
	"callback leads elsewhere, mail": {tune: refusing(authsvc.SignInAttempt{VerificationRequest: true}, "/sorry", nil), run: asksLink,
		want: []brief{{Name: "email.refused", Reason: "callback redirected", Provider: "email"}}},

	"malformed address": {run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/signin/email", "email", "nobody") },
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeEmailSignin, Provider: "email"}}},
	"link, used": {run: func(w *audited, b *arena.Browser) {
		asksLink(w, b)
		to := arena.Link(w.T, w.Mail.Next(w.T))
		again := b.Clone()
		b.Get(to)
		again.Get(to)
	}, want: []brief{{Name: "email.requested", Provider: "email"}, {Name: "sign_in.succeeded", Reason: "created", Provider: "email", User: mailed},
		{Name: "sign_in.refused", Code: authsvc.CodeVerification, Reason: "unknown or was used", Provider: "email"}}},
	"link without token": {run: func(_ *audited, b *arena.Browser) { b.Get("/api/auth/callback/email?email=" + mailed) },
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeVerification, Reason: "no token", Provider: "email"}}},
	"mail refused permanently": {tune: func(c *authsvc.Config) {
		next, requested := c.Events.Audit, make(chan struct{})
		c.Events.Audit = func(ctx context.Context, e authsvc.AuditEvent) {
			next(ctx, e)
			if e.Name == "email.requested" {
				close(requested)
			}
		}
		c.Providers[1].(*authsvc.Email).Send = func(context.Context, authsvc.Message) error {
			<-requested // a worker of the queue may be faster than the request
			return authsvc.ErrMailRefused
		}
	}, run: func(w *audited, b *arena.Browser) { asksLink(w, b); w.await("email.given_up") },
		want: []brief{{Name: "email.requested", Provider: "email"}, {Name: "email.given_up", Reason: "refused permanently", Provider: "email"}}},

	"limit of sign-ins": {tune: limits(func(r *authsvc.RateLimit) { r.SignIn = authsvc.Rate{N: 1, Per: time.Hour} }),
		prepare: func(_ *audited, b *arena.Browser) { b.Begin("op") }, run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/signin/op") },
		want: []brief{{Name: "request.limited", Code: authsvc.CodeRateLimited, Provider: "op"}}},
	"limit of credentials": {tune: limits(func(r *authsvc.RateLimit) { r.CredentialsPerAccount = authsvc.Rate{N: 1, Per: time.Hour} }),
		prepare: func(_ *audited, b *arena.Browser) { b.Login("nobody") }, run: func(_ *audited, b *arena.Browser) {
			waits, done := b.Clone(), make(chan struct{}) // one late attempt of a client may wait
			go func() { waits.Login("nobody"); close(done) }()
			time.Sleep(300 * time.Millisecond)
			b.Login("nobody")
			<-done
		},
		want: []brief{{Name: "request.limited", Code: authsvc.CodeRateLimited, Provider: "credentials"},
			{Name: "credentials.refused", Code: authsvc.CodeCredentialsSignin, Reason: "by Authorize", Provider: "credentials"}}},
	"limit of a mailbox": {tune: limits(func(r *authsvc.RateLimit) { r.EmailPerAddress = authsvc.Rate{N: 1, Per: time.Hour} }), prepare: asksLink, run: asksLink,
		want: []brief{{Name: "email.limited", Code: authsvc.CodeRateLimited, Reason: "one mailbox", Provider: "email"}}},
	"limit of mails of a client": {tune: limits(func(r *authsvc.RateLimit) { r.EmailTotal = authsvc.Rate{N: 1, Per: time.Hour} }), prepare: asksLink, run: asksLink,
		want: []brief{{Name: "email.limited", Code: authsvc.CodeRateLimited, Reason: "one client", Provider: "email"}}},
	"limit of mails": {tune: limits(func(r *authsvc.RateLimit) { r.EmailTotal = authsvc.Rate{N: 11, Per: time.Hour} }),
		prepare: func(w *audited, b *arena.Browser) { // nine of eleven are for unknown browsers
			for i := range 9 {
				b.Post("/api/auth/signin/email", "email", fmt.Sprintf("u%d@app.test", i))
				w.Mail.Next(w.T)
			}
		}, run: asksLink,
		want: []brief{{Name: "email.limited", Code: authsvc.CodeRateLimited, Reason: "links in total", Provider: "email"}}},
	"limit and refusal": {tune: func(c *authsvc.Config) {
		refusing(authsvc.SignInAttempt{VerificationRequest: true}, "", authsvc.ErrAccessDenied)(c)
		c.RateLimit.EmailPerAddress = authsvc.Rate{N: 1, Per: time.Hour}
	}, prepare: asksLink, run: asksLink, want: []brief{{Name: "email.refused", Code: authsvc.CodeAccessDenied, Provider: "email"}}},
	"limit of logout tokens": {tune: limits(func(r *authsvc.RateLimit) { r.BackchannelLogout = authsvc.Rate{N: 1, Per: time.Hour} }),
		prepare: func(w *audited, _ *arena.Browser) { w.logout("ada", nil) }, run: func(w *audited, _ *arena.Browser) { w.logout("ada", nil) },
		want: []brief{{Name: "request.limited", Code: authsvc.CodeRateLimited, Reason: "logout tokens", Provider: "op"}}},

	"link": {prepare: viaLink, run: func(w *audited, b *arena.Browser) { b.SignIn(w.OP, "ada", "link", "true") },
		want: []brief{{Name: "account.linked", Provider: "op", User: mailed}, {Name: "notice.sent", Reason: "linked", User: mailed, Provider: "op"}, {Name: "sign_in.succeeded", Provider: "op", User: mailed}}},
	"link, another user's": {prepare: func(w *audited, b *arena.Browser) { viaOp(w, w.Browser()); viaLink(w, b) },
		run:  func(w *audited, b *arena.Browser) { b.SignIn(w.OP, "ada", "link", "true") },
		want: []brief{{Name: "account.link_refused", Code: authsvc.CodeOAuthAccountNotLinked, Reason: "to another user", Provider: "op", User: mailed}}},
	"link without session": {run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/signin/op", "link", "true") },
		want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeSessionRequired, Reason: "without a session", Provider: "op"}}},
	"address of another user": {prepare: func(w *audited, _ *arena.Browser) { w.Browser().SignInByMail(w.World, ada) }, run: viaOp,
		want: []brief{{Name: "account.not_linked", Code: authsvc.CodeOAuthAccountNotLinked, Provider: "op", User: ada}}},

	"sign-out":                 {prepare: viaOp, run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/signout") }, want: []brief{{Name: "sign_out.succeeded", Provider: "op", User: ada}}},
	"sign-out, cookies":        {tune: func(c *authsvc.Config) { c.Session.Strategy = "jwt" }, prepare: viaOp, run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/signout") }, want: []brief{{Name: "sign_out.succeeded", Provider: "op", User: ada}}},
	"sign-out without session": {run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/signout") }},
	"sign-out, store down": {prepare: viaOp, run: func(w *audited, b *arena.Browser) { w.broken("DeleteSession"); b.Post("/api/auth/signout") },
		want: []brief{{Name: "sign_out.failed", Code: authsvc.CodeConfiguration, Reason: "the store"}}},
	"sign-out, foreign page": {run: func(_ *audited, b *arena.Browser) { b.Get("/api/auth/signout/provider?state=x") },
		want: []brief{{Name: "sign_out.return_refused", Reason: "state"}}},
	"sign-out, page for a script": {run: func(_ *audited, b *arena.Browser) {
		b.Header.Set("Sec-Fetch-Dest", "empty")
		b.Get("/api/auth/signout/provider?state=x")
	}, want: []brief{{Name: "sign_out.return_refused", Reason: "top-level page"}}},
	"sign-out, foreign return": {run: func(_ *audited, b *arena.Browser) { b.Get("/api/auth/signout/return?state=x") },
		want: []brief{{Name: "sign_out.return_refused", Reason: "state"}}},

	"gate, not allowed":    {tune: gatedWorld, prepare: viaLink, run: gateAsks("/admin/"), want: []brief{{Name: "gate.refused", Code: authsvc.CodeAccessDenied, Reason: "no condition", User: mailed}}},
	"gate, no one may":     {tune: gatedWorld, run: gateAsks("/closed/"), want: []brief{{Name: "gate.refused", Code: authsvc.CodeAccessDenied, Reason: "no one is allowed"}}},
	"gate, not signed in":  {tune: gatedWorld, run: gateAsks("/")},
	"gate, malformed path": {tune: gatedWorld, run: gateAsks("/" + strings.Repeat("%25", 9) + "%2500"), want: []brief{{Name: "gate.malformed", Reason: "target"}}},
	"gate, untrusted caller": {tune: gatedWorld, run: func(_ *audited, b *arena.Browser) {
		b.Get("/api/auth/gate/forward-auth")
	}, want: []brief{{Name: "gate.untrusted_proxy", Code: authsvc.CodeAccessDenied, Reason: "gate.proxies"}}},
	"gate, cookies lost": {tune: gatedWorld, prepare: viaOp, run: func(_ *audited, b *arena.Browser) {
		for range 2 {
			navigate(b, "GET", "/api/auth/gate/start?to=/a")
		}
	}, want: []brief{{Name: "gate.misconfigured", Reason: "cookies"}}},

	"gate, another host": {tune: manyHosts, prepare: viaOp, run: func(w *audited, b *arena.Browser) {
		p := newRoamer(w.World)
		p.All()[arena.Origin], p.At(wiki).Header = b, b.Header
		p.Walk(wiki + "/dash")
	}, want: []brief{{Name: "gate.entered", User: ada}}},
	"gate, unknown host": {tune: manyHosts, prepare: viaOp, run: func(_ *audited, b *arena.Browser) { navigate(b, "GET", "/api/auth/gate/authorize?host=evil.test") },
		want: []brief{{Name: "gate.enter_refused", Reason: "not configured"}}},

	"end of sessions": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.EndSessions(w.T.Context(), w.user(ada)) },
		want: []brief{{Name: "sessions.ended", Reason: "application", User: ada, Apart: true}, {Name: "notice.sent", Reason: "ended", User: ada, Apart: true}}},
	"end of sessions, store down": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.broken("EndSessions"); w.EndSessions(w.T.Context(), w.user(ada)) },
		want: []brief{{Name: "sessions.end_failed", Reason: "application", User: ada, Apart: true}}},
	"end of one session": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) {
		list, _ := w.Sessions(w.T.Context(), w.user(ada))
		w.EndSession(w.T.Context(), w.user(ada), list[0].ID)
	}, want: []brief{{Name: "session.ended", Reason: "application", User: ada, Apart: true}, {Name: "notice.sent", Reason: "ended", User: ada, Apart: true}}},
	"end of no session": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.EndSession(w.T.Context(), w.user(ada), "x") },
		want: []brief{{Name: "session.end_failed", Reason: "application", User: ada, Apart: true}}},
	"notice past the limit": {tune: func(c *authsvc.Config) { c.RateLimit.NoticesPerUser = authsvc.Rate{N: 1, Per: time.Hour} },
		prepare: func(w *audited, b *arena.Browser) { viaLink(w, b); b.SignIn(w.OP, "grace", "link", "true") },
		run:     func(w *audited, _ *arena.Browser) { w.EndSessions(w.T.Context(), w.user(mailed)) },
		want:    []brief{{Name: "sessions.ended", Reason: "application", User: mailed, Apart: true}, {Name: "notice.limited", Code: authsvc.CodeRateLimited, Reason: "ended", User: mailed, Apart: true}}},
	"undo": {prepare: func(w *audited, b *arena.Browser) { viaLink(w, b); b.SignIn(w.OP, "grace", "link", "true") },
		run:  func(w *audited, b *arena.Browser) { undoPress(b, arena.Undo(w.Mail.Notice(w.T))) },
		want: []brief{{Name: "account.unlinked", Reason: "the link in a notice", Provider: "op", User: mailed}, {Name: "notice.sent", Reason: "unlinked", User: mailed}, {Name: "change.undone", Reason: "linked", User: mailed}}},
	"undo, no such link": {run: func(_ *audited, b *arena.Browser) { undoPress(b, "token="+strings.Repeat("A", 43)) },
		want: []brief{{Name: "change.undo_refused", Code: authsvc.CodeNotFound, Reason: "unknown"}}},
	"end of the others": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.EndOtherSessions(w.T.Context(), w.user(ada), "x") },
		want: []brief{{Name: "sessions.ended", Reason: "all but one", User: ada, Apart: true}}},
	"add a user": {run: func(w *audited, _ *arena.Browser) { w.CreateUser(w.T.Context(), authsvc.User{Email: ada}) },
		want: []brief{{Name: "user.created", Reason: "by the application", User: ada, Apart: true}}},
	"invite a user": {prepare: func(w *audited, _ *arena.Browser) { w.CreateUser(w.T.Context(), authsvc.User{Email: ada}) },
		run:  func(w *audited, _ *arena.Browser) { w.Invite(w.T.Context(), authsvc.Invitation{Email: ada}) },
		want: []brief{{Name: "user.invited", Reason: "by the application", User: ada, Apart: true}}},
	"change a name": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) {
		name := "Ada L."
		w.UpdateUser(w.T.Context(), w.user(ada), adapter.UserUpdate{Name: &name})
	}, want: []brief{{Name: "user.updated", Reason: "by the application", User: ada, Apart: true}}},
	"change an address": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) {
		w.UpdateUser(w.T.Context(), w.user(ada), adapter.UserUpdate{Email: new(newAddress)})
	}, want: []brief{{Name: "user.updated", Reason: "by the application", User: newAddress, Apart: true}, {Name: "notice.sent", Reason: "address", User: newAddress, Apart: true},
		{Name: "sessions.ended", Reason: "application", User: newAddress, Apart: true}}},
	"block": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.Block(w.T.Context(), w.user(ada), "spam") },
		want: []brief{{Name: "user.blocked", Reason: "application", User: ada, Apart: true}, {Name: "notice.sent", Reason: "blocked", User: ada, Apart: true}}},
	"block of unknown user": {run: func(w *audited, _ *arena.Browser) { w.Block(w.T.Context(), "u-none", "spam") },
		want: []brief{{Name: "user.block_failed", Reason: "application", User: "=u-none", Apart: true}}},
	"unblock": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.Unblock(w.T.Context(), w.user(ada)) },
		want: []brief{{Name: "user.unblocked", Reason: "application", User: ada, Apart: true}}},
	"deletion": {run: func(w *audited, _ *arena.Browser) {
		w.Store.CreateUser(w.T.Context(), authsvc.User{ID: "gone"}, nil)
		w.DeleteUser(w.T.Context(), "gone")
	}, want: []brief{{Name: "user.deleted", Reason: "application", User: "=gone", Apart: true}}},
	"deletion of unknown user": {run: func(w *audited, _ *arena.Browser) { w.DeleteUser(w.T.Context(), "u-none") },
		want: []brief{{Name: "user.delete_failed", Reason: "application", User: "=u-none", Apart: true}}},
	"deletion with a grace": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.ScheduleDeletion(w.T.Context(), w.user(ada)) },
		want: []brief{{Name: "user.deletion_scheduled", Reason: "application", User: ada, Apart: true}, {Name: "notice.sent", Reason: "deletion", User: ada, Apart: true}}},
	"deletion by the person": {prepare: viaOp, tune: deletable, run: func(_ *audited, b *arena.Browser) {
		b.Post("/api/auth/account/delete", "confirm", "ada@example.com")
	}, want: []brief{{Name: "user.deletion_scheduled", Reason: "by the person", User: ada}, {Name: "notice.sent", Reason: "deletion", User: ada}}},
	"deletion cancelled": {prepare: func(w *audited, b *arena.Browser) { viaOp(w, b); w.ScheduleDeletion(w.T.Context(), w.user(ada)) },
		run:  func(w *audited, _ *arena.Browser) { w.CancelDeletion(w.T.Context(), w.user(ada)) },
		want: []brief{{Name: "user.deletion_cancelled", Reason: "application", User: ada, Apart: true}, {Name: "notice.sent", Reason: "kept", User: ada, Apart: true}}},
	"name": {prepare: viaOp, run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/account/profile", "name", "Ada") },
		want: []brief{{Name: "user.updated", Reason: "by the person", User: ada}}},
	"end of a session by the person": {prepare: viaOp, run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/account/signout", "others", "true") },
		want: []brief{{Name: "sessions.ended", Reason: "all but one, by the person", User: ada}}},
	"end of a session by the person, unknown": {prepare: viaOp, run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/account/signout", "session", "x") },
		want: []brief{{Name: "session.end_failed", Reason: "no such session", User: ada}}},
	"export": {prepare: viaOp, run: func(_ *audited, b *arena.Browser) { b.Get("/api/auth/account/export") },
		want: []brief{{Name: "account.exported", Reason: "by the person", User: ada}}},
	"export, not fresh": {prepare: func(w *audited, b *arena.Browser) { viaOp(w, b); makeOld(w.T, w.World, w.user(ada)) },
		run:  func(_ *audited, b *arena.Browser) { b.Get("/api/auth/account/export") },
		want: []brief{{Name: "fresh.required", Code: authsvc.CodeFreshRequired, Reason: "too old", User: ada}}},
	"export by the application": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.Export(w.T.Context(), w.user(ada), io.Discard) },
		want: []brief{{Name: "account.exported", Reason: "by the application", User: ada, Apart: true}}},
	"name without token": {prepare: viaOp, run: wrongToken("/api/auth/account/profile"), want: []brief{{Name: "csrf.refused"}}},
	"unlink by the person, unknown": {prepare: viaOp, run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/account/unlink", "id", "x") },
		want: []brief{{Name: "account.unlink_refused", Reason: "no such account", User: ada}}},
	"unlink by the person, not fresh": {prepare: func(w *audited, b *arena.Browser) { viaOp(w, b); makeOld(w.T, w.World, w.user(ada)) },
		run:  func(_ *audited, b *arena.Browser) { b.Post("/api/auth/account/unlink", "id", "x") },
		want: []brief{{Name: "fresh.required", Code: authsvc.CodeFreshRequired, Reason: "too old", User: ada}}},
	"unlink by the person": {prepare: viaOp, run: func(w *audited, b *arena.Browser) { b.Post("/api/auth/account/unlink", "id", w.accountID(ada)) },
		want: []brief{{Name: "account.unlinked", Reason: "by the person", Provider: "op", User: ada}, {Name: "notice.sent", Reason: "unlinked", User: ada}}},
	"confirmation by another": {prepare: viaOp, run: func(w *audited, b *arena.Browser) {
		b.Get(b.Approve(w.OP, b.Post("/api/auth/confirm", "provider", "op").Location(), "grace"))
	}, want: []brief{{Name: "sign_in.refused", Code: authsvc.CodeOAuthAccountNotLinked, Reason: "another user", Provider: "op", User: ada}}},
	"unlink": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.UnlinkAccount(w.T.Context(), w.user(ada), "op", "ada", nil) },
		want: []brief{{Name: "account.unlinked", Reason: "application", Provider: "op", User: ada, Apart: true}, {Name: "notice.sent", Reason: "unlinked", User: ada, Apart: true}}},
	"unlink, not there": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.UnlinkAccount(w.T.Context(), w.user(ada), "op", "grace", nil) },
		want: []brief{{Name: "account.unlink_refused", Reason: "no such account", Provider: "op", User: ada, Apart: true}}},
	"unlink, last": {tune: func(c *authsvc.Config) { c.Providers = c.Providers[:1] }, prepare: viaOp,
		run:  func(w *audited, _ *arena.Browser) { w.UnlinkAccount(w.T.Context(), w.user(ada), "op", "ada", nil) },
		want: []brief{{Name: "account.unlink_refused", Reason: "last way", Provider: "op", User: ada, Apart: true}}},
	"unlink, store down": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) {
		w.broken("ListAccounts")
		w.UnlinkAccount(w.T.Context(), w.user(ada), "op", "ada", nil)
	}, want: []brief{{Name: "account.unlink_failed", Provider: "op", User: ada, Apart: true}}},

	"logout token": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.logout("ada", nil) },
		want: []brief{{Name: "session.ended_by_provider", Provider: "op", User: ada}}},
	"logout token of a stranger": {run: func(w *audited, _ *arena.Browser) { w.logout("ada", nil) },
		want: []brief{{Name: "session.ended_by_provider", Reason: "no account here", Provider: "op"}}},
	"logout token, not valid": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.logout("ada", map[string]any{"aud": "x"}) },
		want: []brief{{Name: "backchannel_logout.refused", Reason: "not valid", Provider: "op"}}},
	"logout token, again": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) {
		raw := url.Values{"logout_token": {logoutToken(w.World, w.T, "ada", nil)}}
		postLogoutToken(w.World, w.T, "op", raw)
		postLogoutToken(w.World, w.T, "op", raw)
	}, want: []brief{{Name: "session.ended_by_provider", Provider: "op", User: ada},
		{Name: "backchannel_logout.refused", Reason: "used before", Provider: "op", User: ada}}},
	"logout token, store down": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.broken("GetUserByAccount"); w.logout("ada", nil) },
		want: []brief{{Name: "backchannel_logout.failed", Provider: "op"}}},
	"logout token, later": {prepare: viaOp, run: func(w *audited, _ *arena.Browser) {
		w.broken("DeleteSession")
		w.logout("ada", nil)
		w.broken("")
		w.await("session.ended_by_provider")
	}, want: []brief{{Name: "backchannel_logout.failed", Reason: "as soon as", Provider: "op", User: ada},
		{Name: "session.ended_by_provider", Reason: "later", Provider: "op", User: ada, Apart: true}}},

	"refresh failed": {run: func(w *audited, _ *arena.Browser) { w.accessToken(`{"nonsense":1}`) },
		want: []brief{{Name: "token.refresh_failed", Provider: "op", User: ada, Apart: true}}},
	"refresh of another user": {run: func(w *audited, _ *arena.Browser) {
		raw, err := w.OP.Sign("JWT", map[string]any{"iss": w.OP.Issuer(), "aud": "app", "sub": "grace", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()})
		if err != nil {
			w.T.Fatal(err)
		}
		w.accessToken(`{"access_token":"at-1","token_type":"Bearer","expires_in":3600,"refresh_token":"rt-1","id_token":"` + raw + `"}`)
	}, want: []brief{{Name: "token.wrong_subject", Provider: "op", User: ada, Apart: true}}},
	"refresh for another client": {run: func(w *audited, _ *arena.Browser) {
		raw, err := w.OP.Sign("JWT", map[string]any{"iss": w.OP.Issuer(), "aud": "other", "sub": "ada", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()})
		if err != nil {
			w.T.Fatal(err)
		}
		w.accessToken(`{"access_token":"at-1","token_type":"Bearer","expires_in":3600,"refresh_token":"rt-1","id_token":"` + raw + `"}`)
	}, want: []brief{{Name: "token.misaddressed", Provider: "op", User: ada, Apart: true}}},

	"configuration": {run: func(w *audited, _ *arena.Browser) { w.ConfigurationChanged(w.T.Context(), nil) },
		want: []brief{{Name: "configuration.changed", Apart: true}}},
	"configuration, wrong": {run: func(w *audited, _ *arena.Browser) { w.ConfigurationChanged(w.T.Context(), errors.New("password=x")) },
		want: []brief{{Name: "configuration.change_failed", Apart: true}}},

	"token, no such audience": {tune: forTokens, prepare: viaOp, run: func(_ *audited, b *arena.Browser) { b.Post("/api/auth/token", "audience", "https://other.test") },
		want: []brief{{Name: "token.denied", Reason: "audience", User: ada}}},
	"token": {tune: forTokens, prepare: viaOp, run: func(w *audited, b *arena.Browser) {
		w.Browser().Post("/api/auth/token")
		b.Post("/api/auth/token")
		b.Get("/api/auth/jwks")
	}},
	"no CSRF token, token": {tune: forTokens, prepare: viaOp, run: wrongToken("/api/auth/token"), want: []brief{{Name: "csrf.refused"}}},
	"keys rotated": {tune: forTokens, run: func(w *audited, _ *arena.Browser) { w.rotate(); w.rotate() },
		want: []brief{{Name: "keys.rotated", Reason: "published", Apart: true}}},
	"key retired": {tune: forTokens, run: func(w *audited, _ *arena.Browser) { w.retire() },
		want: []brief{{Name: "keys.retired", Reason: "operator", Apart: true}, {Name: "keys.rotated", Reason: "from now on", Apart: true}}},

	"personal token made": {tune: forPersonal, prepare: viaOp, run: func(w *audited, _ *arena.Browser) { w.personal() },
		want: []brief{{Name: "pat.created", Reason: "application", User: ada, Apart: true}, {Name: "notice.sent", Reason: "token", User: ada, Apart: true}}},
	"personal tokens revoked": {tune: forPersonal, prepare: func(w *audited, b *arena.Browser) { viaOp(w, b); w.personal(); w.personal() }, run: func(w *audited, _ *arena.Browser) { w.revokePersonal() },
		want: []brief{{Name: "pat.revoked", Reason: "token ", User: ada, Apart: true}, {Name: "pat.revoked", Reason: "all", User: ada, Apart: true}}},
	"personal token, unknown": {tune: forPersonal, run: func(w *audited, _ *arena.Browser) { bear(w.World, personaltoken.New(), "api") },
		want: []brief{{Name: "pat.refused", Reason: "unknown"}}},
	"personal token, mistyped": {tune: forPersonal, run: func(w *audited, _ *arena.Browser) { bear(w.World, "asv1_x", "api") },
		want: []brief{{Name: "pat.refused", Reason: "not a token"}}},
	"personal token, another audience": {tune: forPersonal, prepare: viaOp, run: func(w *audited, _ *arena.Browser) { bear(w.World, w.personal(), "other") },
		want: []brief{{Name: "pat.created", User: ada, Apart: true}, {Name: "notice.sent", User: ada, Apart: true}, {Name: "pat.refused", Reason: "audience", User: ada}}},
	"personal tokens, too many wrong": {tune: func(c *authsvc.Config) {
		forPersonal(c)
		c.RateLimit.PersonalToken = authsvc.Rate{N: 1, Per: time.Hour}
	}, run: func(w *audited, _ *arena.Browser) { bear(w.World, "x", "api"); bear(w.World, "y", "api") },
		want: []brief{{Name: "pat.refused", Reason: "not a token"}, {Name: "request.limited", Code: authsvc.CodeRateLimited}}},

	"nothing to record": {run: func(_ *audited, b *arena.Browser) {
		for _, path := range []string{"", "/signin", "/signin/op", "/signout", "/session", "/csrf", "/providers", "/error", "/verify-request", "/client.js", "/nothing"} {
			b.Get("/api/auth" + path)
		}
		b.Begin("op")
		b.Post("/api/auth/_log", "message", "hello")
	}},
}

func notInvited(c *authsvc.Config) { c.SignUp.Policy = authsvc.SignUpInvited }

func notAllowed(c *authsvc.Config) {
	c.SignIn.Allow = []authsvc.Condition{{Users: []string{"nobody"}}}
}
