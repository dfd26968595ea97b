package config

import "testing"

// TestPasted: a quote of a web page around a secret, an address or an id is a mistake,
// and so is an invisible character within it. Other texts may have them.
func TestPasted(t *testing.T) {
	t.Parallel()
	const quotes, copied = `which would be part of it; write " or ' around it, or nothing`, "which would be part of it; delete it, or type the value again"
	const secret = "0123456789abcdef0123456789abcdef"
	github := func(more string) string { return "providers: [{id: github, " + more + "}]\n" }
	checkMistakes(t, map[string]mistakeCase{
		"secret":          {file: "secret: “" + secret + "”\n", want: []string{"F:1: secret begins with a typographic quote (U+201C), " + quotes}},
		"variable":        {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET": "‘" + secret + "’"}, want: []string{"AUTHSVC_SECRET: secret begins with a typographic quote (U+2018), " + quotes}},
		"secret file":     {file: "listen: 127.0.0.1:3000\n", env: map[string]string{"AUTHSVC_SECRET_FILE": writeFile(t, secret+"”\n")}, want: []string{"AUTHSVC_SECRET_FILE: secret ends with a typographic quote (U+201D), " + quotes}},
		"one of a list":   {file: "secret:\n  - a\n  - " + secret + "»\n", want: []string{"F:2: secret ends with a typographic quote (U+00BB), " + quotes}},
		"url":             {file: "url: “https://app.example.com”\n", want: []string{"F:1: url begins with a typographic quote (U+201C), " + quotes}},
		"within a url":    {file: "url: https://app.exa\u200bmple.com\n", want: []string{"F:1: url contains a zero-width character (U+200B), " + copied}},
		"client id":       {file: github("client_id: \"a\u00a0\", client_secret: b"), want: []string{"F:1: providers[0].client_id contains a non-breaking space (U+00A0), " + copied}},
		"client secret":   {file: github("client_id: a, client_secret: \"b\u00ad\""), want: []string{"F:1: providers[0].client_secret contains a soft hyphen (U+00AD), " + copied}},
		"storage":         {file: "storage: {url: «sqlite:a.db»}\n", want: []string{"F:1: storage.url begins with a typographic quote (U+00AB), " + quotes}},
		"plain quotes":    {file: "secret: \"" + secret + "\"\nurl: 'https://app.example.com'\n"},
		"quote inside":    {file: "secret: 0123456789abcdef“0123456789abcdef\n"},
		"space inside":    {file: "secret: \"0123456789 abcdef 0123456789abcdef \"\n"},
		"name":            {file: github("name: “Git\u00a0Hub”, client_id: a, client_secret: b")},
		"letters of Thai": {file: "url: https://ไทย.example\n"},
	})
}
