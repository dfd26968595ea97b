package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"authsvc/cmd/authsvc/internal/config"
)

// A badLine is a wrong line of a configuration, the right one, and the expected
// mistakes. F:N stands for its place.
type badLine struct {
	wrong, right string
	want         []string
}

// column matches the place of a mistake in an expression.
var column = regexp.MustCompile(`^(F:\d+):\d+:`)

// findMistakes loads a file and returns its mistakes.
func findMistakes(t *testing.T, lines []string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "authsvc.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{ctx: context.Background(), configPath: file, env: map[string]string{"AUTHSVC_TWICE_SECRET": "a", "AUTHSVC_TWICE_SECRET_FILE": "b", "GOOD": testSecret, "EMPTY": ""}}
	_, err := p.loadSettings(nil)
	var found config.Mistakes
	if err != nil && !errors.As(err, &found) {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		first, _, _ := strings.Cut(m.String(), "\n") // without the excerpt of an expression
		got = append(got, column.ReplaceAllString(strings.ReplaceAll(first, file, "F"), "$1:"))
	}
	return got
}

// checkFound compares the mistakes with the beginnings of the expected ones.
func checkFound(t *testing.T, when string, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: not said: %s", when, want[i])
		case i >= len(want):
			t.Errorf("%s: unexpected: %s", when, got[i])
		case !strings.HasPrefix(got[i], want[i]):
			t.Errorf("%s:\n got %s\nwant %s", when, got[i], want[i])
		}
	}
}

// TestEveryMistakeInVariables: without a file, too, a mistake in one variable hides no
// mistake in another, whether reading the variables or the engine finds it.
func TestEveryMistakeInVariables(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"none": {nil, nil},
		"address and cookies": {map[string]string{"AUTHSVC_LISTEN": ":99999", "AUTHSVC_COOKIES_DOMAIN": "other.com"},
			[]string{`AUTHSVC_LISTEN: listen ":99999" has a port that is not`, `AUTHSVC_COOKIES_DOMAIN: cookies.domain "other.com" does not cover`}},
		"log and theme": {map[string]string{"AUTHSVC_LOG_LEVEL": "loud", "AUTHSVC_THEME_BRAND_COLOR": "red"},
			[]string{`AUTHSVC_LOG_LEVEL: log.level "loud" is not known`, `AUTHSVC_THEME_BRAND_COLOR: theme.brand_color cannot be used`}},
		"quotes": {
			map[string]string{
				"AUTHSVC_URL": `"https://app.example.com"`, "AUTHSVC_SECRET": `"` + testSecret + `"`, "AUTHSVC_STORAGE_URL": `"postgres://app:hunter2@db/app"`, "AUTHSVC_SESSION_STORE": `"redis://db"`,
				"AUTHSVC_GITHUB_ID": `"abc"`, "AUTHSVC_GITHUB_SECRET": "'bcd'", "AUTHSVC_EMAIL_SERVER": `"smtp://u:hunter2@mail.example.com"`, "AUTHSVC_EMAIL_FROM": `"Acme <a@example.com>"`,
				"AUTHSVC_COOKIES_DOMAIN": "'example.com'", "AUTHSVC_OUTBOUND_PROXY": `"http://proxy:3128"`, "AUTHSVC_THEME_LOGO": `"https://cdn.example.com/logo.png"`,
			},
			[]string{
				"AUTHSVC_URL: url has quotes around it; remove them", "AUTHSVC_SECRET: secret has quotes around it", "AUTHSVC_SESSION_STORE: session.store has quotes around it",
				"AUTHSVC_STORAGE_URL: storage.url has quotes around it", "AUTHSVC_THEME_LOGO: theme.logo has quotes around it", "AUTHSVC_COOKIES_DOMAIN: cookies.domain has quotes around it",
				"AUTHSVC_OUTBOUND_PROXY: outbound.proxy has quotes around it", "AUTHSVC_GITHUB_ID: providers[0].client_id has quotes around it", "AUTHSVC_GITHUB_SECRET: providers[0].client_secret has quotes around it",
				"AUTHSVC_EMAIL_SERVER: providers[1].server has quotes around it", "AUTHSVC_EMAIL_FROM: providers[1].from has quotes around it",
			},
		},
		"provider and storage": {
			map[string]string{"AUTHSVC_GOOGLE_SECRET": "x", "AUTHSVC_EMAIL_MAX_AGE": "soon", "AUTHSVC_EMAIL_SERVER": "none", "AUTHSVC_STORAGE_URL": "oracle:x"},
			[]string{
				`AUTHSVC_EMAIL_MAX_AGE: providers[2].max_age "soon" is not`, "AUTHSVC_STORAGE_URL: storage.url does not begin", "AUTHSVC_EMAIL_SERVER: providers[2].server cannot be used",
				"AUTHSVC_GOOGLE_ID: providers[1].client_id is missing", "AUTHSVC_EMAIL_FROM: providers[2].from must be",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"AUTHSVC_URL": "https://app.example.com", "AUTHSVC_SECRET": testSecret, "AUTHSVC_GITHUB_ID": "a", "AUTHSVC_GITHUB_SECRET": "b"}
			maps.Copy(env, tt.env)
			_, err := (&program{ctx: t.Context(), noFile: true, env: env}).loadSettings(nil)
			var got []string
			if found, ok := errors.AsType[config.Mistakes](err); ok {
				for _, m := range found {
					got = append(got, m.String())
				}
			}
			checkFound(t, name, tt.want, got)
		})
	}
}

