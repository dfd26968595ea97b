package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/provider"
)

// validFile is a file without mistakes.
const validFile = "url: https://a.example\n"

// A mistakeCase is a file and the mistakes in it.
type mistakeCase struct {
	file string
	env  map[string]string
	want []string // prefixes of lines; F stands for the file; empty: no mistake
}

// checkMistakes loads files and compares their mistakes.
func checkMistakes(t *testing.T, cases map[string]mistakeCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, c.file)
			_, err := Load(Input{Path: file, Env: c.env})
			var got Mistakes
			if err != nil && !errors.As(err, &got) {
				t.Fatal(err)
			}
			checkLines(t, file, got, c.want)
		})
	}
}

func checkLines(t *testing.T, file string, got Mistakes, want []string) {
	t.Helper()
	var lines []string
	for _, m := range got {
		lines = append(lines, strings.ReplaceAll(m.String(), file, "F"))
	}
	seen := map[string]bool{}
	for _, w := range want {
		found := false
		for _, l := range lines {
			if strings.HasPrefix(l, w) {
				found, seen[l] = true, true
			}
		}
		if !found {
			t.Errorf("no line begins with %q", w)
		}
	}
	for _, l := range lines {
		if !seen[l] {
			t.Errorf("unexpected: %s", l)
		}
		if strings.Contains(l, "hunter2") {
			t.Errorf("shows a secret: %s", l)
		}
	}
}

// TestYAMLMistakes: mistakes in the syntax, with place and fix.
func TestYAMLMistakes(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x]\n"
	for i := range 20 {
		bomb += fmt.Sprintf("b%d: &b%d [*a,*a]\n", i, i)
	}
	checkMistakes(t, map[string]mistakeCase{
		"fine":                        {file: validFile},
		"comment only":                {file: "# nothing\n", want: []string{"F: is empty; start with"}},
		"empty":                       {want: []string{"F: is empty; start with"}},
		"null":                        {file: "null\n", want: []string{"F: is empty"}},
		"scalar":                      {file: "hello", want: []string{"F:1: is one value, not keys with values; start with: url:"}},
		"list":                        {file: "- a", want: []string{"F:1: is a list, not keys with values; write the keys without dashes"}},
		"broken":                      {file: validFile + "listen: [\n", want: []string{"F:2: is not YAML: the bracket [ in this line is not closed; close every quote and bracket"}},
		"undefined alias":             {file: "secret: *hunter2", want: []string{"F: is not YAML: a value begins with *, & or !"}},
		"bomb":                        {file: bomb, want: []string{"F:2: is an alias", "F:"}},
		"anchor alone":                {file: "url: &u https://a.example\n"},
		"two documents":               {file: validFile + "---\n" + validFile, want: []string{"F:2: begins a second document"}},
		"dashes":                      {file: "- url: https://a.example\n- log: {level: x}\n", want: []string{"F:1: is a list, not keys with values; write the keys without dashes", `F:2: log.level "x" is not known`}},
		"tabs":                        {file: "log:\n\tlevel: x\n\tformat: y\nsession:\n\tmax_age: 3\n", want: []string{"F:2: is indented with a tab, which YAML does not allow; indent with spaces", "F:3: is indented with a tab", "F:5: is indented with a tab", `F:2: log.level "x" is not known`, `F:3: log.format "y" is not known`, `F:5: session.max_age "3" is not a duration`}},
		"tabs and spaces":             {file: "log:\n  format: y\n\tlevel: x\n", want: []string{"F:3: is indented with a tab"}},
		"an extra space":              {file: "url: http://localhost:3000\n secret: hunter2\n", want: []string{"F:2: begins in column 2, where no key above it begins; correct its indentation: begin keys of one level in the same column"}},
		"a missing space":             {file: "log:\n  level: info\n format: text\n", want: []string{"F:3: begins in column 2"}},
		"first line":                  {file: " log:\n  level: info\nsession: {}\n", want: []string{"F:3: begins in column 1"}},
		"a key below a block of text": {file: "url: |\n   a: b\n     c: d\n   e: f\nlog: {}\nlisten: [\n", want: []string{"F:6: is not YAML"}},
		"tab in a text":               {file: "url: |\n  https://a.example\n  \tx\n"},
		"unread tag":                  {file: "secret: !x hunter2\nproviders: !y [a]\n", want: []string{"F:1: has a tag", "F:2: has a tag"}},
		"broken second":               {file: validFile + "---\nx: [", want: []string{"F:3: is not YAML"}},
		"tag":                         {file: "url: !!binary aGk=\n", want: []string{"F:1: has a tag"}},
		"twice":                       {file: validFile + validFile, want: []string{`F:2: gives "url" again; it is already in line 1`}},
		"key of a list":               {file: "? [a, b]\n: c\n", want: []string{"F:1: has a key that is not text"}},
		"deep":                        {file: "url: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), want: []string{"F:1: is nested too deeply", "F:1: url is a list, not text"}},
	})
}

