package config

import "testing"

// TestQuotedConfig: AUTHSVC_CONFIG names the file without the quotes of an env file.
func TestQuotedConfig(t *testing.T) {
	t.Parallel()
	name := writeFile(t, "listen: 127.0.0.1:3000\n")
	for _, c := range []struct{ name, want string }{
		{`"` + name + `"`, "AUTHSVC_CONFIG: has quotes around it; " + quotesFix},
		{"'" + name + "'", "AUTHSVC_CONFIG: has quotes around it; " + quotesFix},
		{"”" + name, "AUTHSVC_CONFIG: begins with a typographic quote (U+201D), which would be part of it; remove it, and any quote at the other end"},
		{name + ".", name + ".: cannot be read: no such file or directory; name the file with --config or AUTHSVC_CONFIG"},
		{name, ""},
	} {
		s, err := Load(Input{Env: map[string]string{"AUTHSVC_CONFIG": c.name, "AUTHSVC_URL": "http://localhost:3000", "AUTHSVC_SECRET": "0123456789abcdef0123456789abcdef"}})
		if c.want == "" && (err != nil || s.Listen != "127.0.0.1:3000") || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestQuoted: quotes that stay around a value, because what sets the variable does not
// remove them, are a mistake. Texts for people, expressions, later entries of a list of
// secrets and the inside of a value may have them.
func TestQuoted(t *testing.T) {
	t.Parallel()
	const around = " has quotes around it; remove them: Docker's --env-file, for example, keeps quotes as part of the value"
	const secret = "0123456789abcdef0123456789abcdef"
	const file = "listen: 127.0.0.1:3000\n"
	github := func(more string) string { return "providers: [{id: github, " + more + "}]\n" }
	env := func(name, content string) map[string]string { return map[string]string{name: content} }
	checkMistakes(t, map[string]mistakeCase{
		"secret":             {file: file, env: env("AUTHSVC_SECRET", `"`+secret+`"`), want: []string{"AUTHSVC_SECRET: secret" + around}},
		"with a space":       {file: file, env: env("AUTHSVC_SECRET", `'`+secret+`' `), want: []string{"AUTHSVC_SECRET: secret" + around}},
		"nothing":            {file: file, env: env("AUTHSVC_SECRET", `""`), want: []string{"AUTHSVC_SECRET: secret" + around}},
		"secret file":        {file: file, env: env("AUTHSVC_SECRET_FILE", writeFile(t, `"`+secret+"\"\n")), want: []string{"AUTHSVC_SECRET_FILE: secret" + around}},
		"name of a file":     {file: file, env: env("AUTHSVC_SECRET_FILE", `"/run/secrets/authsvc"`), want: []string{"AUTHSVC_SECRET_FILE:" + around}},
		"first line":         {file: file, env: env("AUTHSVC_SECRET", "'"+secret+"'\n"+secret), want: []string{"AUTHSVC_SECRET: secret" + around}},
		"first of a list":    {file: "secret:\n  - '\"" + secret + "\"'\n  - a\n", want: []string{"F:2: secret" + around}},
		"all lines":          {file: file, env: env("AUTHSVC_PROXY_KEYS", "\""+secret+"\n"+secret+"\""), want: []string{"AUTHSVC_PROXY_KEYS: proxy_keys" + around}},
		"later line":         {file: file, env: env("AUTHSVC_SECRET", secret+"\n'"+secret+"'")},
		"later of a list":    {file: "secret: [\"${S}\", '\"${S}\"']\n", env: env("S", secret)},
		"from a variable":    {file: "secret: ${S}\nurl: ${U}\n", env: map[string]string{"S": "'" + secret + "'", "U": `"https://app.example.com"`}, want: []string{"F:1: secret" + around, "F:2: url" + around}},
		"client id":          {file: github(`client_id: '"abc"', client_secret: b`), want: []string{"F:1: providers[0].client_id" + around}},
		"client secret":      {file: github(`client_id: a, client_secret: "'bcd'"`), want: []string{"F:1: providers[0].client_secret" + around}},
		"url":                {file: "url: '\"https://app.example.com\"'\n", want: []string{"F:1: url" + around}},
		"listen":             {file: "listen: '\"127.0.0.1:3000\"'\n", want: []string{"F:1: listen" + around}},
		"from":               {file: "providers: [{id: email, server: 'smtp://localhost', from: '\"Acme <a@example.com>\"'}]\n", want: []string{"F:1: providers[0].from" + around}},
		"hook":               {file: "hooks: [{on: sign_in, url: '\"https://app.example.com\"', secret: \"'whsec_x'\"}]\n", want: []string{"F:1: hooks[0].url" + around, "F:1: hooks[0].secret" + around}},
		"list":               {file: file, env: env("AUTHSVC_ALLOWED_REDIRECTS", `"https://a.example,https://b.example"`), want: []string{"AUTHSVC_ALLOWED_REDIRECTS: allowed_redirects" + around}},
		"networks":           {file: file, env: env("AUTHSVC_TRUSTED_PROXIES", `"10.0.0.0/8"`), want: []string{"AUTHSVC_TRUSTED_PROXIES: trusted_proxies" + around}},
		"duration":           {file: file, env: env("AUTHSVC_SESSION_MAX_AGE", "'30d'"), want: []string{"AUTHSVC_SESSION_MAX_AGE: session.max_age" + around}},
		"quotes of YAML":     {file: "secret: \"" + secret + "\"\nurl: 'https://app.example.com'\n"},
		"at one end":         {file: file, env: env("AUTHSVC_SECRET", `"`+secret)},
		"two different ones": {file: file, env: env("AUTHSVC_SECRET", `"`+secret+`'`)},
		"only a quote":       {file: file, env: env("AUTHSVC_GITHUB_SECRET", `"`)},
		"inside":             {file: file, env: env("AUTHSVC_SECRET", `0123456789abcdef""0123456789abcdef`)},
		"sender with a name": {file: "providers: [{id: email, server: 'smtp://localhost', from: '\"Acme\" <a@example.com>'}]\n"},
		"name":               {file: github(`name: '"GitHub"', client_id: a, client_secret: b`)},
		"expression":         {file: "rules: {redirect: '\"/start\"'}\n"},
		"group":              {file: "sign_in: {allow: [{groups: ['\"ops\"']}]}\n"},
	})
}
