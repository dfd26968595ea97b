package mailtext

import (
	"strings"
	"text/template"

	htmltemplate "html/template"

	"authsvc/internal/text/pages"
)

// A kind is a kind of mail: its template files and their requirements.
type kind struct {
	subject, text, html string // file names
	of                  func(*Templates) *Set
	samples             func() []Data // data to test templates with
	goodSubject         string        // an example for operators to copy
	needs               []needed
}

// needed is a value that both texts of a mail must contain if the sample has it: its
// description, its field and, for a link, its label.
type needed struct{ what, field, label string }

// kinds lists all kinds of mails.
var kinds = [...]*kind{
	{"subject.txt", "mail.txt", "mail.html", func(t *Templates) *Set { return &t.SignIn }, signInSamples, "Sign in to {{.Site}}",
		[]needed{{"the link", "URL", "Sign in"}}},
	{"notice-subject.txt", "notice.txt", "notice.html", func(t *Templates) *Set { return &t.Notice }, noticeSamples, "News about your account at {{.Site}}",
		[]needed{{"the link to the account", "URL", "Your account"}, {"the link that undoes the change", "UndoURL", "Undo"}}},
	{"address-subject.txt", "address.txt", "address.html", func(t *Templates) *Set { return &t.Address }, addressSamples, "Your address at {{.Site}}",
		[]needed{{"the link", "URL", "Continue"}, {"the code", "Code", ""}, {"the link that stops the change", "StopURL", "Stop"}}},
}

// kindOf returns the kind of a mail.
func kindOf(d *Data) *kind {
	switch {
	case d.Notice != "":
		return kinds[1]
	case d.Change != "":
		return kinds[2]
	}
	return kinds[0]
}

// fileNames lists the file names of all templates, for messages to operators.
func fileNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.subject, k.text, k.html)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// place returns a pointer to the field of t for the template with this file name: the
// first result for a text template, the second for an HTML template. Both are nil if
// file is not the name of a template.
func (t *Templates) place(file string) (**template.Template, **htmltemplate.Template) {
	for _, k := range kinds {
		switch set := k.of(t); file {
		case k.subject:
			return &set.Subject, nil
		case k.text:
			return &set.Text, nil
		case k.html:
			return nil, &set.HTML
		}
	}
	return nil, nil
}

// signInSamples have a link with characters that must be escaped.
func signInSamples() []Data {
	colours := pages.MailColours{Page: "#f6f7f9", Card: "#ffffff", Text: "#16181d", Muted: "#5b6270", Line: "#e3e6eb", Brand: "#3b5bdb", OnBrand: "#ffffff"}
	return []Data{{URL: "https://host.example/api/auth/callback/email?callbackUrl=https%3A%2F%2Fhost.example%2F&token=0123456789abcdef&email=a%40b.example",
		Code: "1234 5678", Host: "host.example", Site: "Site", Email: "a@b.example", Minutes: 10, Lifetime: "10 minutes", Language: "en", Device: "Firefox on Linux", Network: "203.0.113.0/24",
		BrandColor: colours.Brand, ButtonText: colours.OnBrand, Logo: "https://host.example/logo.png",
		Look: pages.MailLook{Logo: "https://host.example/logo.png", ColorScheme: "light dark", Colours: colours, Dark: &colours}}}
}

func noticeSamples() []Data {
	d := signInSamples()[0]
	d.Code, d.Notice, d.What, d.When = "", "linked", "GitHub was added.", "23 November 2026 at 18:42 UTC"
	d.URL, d.UndoURL = "https://host.example/api/auth/account", "https://host.example/api/auth/account/undo?token=0123456789abcdef"
	return []Data{d}
}

// addressSamples has one mail for each value of Change.
func addressSamples() []Data {
	const confirm = "https://host.example/api/auth/account/email/confirm?id=0123&token=0123456789abcdef"
	d := signInSamples()[0]
	d.URL, d.NewEmail, d.What = confirm, "new@b.example", "The address is to be changed."
	toNew, taken, old := d, d, d
	toNew.Change, toNew.Email = ChangeNew, d.NewEmail
	taken.Change, taken.Email, taken.Code, taken.URL = ChangeTaken, d.NewEmail, "", "https://host.example/api/auth/signin"
	old.Change, old.Code, old.StopURL, old.Waits = ChangeOld, "", confirm+"&stop=true", true
	return []Data{toNew, taken, old}
}