// TestKeyMistakes: unknown keys, and values that their key does not accept.
func TestKeyMistakes(t *testing.T) {
	t.Parallel()
	checkMistakes(t, map[string]mistakeCase{
		"near key":                {file: "sesion: {}\n", want: []string{`F:1: key "sesion" is not known; did you mean session?`}},
		"camel case":              {file: "allowedRedirects: []\n", want: []string{`F:1: key "allowedRedirects" is not known; did you mean allowed_redirects?`}},
		"far key":                 {file: "log: {zzz: 1}\n", want: []string{`F:1: key "log.zzz" is not known; the known keys are format, level`}},
		"storage as text":         {file: "storage: postgres://db/auth\n", want: []string{"F:1: storage is one value, not a mapping; write its keys below it, such as url: …"}},
		"section as text":         {file: "log: json\n", want: []string{"F:1: log is one value, not a mapping; write its keys below it, such as format: …"}},
		"empty section":           {file: validFile + "log:\n"},
		"text as list":            {file: "url: [a]\n", want: []string{"F:1: url is a list, not text; write one value"}},
		"section as list":         {file: "log:\n  - level: x\n  - format: y\n", want: []string{"F:1: log is a list, not a mapping; write its keys below it, such as format: …, without dashes", `F:2: log.level "x"`, `F:3: log.format "y"`}},
		"list as mapping":         {file: "allowed_redirects: {a: b}\n", want: []string{"F:1: allowed_redirects is a mapping, not a list; write [one, two]"}},
		"items":                   {file: "allowed_redirects: [a, [b], {c: d}]\n", want: []string{"F:1: allowed_redirects[1] is a list, not text", "F:1: allowed_redirects[2] is a mapping, not text"}},
		"networks":                {file: "trusted_proxies:\n  - 10.0.0.1/8\n  - 10.0.0.0/8\n  - nowhere\n", want: []string{"F:2: trusted_proxies[0]", `F:4: trusted_proxies[2] "nowhere" is not a network`}},
		"not a list of mappings":  {file: "tokens: {audiences: {id: a}}\n", want: []string{"F:1: tokens.audiences is a mapping, not a list; write {id: https://api.example.com}"}},
		"list in a mapping":       {file: "tokens:\n  audiences:\n    - {id: [a]}\n    - {id: a, key: b}\n    - {id: \"${NOWHERE}\"}\n", want: []string{"F:3: tokens.audiences[0].id is a list, not text", `F:4: key "tokens.audiences[1].key" is not known`, "F:5: tokens.audiences[2].id needs the environment variable NOWHERE"}},
		"mapping as list":         {file: "storage: {tables: [a]}\n", want: []string{"F:1: storage.tables is a list, not a mapping; write {name: value}"}},
		"in a typo":               {file: "sesion: {max_age: 3, updateAge: 4}\n", want: []string{`F:1: key "sesion" is not known; did you mean session?`, "F:1: session.max_age", `F:1: key "session.updateAge" is not known; did you mean update_age?`, "F:1: session.update_age"}},
		"port out of range":       {file: "listen: 127.0.0.1:99999\n", want: []string{`F:1: listen "127.0.0.1:99999" has a port that is not a number up to 65535; write host:port, such as 127.0.0.1:3000`}},
		"no stop delay":           {file: "stop_delay: 0s\n"},
		"longest stop delay":      {file: "stop_delay: 1m\n"},
		"stop delay too long":     {file: "stop_delay: 61s\n", want: []string{`F:1: stop_delay "61s" is not between 0s and 1m; write a duration from 0s to 1m, such as 10s`}},
		"port alone":              {file: "listen: 3000\n", want: []string{`F:1: listen "3000" is a port without a host and a colon; write host:port`}},
		"host alone":              {file: "listen: localhost\n", want: []string{`F:1: listen "localhost" has no port`}},
		"port is not a number":    {file: "listen: localhost:http\n", want: []string{`F:1: listen "localhost:http" has a port that is not a number`}},
		"bare IPv6":               {file: "listen: ::1:3000\n", want: []string{`F:1: listen "::1:3000" is not host:port; write an IPv6 address in brackets`}},
		"IPv6":                    {file: "listen: \"[::1]:3000\"\n"},
		"every address":           {file: "listen: :3000\n"},
		"open debug":              {file: "debug: {listen: 0.0.0.0:6060}\n", want: []string{`F:1: debug.listen "0.0.0.0:6060" is not a loopback address; write one such as 127.0.0.1:6060`}},
		"open admin":              {file: "admin: {listen: 0.0.0.0:9090}\n", want: []string{`F:1: admin.listen "0.0.0.0:9090" is not a loopback address; write one such as 127.0.0.1:9090 or unix:/run/authsvc/admin.sock, or set admin.allow_remote`}},
		"admin socket":            {file: "admin: {listen: \"unix:run/admin.sock\"}\n", want: []string{`F:1: admin.listen "unix:run/admin.sock" is not the path of a socket`}},
		"admin port":              {file: "admin: {listen: \"127.0.0.1\"}\n", want: []string{`F:1: admin.listen "127.0.0.1" has no port`}},
		"debug port":              {file: "debug: {listen: localhost:x}\n", want: []string{`F:1: debug.listen "localhost:x" has a port that is not a number`}},
		"boolean":                 {file: "allow_insecure_url: yes\n", want: []string{`F:1: allow_insecure_url "yes" is not a boolean; write true or false`}},
		"seconds":                 {file: "session: {max_age: 2592000}\n", want: []string{`F:1: session.max_age "2592000" is not a duration; write a number and a unit`}},
		"negative":                {file: "session: {max_age: -1h}\n", want: []string{"F:1: session.max_age"}},
		"zero":                    {file: "session: {max_age: 0s}\n", want: []string{"F:1: session.max_age"}},
		"endless":                 {file: "session: {max_age: 99999999d}\n", want: []string{"F:1: session.max_age"}},
		"days and hours":          {file: "session: {max_age: 1d12h}\n"},
		"rate":                    {file: "rate_limit: {sign_in: 30/week}\n", want: []string{`F:1: rate_limit.sign_in "30/week" is not a rate; write a count`}},
		"zero rate":               {file: "rate_limit: {sign_in: 0/h}\n", want: []string{"F:1: rate_limit.sign_in"}},
		"network":                 {file: "trusted_proxies: [10.0.0.1/8]\n", want: []string{`F:1: trusted_proxies[0] "10.0.0.1/8" is not a network; write CIDRs`}},
		"naming":                  {file: "storage: {naming: prisms}\n", want: []string{`F:1: storage.naming "prisms" is not known; use prisma, snake, authjs`}},
		"unknown encryption mode": {file: "storage: {provider_tokens: maybe}\n", want: []string{`F:1: storage.provider_tokens "maybe" is not known; use keep, sealed, plain, drop`}},
		"many":                    {file: "a: 1\nsecret: {}\nlog: {level: x}\n", want: []string{`F:1: key "a" is not known`, "F:2: secret", "F:3: log.level"}},
	})
}

