package pages

import (
	"cmp"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var galleryDir = flag.String("gallery", "", "write every page and state as HTML files into this directory")

// A state is one page in a certain situation. The tests below check the whole gallery,
// and designers look at it.
type state struct {
	file string
	page Name
	view any
}

const (
	testBase   = "https://app.example.com/api/auth"
	testOrigin = "https://app.example.com"
	testToken  = "3f8c0e1b6d5a49f7a2c4e6081b3d5f7092a4c6e8f01b3d5f7a9c1e3f5b7d9f10"
	longEmail  = "a.very.long.mailbox.name.that.somebody.really.has@subdomain.of.a.rather.long.domain.example.com"
)

func button(id, name, logo string) Provider {
	return Provider{ID: id, Name: name, Kind: "oauth", Form: "button", Action: testBase + "/signin/" + id, Style: Style{Logo: logo}}
}

func emailForm() Provider {
	return Provider{ID: "email", Name: "Email", Kind: "email", Form: "email", Action: testBase + "/signin/email"}
}

func passwordForm() Provider {
	return Provider{ID: "credentials", Name: "Credentials", Forgot: testOrigin + "/forgot", Kind: "credentials", Form: "fields", Action: testBase + "/callback/credentials",
		Fields: []Field{{Name: "username", Label: "Username", Autocomplete: "username"}, {Name: "password", Label: "Password", Type: "password"}}}
}

func eightProviders() []Provider {
	list := []Provider{button("github", "GitHub", "github"), button("google", "Google", "google"), button("acme", "Acme", ""), button("bolt", "Bolt", ""),
		button("orbit", "Orbit ID", ""), button("long", "The Municipal Library of Greater Exampleton", ""), button("key", "Company key", "key")}
	list[1].LastUsed = true
	return append(list, emailForm())
}

// styles returns the providers of the gallery, for New.
func styles() []ProviderStyle {
	return append(popularStyles(), []ProviderStyle{
		{ID: "acme", Style: Style{Background: "#5b21b6"}}, {ID: "bolt", Style: Style{Background: "#ffd400"}}, {ID: "orbit", Style: Style{Background: "#0f766e", Text: "#ffffff"}}}...)
}

func gallery() []state {
	signIn := func(v SignInView) SignInView {
		v.CSRFToken, v.CallbackURL = testToken, testOrigin+"/"
		return v
	}
	failed := func(code string, providers ...Provider) SignInView {
		return signIn(SignInView{Error: code, RequestID: "k3v9x2m7", Providers: providers})
	}
	github, google := button("github", "GitHub", "github"), button("google", "Google", "google")
	limited := failed("RateLimited", github, emailForm())
	limited.RetryAfter = 42
	wrong := failed("EmailSignin", github, emailForm())
	wrong.Email = "ada@example"
	verify := VerifyRequestView{Email: "ada@example.com", CSRFToken: testToken, ResendAction: testBase + "/signin/email", CallbackURL: testOrigin, MaxAgeMinutes: 10, SignInURL: testBase + "/signin"}
	verify.NextURL, verify.WaitSeconds, verify.Sent = testBase+"/verify-request?provider=email&type=email", 600, 1
	resent, unknown, long, last := verify, verify, verify, verify
	last.Sent = 5
	resent.Resent, unknown.Email, long.Email = true, "", longEmail
	code := verify
	code.CodeAction = testBase + "/callback/email"
	codeSent, codeWrong, codeLast, codeForm, codeSpent, codeDev := code, code, code, code, code, code
	codeSent.Resent, codeSent.Sent, codeDev.InboxURL = true, 2, testOrigin+"/inbox"
	codeWrong.WrongCode, codeLast.WrongCode, codeForm.WrongCode, codeSpent.WrongCode = true, true, true, true
	codeWrong.CodeTries, codeLast.CodeTries, codeSpent.CodeTries = "4", "1", "0"
	codeLast.Email, codeLast.Sent = longEmail, 5
	opened, codeOpened, codeOpenedLast, over, codeOver := verify, code, code, verify, code
	opened.Opened, codeOpened.Opened, codeOpenedLast.Opened, over.Expired, codeOver.Expired = true, true, true, true, true
	opened.WaitSeconds, opened.SignedIn, codeOpenedLast.Sent = 0, "grace@example.com", 5
	over.WaitSeconds, over.NextURL, codeOver.WaitSeconds, codeOver.NextURL = 0, "", 0, ""
	proof := verify
	proof.WaitSeconds, proof.SignInURL, proof.SignedIn, proof.Confirms, proof.AccountURL = 0, "", "ada@example.com", true, testBase+"/account"
	proofOpened, proofOver, proofCode := proof, proof, proof
	proofOpened.Opened, proofOver.Expired, proofOver.NextURL, proofCode.CodeAction = true, true, "", testBase+"/callback/email"
	proofWrong, proofCodeOpened, proofAlone := proofCode, proofCode, proofCode
	proofWrong.WrongCode, proofWrong.CodeTries, proofCodeOpened.Opened, proofAlone.AccountURL = true, "4", true, ""
	elsewhere := ErrorView{Code: "Verification", Reason: "elsewhere", Provider: "Email", RequestID: "k3v9x2m7", BackURL: testOrigin, SignInURL: testBase + "/signin",
		LinkAction: testBase + "/signin/email", Email: "ada@example.com", CSRFToken: testToken, CallbackURL: testOrigin}
	expired, usedCode := elsewhere, elsewhere
	expired.Reason, usedCode.Reason = "expired", "used"
	confirm := ConfirmView{Email: "ada@example.com", Token: testToken, CallbackURL: testOrigin, CSRFToken: testToken, Action: testBase + "/callback/email"}
	other, longConfirm := confirm, confirm
	other.Current, longConfirm.Email = "grace@example.com", longEmail
	problem := func(code string) ErrorView {
		return ErrorView{Code: code, RequestID: "k3v9x2m7", BackURL: testOrigin, SignInURL: testBase + "/signin"}
	}
	slow := problem("RateLimited")
	slow.RetryAfter = 600

	renew := problem("Verification")
	renew.LinkAction, renew.Email, renew.CSRFToken, renew.CallbackURL = testBase+"/signin/email", "ada@example.com", testToken, testOrigin
	typed := failed("CredentialsSignin", passwordForm())
	typed.Fill("credentials", "ada")
	cancelled := problem("AccessDenied")
	cancelled.Reason, cancelled.Provider = "cancelled", "GitHub"
	down, stale := failed("OAuthSignin", github, emailForm()), failed("OAuthCallback", github, emailForm())
	down.Reason, down.Provider, stale.Reason, stale.Provider = "unavailable", "GitHub", "stale", "GitHub"
	misconfigured, noMail, noStore := stale, failed("EmailSignin", github, emailForm()), failed("Callback", github, emailForm())
	misconfigured.Reason, noMail.Reason, noStore.Reason, noMail.Email = "misconfigured", "unavailable", "unavailable", "ada@example.com"

	overtaken := stale
	overtaken.SignedIn, overtaken.CallbackURL = "ada@example.com", testOrigin

	return append([]state{
		{"signin", SignIn, signIn(SignInView{Providers: []Provider{github, google, emailForm()}})},
		{"signin-8", SignIn, signIn(SignInView{Providers: eightProviders()})},
		{"signin-email", SignIn, signIn(SignInView{Providers: []Provider{emailForm()}})},
		{"signin-password", SignIn, signIn(SignInView{Providers: []Provider{github, emailForm(), passwordForm()}})},
		{"signin-none", SignIn, signIn(SignInView{})},
		{"signin-failed", SignIn, failed("OAuthCallback", github, google, emailForm())},
		{"signin-not-linked", SignIn, failed("OAuthAccountNotLinked", github, emailForm())},
		{"signin-bad-address", SignIn, wrong},
		{"signin-bad-password", SignIn, failed("CredentialsSignin", passwordForm())},
		{"signin-required", SignIn, failed("SessionRequired", github)},
		{"signin-limited", SignIn, limited},
		{"signin-signed-in", SignIn, signIn(SignInView{SignedIn: "ada@example.com", AccountURL: testBase + "/account", Providers: []Provider{github, google, button("acme", "Acme", ""), emailForm()}})},
		{"signin-again", SignIn, signIn(SignInView{Again: "ada@example.com", Providers: []Provider{github, google, emailForm()}})},
		{"signin-signed-in-home", SignIn, signIn(SignInView{SignedIn: "ada@example.com", AccountURL: testBase + "/account", Home: true, Providers: []Provider{github, passwordForm()}})},
		{"signin-signed-in-not-linked", SignIn, signIn(SignInView{SignedIn: "ada@example.com", AccountURL: testBase + "/account", Error: "OAuthAccountNotLinked", RequestID: "k3v9x2m7", Providers: []Provider{github, google, emailForm()}})},
		{"signin-signed-in-8", SignIn, signIn(SignInView{SignedIn: longEmail, Providers: eightProviders()})},
		{"signin-popular-2", SignIn, signIn(SignInView{Providers: popularProviders(2)})},
		{"signin-popular-8", SignIn, signIn(SignInView{Providers: LastUsedFirst(popularProviders(8), "gitlab")})},
		{"signin-popular-20", SignIn, signIn(SignInView{Providers: LastUsedFirst(popularProviders(20), "spotify")})},
		{"signin-popular-40", SignIn, signIn(SignInView{Providers: LastUsedFirst(popularProviders(40), "spotify")})},
		{"signout", SignOut, SignOutView{CSRFToken: testToken, CallbackURL: testOrigin, Who: "ada@example.com"}},
		{"signout-done", SignOut, SignOutView{SignInURL: testBase + "/signin", CallbackURL: testOrigin + "/bye"}},
		{"signout-failed", SignOut, SignOutView{CSRFToken: testToken, Error: true, RequestID: "k3v9x2m7"}},
		{"error", Error, problem("")},
		{"error-configuration", Error, problem("Configuration")},
		{"error-access-denied", Error, problem("AccessDenied")},
		{"error-verification", Error, problem("Verification")},
		{"error-cancelled", Error, cancelled},
		{"signin-unavailable", SignIn, down},
		{"signin-stale", SignIn, stale},
		{"signin-misconfigured", SignIn, misconfigured},
		{"signin-no-mail", SignIn, noMail},
		{"signin-no-store", SignIn, noStore},
		{"signin-csrf", SignIn, failed("csrf", github, emailForm())},
		{"signin-overtaken", SignIn, overtaken},
		{"error-limited", Error, slow},
		{"verify", VerifyRequest, verify},
		{"verify-resent", VerifyRequest, resent},
		{"verify-limit", VerifyRequest, last},
		{"verify-unknown", VerifyRequest, unknown},
		{"verify-long", VerifyRequest, long},
		{"verify-code", VerifyRequest, code},
		{"verify-code-resent", VerifyRequest, codeSent},
		{"verify-code-wrong", VerifyRequest, codeWrong},
		{"verify-code-last", VerifyRequest, codeLast},
		{"verify-code-digits", VerifyRequest, codeForm},
		{"verify-code-spent", VerifyRequest, codeSpent},
		{"verify-code-inbox", VerifyRequest, codeDev},
		{"verify-opened", VerifyRequest, opened},
		{"verify-code-opened", VerifyRequest, codeOpened},
		{"verify-code-opened-limit", VerifyRequest, codeOpenedLast},
		{"verify-expired", VerifyRequest, over},
		{"verify-code-expired", VerifyRequest, codeOver},
		{"verify-confirm", VerifyRequest, proof},
		{"verify-confirm-opened", VerifyRequest, proofOpened},
		{"verify-confirm-expired", VerifyRequest, proofOver},
		{"verify-confirm-code", VerifyRequest, proofCode},
		{"verify-confirm-code-wrong", VerifyRequest, proofWrong},
		{"verify-confirm-code-opened", VerifyRequest, proofCodeOpened},
		{"verify-confirm-no-account", VerifyRequest, proofAlone},
		{"error-code-elsewhere", Error, elsewhere},
		{"error-code-expired", Error, expired},
		{"error-code-used", Error, usedCode},
		{"error-code", Error, problem("Code")},
		{"undo", Undo, UndoView{State: "asks", What: "linked", Name: "GitHub", Who: "ada@example.com", Token: testToken, CSRFToken: testToken, Action: testBase + "/account/undo"}},
		{"undo-long", Undo, UndoView{State: "asks", What: "linked", Name: "The Municipal Library of Greater Exampleton", Who: longEmail, Token: testToken, CSRFToken: testToken, Action: testBase + "/account/undo"}},
		{"undo-address", Undo, UndoView{State: "asks", What: "address", Name: "ada@example.com", Who: "eve@example.com", Token: testToken, CSRFToken: testToken, Action: testBase + "/account/undo"}},
		{"undo-failed", Undo, UndoView{State: "asks", What: "linked", Name: "GitHub", Who: "ada@example.com", Token: testToken, CSRFToken: testToken, Action: testBase + "/account/undo", Error: "csrf", RequestID: "k3v9x2m7"}},
		{"undo-done", Undo, UndoView{State: "done", SignInURL: testBase + "/signin"}},
		{"undo-spent", Undo, UndoView{State: "spent", SignInURL: testBase + "/signin"}},
		{"undo-taken", Undo, UndoView{State: "taken", SignInURL: testBase + "/signin"}},
		{"confirm", Confirm, confirm},
		{"confirm-other", Confirm, other},
		{"confirm-long", Confirm, longConfirm},
		{"used", Used, UsedView{Email: "ada@example.com", ContinueURL: testOrigin}},
		{"used-waited", Used, UsedView{Email: "ada@example.com", ContinueURL: testOrigin, Waited: true}},
		{"error-link", Error, renew},
		{"signin-typed", SignIn, typed},
		{"notfound", NotFound, NotFoundView{SignInURL: testBase + "/signin"}},
		{"forbidden", Forbidden, ForbiddenView{Who: "ada@example.com", SwitchURL: testBase + "/signin", RequestID: "k3v9x2m7"}},
		{"forbidden-long", Forbidden, ForbiddenView{Who: longEmail, SwitchURL: testBase + "/signin", RequestID: "k3v9x2m7"}},
		{"forbidden-nobody", Forbidden, ForbiddenView{RequestID: "k3v9x2m7"}},
		{"framed", Framed, FramedView{SignInURL: testBase + "/gate/start?to=%2F"}},
		{"unavailable-upstream", Unavailable, UnavailableView{Case: "upstream", Host: "grafana.example.com", RetryURL: testOrigin + "/", RequestID: "k3v9x2m7"}},
		{"unavailable-timeout", Unavailable, UnavailableView{Case: "timeout", Host: "grafana.example.com", RetryURL: testOrigin + "/", RequestID: "k3v9x2m7"}},
		{"unavailable-sessions", Unavailable, UnavailableView{Case: "sessions", Host: "grafana.example.com", RetryURL: testOrigin + "/", RequestID: "k3v9x2m7"}},
		{"unavailable-kept", Unavailable, UnavailableView{Case: "kept", Host: "grafana.example.com", RetryURL: testOrigin + "/", RequestID: "k3v9x2m7"}},
		{"unavailable-entry", Unavailable, UnavailableView{Case: "entry", Host: "grafana.example.com", RetryURL: testOrigin + "/", RequestID: "k3v9x2m7"}},
		{"unavailable-proxy", Unavailable, UnavailableView{Case: "proxy", RequestID: "k3v9x2m7"}},
		{"unavailable-headers", Unavailable, UnavailableView{Case: "headers", RequestID: "k3v9x2m7"}},
		{"unavailable-host", Unavailable, UnavailableView{Case: "host", Host: "10.0.0.7:8080", RequestID: "k3v9x2m7"}},
		{"unavailable-routes", Unavailable, UnavailableView{Case: "routes", Host: "grafana.example.com", RequestID: "k3v9x2m7"}},
		{"unavailable-login", Unavailable, UnavailableView{Case: "login", Host: "login.example.com", RequestID: "k3v9x2m7"}},
		{"unavailable-other", Unavailable, UnavailableView{Case: "other", Host: "http://localhost:3500", RetryURL: "http://localhost:3500"}},
		{"unavailable-plain", Unavailable, UnavailableView{Case: "plain", Host: testOrigin, RetryURL: testOrigin}},
		{"unavailable-cookies", Unavailable, UnavailableView{Case: "cookies", Host: "grafana.example.com", RetryURL: testOrigin + "/", RequestID: "k3v9x2m7"}},
		{"notice", Notice, NoticeView{Removed: []string{"GitHub", "Google"}, ContinueURL: testOrigin, SignInURL: testBase + "/signin"}},
		{"repost", Repost, RepostView{Action: testBase + "/callback/apple", Fields: [][2]string{{"state", "s"}, {"code", "c"}, {"user", `{"name":"<b>"}`}}}},
		{"signout-provider", SignOutProvider, SignOutProviderView{Action: "https://op.example.com/end?x=1", Fields: url.Values{"state": {"s"}, "id_token_hint": {"a.b.c"}}}},
	}, append(accountStates(), tokenStates()...)...)
}

func newTestPages(t *testing.T, theme Theme) *Pages {
	t.Helper()
	p, errs := New(theme, testBase, testOrigin, styles()...)
	if len(errs) > 0 {
		t.Fatalf("newPages: %v", errs)
	}
	return p
}

// TestGallery writes the gallery. To look at it, name a directory:
//
//	go test -run TestGallery -gallery DIR
//
// Each set is a folder; its pages find their style sheet next to them.
func TestGallery(t *testing.T) {
	dir := cmp.Or(*galleryDir, t.TempDir())
	sets := []struct {
		name, lang string
		theme      Theme
	}{
		{"plain", "en", Theme{SiteName: "Acme"}},
		{"german", "de", Theme{SiteName: "Acme"}},
		{"yellow", "en", Theme{SiteName: "Buttercup", BrandColor: "#ffd400"}},
		{"navy", "en", Theme{SiteName: "Nachtwacht", BrandColor: "#0b1f4b"}},
		{"light", "en", Theme{ColorScheme: "light", BrandColor: "#635bff"}},
		{"long", "en", Theme{SiteName: "The Royal Society for the Improvement of Exceedingly Long Names", Logo: "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 120 40'%3E%3Crect width='120' height='40' rx='8' fill='%230f766e'/%3E%3C/svg%3E"}},
	}
	for _, set := range sets {
		p := newTestPages(t, set.theme)
		dir := filepath.Join(dir, set.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write := func(name string, body []byte) {
			if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("style.css", p.style)
		_, own := documentedStyle(t)
		write("own.html", []byte(strings.ReplaceAll(own, "STYLE", "style.css")))
		for _, s := range gallery() {
			body, err := p.Render(s.page, set.lang, s.view)
			if err != nil {
				t.Fatalf("%s: %v", s.file, err)
			}
			write(s.file+".html", []byte(strings.ReplaceAll(string(body), testBase+"/"+p.StylePath, "style.css")))
		}
	}
}

// TestGalleryHasEveryPage: the tests of all states look at each page.
func TestGalleryHasEveryPage(t *testing.T) {
	t.Parallel()
	missing := pageNames()
	for _, s := range gallery() {
		delete(missing, s.page)
	}
	for name := range missing {
		t.Errorf("gallery has no state of the page %s", name)
	}
}
