package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc/internal/test/npm"
)

// A declaration is an interface in the type definitions of NextAuth.js. Its members are
// options with a name in front, as in session.maxAge.
type declaration struct {
	version, prefix, file, name string
	leave                       []string // members that are declarations of their own
}

// optionDeclarations returns the interfaces of versions 4 and 5 that have options.
func optionDeclarations() []declaration {
	nested := []string{"session", "jwt", "pages", "callbacks", "events", "logger", "theme", "cookies"}
	const v4, v5, core = "next-auth/", "next-auth-5/", "@auth/core/"
	return []declaration{
		{"4", "", v4 + "core/types.d.ts", "AuthOptions", nested},
		{"4", "session.", v4 + "core/types.d.ts", "SessionOptions", nil},
		{"4", "jwt.", v4 + "jwt/types.d.ts", "JWTOptions", nil},
		{"4", "pages.", v4 + "core/types.d.ts", "PagesOptions", nil},
		{"4", "callbacks.", v4 + "core/types.d.ts", "CallbacksOptions", nil},
		{"4", "events.", v4 + "core/types.d.ts", "EventCallbacks", nil},
		{"4", "logger.", v4 + "utils/logger.d.ts", "LoggerInstance", nil},
		{"4", "theme.", v4 + "core/types.d.ts", "Theme", nil},
		{"4", "cookies.", v4 + "core/types.d.ts", "CookiesOptions", nil},
		{"4", "oauth:", v4 + "providers/index.d.ts", "CommonProviderOptions", nil},
		{"4", "oauth:", v4 + "providers/oauth.d.ts", "OAuthConfig", nil},
		{"4", "email:", v4 + "providers/email.d.ts", "EmailConfig", nil},
		{"4", "credentials:", v4 + "providers/index.d.ts", "CommonProviderOptions", nil},
		{"4", "credentials:", v4 + "providers/credentials.d.ts", "CredentialsConfig", nil},
		{"5", "", core + "index.d.ts", "AuthConfig", []string{"jwt", "pages", "logger", "theme", "cookies"}},
		{"5", "", v5 + "lib/index.d.ts", "NextAuthConfig", nil}, // callbacks.authorized
		{"5", "jwt.", core + "jwt.d.ts", "JWTOptions", nil},
		{"5", "pages.", core + "types.d.ts", "PagesOptions", nil},
		{"5", "logger.", core + "lib/utils/logger.d.ts", "LoggerInstance", nil},
		{"5", "theme.", core + "types.d.ts", "Theme", nil},
		{"5", "cookies.", core + "types.d.ts", "CookiesOptions", nil},
		{"5", "cookies.sessionToken.options.", core + "lib/vendored/cookie.d.ts", "SerializeOptions", nil},
		{"5", "oauth:", core + "providers/index.d.ts", "CommonProviderOptions", nil},
		{"5", "oauth:", core + "providers/oauth.d.ts", "OAuth2Config", nil},
		{"5", "oauth:", core + "providers/oauth.d.ts", "OIDCConfig", nil},
		{"5", "email:", core + "providers/email.d.ts", "EmailConfig", nil},
		{"5", "credentials:", core + "providers/index.d.ts", "CommonProviderOptions", nil},
		{"5", "credentials:", core + "providers/credentials.d.ts", "CredentialsConfig", nil},
		{"5", "webauthn:", core + "providers/index.d.ts", "CommonProviderOptions", nil},
		{"5", "webauthn:", core + "providers/webauthn.d.ts", "WebAuthnConfig", nil},
	}
}

// TestNextAuthOptions: the options that docs/moving-from-nextauth-options.md has, which
// options.txt lists, are those in the type definitions of the packages.
func TestNextAuthOptions(t *testing.T) {
	t.Parallel()
	requested(t, "Node")
	if err := npm.Install(nextDir); err != nil {
		t.Fatal(err)
	}
	// The types of both versions take these two from another package.
	have := map[string][]string{"oauth:issuer": {"4", "5"}, "oauth:jwks_endpoint": {"4", "5"}}
	for _, d := range optionDeclarations() {
		members := declared(t, filepath.Join(nextDir, "node_modules", filepath.FromSlash(d.file)), d.name)
		if len(members) == 0 {
			t.Errorf("%s has no members of %s", d.file, d.name)
		}
		for _, name := range members {
			if option := d.prefix + name; !slices.Contains(d.leave, name) && !slices.Contains(have[option], d.version) {
				have[option] = append(have[option], d.version)
			}
		}
	}
	raw, err := os.ReadFile(filepath.FromSlash("../cmd/authsvc/internal/migratefrom/testdata/options.txt"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		if name, versions, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			listed[name] = strings.Fields(versions)
		}
	}
	for name := range listed { // version 4 takes this type from another package, too
		if strings.HasPrefix(name, "cookies.sessionToken.options.") {
			have[name] = append([]string{"4"}, have[name]...)
		}
	}
	if diff := cmp.Diff(listed, have); diff != "" {
		t.Errorf("options (-options.txt +packages):\n%s", diff)
	}
}

// member matches the name at the beginning of a member, and the brace of its type if
// that is an object.
var member = regexp.MustCompile(`^\s*(?:readonly )?(\[?\w+\]?)\??\s*[:(](\s*(?:\w+\["\w+"\] & )?\{)?`)

// declared returns the members of an interface in a file, and of the objects in it.
func declared(t *testing.T, file, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(raw), "")
	at := regexp.MustCompile(`interface ` + name + `\b[^{]*\{`).FindStringIndex(text)
	if at == nil {
		return nil
	}
	members, _ := membersOf(text[at[1]:])
	return members
}

// membersOf reads members up to the brace that ends them, and returns what follows it.
func membersOf(text string) (names []string, rest string) {
	depth, begins := 0, true
	for len(text) > 0 {
		m := member.FindStringSubmatch(text)
		switch {
		case depth == 0 && begins && m != nil && m[2] != "" && strings.HasSuffix(m[2], "{") && optionObject(m[1]):
			inner, after := membersOf(text[len(m[0]):])
			for _, name := range inner {
				names = append(names, m[1]+"."+name)
			}
			text, begins = after, false
			continue
		case depth == 0 && begins && m != nil:
			names, begins = append(names, m[1]), false
			text = text[len(m[0])-len(m[2])-1:]
			continue
		}
		switch c := text[0]; {
		case strings.HasPrefix(text, "=>"):
			text = text[1:]
		case strings.ContainsRune("{([<", rune(c)):
			depth++
		case c == '}' && depth == 0:
			return names, text[1:]
		case strings.ContainsRune("})]>", rune(c)):
			depth--
		case c == ';' && depth == 0:
			begins = true
		}
		text = text[1:]
	}
	return names, ""
}

// optionObject reports whether the members of an object are options of their own.
func optionObject(name string) bool {
	return slices.Contains([]string{"session", "callbacks", "events", "experimental"}, name)
}