// TestEveryMistakeAtOnce: a mistake is reported once and in the same way, whether it is
// alone or among many. No mistake is hidden by another or invented.
func TestEveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	lines := badLines()
	wrong, right := make([]string, len(lines)), make([]string, len(lines))
	var all []string
	for i, l := range lines {
		wrong[i], right[i] = l.wrong, l.right
		for _, w := range l.want {
			all = append(all, fmt.Sprintf("F:%d: %s", i+1, w))
		}
	}
	checkFound(t, "all at once", all, findMistakes(t, wrong))
	if got := findMistakes(t, right); got != nil {
		t.Errorf("without mistakes: %q", got)
	}
	for i, l := range lines {
		if l.want == nil {
			continue
		}
		alone, rest := append([]string(nil), right...), append([]string(nil), wrong...)
		alone[i], rest[i] = l.wrong, l.right
		var want, others []string
		for _, w := range all {
			if strings.HasPrefix(w, fmt.Sprintf("F:%d: ", i+1)) {
				want = append(want, w)
			} else {
				others = append(others, w)
			}
		}
		checkFound(t, l.wrong+" alone", want, findMistakes(t, alone))
		checkFound(t, "all but "+l.wrong, others, findMistakes(t, rest))
	}
}

// badLines returns a configuration with a mistake in nearly every line, from every
// stage: YAML, keys, values, variables, options of providers, mail, store, and the
// engine.
func badLines() []badLine {
	same := func(line string) badLine { return badLine{wrong: line, right: line} }
	const register = "copy it from the application that you registered"
	return []badLine{
		{"url: https://app.example.com:99999", "url: https://app.example.com", []string{`url "https://app.example.com:99999" has a port that is not a number from 1 to 65535; write the public address, such as https://app.example.com or https://app.example.com/my/auth`}},
		{"listen: 3000", "listen: 127.0.0.1:3000", []string{`listen "3000" is a port without a host and a colon; ` + config.AddressFix}},
		{"secret: short", "secret: " + testSecret, []string{"secret has fewer than 32 bytes; run `authsvc secret` and use what it prints"}},
		{"audit: {keep: never}", "audit: {keep: 8760h}", []string{`audit.keep "never" is not a duration; write a number and a unit, such as 30d, 720h or 10m`}},
		{"trusted_origins: [https://www.example.com/path]", "trusted_origins: [https://www.example.com]", []string{`trusted_origins[0] "https://www.example.com/path" is not an origin; write scheme, host and port only, such as https://www.example.com`}},
		{"allowed_redirects: [nowhere, {a: b}, https://ok.example, [c]]", "allowed_redirects: [https://ok.example]", []string{
			"allowed_redirects[1] is a mapping, not text; write [one, two]",
			"allowed_redirects[3] is a list, not text; write [one, two]",
			`allowed_redirects[0] "nowhere" is not an origin; write scheme, host and port only, such as https://www.example.com`}},
		{"trusted_proxies: [10.0.0.1/8, all]", "trusted_proxies: [10.0.0.0/8]", []string{
			`trusted_proxies[0] "10.0.0.1/8" is not a network; write CIDRs, such as [10.0.0.0/8, 2001:db8::/32]`,
			`trusted_proxies[1] "all" is not a network; write CIDRs, such as [10.0.0.0/8, 2001:db8::/32]`}},
		{"first_proof: maybe", "first_proof: strict", []string{"first_proof is not known; use strict or keep"}},
		{"pages: {sign_in: nowhere, sign_out: [x]}", "pages: {sign_in: /signin}", []string{
			"pages.sign_out is a list, not text; write one value",
			`pages.sign_in "nowhere" is neither a path nor an address; write /path or https://host/path`}},
		{"cookies: {session: \"a b\", domain: example.com}", "cookies: {session: __Secure-a, domain: example.com}", []string{"cookies.session is not a cookie name; use letters, digits, - . and _"}},
		{"rate_limit: {email_total: often, sing_in: never}", "rate_limit: {email_total: 30/min, sign_in: 10/s}", []string{
			`key "rate_limit.sing_in" is not known; did you mean sign_in?`,
			`rate_limit.email_total "often" is not a rate; write a count and a period, such as 10/s, 30/min, 5/h or 100/d`,
			`rate_limit.sign_in "never" is not a rate; write a count and a period, such as 10/s, 30/min, 5/h or 100/d`}},
		{"sesion: {max_age: 30d, absolute_max_age: 1h}", "session: {max_age: 30d, absolute_max_age: 90d}", []string{
			`key "sesion" is not known; did you mean session?`,
			"session.absolute_max_age is shorter than session.max_age; make it at least as long; 2160h is the default"}},
		{"log: [level: loud]", "log: {level: info}", []string{
			"log is a list, not a mapping; write its keys below it, such as format: …, without dashes",
			`log.level "loud" is not known; use debug, info, warn, error`}},
		{"storage: {url: \"oracle://x\", naming: prisms}", "storage: {url: \"memory:\"}", []string{
			`storage.naming "prisms" is not known; use prisma, snake, authjs`,
			"storage.url does not begin with a known scheme; use sqlite:FILE, postgres://…, mysql://…, mongodb://…, redis://…, memory: or none"}},
		{"theme: {brand_color: blueish, color_scheme: dim}", "theme: {brand_color: \"#0000ff\"}", []string{
			`theme.color_scheme cannot be used: "dim" is not auto, light or dark; correct it, or leave it out`,
			`theme.brand_color cannot be used: colour "blueish" is not of the form #rrggbb; correct it, or leave it out`}},
		{"sign_in: {allow: [{}, everyone, {domains: [\"*.example.com\"]}]}", "sign_in: {allow: [{domains: [.example.com]}]}", []string{
			"sign_in.allow[1] is one value, not a mapping; write a list, such as [{domains: [example.com]}]",
			"sign_in.allow[0] matches no one; set emails, domains, users, providers, groups, claims or networks; without any condition everyone passes",
			"sign_in.allow[2].domains[0] is not a domain; write example.com, or .example.com to include its subdomains"}},
		{"sign_up: {policy: closed, domains: [\"*.example.com\"]}", "sign_up: {domains: [.example.com]}", []string{
			`sign_up.policy "closed" is not known; use open or invited`,
			"sign_up.domains[0] is not a domain; write example.com, or .example.com to include its subdomains"}},
		{"account: {enabeld: true, delete: maybe, delete_grace: 400d, fresh: 1s}", "account: {delete: true, delete_grace: 30d, fresh: 5m}", []string{
			`key "account.enabeld" is not known; did you mean enabled?`,
			`account.delete "maybe" is not a boolean; write true or false`,
			"account.fresh is out of range; use 1m to 24h; 10m is the default",
			"account.delete_grace is out of range; use 1m to 365d, or 0 for none; 14d is the default"}},
		{"notices: {enabled: sometimes, new_browsers: true}", "notices: {new_browser: false}", []string{
			`key "notices.new_browsers" is not known; did you mean new_browser?`,
			`notices.enabled "sometimes" is not a boolean; write true or false`}},
		{"rules: {sign_in: 'user.emial == \"x\"', claims: '\"text\"', redirect: to.hots == 1}", "rules: {sign_in: user.email_verified, redirect: to.host == \"a.example\"}", []string{
			"rules.sign_in is wrong: undefined field 'emial'; the variables are account, client, link_request, new_user, now, profile, user",
			`rules.claims is wrong: is string, not a map of names to values such as {"tier": "gold"}; the variables are`,
			"rules.redirect is wrong: undefined field 'hots'; the variables are to"}},
		{"hooks: [{on: signin, url: http://far.example, secret: x, timeout: 1h}]", "hooks: []", []string{
			`hooks[0].on "signin" is not known; use sign_in, claims, create_user`,
			"hooks[0].timeout is not between 100ms and 5s; a person waits for it: use a duration such as 2s",
			"hooks[0].url cannot be called: only https is allowed, or http to a loopback host; use https, or http to this machine, as in https://app.example.com/hooks",
			"hooks[0].secret is not usable; use whsec_ and the base64 of 24 to 64 random bytes"}},
		{"mail: {templates: no-such-folder}", "mail: {}", []string{
			"mail.templates cannot be used: no-such-folder cannot be read: no such file or directory; make it a folder that this program may read"}},
		{"tokens: {rotate: 1h, audiences: [{id: api, alg: HS256, when: \"session.x(\"}]}", "tokens: {rotate: 30d, audiences: [{id: api, when: \"true\"}]}", []string{
			"tokens.audiences[0].when is wrong: Syntax error: it ends too early; the variables are client, now, request, session, user",
			"tokens.rotate must be between 24 h and 87600 h; use a duration such as 2160h",
			`tokens.audiences[0].alg "HS256" is not known; use ES256, EdDSA or RS256`}},
		{"gate: {recheck: 1s, proxies: [all], hosts: [{origin: https://b.example.com/x, upstream: \"ftp://x\", default: sombody, rules: [{match: admin, allow: [{}]}]}]}",
			"gate: {recheck: 30s, hosts: [{origin: https://b.example.com, upstream: \"http://127.0.0.1:8080\", rules: [{match: /admin/, allow: nobody}]}]}", []string{
				`gate.proxies[0] "all" is not a network; write CIDRs, such as [10.0.0.0/8, 2001:db8::/32]`,
				`gate.hosts[0].default "sombody" is not known; write anyone, signed_in, nobody, a condition such as {groups: [ops]}, or a list of conditions`,
				"gate.recheck must be from 5 s to 10 min; use a duration such as 30s, the default",
				"gate.hosts[0].rules[0].allow[0] matches no one; set emails, domains, users, providers, groups, claims or networks; without any condition everyone passes",
				`gate.hosts[0].upstream "ftp://x" is not the address of a program; write scheme, host and port, such as http://127.0.0.1:8080, or unix:/path/to/socket`,
				`gate.hosts[0].rules[0].match "admin" must begin with a method or /; each host has its own rules; write a pattern such as /admin/, GET /public/ or /users/{id}`,
				`gate.hosts[0].origin "https://b.example.com/x" is not an origin; write scheme, host and port only, such as https://app.example.com, or https://*.apps.example.com for every direct subdomain`}},
		{"personal_tokens: {enabled: si}", "personal_tokens: {enabled: true}", []string{`personal_tokens.enabled "si" is not a boolean; write true or false`}},
		{"colour: red", "# nothing", []string{`key "colour" is not known; the known keys are`}},
		same("providers:"),
		{"- {id: gogle, client_id: a}", "- {id: google, client_id: a, client_secret: b}", []string{
			`providers[0] "gogle" is not a provider of this version; did you mean google? With type: oidc or oauth2, any name is allowed`,
			"providers[0].client_secret is missing; " + register + ", or set auth_method: none for a public client (or set AUTHSVC_GOOGLE_SECRET)"}},
		{"- {id: netsuite, client_id: a, account_id: x.evil, scop: z}", "- {id: netsuite, client_id: a, client_secret: b, account_id: \"1\", userinfo: https://a.example}", []string{
			"providers[1].userinfo is missing; write",
			"providers[1].account_id is not an account id; write it as NetSuite shows it, such as 1234567_SB1",
			`key "providers[1].scop" is not known; did you mean scope?`,
			"providers[1].client_secret is missing; " + register + ", or set auth_method: none for a public client (or set AUTHSVC_NETSUITE_SECRET)"}},
		{"- {id: acme, type: oidc, client_id: a, client_secret: hunter2, issuer: https://id.acme.example, signing_algs: [HS256], userinfo_method: PUT}",
			"- {id: acme, type: oidc, client_id: a, client_secret: b, issuer: https://id.acme.example}", []string{
				"providers[2].userinfo_method is refused: must be GET or POST; use GET or POST",
				"providers[2].signing_algs is refused: HS256 needs a client secret of at least 32 bytes; use an algorithm with a public key that the provider signs with, such as RS256 or ES256; HS256, HS384 and HS512 take a client secret of 32, 48 and 64 bytes"}},
		{"- {id: plain, type: oauth2, client_id: \"${NOWHERE}\", client_secret: b, token_url: http://far.example/t, auth_method: magic}",
			"- {id: plain, type: oauth2, client_id: a, client_secret: b, authorization_url: https://a.example/a, token_url: https://a.example/t, userinfo_url: https://a.example/u}", []string{
				"providers[3].client_id needs the environment variable NOWHERE, which is not set; set it, or write the value here",
				"providers[3].userinfo_url is missing; the profile comes from there, except with OpenID Connect (type: oidc) (or set AUTHSVC_PLAIN_USERINFO_URL)",
				"providers[3].token_url must begin with https:// and the name of a host; write the whole address; http:// is accepted only for this machine",
				"providers[3].authorization_url is missing, and there is no issuer to discover it from; write the address that the provider documents (or set AUTHSVC_PLAIN_AUTHORIZATION_URL)",
				`providers[3].auth_method is refused: "magic" is not supported; use client_secret_basic, client_secret_post, private_key_jwt or none`}},
		{"- {id: bare, type: oidc, client_id: a, client_secret: b, issuer: id.bare.example, auth_method: magic}",
			"- {id: bare, type: oidc, client_id: a, client_secret: b, issuer: https://id.bare.example}", []string{
				"providers[4].issuer must begin with https:// and the name of a host; write the whole address; http:// is accepted only for this machine",
				`providers[4].auth_method is refused: "magic" is not supported; use client_secret_basic, client_secret_post, private_key_jwt or none`}},
		{"- {id: mail, type: email, server: \"smtp://u:hunter2@mail.example.com:99999\", from: nobody, max_age: 1s}",
			"- {id: mail, type: email, server: \"smtp://mail.example.com:587\", from: a@example.com}", []string{
				"providers[5].server cannot be used: mail: the URL's port is not a number from 1 to 65535; write smtp://user:password@host:587, the password percent-encoded",
				"providers[5].max_age is out of range; use 1m to 24h; 10m is the default",
				`providers[5].from must be an email address; write "Acme <no-reply@example.com>"`}},
		{"- steam", "- {id: steam, api_key: a}", []string{"providers[6] is one value, not a mapping; write {id: github, client_id: …, client_secret: …}"}},
		{"- {id: x, type: credentials}", "- {id: gitlab, client_id: a, client_secret: b}", []string{"providers[7].hook is missing; name the hook that checks the fields: hook: {url: https://app.example.com/credentials, secret: whsec_…}"}},
		{"- {id: acme, type: oidc, client_id: a, client_secret: b, issuer: https://id.acme.example}",
			"- {id: acme2, type: oidc, client_id: a, client_secret: b, issuer: https://id.acme.example}", []string{`providers[8].id "acme" is given twice; give each provider an id of its own`}},
		{"- {id: githb, client_id: a}", "- {id: github, client_id: a, client_secret: b}", []string{
			`providers[9] "githb" is not a provider of this version; did you mean `,
			"providers[9].client_secret is missing; " + register + ", or set auth_method: none for a public client (or set AUTHSVC_GITHUB_SECRET)"}},
		{"- {id: discord, client_id: \"…\", client_secret: b}", "- {id: discord, client_id: a, client_secret: b}", []string{
			"providers[10].client_id is still the placeholder from the documentation; write your own value"}},
	}
}