// TestVariableMistakes: mistakes in the environment, and in references to it.
func TestVariableMistakes(t *testing.T) {
	t.Parallel()
	checkMistakes(t, map[string]mistakeCase{
		"variable":              {file: "url: ${NOPE}\n", want: []string{"F:1: url needs the environment variable NOPE, which is not set"}},
		"unclosed variable":     {file: "url: ${NOPE\n", want: []string{"F:1: url has ${ without"}},
		"escape":                {file: "theme: {site_name: \"$${x}\"}\n"},
		"variable in list":      {file: "secret:\n  - a\n  - ${NOPE}\n", want: []string{"F:3: secret[1] needs the environment variable NOPE"}},
		"secret mapping":        {file: "secret: {a: hunter2}\n", want: []string{"F:1: secret is a mapping, not a list; write one value, or a list whose first entry seals"}},
		"environment":           {file: validFile, env: map[string]string{"AUTHSVC_LOG_LEVEL": "loud"}, want: []string{`AUTHSVC_LOG_LEVEL: log.level "loud" is not known; use debug, info, warn, error`}},
		"both":                  {file: validFile, env: map[string]string{"AUTHSVC_SECRET": "a", "AUTHSVC_SECRET_FILE": "b"}, want: []string{"AUTHSVC_SECRET: is set, and so is AUTHSVC_SECRET_FILE"}},
		"missing file":          {file: validFile, env: map[string]string{"AUTHSVC_SECRET_FILE": "/nowhere/at/all"}, want: []string{`AUTHSVC_SECRET_FILE: names "/nowhere/at/all", which cannot be read: no such file`}},
		"directory":             {file: validFile, env: map[string]string{"AUTHSVC_SECRET_FILE": "/"}, want: []string{`AUTHSVC_SECRET_FILE: names "/", which cannot be read: it is a directory`}},
		"file for a non-secret": {file: validFile, env: map[string]string{"AUTHSVC_URL_FILE": "/x"}, want: []string{"AUTHSVC_URL_FILE: is for secrets only; set AUTHSVC_URL"}},
	})
}

