package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// parsed renders a state and returns its elements.
func parsed(t *testing.T, p *Pages, lang string, s state) (body []byte, elements []*html.Node) {
	t.Helper()
	body, err := p.Render(s.page, lang, s.view)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	doc, err := html.Parse(strings.NewReader(string(body)))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			elements = append(elements, n)
		}
	}
	return body, elements
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// TestEveryState checks that every page, in every state and language, is small and
// valid.
func TestEveryState(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{SiteName: "Acme"})
	for _, lang := range p.langs.langs {
		for _, s := range gallery() {
			t.Run(lang+"/"+s.file, func(t *testing.T) {
				t.Parallel()
				body, elements := parsed(t, p, lang, s)
				limit := 14 << 10
				if v, ok := s.view.(SignInView); ok && v.Tiles() {
					limit = 50 << 10 // see TestSizeOfMarks
				}
				if v, ok := s.view.(AccountView); ok && len(v.Identities)+len(v.Sessions) > 50 {
					limit = 64 << 10
				}
				if size := len(body) + len(p.ZippedStyle()); size > limit {
					t.Errorf("document and style sheet are %d bytes; want at most %d", size, limit)
				}
				checkDocument(t, s, lang, elements)
			})
		}
	}
}

func checkDocument(t *testing.T, s state, lang string, elements []*html.Node) {
	t.Helper()
	count, ids, labels := map[string]int{}, map[string]bool{}, map[string]bool{}
	for _, n := range elements {
		count[n.Data]++
		if attr(n, "autofocus") != "" || hasAttr(n, "autofocus") {
			count["autofocus"]++
		}
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("id %q occurs twice", id)
			}
			ids[id] = true
		}
		if n.Data == "label" {
			labels[attr(n, "for")] = true
		}
		if slices.Contains(strings.Fields(attr(n, "class")), "primary") {
			count["primary"]++
		}
		if hasAttr(n, "style") {
			t.Errorf("<%s> has inline style, which the policy forbids", n.Data)
		}
	}
	for _, n := range elements {
		if hasAttr(n, "formaction") && !strings.HasPrefix(attr(n, "formaction"), testBase+"/signin/") {
			t.Errorf("a button leads to %q", attr(n, "formaction"))
		}
		switch n.Data {
		case "script":
			if textOf(n) != Scripts()[s.page] {
				t.Errorf("a script that the policy forbids: %s", textOf(n))
			}
		case "html":
			if attr(n, "lang") != lang || attr(n, "dir") != "ltr" {
				t.Errorf("lang %q, dir %q", attr(n, "lang"), attr(n, "dir"))
			}
		case "form":
			own := strings.HasPrefix(attr(n, "action"), testBase+"/")
			if attr(n, "method") != "post" || own == (s.page == SignOutProvider) {
				t.Errorf("form %q %q", attr(n, "method"), attr(n, "action"))
			}
		case "input":
			if attr(n, "type") != "hidden" && !labels[attr(n, "id")] {
				t.Errorf("input %q has no label", attr(n, "name"))
			}
			if attr(n, "name") == "csrfToken" && attr(n, "value") != testToken {
				t.Errorf("csrf token is %q", attr(n, "value"))
			}
		}
		for _, ref := range strings.Fields(attr(n, "aria-describedby")) {
			if !ids[ref] {
				t.Errorf("aria-describedby %q leads nowhere", ref)
			}
		}
	}
	wantScripts := 0
	switch v := s.view.(type) {
	case RepostView, SignOutProviderView:
		wantScripts = 1
	case interface{ HasPassword() bool }:
		if v.HasPassword() {
			wantScripts = 1
		}
	case VerifyRequestView:
		wantScripts = min(v.WaitSeconds, 1)
	}
	if count["h1"] != 1 || count["main"] != 1 || count["title"] != 1 || count["script"] != wantScripts || count["style"] != 0 || count["autofocus"] > 1 || count["primary"] > 1 {
		t.Errorf("elements: %v", count)
	}
}