// TestNothingFollows: a value that could not be read causes no further mistakes.
func TestNothingFollows(t *testing.T) {
	t.Parallel()
	const url, secret, github = "url: https://app.example.com", "secret: ${GOOD}", "providers: [{id: github, client_id: a, client_secret: b}]"
	acme := func(more string) string {
		return "providers: [{id: acme, type: oidc, client_id: a, issuer: https://id.acme.example, " + more + "}]"
	}
	const onURL = "trusted_origins: [https://www.example.com]\ncookies: {domain: example.com, session: __Secure-s}\npages: {sign_in: /signin}"
	for name, c := range map[string]struct {
		file, want string // want is the beginning of the only mistake
	}{
		"url of a variable":    {"url: ${NOPE}\n" + secret + "\n" + github + "\n" + onURL, "F:1: url needs the environment variable NOPE"},
		"url without a scheme": {"url: app.example.com\n" + secret + "\n" + github + "\n" + onURL, `F:1: url "app.example.com" is not an address`},
		"url with http":        {"url: http://app.example.com\n" + secret + "\n" + github + "\n" + onURL, "F:1: url is http beyond loopback"},
		"url missing":          {secret + "\n" + github + "\n" + onURL, "F: url is missing"},
		"closed network":       {"url: http://app.internal\nallow_insecure_url: yes\n" + secret + "\n" + github, `F:2: allow_insecure_url "yes" is not a boolean`},
		"life of sessions":     {url + "\n" + secret + "\n" + github + "\nsession: {max_age: 30, absolute_max_age: 1h, update_age: 900h}", "F:4: session.max_age"},
		"secret of a variable": {url + "\nsecret: x${NOPE}\n" + github, "F:2: secret needs the environment variable NOPE"},
		"second secret":        {url + "\nsecret: [\"${GOOD}\", \"${NOPE}\"]\n" + github, "F:2: secret[1] needs the environment variable NOPE"},
		"only secret":          {url + "\nsecret: [\"${NOPE}\"]\n" + github, "F:2: secret[0] needs the environment variable NOPE"},
		"tagged secret":        {url + "\nsecret: !x y\n" + github, "F:2: has a tag"},
		"second secret short":  {url + "\nsecret: [\"${GOOD}\", short]\ncompat: next-auth-v4\n" + github, "F:2: secret[1] has fewer than 32 bytes; run `authsvc secret` and use what it prints; if this one must stay, also as a later entry, set allow_short_secret: true"},
		"repeating secret":     {url + "\nsecret: aabbaabbaabbaabbaabbaabbaabbaabbaabb\ncompat: next-auth-v4\n" + github, "F:2: secret repeats few characters; run `authsvc secret` and use what it prints; if this one must stay, also as a later entry, set allow_short_secret: true"},
		"repeating, own mode":  {url + "\nsecret: aabbaabbaabbaabbaabbaabbaabbaabbaabb\nallow_short_secret: true\n" + github, "F:2: secret repeats few characters; run `authsvc secret` and use what it prints"},
		"short secret":         {url + "\nsecret: short\ncompat: next-auth-v4\nallow_short_secret: yes\n" + github, "F:4: allow_short_secret"},
		"mode":                 {url + "\nsecret: short\ncompat: [next-auth-v4]\nallow_short_secret: true\n" + github, "F:3: compat is a list"},
		"store":                {url + "\n" + secret + "\nsession: {strategy: database}\nstorage: {url: [none]}\n" + github, "F:4: storage.url is a list"},
		"providers as text":    {url + "\n" + secret + "\nproviders: github", "F:3: providers is one value"},
		"tagged providers":     {url + "\n" + secret + "\nproviders: !x [github]", "F:3: has a tag"},
		"method of a client":   {url + "\n" + secret + "\n" + acme("auth_method: [none]"), "F:3: providers[0].auth_method is a list"},
		"key of a client":      {url + "\n" + secret + "\n" + acme("auth_method: [private_key_jwt], private_key: x, key_id: y"), "F:3: providers[0].auth_method is a list"},
		"secret for HMAC":      {url + "\n" + secret + "\n" + acme("signing_algs: [HS256], client_secret: \"${NOPE}\""), "F:3: providers[0].client_secret needs"},
		"no secret for HMAC":   {url + "\n" + secret + "\n" + acme("signing_algs: [HS256]"), "F:3: providers[0].client_secret is missing"},
		"body of a method":     {url + "\n" + secret + "\n" + acme("client_secret: b, userinfo_method: [POST], userinfo_body: x"), "F:3: providers[0].userinfo_method is a list"},
		"issuer":               {url + "\n" + secret + "\nproviders: [{id: acme, type: oidc, client_id: a, client_secret: b, issuer: [x], token_url: https://a.example}]", "F:3: providers[0].issuer is a list"},
		"two variables":        {url + "\n" + secret + "\nproviders: [{id: twice, type: oidc, client_id: a, issuer: https://a.example}]", "AUTHSVC_TWICE_SECRET: is set, and so is AUTHSVC_TWICE_SECRET_FILE"},
		"one of a list":        {url + "\n" + secret + "\n" + github + "\nallowed_redirects: [https://a.example, [b]]", "F:4: allowed_redirects[1] is a list"},
		"domain of a cookie":   {url + "\n" + secret + "\n" + github + "\ncookies: {session: __Host-s, domain: [example.com]}", "F:4: cookies.domain is a list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkFound(t, name, []string{c.want}, findMistakes(t, strings.Split(c.file, "\n")))
		})
	}
}