// TestSecretEncodings: bytes that only say how a file is encoded do not become part of a secret,
// wherever it comes from.
func TestSecretEncodings(t *testing.T) {
	t.Parallel()
	utf16le := func(text string) string {
		var b strings.Builder
		for _, r := range text {
			b.WriteString(string(r) + "\x00")
		}
		return b.String()
	}
	const secret = "0123456789abcdef0123456789abcdef"
	file := func(content string) map[string]string {
		return map[string]string{"AUTHSVC_SECRET_FILE": writeFile(t, content)}
	}
	const mark, wide = "begins with a byte order mark; write it as UTF-8 without", "is in UTF-16, or binary; write it as UTF-8 without"
	checkMistakes(t, map[string]mistakeCase{
		"plain":               {file: validFile, env: file(secret + "\r\n")},
		"a mark inside":       {file: validFile, env: file(secret + "\ufeff\n"), want: []string{"AUTHSVC_SECRET_FILE: secret contains a byte order mark (U+FEFF), which would be part of it; delete it"}},
		"UTF-8 with a mark":   {file: validFile, env: file("\ufeff" + secret + "\r\n"), want: []string{"AUTHSVC_SECRET_FILE: secret " + mark}},
		"UTF-16":              {file: validFile, env: file("\xff\xfe" + utf16le(secret+"\r\n")), want: []string{"AUTHSVC_SECRET_FILE: secret " + wide}},
		"UTF-16 without mark": {file: validFile, env: file(utf16le(secret)), want: []string{"AUTHSVC_SECRET_FILE: secret " + wide}},
		"UTF-16, big endian":  {file: validFile, env: file("\xfe\xff\x00a"), want: []string{"AUTHSVC_SECRET_FILE: secret " + wide}},
		"variable":            {file: validFile, env: map[string]string{"AUTHSVC_SECRET": "\ufeff" + secret}, want: []string{"AUTHSVC_SECRET: secret " + mark}},
		"reference":           {file: "secret: ${S}\n", env: map[string]string{"S": "\ufeff" + secret}, want: []string{"F:1: secret " + mark}},
		"reference in a list": {file: "secret:\n  - ${S}\n", env: map[string]string{"S": "\xff\xfe" + secret}, want: []string{"F:2: secret " + wide}},
		"provider": {file: "providers: [{id: github, client_id: a}]\n", env: map[string]string{"AUTHSVC_GITHUB_SECRET_FILE": writeFile(t, "\ufeffabc")},
			want: []string{"AUTHSVC_GITHUB_SECRET_FILE: providers[0].client_secret " + mark}},
		"a later line":      {file: validFile, env: file(secret + "\r\n\ufeff" + secret), want: []string{"AUTHSVC_SECRET_FILE: secret has a line that " + mark}},
		"a later line, too": {file: validFile, env: file(secret + "\r\n" + secret)},
		"reference within": {file: validFile + "outbound: {proxy: \"http://ann:${P}@proxy.example:3128\"}\n", env: map[string]string{"P": "\ufeffabc"},
			want: []string{"F:2: outbound.proxy refers to a variable with a byte order mark; write it as UTF-8 without"}},
		"reference within, plain": {file: validFile + "outbound: {proxy: \"http://ann:${P}@proxy.example:3128\"}\n", env: map[string]string{"P": "abc"}},
		"no secret":               {file: "theme: {site_name: \"${S}\"}\n", env: map[string]string{"S": "\ufeffx"}},
	})
}