func hasAttr(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

const polyglot = `javascript:/*--></title></style></textarea></script></xmp><svg/onload='+/"/+/onmouseover=1/+/[*/[]/+alert(1)//'>{{.CSRFToken}}`

// poison puts a string into every text of a view.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(polyglot)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Form" && name != "Key" { // chooses the template or the text
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		v.Set(fresh)
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map: // form fields
		v.Set(reflect.ValueOf(url.Values{polyglot: {polyglot}}))
	}
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{SiteName: polyglot})
	for _, s := range gallery() {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			v := reflect.New(reflect.TypeOf(s.view)).Elem()
			v.Set(reflect.ValueOf(s.view))
			poison(v)
			s.view = v.Interface()
			_, elements := parsed(t, p, "en", s)
			for _, n := range elements {
				if n.Data == "script" && textOf(n) != Scripts()[s.page] || n.Data == "xmp" || n.Data == "textarea" || n.Data == "style" {
					t.Errorf("element <%s> was injected", n.Data)
				}
				for _, a := range n.Attr {
					if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(a.Val), "javascript:") && (a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "formaction") {
						t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
					}
				}
			}
		})
	}
}

// TestSignInHooks checks the texts and hooks that tests of NextAuth.js applications
// look for.
func TestSignInHooks(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{SiteName: "Acme"})
	body, elements := parsed(t, p, "en", gallery()[3]) // GitHub, email, password
	var buttons []string
	ids := map[string]bool{}
	for _, n := range elements {
		if n.Data == "button" {
			buttons = append(buttons, textOf(n))
		}
		ids[attr(n, "id")] = true
	}
	if want := []string{"Sign in with GitHub", "Sign in with Email: Email me a link", "Sign in with Credentials"}; !reflect.DeepEqual(buttons, want) {
		t.Errorf("buttons %q; want %q", buttons, want)
	}
	for _, id := range []string{"input-email-for-email-provider", "input-username-for-credentials-provider", "input-password-for-credentials-provider", "submitButton"} {
		if !ids[id] {
			t.Errorf("no element %q", id)
		}
	}
	if strings.Contains(string(body), `type="email"`) {
		t.Error("browsers refuse an address such as jürgen@example.com in a field of the type email")
	}
	for _, want := range []string{`type="text" name="email"`, `autocomplete="email"`, `inputmode="email"`, `type="password"`, `autocomplete="current-password"`, `class="or"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s", want)
		}
	}
}

// report is the sentence that refers to the id of the request.
const report = "If it happens again, tell the people who run this site, and mention the request number."

func TestSignInErrors(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	const other = "Try signing in with a different account."
	tests := map[string]string{
		"OAuthSignin": "The sign-in could not be started. Please try again." + other + report, "OAuthCallback": "The sign-in was not completed. Please try again." + other + report,
		"Callback": "The sign-in was not completed. Please try again." + other + report, "Signin": "The sign-in was not completed. Please try again." + other + "Request",
		"OAuthAccountNotLinked": "An account with this address or this way to sign in already exists." +
			"To confirm your identity, sign in with the same account you used originally. You can then add other ways to sign in.Request",
		"EmailSignin":       "The email could not be sent.We cannot send mail to this address. Check its spelling.Request",
		"CredentialsSignin": "Sign in failed. Check the details you provided are correct.",
		"SomethingElse":     "Unable to sign in.", "constructor": "Unable to sign in.",
		string(strings.Repeat("x", 10<<10)): "Unable to sign in.",
		"":                                  "",
	}
	for code, want := range tests {
		_, elements := parsed(t, p, "en", state{"", SignIn, SignInView{Error: code, RequestID: "abc123", Providers: eightProviders()}})
		got := ""
		for _, n := range elements {
			if attr(n, "role") == "alert" {
				got = textOf(n)
				if !hasAttr(n, "autofocus") || attr(n, "tabindex") != "-1" {
					t.Errorf("%.20s: the banner does not take the focus", code)
				}
			}
		}
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") || want != "" && !strings.HasSuffix(got, "Request abc123") {
			t.Errorf("%.20s: banner %.200q; want %q", code, got, want)
		}
	}
}

// TestSessionRequired checks that the page says that a session is needed, but not as an
// error.
func TestSessionRequired(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	body, err := p.Render(SignIn, "en", SignInView{Error: "SessionRequired", Providers: eightProviders()})
	if err != nil || !strings.Contains(string(body), "Please sign in to access this page.") || strings.Contains(string(body), `role="alert"`) {
		t.Errorf("%v %s", err, body)
	}
}

// TestReasons checks that the text for a reason replaces the advice to use another
// account, which does not help then, and that the id of the request is mentioned if it
// is on the page.
func TestReasons(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	const other = "Try signing in with a different account."
	const down = "GitHub does not answer at the moment. Try again in a few minutes, or sign in another way."
	for _, tt := range []struct{ code, reason, provider, request, want string }{
		{"OAuthSignin", "unavailable", "GitHub", "abc123", down + report + "Request abc123"},
		{"OAuthSignin", "unavailable", "GitHub", "", down},
		{"OAuthCallback", "stale", "GitHub", "abc123", "The sign-in with GitHub took too long or was finished in another tab, or your browser no longer has the cookies of this sign-in. Please start again here." + report + "Request abc123"},
		{"OAuthCallback", "misconfigured", "GitHub", "abc123", "Signing in with GitHub is not set up correctly. Sign in another way, or tell the people who run this site.Request abc123"},
		{"EmailSignin", "unavailable", "", "abc123", "We cannot send mail at the moment. Try again in a few minutes, or sign in another way." + report + "Request abc123"},
		{"Callback", "unavailable", "", "abc123", "We cannot sign you in at the moment. Try again in a few minutes." + report + "Request abc123"},
		{"OAuthCallback", "nonsense", "GitHub", "", "The sign-in was not completed. Please try again." + other},
		{"OAuthCallback", "cancelled", "GitHub", "", "The sign-in was not completed. Please try again." + other},
	} {
		_, elements := parsed(t, p, "en", state{"", SignIn, SignInView{Error: tt.code, Reason: tt.reason, Provider: tt.provider, RequestID: tt.request, Providers: []Provider{emailForm()}}})
		for _, n := range elements {
			if attr(n, "role") == "alert" && textOf(n) != tt.want {
				t.Errorf("%s, %s: %q", tt.code, tt.reason, textOf(n))
			}
			if attr(n, "aria-invalid") != "" {
				t.Errorf("%s, %s: blames the address", tt.code, tt.reason)
			}
		}
	}
	for reason, want := range map[string]bool{"cancelled": true, "": false, "stale": false} {
		body, err := p.Render(Error, "en", ErrorView{Code: "AccessDenied", Reason: reason, Provider: "GitHub", SignInURL: testBase + "/signin"})
		text := string(body)
		if err != nil || strings.Contains(text, "You did not finish signing in with GitHub") != want || strings.Contains(text, "You do not have permission") == want ||
			strings.Contains(text, ">Try again</a>") != want || strings.Contains(text, `role="alert"`) == want || strings.Count(text, "button primary") != 1 {
			t.Errorf("%q: %v %s", reason, err, text)
		}
	}
}

// TestOvertaken checks that a person who is already signed in is not told to start
// again.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	const calm = "The other sign-in with GitHub had no effect."
	for _, tt := range []struct {
		signedIn, reason string
		want             bool
	}{{"ada@example.com", "stale", true}, {"", "stale", false}, {"ada@example.com", "unavailable", false}} {
		body, err := p.Render(SignIn, "en", SignInView{SignedIn: tt.signedIn, Error: "OAuthCallback", Reason: tt.reason, Provider: "GitHub"})
		text := string(body)
		if err != nil || strings.Contains(text, calm) != tt.want || strings.Contains(text, `role="alert"`) == tt.want {
			t.Errorf("%+v: %v %s", tt, err, text)
		}
	}
}

func TestSignedInOffersLinking(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	for signedIn, want := range map[string]int{"": 0, "ada@example.com": 1} {
		view := SignInView{SignedIn: signedIn, Providers: []Provider{button("github", "GitHub", "github"), emailForm()}}
		_, elements := parsed(t, p, "en", state{"", SignIn, view})
		links := 0
		for _, n := range elements {
			if attr(n, "name") == "link" && attr(n, "value") == "true" {
				links++
			}
		}
		if links != want {
			t.Errorf("signed in as %q: %d buttons with link intent; want %d", signedIn, links, want)
		}
	}
}

func TestSignedIn(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	const signOut = `<form action="` + testBase + `/signout" method="post"><input type="hidden" name="csrfToken" value="` + testToken + `">`
	for _, tt := range []struct {
		name    string
		view    SignInView
		has     []string
		hasNone []string
	}{
		{"plain", SignInView{SignedIn: "ada@example.com"}, []string{`data-letter="A"`, signOut, ">Continue</a>"}, []string{"<img"}},
		{"with a name", SignInView{SignedIn: "x@example.com", Name: " Ada  King Lovelace "}, []string{`data-letter="AL"`}, nil},
		{"one word", SignInView{SignedIn: "x@example.com", Name: "élan"}, []string{`data-letter="É"`}, nil},
		{"with a picture", SignInView{SignedIn: "x@example.com", Picture: "https://cdn.example/a.png"}, []string{`<img src="https://cdn.example/a.png" alt="" referrerpolicy="no-referrer">`}, nil},
		{"without a destination", SignInView{SignedIn: "x@example.com", Home: true}, []string{signOut}, []string{"Continue"}},
		{"with an account", SignInView{SignedIn: "x@example.com", AccountURL: testBase + "/account"}, []string{`<a class="button" href="` + testBase + `/account">Your account</a>`, `<details class="ways"><summary>`}, nil},
		{"only the account", SignInView{SignedIn: "x@example.com", AccountURL: testBase + "/account", Home: true}, []string{`<a class="button primary" href="` + testBase + `/account">Your account</a>`}, []string{"Continue"}},
		{"after a failure", SignInView{SignedIn: "x@example.com", Error: "OAuthAccountNotLinked"}, []string{`<details class="ways" open><summary>`}, []string{"Your account"}},
		{"after a needless attempt", SignInView{SignedIn: "x@example.com", Error: "OAuthCallback", Reason: "stale"}, []string{`<details class="ways"><summary>`}, nil},
		{"own page", SignInView{SignedIn: "x@example.com", SignOutPage: testBase + "/signout"}, []string{`<a class="button" href="` + testBase + `/signout">Sign out</a>`}, []string{signOut}},
		{"no session", SignInView{}, nil, []string{"Sign out", "Continue", "face", "<details", "Your account"}},
	} {
		tt.view.CSRFToken, tt.view.CallbackURL, tt.view.Providers = testToken, testOrigin, []Provider{button("github", "GitHub", "github"), emailForm(), passwordForm()}
		body, err := p.Render(SignIn, "en", tt.view)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tt.has {
			if !strings.Contains(string(body), s) {
				t.Errorf("%s: no %q in %s", tt.name, s, body)
			}
		}
		for _, s := range tt.hasNone {
			if strings.Contains(string(body), s) {
				t.Errorf("%s: has %q", tt.name, s)
			}
		}
	}
}

// TestAlignment checks that the text of error pages and of the gate's refusals is
// centred, as the heading above it and the buttons below.
func TestAlignment(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	for _, s := range gallery() {
		if s.page != Error && s.page != Forbidden && s.page != Unavailable {
			continue
		}
		_, elements := parsed(t, p, "en", s)
		for _, n := range elements {
			switch class := attr(n, "class"); {
			case n.Parent.Data == "div" && attr(n.Parent, "class") == "card" && !slices.Contains([]string{"head error", "head", "message lead", "button primary", "links", "stack"}, class):
				t.Errorf("%s: %q stands in the card", s.file, class)
			case n.Data == "small" && attr(n.Parent, "class") != "message lead":
				t.Errorf("%s: the request is in %q", s.file, attr(n.Parent, "class"))
			}
		}
	}
}

func TestVerifyRequestResend(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	view := VerifyRequestView{Email: "ada@example.com", ResendAction: testBase + "/signin/email", MaxAgeMinutes: 10}
	for _, tt := range []struct {
		name    string
		change  func(*VerifyRequestView)
		has     []string
		hasNone []string
	}{
		{"usual", func(*VerifyRequestView) {}, []string{"<form", "ada@example.com", "10 minutes", "A sign-in link has been sent to your email address."}, []string{`role="status"`, "the limit", "<script", "I have opened"}},
		{"address unknown", func(v *VerifyRequestView) { v.Email = "" }, []string{"10 minutes"}, []string{"<form"}},
		{"resent", func(v *VerifyRequestView) { v.Resent = true }, []string{`role="status"`}, nil},
		{"one before the limit", func(v *VerifyRequestView) { v.Sent = 4 }, []string{"<form"}, []string{"the limit"}},
		{"at the limit", func(v *VerifyRequestView) { v.Sent = 5 }, []string{"5 an hour is the limit"}, []string{"<form"}},
		{"other limit", func(v *VerifyRequestView) { v.LinksPerHour, v.Sent = 12, 12 }, []string{"12 an hour is the limit"}, []string{"<form"}},
		{"below it", func(v *VerifyRequestView) { v.LinksPerHour, v.Sent = 12, 5 }, []string{"<form"}, []string{"the limit"}},
		{"no limit", func(v *VerifyRequestView) { v.LinksPerHour, v.Sent = -1, 50 }, []string{"<form"}, []string{"the limit"}},
		{"waits", func(v *VerifyRequestView) { v.NextURL, v.WaitSeconds = testBase+"/verify-request?provider=email", 600 },
			[]string{`data-session="` + testBase + `/session" data-next="` + testBase + `/verify-request?provider=email" data-seconds="600"`, "<noscript><a", "I have opened the link"}, nil},
		{"with a code", func(v *VerifyRequestView) { v.CodeAction = testBase + "/callback/email" },
			[]string{`action="` + testBase + `/callback/email"`, `inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*"`, "Send another code", "for example 1234 5678", " autofocus"}, []string{"Send another link", "tries", "aria-invalid"}},
		{"a wrong code", func(v *VerifyRequestView) {
			v.CodeAction, v.WrongCode, v.CodeTries = testBase+"/callback/email", true, "3"
		},
			[]string{"That code is not correct. 3 tries left.", `autofocus aria-invalid="true" aria-describedby="error format"`}, []string{"send more links"}},
		{"the last try", func(v *VerifyRequestView) {
			v.CodeAction, v.WrongCode, v.CodeTries = testBase+"/callback/email", true, "1"
		}, []string{"1 try left."}, nil},
		{"no code at all", func(v *VerifyRequestView) { v.CodeAction, v.WrongCode = testBase+"/callback/email", true }, []string{"A code has eight digits."}, []string{"tries left", "not correct"}},
		{"a spent code", func(v *VerifyRequestView) {
			v.CodeAction, v.WrongCode, v.CodeTries = testBase+"/callback/email", true, "0"
		},
			[]string{"The link in the email still works", "Send another code", `tabindex="-1" autofocus`, "Open the link in this browser"}, []string{`name="code"`, "Code and link"}},
		{"does not wait", func(v *VerifyRequestView) { v.NextURL = testBase + "/verify-request" }, []string{"I have opened the link"}, []string{"<script", "<noscript"}},
		{"opened elsewhere", func(v *VerifyRequestView) { v.Opened = true }, []string{`role="alert"`, "This browser is not signed in.", "Send another link, and open it", "button primary"}, nil},
		{"opened elsewhere, with a code", func(v *VerifyRequestView) { v.CodeAction, v.Opened = testBase+"/callback/email", true },
			[]string{"the code in the same email no longer works", "Send another code to sign in here.", `name="code"`, `class="button primary">Send another code<`}, nil},
		{"opened elsewhere, at the limit", func(v *VerifyRequestView) { v.Opened, v.Sent = true, 5 }, []string{"This browser is not signed in.", "5 an hour is the limit"}, []string{"<form", "Send another"}},
		{"still signed in", func(v *VerifyRequestView) { v.Opened, v.SignedIn = true, "eve@example.com" }, []string{"This browser is still signed in as <bdi>eve@example.com</bdi>."}, []string{"not signed in"}},
		{"expired", func(v *VerifyRequestView) { v.Expired = true }, []string{"The link has expired", "valid for 10 minutes", "ada@example.com", "button primary"}, []string{"may land in your spam"}},
		{"expired, with a code", func(v *VerifyRequestView) {
			v.CodeAction, v.Expired, v.WrongCode = testBase+"/callback/email", true, true
		}, []string{"The code has expired", "Send another code"}, []string{`name="code"`, `role="alert"`}},
	} {
		v := view
		tt.change(&v)
		body, err := p.Render(VerifyRequest, "en", v)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tt.has {
			if !strings.Contains(string(body), s) {
				t.Errorf("%s: no %q", tt.name, s)
			}
		}
		for _, s := range tt.hasNone {
			if strings.Contains(string(body), s) {
				t.Errorf("%s: has %q", tt.name, s)
			}
		}
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	const start = "default-src 'none'; style-src 'self'; img-src 'self' data:"
	p, withLogo := newTestPages(t, Theme{}), newTestPages(t, Theme{Logo: "https://CDN.example.com:8443/a;b.png"})
	for name, formAction := range map[Name]bool{SignIn: false, SignOut: false, Confirm: false, Repost: false, SignOutProvider: false, Error: true, VerifyRequest: false, Notice: true} {
		c := p.Policy(name, "")
		if !strings.HasPrefix(c, start+"; base-uri 'none'; frame-ancestors 'none'") || strings.Contains(c, "form-action 'self'") != formAction || strings.Count(c, "script-src") != scriptsOf(name) ||
			strings.Contains(c, "connect-src") != (name == VerifyRequest) {
			t.Errorf("%s: %s", name, c)
		}
		if c := withLogo.Policy(name, ""); !strings.HasPrefix(c, start+" https://cdn.example.com:8443; base-uri") {
			t.Errorf("%s with a logo: %s", name, c)
		}
	}
	if c := p.Policy("nosuch", ""); strings.Contains(c, "self") {
		t.Errorf("unknown page: %s", c)
	}
}

