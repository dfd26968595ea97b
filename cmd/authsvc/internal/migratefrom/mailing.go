package migratefrom

import (
	"slices"
	"strings"
)

// relays holds the SMTP servers of services that NextAuth.js calls over HTTP: the user
// name, and the host.
var relays = map[string][2]string{
	"resend":   {"resend", "smtp.resend.com:587"},
	"sendgrid": {"apikey", "smtp.sendgrid.net:587"},
}

// isEmail reports whether the provider mails links.
func (p *providerEntry) isEmail() bool {
	return slices.Contains([]string{"email", "nodemailer", "resend", "sendgrid", "postmark", "mailgun", "loops", "forwardemail", "http-email"}, p.kind) ||
		p.optionText("type") == "email"
}

// email reads a provider that mails links.
func (p *providerEntry) email() *providerEntry {
	p.keys = mapping{{key: "id", value: p.id}}
	p.keys.set("type", "email")
	p.keys.set("server", p.server())
	variable := "AUTHSVC_" + p.suffix() + "_FROM"
	from, ok := p.options["from"]
	text, readable := "", false
	if ok {
		text, readable = p.written(from, "the sender of mails, as in Acme <no-reply@example.com>")
	}
	if !readable {
		p.add(Open, p.part(), p.at, "from is not given or not understood: set %s", variable)
		text = p.use(variable, "the sender of mails, as in Acme <no-reply@example.com>")
	}
	p.keys.set("from", text)
	for _, key := range keysOf(p.options) {
		n := p.options[key]
		switch key {
		case "id", "type", "server", "from", "apiKey":
		case "name":
			if v := p.plain(n); v.kind == textNode {
				p.keys.set("name", literally(v.text))
			} else {
				p.add(Open, p.part(), n, "not understood: the name; set name")
			}
		case "maxAge":
			if seconds, known := p.number(n); known && seconds >= 60 && seconds <= 86400 {
				p.keys.set("max_age", duration(seconds))
			} else {
				p.add(Open, p.part(), n, "maxAge is not understood, or is not from a minute to a day: set max_age")
			}
		case "sendVerificationRequest":
			p.add(Open, p.part(), n, "your own mail: write its text as a template (docs/mails.md)")
		case "generateVerificationToken", "normalizeIdentifier":
			p.add(Note, p.part(), n, "%s is not used: authsvc makes links and normalises addresses itself", key)
		case "secret":
			p.add(Note, p.part(), n, "secret is not used: links that are in the mail during the move no longer work")
		default:
			p.add(Open, p.part(), n, "the option %s has no counterpart", key)
		}
	}
	p.add(OK, p.part(), p.at, "mailed links")
	return p
}

// server returns the mail server: the option server, or the relay of a service.
func (p *providerEntry) server() string {
	const use = "the mail server: smtp://USER:PASSWORD@HOST:587, with special characters of the password percent-encoded"
	variable := "AUTHSVC_" + p.suffix() + "_SERVER"
	if relay, ok := relays[p.kind]; ok {
		key, at := "AUTH_"+p.suffix()+"_KEY", p.at
		if n, given := p.options["apiKey"]; given {
			at = n
			if key = p.variable(n); key == "" {
				p.add(Open, p.part(), n, "apiKey is not read from an environment variable: put it into AUTH_%s_KEY", p.suffix())
				key = "AUTH_" + p.suffix() + "_KEY"
			}
		}
		p.add(Note, p.part(), at, "authsvc sends by SMTP, through %s with the same key", relay[1])
		return "smtp://" + relay[0] + ":" + p.use(key, "the key at "+p.kind) + "@" + relay[1]
	}
	n, ok := p.options["server"]
	if !ok {
		p.add(Open, p.part(), p.at, "the mail server is not known: set %s", variable)
		return p.use(variable, use)
	}
	if name := p.variable(n); name != "" {
		return p.use(name, use)
	}
	v := p.plain(n)
	if v.kind == objectNode {
		p.add(Note, p.part(), n, "server is an object: write it as one address in %s", variable)
		return p.use(variable, use)
	}
	text, readable := p.written(n, use)
	if strings.HasPrefix(text, "smtp") && readable && !hasPassword(text) {
		return text
	}
	p.add(Open, p.part(), n, "server is written in the source, or is not understood: put it into %s", variable)
	return p.use(variable, use)
}

// hasPassword reports whether a URL has a password that is, even in part, text of the
// source.
func hasPassword(text string) bool {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return false
	}
	_, user, _ := strings.Cut(text[:at], "://")
	_, password, has := strings.Cut(user, ":")
	return has && !onlyReferences(password)
}

// credentials reads a provider with a form. authsvc asks the application about it by a
// hook, which must be written.
func (p *providerEntry) credentials() *providerEntry {
	p.keys = mapping{{key: "id", value: p.id}}
	if p.id != "credentials" {
		p.keys.set("type", "credentials")
	}
	if name := p.optionText("name"); name != "" {
		p.keys.set("name", literally(name))
	}
	var fields []any
	if n, ok := p.options["credentials"]; ok {
		object := p.resolve(n)
		for _, m := range object.members {
			if m.key != "" && cleanWord(m.key) {
				fields = append(fields, p.field(m))
			}
		}
		if len(fields) == 0 {
			p.add(Open, p.part(), n, "not understood: the fields of the form")
		}
	}
	if len(fields) > 0 {
		p.keys.set("fields", fields)
	}
	prefix := "AUTHSVC_" + p.suffix() + "_HOOK_"
	var hook mapping
	hook.set("url", p.use(prefix+"URL", "the route of your application that checks the fields, such as http://127.0.0.1:3000/api/authsvc"))
	hook.set("secret", p.use(prefix+"SECRET", "whsec_ and the base64 of 24 to 64 random bytes"))
	p.keys.set("hook", hook)
	at := p.at
	if n, ok := p.options["authorize"]; ok {
		at = n
	}
	p.add(Open, p.part(), at, "authorize() must become a route that a hook asks (docs/rules.md#credentials)")
	for _, key := range keysOf(p.options) {
		if !slices.Contains([]string{"id", "name", "type", "credentials", "authorize"}, key) {
			p.add(Open, p.part(), p.options[key], "the option %s has no counterpart", key)
		}
	}
	return p
}

// field reads a field of the form.
func (p *providerEntry) field(m member) mapping {
	f := mapping{{key: "name", value: m.key}}
	object := p.resolve(m.value)
	for _, key := range []string{"label", "type", "placeholder"} {
		n, ok := object.get(key)
		v := p.plain(n)
		if !ok || v.kind != textNode {
			continue
		}
		if key == "type" && !slices.Contains([]string{"text", "password", "email", "number", "tel"}, v.text) {
			p.add(Note, p.part(), n, "the type %q of the field %s is taken for text", v.text, m.key)
			continue
		}
		f.set(key, literally(v.text))
	}
	return f
}