// TestForgetPlaces: mistakes that are found after the places were freed name the file.
func TestForgetPlaces(t *testing.T) {
	t.Parallel()
	name := writeFile(t, validFile+"listen: 127.0.0.1:3000\n")
	s, err := Load(Input{Path: name})
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Mistake("listen", "is odd", "change it"); m.Place != name+":2" || !s.IsSet("listen") {
		t.Errorf("before: %v", m)
	}
	s.ForgetPlaces()
	if m := s.Mistake("listen", "is odd", "change it"); m.Place != name || s.places != nil || s.lines != nil {
		t.Errorf("after: %v", m)
	}
}

// TestProviderMistakes: mistakes in providers.
func TestProviderMistakes(t *testing.T) {
	t.Parallel()
	apple, _ := provider.Lookup("apple")
	appleKey := strings.ReplaceAll(apple.Options[2].Example, "\n", `\n`)
	checkMistakes(t, map[string]mistakeCase{
		"providers as map":    {file: "providers: {github: {}, auth0: {}}\n", want: []string{"F:1: providers is a mapping, not a list; begin each provider with a dash", "F:1: providers[1].issuer is missing"}},
		"provider as map":     {file: "providers: {id: auth0, clientid: a}\n", want: []string{"F:1: providers is a mapping, not a list", "F:1: providers[0].issuer is missing", `F:1: key "providers[0].clientid" is not known; did you mean client_id?`}},
		"providers as text":   {file: "providers: github\n", want: []string{"F:1: providers is one value, not a list; begin each provider with a dash"}},
		"provider as list":    {file: "providers: [[github]]\n", want: []string{"F:1: providers[0] is a list, not a mapping"}},
		"id as list":          {file: "providers: [{id: [a]}]\n", want: []string{"F:1: providers[0].id is a list, not text"}},
		"every option wrong":  {file: "providers: [{id: shopify, client_id: a, client_secret: b, shop: x.evil, api_version: now, nam: c}]\n", want: []string{"F:1: providers[0].shop is not the name of a shop", "F:1: providers[0].api_version is not a version", `F:1: key "providers[0].nam" is not known; did you mean name?`}},
		"misspelt option":     {file: "providers: [{id: auth0, isuer: https://a.example}]\n", want: []string{`F:1: key "providers[0].isuer" is not known; did you mean issuer?`}},
		"misspelt type":       {file: "providers: [{id: x, tpye: oidc, scop: [a]}]\n", want: []string{`F:1: key "providers[0].tpye" is not known; did you mean type?`, `F:1: key "providers[0].scop" is not known; did you mean scope?`, "F:1: providers[0].scope is a list, not text"}},
		"misspelt providers":  {file: "provider: [{id: auth0}]\n", want: []string{`F:1: key "provider" is not known; did you mean providers?`, "F:1: providers[0].issuer is missing"}},
		"misspelt twice":      {file: "provider: [{id: auth0}]\nproviders: [{id: github, client_id: a, client_secret: b, client-secret: c}]\n", want: []string{`F:1: key "provider" is not known; did you mean providers? It is also in F:2; keep one`, `F:2: key "providers[0].client-secret" is not known; did you mean client_secret? It is also in F:2; keep one`}},
		"misspelt and wrong":  {file: "secert: a\nsecret: b\nsession: {max_age: 1, maxage: 2}\nproviders: [{id: github, client_id: a, client_secret: b}]\n", want: []string{`F:1: key "secert" is not known; did you mean secret? It is also in F:2; keep one`, "F:3: session.max_age", `F:3: key "session.maxage" is not known; did you mean max_age? It is also in F:3; keep one`}},
		"misspelt provider":   {file: "providers: [{id: keycloack, client_id: [a]}]\n", want: []string{`F:1: providers[0] "keycloack" is not a provider of this version; did you mean keycloak?`, "F:1: providers[0].issuer is missing", "F:1: providers[0].client_id is a list, not text"}},
		"provider as text":    {file: "providers: [github]\n", want: []string{"F:1: providers[0] is one value, not a mapping; write {id: github"}},
		"provider without id": {file: "providers: [{name: x}]\n", want: []string{"F:1: providers[0].id is missing"}},
		"openid2":             {file: "providers:\n  - {id: old, type: openid2}\n", want: []string{"F:2: providers[0].type is openid2, which only built-in providers can have"}},
		"oauth1":              {file: "providers: [{id: old, type: oauth1, client_id: a, client_secret: b, request_token_url: https://old.example/r, authorization_url: https://old.example/a, access_token_url: https://old.example/t, userinfo_url: https://old.example/u}]\n"},
		"key of oauth2":       {file: "providers: [{id: old, type: oauth1, token_url: https://old.example}]\n", want: []string{`F:1: key "providers[0].token_url" is not known`}},
		"steam":               {file: "providers: [{id: steam, api_key: a, name: Steam, style: {background: \"#000000\"}}]\n"},
		"steam client":        {file: "providers: [{id: steam, api_key: a, client_id: b}]\n", want: []string{`F:1: key "providers[0].client_id" is not known`}},
		"steam without key":   {file: "providers: [{id: steam}]\n", want: []string{"F:1: providers[0].api_key is missing; write the key of the Steam Web API, from steamcommunity.com/dev/apikey (or set AUTHSVC_STEAM_API_KEY)"}},
		"apple secret": {file: "providers: [{id: apple, client_id: a, client_secret: hunter2, team_id: T, key_id: K, private_key: \"" + appleKey + "\"}]\n",
			want: []string{"F:1: providers[0].client_secret is given, but apple takes none; remove it; client secrets are made from private_key"}},
		"apple secret in the environment": {file: "providers: [{id: apple, client_id: a, team_id: T, key_id: K, private_key: \"" + appleKey + "\"}]\n",
			env: map[string]string{"AUTHSVC_APPLE_SECRET": "hunter2"}, want: []string{"AUTHSVC_APPLE_SECRET: providers[0].client_secret is given, but apple takes none"}},
		"apple without": {file: "providers: [{id: apple, client_id: a, team_id: T, key_id: K, private_key: \"" + appleKey + "\"}]\n"},
		"credentials": {file: "providers: [{id: x, type: credentials, fields: [{name: a, typ: text}], hook: {timeout: soon}}]\nhooks: [{on: sign_out}]\n", want: []string{
			`F:1: key "providers[0].fields[0].typ" is not known`, `F:1: providers[0].hook.timeout "soon" is not a duration`, `F:2: hooks[0].on "sign_out" is not known; use sign_in, claims, create_user`}},
		"letters of a type swapped":  {file: "providers: [{id: acme, type: oicd}]\n", want: []string{`F:1: providers[0].type "oicd" is not a type; did you mean oidc?`}},
		"type by another name":       {file: "providers: [{id: mail, type: smtp}]\n", want: []string{`F:1: providers[0].type "smtp" is not a type; did you mean email?`}},
		"provider as type":           {file: "providers: [{id: acme, type: gogle}]\n", want: []string{`F:1: providers[0].type "gogle" is not a type; did you mean google?`}},
		"unknown type":               {file: "providers: [{id: acme, type: zzzzzzzzzz}]\n", want: []string{`F:1: providers[0].type "zzzzzzzzzz" is not a type; the types are oidc, oauth2, oauth1, email, credentials`}},
		"near provider":              {file: "providers: [{id: gogle}]\n", want: []string{`F:1: providers[0] "gogle" is not a provider of this version; did you mean google?`}},
		"placeholders":               {file: "providers: [{id: github, client_id: …, client_secret: \"...\"}]\nsecret: [\"…\"]\n", want: []string{"F:1: providers[0].client_id is still the placeholder from the documentation; write your own value", "F:1: providers[0].client_secret is still the placeholder", "F:2: secret is still the placeholder"}},
		"option of another provider": {file: "providers: [{id: github, client_id: a, client_secret: b, api_key: c}]\n", want: []string{"F:1: providers[0].api_key is an option that github does not take"}},
		"option missing":             {file: "providers: [{id: bungie, client_id: a, client_secret: b}]\n", want: []string{"F:1: providers[0].api_key is missing; write the API key of the application at bungie.net (or set AUTHSVC_BUNGIE_API_KEY)"}},
		"options missing":            {file: "providers: [{id: netsuite, client_id: a, client_secret: b}]\n", want: []string{"F:1: providers[0].account_id is missing", "F:1: providers[0].userinfo is missing"}},
		"option wrong":               {file: "providers: [{id: netsuite, client_id: a, client_secret: b, account_id: x.evil, userinfo: https://a.example}]\n", want: []string{"F:1: providers[0].account_id is not an account id; write it as NetSuite shows it"}},
		"option as list":             {file: "providers: [{id: auth0, client_id: a, client_secret: b, issuer: [a]}]\n", want: []string{"F:1: providers[0].issuer is a list, not text; write one value"}},
		"option":                     {file: "providers: [{id: auth0, client_id: a, client_secret: b, issuer: https://a.example}]\n"},
		"alias":                      {file: "providers: [{id: polis, client_id: a, client_secret: b, issuer: https://a.example}]\n"},
		"one of several":             {file: "providers: [{id: workos, client_id: a, client_secret: b, connection: c}]\n"},
		"discontinued":               {file: "providers: [{id: medium, client_id: a, client_secret: b}]\n", want: []string{`F:1: providers[0] names provider "medium", which was discontinued: the API has had no support since March 2023 and accepts no new applications; there is no successor`}},
		"key of email":               {file: "providers: [{id: email, type: email, client_id: a}]\n", want: []string{`F:1: key "providers[0].client_id" is not known`}},
		"near client id":             {file: "providers: [{id: github, clientId: a}]\n", want: []string{`F:1: key "providers[0].clientId" is not known; did you mean client_id?`}},
		"profile":                    {file: "providers: [{id: x, type: oidc, profile: {idd: a}}]\n", want: []string{`F:1: key "providers[0].profile.idd" is not known; did you mean id?`}},
	})
}