// scriptsOf returns the number of scripts that a policy must allow.
func scriptsOf(name Name) int {
	if Scripts()[name] == "" {
		return 0
	}
	return 1
}

// TestScripts checks that no script can end its element early or evaluates text.
func TestScripts(t *testing.T) {
	t.Parallel()
	for name, script := range Scripts() {
		sum := sha256.Sum256([]byte(script))
		if want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(newTestPages(t, Theme{}).Policy(name, ""), want) {
			t.Errorf("%s: the policy does not allow its script", name)
		}
		for _, bad := range []string{"</", "<!", "innerHTML", "eval(", "setTimeout(\"", "document.write"} {
			if strings.Contains(script, bad) {
				t.Errorf("%s: %s in the script", name, bad)
			}
		}
	}
}

// TestRepostScript checks that the script of the re-post page is exactly the one that
// its policy allows.
func TestRepostScript(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	body, elements := parsed(t, p, "en", state{"", Repost, RepostView{Action: testBase + "/callback/apple", Fields: [][2]string{{"code", `"><script>`}, {"state", "s"}}}})
	_, rest, _ := strings.Cut(string(body), "<script>")
	script, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(script))
	if want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.HasSuffix(p.Policy(Repost, ""), want) {
		t.Errorf("policy %q; want %q", p.Policy(Repost, ""), want)
	}
	got := map[string]string{}
	for _, n := range elements {
		if n.Data == "input" {
			got[attr(n, "name")] = attr(n, "value")
		}
	}
	if want := map[string]string{"code": `"><script>`, "state": "s", "repost": "1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("fields %v; want %v", got, want)
	}
}

func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	if _, err := p.Render("nosuch", "en", nil); err == nil {
		t.Error("a page that does not exist was rendered")
	}
	if _, err := p.Render(SignIn, "en", ErrorView{}); err == nil {
		t.Error("a page was rendered with the view of another")
	}
	body, err := p.Render(Error, "xx", ErrorView{})
	if err != nil || !strings.Contains(string(body), `<html lang="en"`) {
		t.Errorf("unknown language: %v, %.60s", err, body)
	}
}

func TestSiteName(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	if p.site.Site != "app.example.com" {
		t.Errorf("site %q; want the host", p.site.Site)
	}
	if p := newTestPages(t, Theme{SiteName: "Acme"}); p.site.Site != "Acme" {
		t.Errorf("site %q", p.site.Site)
	}
}
