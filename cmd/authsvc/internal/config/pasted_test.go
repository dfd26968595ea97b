package config

import "testing"

// TestPasted: a quote of a web page around a secret, an address or an id is a mistake,
// and so is an invisible character within it. Other texts may have them.
func TestPasted(t *testing.T) {
	t.Parallel()
	const quotes, copied = `which would be part of it; write " or ' around it, or nothing`, "which would be part of it; delete it, or type the value again"
	const remove = "which would be part of it; remove it, and any quote at the other end"
	const secret = "0123456789abcdef0123456789abcdef"
	github := func(more string) string { return "providers: [{id: github, " + more + "}]\n" }
	checkMistakes(t, map[string]mistakeCase{
		"secret":          {file: "secret: “" + secret + "”\n", want: []string{"F:1: secret begins with a typographic quote (U+201C), " + quotes}},
		"variable":        {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET": "‘" + secret + "’"}, want: []string{"AUTHSVC_SECRET: secret begins with a typographic quote (U+2018), " + remove}},
		"secret file":     {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET_FILE": writeFile(t, secret+"”\n")}, want: []string{"AUTHSVC_SECRET_FILE: secret ends with a typographic quote (U+201D), " + remove}},
		"reference":       {file: "secret: ${S}\n", env: map[string]string{"S": "“" + secret + "”"}, want: []string{"F:1: secret begins with a typographic quote (U+201C), " + remove}},
		"name of a file":  {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET_FILE": "“/run/secret”"}, want: []string{"AUTHSVC_SECRET_FILE: begins with a typographic quote (U+201C), " + remove}},
		"one of a list":   {file: "secret:\n  - a\n  - " + secret + "»\n", want: []string{"F:2: secret ends with a typographic quote (U+00BB), " + quotes}},
		"url":             {file: "url: “https://app.example.com”\n", want: []string{"F:1: url begins with a typographic quote (U+201C), " + quotes}},
		"within a url":    {file: "url: https://app.exa\u200bmple.com\n", want: []string{"F:1: url contains a zero-width character (U+200B), " + copied}},
		"client id":       {file: github("client_id: \"a\u00a0\", client_secret: b"), want: []string{"F:1: providers[0].client_id contains a non-breaking space (U+00A0), " + copied}},
		"client secret":   {file: github("client_id: a, client_secret: \"b\u00ad\""), want: []string{"F:1: providers[0].client_secret contains a soft hyphen (U+00AD), " + copied}},
		"ends right":      {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET": secret + "\u200e"}, want: []string{"AUTHSVC_SECRET: secret contains a formatting character (U+200E), " + copied}},
		"ends wide":       {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET_FILE": writeFile(t, secret+"\u3000\n")}, want: []string{"AUTHSVC_SECRET_FILE: secret contains a space other than U+0020 (U+3000), " + copied}},
		"begins narrow":   {file: "secret: \"\u2009" + secret + "\"\n", want: []string{"F:1: secret contains a space other than U+0020 (U+2009), " + copied}},
		"ends a line":     {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET": secret + "\u2028"}, want: []string{"AUTHSVC_SECRET: secret contains a line or paragraph separator (U+2028), " + copied}},
		"ends a text":     {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET": secret + "\u2029"}, want: []string{"AUTHSVC_SECRET: secret contains a line or paragraph separator (U+2029), " + copied}},
		"ends with a tag": {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET": secret + "\U000e0041"}, want: []string{"AUTHSVC_SECRET: secret contains a formatting character (U+E0041), " + copied}},
		"marked url":      {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_URL": "\ufeffhttps://app.example.com"}, want: []string{"AUTHSVC_URL: url contains a byte order mark (U+FEFF), " + copied}},
		"storage":         {file: "storage: {url: «sqlite:a.db»}\n", want: []string{"F:1: storage.url begins with a typographic quote (U+00AB), " + quotes}},
		"plain quotes":    {file: "secret: \"" + secret + "\"\nurl: 'https://app.example.com'\n"},
		"quote inside":    {file: "secret: 0123456789abcdef“0123456789abcdef\n"},
		"space inside":    {file: "secret: \"0123456789 abcdef 0123456789abcdef \"\n"},
		"name":            {file: github("name: “Git\u00a0Hub”, client_id: a, client_secret: b")},
		"marks of names":  {file: github("name: \"Git\u3000Hub\u200e\", client_id: a, client_secret: b")},
		"other letters":   {file: "secret: \"ключ-ключ-ключ-e\u0301\u0302-한국어-ไทย-🔑\"\n"},
		"letters of Thai": {file: "url: https://ไทย.example\n"},
	})
}