// TestStorageMistakes: mistakes in a store that can be found without opening it are
// reported together with the others. No password is shown.
func TestStorageMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings string
		want     []string
	}{
		"right":      {"storage: {url: \"postgres://u:hunter2@db.example.com/app\", tables: {User: people}, columns: {User.emailVerified: verified_at}}\nsession: {store: \"redis://cache.example.com/1\"}", nil},
		"PostgreSQL": {"storage: {url: \"postgres://u:hunter2@[db/app\", tables: {Usr: people}}", []string{"storage.url cannot be used: postgres: ", `storage.tables cannot be used: unknown table "Usr"; name a table`}},
		"MySQL":      {"storage: {url: \"mysql://u:hunter2@db.example.com/\", columns: {User.emial: mail}}", []string{"storage.url cannot be used: mysql: ", `storage.columns cannot be used: unknown column "User.emial"`}},
		"MongoDB":    {"storage: {url: \"mongodb://u:hunter2@db.example.com\"}", []string{"storage.url cannot be used: mongodb: the URL names no database"}},
		"Redis":      {"storage: {url: \"redis://u:hunter2@db.example.com?pool=1\"}\nsession: {store: \"redis://u:hunter2@:x\"}", []string{"storage.url cannot be used: redis: ", "session.store cannot be used: redis: "}},
		"SQLite":     {"storage: {url: \"sqlite:a.db\", tables: {Account: same, User: same}}", []string{`storage.tables cannot be used: two tables are called "same"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "authsvc.yaml")
			text := "url: https://app.example.com\nsecret: " + testSecret + "\naudit: {keep: never}\n" + c.settings + "\nproviders: [{id: github, client_id: a, client_secret: b}]\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			run(t.Context(), []string{"check", "--offline", "--config", file}, nil, strings.NewReader(""), &out, &out)
			for _, want := range append(c.want, `audit.keep "never"`) {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not said:\n%s", want, out.String())
				}
			}
			if n := strings.Count(out.String(), "wrong"); n != len(c.want)+1 || strings.Contains(out.String(), "hunter2") {
				t.Errorf("%d mistakes, want %d, and no password:\n%s", n, len(c.want)+1, out.String())
			}
		})
	}
}

// TestTokensMistakes: mistakes in a list of mappings, from the loader and the engine.
func TestTokensMistakes(t *testing.T) {
	t.Parallel()
	lines := func(tokens string) []string {
		return []string{"url: https://app.example.com", "secret: " + testSecret, "storage: {url: none}", tokens, "providers: [{id: github, client_id: a, client_secret: b}]"}
	}
	if got := findMistakes(t, lines("tokens: {rotate: 30d, audiences: [{id: api}]}")); got != nil {
		t.Errorf("without mistakes: %q", got)
	}
	got := findMistakes(t, lines("tokens: {rotate: 1h, audiences: [{id: api, alg: HS256, tll: 1h, claims: [groups, exp]}, nothing, {typ: x, allow: all, ttl: long, alg: RS256}]}"))
	checkFound(t, "all at once", []string{
		`F:4: key "tokens.audiences[0].tll" is not known; did you mean ttl?`,
		"F:4: tokens.audiences[1] is one value, not a mapping; write {id: https://api.example.com}",
		`F:4: tokens.audiences[2].allow "all" is not known; write signed_in, or a list of conditions`,
		`F:4: tokens.audiences[2].ttl "long" is not a duration; write a number and a unit, such as 30d, 720h or 10m`,
		"F:4: tokens.rotate must be between 24 h and 87600 h; use a duration such as 2160h",
		`F:4: tokens.audiences[0].alg "HS256" is not known; use ES256, EdDSA or RS256`,
		"F:4: tokens.audiences[0].ttl must be between 1 and 15 minutes; use a duration such as 5m",
		`F:4: tokens.audiences[0].claims[0] "groups" is not known; use email, name, picture`,
		`F:4: tokens.audiences[0].claims[1] "exp" is reserved; leave it out`,
		"F:4: tokens.audiences[2].id is missing or not printable; name the program",
		"F:4: tokens.audiences[2].alg is RS256, but there is no storage to keep such a key; set storage.url, or use ES256 or EdDSA",
		`F:4: tokens.audiences[2].typ "x" is not known; use JWT or at+jwt`}, got)
}

// TestForwardedMistakes: a forwarded host needs a proxy, and a key must be strong and
// not one of the service's secrets.
func TestForwardedMistakes(t *testing.T) {
	t.Parallel()
	base := []string{"url: https://app.example.com", "secret: ${GOOD}", "providers: [{id: github, client_id: a, client_secret: b}]"}
	for _, c := range []struct {
		lines, want []string
	}{
		{[]string{"forwarded_host: true"}, []string{"F:4: forwarded_host is set, but no proxy is trusted; list the networks of the proxies in trusted_proxies, or a key in proxy_keys"}},
		{[]string{"forwarded_host: true", "trusted_proxies: [10.0.0.0/8]"}, nil},
		{[]string{"forwarded_host: true", `proxy_keys: "of-a-front-end/${GOOD}"`}, nil},
		{[]string{"trusted_proxies: [10.0.0.0/8]", "proxy_keys: []"}, nil},
		{[]string{"trusted_proxies: [10.0.0.0/8]", "proxy_keys: ${EMPTY}"}, []string{"F:5: proxy_keys is empty; write one value, or a list"}},
		{[]string{`proxy_keys: ["${EMPTY}"]`}, []string{"F:4: proxy_keys[0] has fewer than 32 bytes; use at least 32 random characters, in base64 for example"}},
		{[]string{`proxy_keys: [short, "${GOOD}"]`}, []string{"F:4: proxy_keys[0] has fewer than 32 bytes; use at least 32 random characters, in base64 for example",
			"F:4: proxy_keys[1] is also a secret of the service, which no front end may know; use another value"}},
	} {
		checkFound(t, strings.Join(c.lines, ", "), c.want, findMistakes(t, append(base[:len(base):len(base)], c.lines...)))
	}
}
