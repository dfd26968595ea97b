package migratefrom

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"authsvc/cmd/authsvc/internal/config"
)

// An optionRow is an option on docs/moving-from-nextauth-options.md.
type optionRow struct {
	name     string // with the part of the page in front, as in oauth:clientId
	versions string
	here     string
	verdict  Verdict
}

// optionParts maps the headings of the page to the first part of names.
var optionParts = map[string]string{
	"OAuth and OpenID Connect providers": "oauth:", "Email providers": "email:", "Credentials": "credentials:", "Passkeys": "webauthn:",
	"Adapters": "adapter:", "Environment variables": "variable:", "Functions": "function:",
}

// optionRows reads the tables of the page. A row may have several options.
func optionRows(t *testing.T) (rows []optionRow) {
	t.Helper()
	raw, err := os.ReadFile("../../../../docs/moving-from-nextauth-options.md")
	if err != nil {
		t.Fatal(err)
	}
	part := ""
	for line := range strings.Lines(string(raw)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			part = optionParts[strings.TrimSpace(heading)]
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1)
		if !strings.HasPrefix(line, "| `") || part == "variable:" || part == "function:" {
			continue
		}
		for _, name := range names {
			row := optionRow{name: part + name[1], here: cells[len(cells)-2], verdict: Verdict(strings.TrimSpace(cells[len(cells)-1]))}
			if len(cells) == 4 {
				row.versions = strings.ReplaceAll(cells[1], ", ", " ")
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// TestOptionsPage: the page has each option of the type definitions once, with its
// versions, and each adapter that the command knows.
func TestOptionsPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	for name := range adapterKinds() {
		want = append(want, "adapter:"+name+" ")
	}
	var have []string
	for _, row := range optionRows(t) {
		have = append(have, row.name+" "+row.versions)
	}
	for _, line := range want {
		if !slices.Contains(have, line) {
			t.Errorf("the page lacks %s", line)
		}
	}
	for i, line := range have {
		if !slices.Contains(want, line) {
			t.Errorf("the page has %s, which no version has", line)
		}
		if slices.Contains(have[:i], line) {
			t.Errorf("the page has %s twice", line)
		}
	}
}

// keysIn returns the keys of authsvc.yaml that a text names. In the text, the keys of
// an entry of providers may stand alone.
func keysIn(text string, known map[string]bool) (keys []string) {
	for _, word := range regexp.MustCompile(`[a-z_]+(?:\[\])?(?:\.[a-z_]+(?:\[\])?)*`).FindAllString(text, -1) {
		if !strings.ContainsAny(word, "._") {
			continue
		}
		for _, key := range []string{word, "providers[]." + word} {
			if known[key] && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func knownKeys() map[string]bool {
	known := map[string]bool{}
	for _, key := range config.Keys() {
		known[key.Name] = true
	}
	return known
}

// TestOptionsPageKeys: each key that the page names exists.
func TestOptionsPageKeys(t *testing.T) {
	t.Parallel()
	known := knownKeys()
	raw, err := os.ReadFile("../../../../docs/moving-from-nextauth-options.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		_, here, row := strings.Cut(line, " | ")
		if !row {
			continue
		}
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(here, -1) {
			key, _, _ := strings.Cut(code[1], ":")
			switch {
			case !regexp.MustCompile(`^[a-z_]+(\[\])?(\.[a-z_]+(\[\])?)+$`).MatchString(key):
			case known[key]:
				n++
			case slices.Contains([]string{"sign_in.succeeded", "sign_out.succeeded", "user.updated", "account.linked"}, key): // events of docs/audit.md
			case strings.HasSuffix(key, ".js"), strings.HasSuffix(key, ".yaml"):
			default:
				t.Errorf("the page names %s, which is not a key: %s", key, line)
			}
		}
	}
	if n < 80 {
		t.Errorf("%d keys", n)
	}
}

// TestOptionsPageVerdicts: an application with the option gets the line that the page
// names. The report, too, sends people only to keys in the row. If it has no line for
// the option, the option must change the proposal.
func TestOptionsPageVerdicts(t *testing.T) {
	t.Parallel()
	known := knownKeys()
	for _, row := range optionRows(t) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			version := "4"
			if strings.HasSuffix(row.versions, "5") && (!strings.HasPrefix(row.versions, "4") || row.name == "oauth:type") {
				version = "5"
			}
			files, from, to := withOption(row.name, version)
			without, _, _ := withOption("", version)
			if part, _, ok := strings.Cut(row.name, ":"); ok {
				without, _, _ = withOption(part+":", version)
			}
			r, err := Read(application(t, files), Options{})
			if err != nil {
				t.Fatal(err)
			}
			bare, err := Read(application(t, without), Options{})
			if err != nil {
				t.Fatal(err)
			}
			have, said := OK, ""
			for _, f := range r.Findings {
				_, line, _ := strings.Cut(f.Place, ":")
				at, err := strconv.Atoi(line)
				if err != nil || at < from || at > to {
					continue
				}
				said += f.Text + "\n"
				if f.Verdict == Open || f.Verdict == Note && have == OK {
					have = f.Verdict
				}
			}
			if have != row.verdict {
				t.Errorf("the page has %q, and the report %q:\n%s\n%s", row.verdict, have, said, files["auth.ts"])
			}
			if have == OK && string(r.Config) == string(bare.Config) {
				t.Errorf("the report says nothing about it, and the proposal is the same without it:\n%s\n%s", r.Config, files["auth.ts"])
			}
			for _, key := range keysIn(said, known) {
				if !strings.Contains(row.here, strings.TrimPrefix(key, "providers[].")) {
					t.Errorf("the report names %s, and the page does not: %s\n%s", key, row.here, said)
				}
			}
		})
	}
}

// optionValues holds the values of options for which a text would not do.
var optionValues = map[string]string{
	"session.strategy": `"database"`, "session.maxAge": "3600", "session.updateAge": "0", "session.generateSessionToken": "() => crypto.randomUUID()",
	"jwt.secret": "process.env.JWT_SECRET", "jwt.maxAge": "3600", "jwt.encode": "async () => 'x'", "jwt.decode": "async () => null",
	"secret": "process.env.OTHER_SECRET", "debug": "true", "useSecureCookies": "true", "trustHost": "true", "basePath": `"/auth"`,
	"experimental.enableWebAuthn": "true", "raw": "raw", "skipCSRFCheck": "skipCSRFCheck",
	"theme.colorScheme": `"dark"`, "theme.brandColor": `"#102030"`, "theme.buttonText": `"#ffffff"`, "theme.logo": `"https://app.example.com/logo.png"`,
	"callbacks.jwt":        "({ token, profile }) => { token.groups = profile.groups; return token },\n session: ({ session, token }) => { session.user.groups = token.groups; return session }",
	"callbacks.session":    "({ session, token }) => { session.user.id = token.sub; return session }",
	"callbacks.authorized": "({ auth }) => !!auth",
	"logger.error":         "() => {}", "logger.warn": "() => {}", "logger.debug": "() => {}",
	"cookies.sessionToken": `{ name: "own" }`, "cookies.csrfToken": `{ name: "own" }`, "cookies.callbackUrl": `{ name: "own" }`,
	"cookies.sessionToken.options.domain": `".example.com"`, "cookies.sessionToken.options.httpOnly": "false",
	"providers":                           "[{ id: 'acme', type: 'oidc', issuer: 'https://id.example.com', clientId: process.env.ACME_ID, clientSecret: process.env.ACME_SECRET }]",
	"adapter":                             "PrismaAdapter(db)",
	"cookies.sessionToken.options.secure": "false", "oauth:clientSecret": "process.env.OTHER_SECRET", "oauth:clientId": "process.env.OTHER_ID",
	"email:type": `"email"`, "credentials:type": `"credentials"`,
	"oauth:type": `"oidc"`, "oauth:wellKnown": `"https://id.example.com/x/.well-known/openid-configuration"`, "oauth:issuer": `"https://id.example.com/y"`, "oauth:jwks_endpoint": `"https://id.example.com/jwks"`,
	"oauth:authorization": `{ url: "https://id.example.com/a", params: { scope: "openid", prompt: "login" } }`, "oauth:token": `"https://id.example.com/t"`, "oauth:userinfo": `"https://id.example.com/u"`,
	"oauth:profile": "(p) => ({ id: p.sub, name: p.nick })", "oauth:account": "(a) => a", "oauth:checks": `["pkce"]`, "oauth:client": `{ token_endpoint_auth_method: "client_secret_post" }`,
	"oauth:idToken": "true", "oauth:version": `"2.0"`, "oauth:allowDangerousEmailAccountLinking": "true", "oauth:style": `{ logo: "/x.svg" }`,
	"email:server": "process.env.EMAIL_SERVER", "email:from": "process.env.EMAIL_FROM", "email:maxAge": "3600",
	"email:sendVerificationRequest": "async () => {}", "email:generateVerificationToken": "() => 'x'", "email:normalizeIdentifier": "(x) => x", "email:apiKey": "process.env.RESEND",
	"credentials:credentials": `{ user: { label: "User" } }`, "credentials:authorize": "async () => null",
}

// withOption returns an application with an option, and the lines that the option takes.
func withOption(name, version string) (files map[string]string, from, to int) {
	part, option, of := strings.Cut(name, ":")
	if !of {
		part, option = "", name
	}
	value := optionValues[name]
	if value == "" {
		value = `"x"`
	}
	member := option + ": " + value + ","
	if path := strings.Split(option, "."); len(path) > 1 {
		member = strings.Join(path, ": { ") + ": " + value + strings.Repeat(" }", len(path)-1) + ","
	}
	if option == "" {
		member = ""
	}
	head, before, after := "", "", ""
	switch part {
	case "oauth":
		fixed := map[string]string{"id": "id: 'acme'", "name": "", "type": "type: 'oauth'", "clientId": "clientId: process.env.ACME_ID", "clientSecret": "clientSecret: process.env.ACME_SECRET",
			"authorization": "authorization: 'https://id.example.com/a0'", "token": "token: 'https://id.example.com/t0'", "userinfo": "userinfo: 'https://id.example.com/u0'"}
		if option == "issuer" || option == "wellKnown" || option == "jwks_endpoint" {
			fixed["type"], fixed["authorization"], fixed["token"], fixed["userinfo"] = "type: 'oidc'", "", "", ""
			if option == "jwks_endpoint" {
				fixed["issuer"] = "issuer: 'https://id.example.com'"
			}
		}
		if option == "type" {
			fixed["issuer"] = "issuer: 'https://id.example.com'"
		}
		delete(fixed, option)
		var members []string
		for _, key := range keysOf(fixed) {
			if fixed[key] != "" {
				members = append(members, fixed[key])
			}
		}
		before, after = "providers: [{ "+strings.Join(members, ", ")+",", "}],"
	case "email":
		kind := "email"
		fixed := map[string]string{"server": "server: process.env.SMTP", "from": "from: process.env.SENDER"}
		if option == "apiKey" {
			kind = "resend"
			delete(fixed, "server")
		}
		delete(fixed, option)
		head = "import Mail from 'next-auth/providers/" + kind + "'\n"
		var members []string
		for _, key := range keysOf(fixed) {
			members = append(members, fixed[key])
		}
		before, after = "providers: [Mail({ "+strings.Join(members, ", ")+",", "})],"
		if option == "type" {
			before, after = "providers: [{ id: 'mail', "+strings.Join(members, ", ")+",", "}],"
		}
	case "credentials":
		head = "import Form from 'next-auth/providers/credentials'\n"
		before, after = "providers: [Form({", "})],"
		if option == "type" {
			before, after = "providers: [{ id: 'form',", "}],"
		}
	case "webauthn":
		head = "import Passkey from 'next-auth/providers/passkey'\n"
		before, after = "providers: [", "],"
		if member != "" {
			member = "Passkey({" + member + "})"
		}
	case "adapter":
		scope := "@auth/"
		if strings.Contains(option, "legacy") || version == "4" {
			scope = "@next-auth/"
		}
		if member = ""; option != "" {
			head, member = "import { Adapter } from '"+scope+option+"'\n", "adapter: Adapter(db),"
		}
	case "":
		if option != "providers" {
			before = "providers: [{ id: 'other', type: 'oidc', issuer: 'https://other.example.com', clientId: process.env.ACME_ID, clientSecret: process.env.ACME_SECRET }],"
		}
		if option == "adapter" {
			head = "import { PrismaAdapter } from '@next-auth/prisma-adapter'\n"
		}
	}
	source := "import NextAuth from 'next-auth'\n" + head + "export default NextAuth({\n" + before + "\n"
	from = strings.Count(source, "\n") + 1
	source += member + "\n" + after + "\n})\n"
	to = from + strings.Count(member, "\n")
	need := map[string]string{"4": "4.24.15", "5": "5.0.0-beta.32"}[version]
	return map[string]string{"auth.ts": source, "prisma/schema.prisma": prismaUser, "package.json": fmt.Sprintf(`{"dependencies": {"next-auth": %q}}`, need)}, from, to
}