// TestUnreadableFix: the fix depends on why the file cannot be read. Root may read every
// file, so the test makes the error itself.
func TestUnreadableFix(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		syscall.EACCES: "let the user that runs authsvc read it and enter its folder: change owner or mode",
		syscall.ENOENT: "name the file with --config or AUTHSVC_CONFIG",
	} {
		denied := withoutPath(&fs.PathError{Op: "open", Path: "authsvc.yaml", Err: err})
		if got := unreadableFix(denied); got != want {
			t.Errorf("the fix for %v is %q, want %q", err, got, want)
		}
	}
}

// TestLimits: a file that is too large is not read, and the number of mistakes is
// limited.
func TestLimits(t *testing.T) {
	t.Parallel()
	_, err := Load(Input{Path: writeFile(t, "#"+strings.Repeat("x", maxFile))})
	if err == nil || !strings.Contains(err.Error(), "larger than 1024 KiB") {
		t.Errorf("too large: %v", err)
	}
	if _, err := Load(Input{Path: writeFile(t, "#"+strings.Repeat("x", maxFile-30)+"\nurl: https://a.example\n")}); err != nil {
		t.Errorf("just small enough: %v", err)
	}
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "key%d: 1\n", i)
	}
	var mistakes Mistakes
	if _, err := Load(Input{Path: writeFile(t, many.String())}); !errors.As(err, &mistakes) || len(mistakes) != maxMistakes {
		t.Errorf("%d mistakes", len(mistakes))
	}
}

