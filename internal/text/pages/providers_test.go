package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// popular lists forty popular sign-in services as package provider shows them: id,
// name, mark, colour.
func popular() [][4]string {
	return [][4]string{
		{"google", "Google", "google", "#ffffff"},
		{"github", "GitHub", "github", "#24292f"},
		{"microsoft-entra-id", "Microsoft Entra ID", "microsoft", "#0072c6"},
		{"apple", "Apple", "apple", "#000000"},
		{"facebook", "Facebook", "facebook", "#006aff"},
		{"twitter", "X", "x", "#000000"},
		{"discord", "Discord", "discord", "#5865f2"},
		{"gitlab", "GitLab", "gitlab", "#fc6d26"},
		{"okta", "Okta", "okta", "#000000"},
		{"auth0", "Auth0", "auth0", "#eb5424"},
		{"slack", "Slack", "", "#000000"},
		{"linkedin", "LinkedIn", "", "#006699"},
		{"twitch", "Twitch", "twitch", "#65459b"},
		{"spotify", "Spotify", "spotify", "#000000"},
		{"reddit", "Reddit", "reddit", "#ff4500"},
		{"bitbucket", "Bitbucket", "bitbucket", "#205081"},
		{"atlassian", "Atlassian", "atlassian", "#ffffff"},
		{"dropbox", "Dropbox", "dropbox", "#0061fe"},
		{"notion", "Notion", "notion", "#ffffff"},
		{"figma", "Figma", "figma", "#ff7237"},
		{"yahoo", "Yahoo", "", "#6001d2"},
		{"amazon", "Amazon", "", "#ff9900"},
		{"paypal", "PayPal", "paypal", "#003087"},
		{"stripe", "Stripe", "stripe", "#635bff"},
		{"shopify", "Shopify", "shopify", "#95bf47"},
		{"salesforce", "Salesforce", "", "#00a1e0"},
		{"keycloak", "Keycloak", "", "#4d4d4d"},
		{"zoom", "Zoom", "", "#0b5cff"},
		{"line", "LINE", "line", "#00c300"},
		{"kakao", "Kakao", "", "#fee500"},
		{"naver", "Naver", "naver", "#03c75a"},
		{"vk", "VK", "vk", "#0077ff"},
		{"yandex", "Yandex", "", "#ffcc00"},
		{"wechat", "WeChat", "wechat", "#07c160"},
		{"tiktok", "TikTok", "tiktok", "#000000"},
		{"instagram", "Instagram", "instagram", "#ff0069"},
		{"mastodon", "Mastodon", "mastodon", "#6364ff"},
		{"patreon", "Patreon", "patreon", "#e85b46"},
		{"steam", "Steam", "steam", "#171a21"},
		{"wordpress", "WordPress.com", "wordpress", "#21759b"},
	}
}

// popularProviders returns the first n, and the form for a link.
func popularProviders(n int) []Provider {
	var list []Provider
	for _, p := range popular()[:n] {
		list = append(list, button(p[0], p[1], p[2]))
	}
	return append(list, emailForm())
}

func popularStyles() []ProviderStyle {
	var list []ProviderStyle
	for _, p := range popular() {
		list = append(list, ProviderStyle{ID: p[0], Style: Style{Logo: p[2], Background: p[3]}})
	}
	return list
}

// newPopularPages returns the pages of a service with exactly these n providers.
func newPopularPages(t *testing.T, n int) *Pages {
	t.Helper()
	p, errs := New(Theme{SiteName: "Acme"}, testBase, testOrigin, popularStyles()[:n]...)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return p
}

// TestSizeOfMarks checks that the marks of eight services fit into the first round
// trip, and that a page contains only the marks that it shows.
func TestSizeOfMarks(t *testing.T) {
	t.Parallel()
	for n, limit := range map[int]int{2: 6<<10 + 512, 8: 14 << 10, 20: 28 << 10, 40: 50 << 10} {
		p := newPopularPages(t, n)
		body, _ := parsed(t, p, "en", state{"", SignIn, SignInView{CSRFToken: testToken, CallbackURL: testOrigin + "/", Providers: popularProviders(n)}})
		if size := len(body) + len(p.ZippedStyle()); size > limit {
			t.Errorf("%d providers: document and style sheet are %d bytes; want at most %d", n, size, limit)
		} else {
			t.Logf("%d providers: %d bytes", n, size)
		}
		if p, errs := New(Theme{SiteName: "Acme"}, testBase, testOrigin, popularStyles()...); len(errs) > 0 || len(p.ZippedStyle()) > 5<<10 {
			t.Errorf("style sheet of all: %d bytes, %v", len(p.ZippedStyle()), errs)
		}
	}
}

