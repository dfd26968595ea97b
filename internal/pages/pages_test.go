package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"reflect"
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

// Every page, in every state and language, is small and sound.
func TestEveryState(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{SiteName: "Acme"})
	for _, lang := range p.langs {
		for _, s := range gallery() {
			t.Run(lang+"/"+s.file, func(t *testing.T) {
				t.Parallel()
				body, elements := parsed(t, p, lang, s)
				if size := len(body) + len(p.style); size > 14<<10 {
					t.Errorf("document and style sheet are %d bytes; want at most %d", size, 14<<10)
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
		if hasAttr(n, "style") {
			t.Errorf("<%s> has inline style, which the policy forbids", n.Data)
		}
	}
	for _, n := range elements {
		switch n.Data {
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
		if ref := attr(n, "aria-describedby"); ref != "" && !ids[ref] {
			t.Errorf("aria-describedby %q leads nowhere", ref)
		}
	}
	scripts := 0
	if s.page.submitsItself() {
		scripts = 1
	}
	if count["h1"] != 1 || count["main"] != 1 || count["title"] != 1 || count["script"] != scripts || count["style"] != 0 || count["autofocus"] > 1 {
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

// poison puts a string into every text that reaches a view.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(polyglot)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Form" { // chooses the template
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
	case reflect.Map: // of form fields
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
				if n.Data == "script" && textOf(n) != submitScript || n.Data == "xmp" || n.Data == "textarea" || n.Data == "style" {
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

// The texts and hooks that tests of NextAuth.js applications look for.
func TestSignInHooks(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{SiteName: "Acme"})
	body, elements := parsed(t, p, "en", gallery()[3]) // GitHub, e-mail, password
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
	for _, want := range []string{`type="email"`, `autocomplete="email"`, `inputmode="email"`, `type="password"`, `autocomplete="current-password"`, `class="or"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestSignInErrors(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	tests := map[string]string{
		"OAuthSignin": "Try signing in with a different account.", "OAuthCallback": "Try signing in with a different account.",
		"Callback": "Try signing in with a different account.", "Signin": "Try signing in with a different account.",
		"OAuthAccountNotLinked": "To confirm your identity, sign in with the same account you used originally.",
		"EmailSignin":           "The e-mail could not be sent.",
		"CredentialsSignin":     "Sign in failed. Check the details you provided are correct.",
		"SessionRequired":       "Please sign in to access this page.",
		"SomethingElse":         "Unable to sign in.", "constructor": "Unable to sign in.",
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
		{"usual", func(*VerifyRequestView) {}, []string{"<form", "ada@example.com", "10 minutes", "At most 5 links", "A sign in link has been sent to your email address."}, []string{`role="status"`}},
		{"address unknown", func(v *VerifyRequestView) { v.Email = "" }, []string{"10 minutes"}, []string{"<form"}},
		{"resent", func(v *VerifyRequestView) { v.Resent = true }, []string{`role="status"`}, nil},
		{"other limit", func(v *VerifyRequestView) { v.LinksPerHour = 12 }, []string{"At most 12 links"}, nil},
		{"no limit", func(v *VerifyRequestView) { v.LinksPerHour = -1 }, nil, []string{"At most"}},
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
	for name, formAction := range map[Name]bool{SignIn: false, SignOut: false, Confirm: false, Repost: false, SignOutProvider: false, Error: true, VerifyRequest: true, Notice: true} {
		c := p.Policy(name)
		if !strings.HasPrefix(c, start+"; base-uri 'none'; frame-ancestors 'none'") || strings.Contains(c, "form-action 'self'") != formAction || strings.Contains(c, "script-src") != (name.submitsItself()) {
			t.Errorf("%s: %s", name, c)
		}
		if c := withLogo.Policy(name); !strings.HasPrefix(c, start+" https://cdn.example.com:8443; base-uri") {
			t.Errorf("%s with a logo: %s", name, c)
		}
	}
	if c := p.Policy("nosuch"); strings.Contains(c, "self") {
		t.Errorf("unknown page: %s", c)
	}
}

// The script of the re-post page is exactly the one that its policy allows.
func TestRepostScript(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	body, elements := parsed(t, p, "en", state{"", Repost, RepostView{Action: testBase + "/callback/apple", Fields: [][2]string{{"code", `"><script>`}, {"state", "s"}}}})
	_, rest, _ := strings.Cut(string(body), "<script>")
	script, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(script))
	if want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.HasSuffix(p.Policy(Repost), want) {
		t.Errorf("policy %q; want %q", p.Policy(Repost), want)
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
