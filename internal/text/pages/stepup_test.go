package pages

import (
	"strings"
	"testing"
)

// TestVerifyRequestConfirms checks that the page which waits for a fresh proof by mail
// speaks of a confirmation, leads back to the account, and offers no other address.
func TestVerifyRequestConfirms(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{SiteName: "Acme"})
	usual := VerifyRequestView{Email: "ada@example.com", ResendAction: testBase + "/signin/email", MaxAgeMinutes: 10, SignInURL: testBase + "/verify-request?change=true"}
	for name, tt := range map[string]struct {
		change         func(*VerifyRequestView)
		en, de         string
		signIn, signDe string // the same state of a sign-in
	}{
		"link": {func(*VerifyRequestView) {}, "Open the link in this browser to confirm that it is you.", "um zu bestätigen, dass Sie es sind.", "to sign in here", "um sich hier anzumelden"},
		"code": {func(v *VerifyRequestView) { v.CodeAction = testBase + "/callback/email" }, ">Confirm</button>", ">Bestätigen</button>", ">Sign in</button>", ">Anmelden</button>"},
		"opened, with a code": {func(v *VerifyRequestView) { v.CodeAction, v.Opened = testBase+"/callback/email", true },
			"Send another code to confirm here.", "Senden Sie einen neuen Code, um es hier zu bestätigen.", "to sign in here", "um sich hier anzumelden"},
		"expired": {func(v *VerifyRequestView) { v.Expired = true }, "Send another one to confirm that it is you.", "um zu bestätigen, dass Sie es sind.", "Send another one to sign in.", "um sich anzumelden."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := usual
			tt.change(&v)
			signIn := v
			v.Confirms, v.SignedIn, v.AccountURL, v.SignInURL = true, "ada@example.com", testBase+"/account", ""
			noAccount := v
			noAccount.AccountURL = ""
			for _, c := range []struct {
				lang      string
				view      VerifyRequestView
				has, none []string
			}{
				{"en", v, []string{tt.en, `<a href="` + testBase + `/account">Back to your account</a>`}, []string{tt.signIn, "Use a different address", "still signed in"}},
				{"de", v, []string{tt.de, `<a href="` + testBase + `/account">Zurück zu Ihrem Konto</a>`}, []string{tt.signDe, "Andere Adresse verwenden", "noch als"}},
				{"en", noAccount, []string{tt.en, `<a href="` + testOrigin + `">Back to Acme</a>`}, []string{tt.signIn, "Back to your account", "Use a different address"}},
				{"en", signIn, []string{tt.signIn, "Use a different address"}, []string{tt.en, "Back to your account"}},
				{"de", signIn, []string{tt.signDe, "Andere Adresse verwenden"}, []string{tt.de, "Zurück zu Ihrem Konto"}},
			} {
				body, err := p.Render(VerifyRequest, c.lang, c.view)
				if err != nil {
					t.Fatal(err)
				}
				_, main, _ := strings.Cut(string(body), "<main")
				for _, s := range c.has {
					if !strings.Contains(main, s) {
						t.Errorf("%s: no %q in %s", c.lang, s, main)
					}
				}
				for _, s := range c.none {
					if strings.Contains(main, s) {
						t.Errorf("%s: %q in %s", c.lang, s, main)
					}
				}
			}
		})
	}
}