// outline returns the content of a page, in its order.
func outline(t *testing.T, v SignInView) string {
	t.Helper()
	v.CSRFToken = testToken
	_, elements := parsed(t, newTestPages(t, Theme{}), "en", state{"", SignIn, v})
	var parts []string
	for _, n := range elements {
		switch {
		case n.Data == "button":
			parts = append(parts, textOf(n))
		case attr(n, "class") == "or":
			parts = append(parts, "or")
		case attr(n, "class") == "tiles":
			parts = append(parts, "tiles")
		}
	}
	return strings.Join(parts, "|")
}

// TestManyProviders checks that the form for a link stays within reach with many
// buttons.
func TestManyProviders(t *testing.T) {
	t.Parallel()
	const link = "Sign in with Email: Email me a link"
	tests := []struct {
		name      string
		providers []Provider
		want      string
	}{
		{"two", popularProviders(2), "Sign in with Google|Sign in with GitHub|or|" + link},
		{"the form alone", popularProviders(0), link},
		{"without a form", popularProviders(7)[:7], "Sign in with Google|Sign in with GitHub|Sign in with Microsoft Entra ID|Sign in with Apple|Sign in with Facebook|Sign in with X|Sign in with Discord"},
		{"seven", popularProviders(7), link + "|or|Sign in with Google|Sign in with GitHub|Sign in with Microsoft Entra ID|Sign in with Apple|Sign in with Facebook|Sign in with X|Sign in with Discord"},
		{"last used", LastUsedFirst(popularProviders(3), "github"), "Sign in with GitHubLast used|Sign in with Google|Sign in with Microsoft Entra ID|or|" + link},
	}
	for _, tt := range tests {
		if got := outline(t, SignInView{Providers: tt.providers}); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
	for n, tiles := range map[int]bool{10: false, 11: true, 40: true} {
		got := outline(t, SignInView{Providers: popularProviders(n)})
		if strings.Contains(got, "tiles") != tiles || strings.Count(got, "Sign in with ") != n+1 {
			t.Errorf("%d providers: %s", n, got)
		}
	}
}

// TestTilesShowTheName checks that buttons side by side show the name, and that screen
// readers get the whole sentence.
func TestTilesShowTheName(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{
		"en": `<span><span class="vh">Sign in with </span>GitHub</span>`,
		"de": `<span><span class="vh">Mit </span>GitHub<span class="vh"> anmelden</span></span>`,
	} {
		body, err := newTestPages(t, Theme{}).Render(SignIn, lang, SignInView{Providers: popularProviders(11)})
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v, no %s", lang, err, want)
		}
	}
}

func TestDistinct(t *testing.T) {
	t.Parallel()
	list := Distinct([]Provider{{ID: "a", Name: "Microsoft"}, {ID: "b", Name: "microsoft"}, {ID: "c", Name: "GitHub"}, {ID: "d", Name: "Microsoft at Acme"}})
	var got []string
	for _, p := range list {
		got = append(got, p.Name)
	}
	if want := []string{"Microsoft (a)", "microsoft (b)", "GitHub", "Microsoft at Acme"}; !slices.Equal(got, want) {
		t.Errorf("names %q; want %q", got, want)
	}
}

func TestLastUsedFirst(t *testing.T) {
	t.Parallel()
	list := []Provider{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for last, want := range map[string]string{"": "abc", "x": "abc", "a": "Abc", "b": "Bac", "c": "Cab"} {
		got := ""
		for _, p := range LastUsedFirst(list, last) {
			got += cmp.Or(map[bool]string{true: strings.ToUpper(p.ID)}[p.LastUsed], p.ID)
		}
		if got != want {
			t.Errorf("last used %q: %s; want %s", last, got, want)
		}
	}
	if got := fmt.Sprint(list); got != fmt.Sprint([]Provider{{ID: "a"}, {ID: "b"}, {ID: "c"}}) {
		t.Errorf("the list of all requests was changed: %s", got)
	}
}