// TestMissingFile: a named file must exist, the default file need not.
func TestMissingFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, in := range []Input{{Path: "nowhere.yaml"}, {Env: map[string]string{"AUTHSVC_CONFIG": "nowhere.yaml"}}} {
		if _, err := Load(in); err == nil || !strings.HasPrefix(err.Error(), "nowhere.yaml: cannot be read: no such file") {
			t.Errorf("%v: %v", in, err)
		}
	}
	if _, err := Load(Input{}); err != nil {
		t.Error(err)
	}
}

// TestExplain: mistakes that the engine finds get the place of their key, of an
// enclosing key, or of the variable that can set it.
func TestExplain(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "url: https://a.example\nsecret: [one, two]\nproviders:\n  - {id: github, client_id: a}\n  - id: acme\n    type: oidc\n")
	s, err := Load(Input{Path: file, Env: map[string]string{"AUTHSVC_GOOGLE_ID": "x", "AUTHSVC_COMPAT": "nope"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ field, want string }{
		{"URL", "F:1: url p; m"},
		{"Secrets[1]", "F:2: secret[1] p; m"},
		{"Providers[0].Client.ID", "F:4: providers[0].client_id p; m"},
		{"Providers[0].Client.Secret", "F:4: providers[0].client_secret p; m (or set AUTHSVC_GITHUB_SECRET)"},
		{"Providers[0].Style", "F:4: providers[0].style p; m"},
		{"Providers[1].Style", "F:5: providers[1].style p; m"},
		{"Providers[1]", "F:5: providers[1] p; m"},
		{"Providers[1].Issuer", "F:5: providers[1].issuer p; m (or set AUTHSVC_ACME_ISSUER)"},
		{"Providers[2].Client.Secret", "AUTHSVC_GOOGLE_SECRET: providers[2].client_secret p; m"},
		{"Providers[2].Client.ID", "AUTHSVC_GOOGLE_ID: providers[2].client_id p; m"},
		{"Compat", "AUTHSVC_COMPAT: compat p; m"},
		{"Session.Strategy", "F: session.strategy p; m (or set AUTHSVC_SESSION_STRATEGY)"},
	} {
		err := s.Explain(errors.Join(&authsvc.ConfigError{Field: c.field, Problem: "p", Fix: "m"}))
		if diff := cmp.Diff(c.want, strings.ReplaceAll(err.Error(), file, "F")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.field, diff)
		}
	}
	other := errors.New("other")
	if got := s.Explain(other); !errors.Is(got, other) {
		t.Errorf("other errors become %v", got)
	}
}

// TestExplainWithoutFile: without a file, the variable is the place.
func TestExplainWithoutFile(t *testing.T) {
	t.Chdir(filepath.Clean(t.TempDir()))
	s, err := Load(Input{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"url":       "AUTHSVC_URL: url p; m",
		"providers": "environment (there is no authsvc.yaml): providers p; m",
	} {
		if got := s.Mistake(key, "p", "m").String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
