package pages

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"authsvc/internal/text/useragent"
)

// maxLocales bounds what is read of Accept-Language and ui_locales, in bytes.
const maxLocales = 512

// words are the texts of the pages in one language. To add a language, add a
// file with a function that returns its words, and name it in catalogues.
type words struct {
	Lang string // BCP 47
	Dir  string // ltr or rtl
	text map[string]string
}

// features have their texts in files of their own: by language, then by key.
var features = []func() map[string]map[string]string{mailTexts, tokenTexts}

// catalogues are all languages. The first one is the default. Nobody changes them.
var catalogues = sync.OnceValue(func() []words {
	all := []words{english(), german()}
	for _, texts := range features {
		for lang, more := range texts() {
			i := slices.IndexFunc(all, func(w words) bool { return w.Lang == lang })
			maps.Copy(all[i].text, more)
		}
	}
	return all
})

// mailTexts are the texts of mails.
func mailTexts() map[string]map[string]string {
	return map[string]map[string]string{"en": englishMails(), "de": germanMails()}
}

// News are the words for what notices tell: what their texts are called after
// "news.". The text itself may have a name in it.
func News() []string {
	return []string{"linked", "unlinked", "ended", "browser", "address", "deletion", "kept"}
}

// A Chooser chooses between languages.
type Chooser struct {
	langs   []string // index of matcher
	matcher language.Matcher
}

// NewChooser has the languages of the pages, whose first is the default, and
// more of them: BCP 47 tags.
func NewChooser(more ...string) (*Chooser, error) {
	c := &Chooser{}
	for _, w := range catalogues() {
		c.langs = append(c.langs, w.Lang)
	}
	for _, lang := range more {
		if !slices.Contains(c.langs, lang) {
			c.langs = append(c.langs, lang)
		}
	}
	var tags []language.Tag
	for _, lang := range c.langs {
		tag, err := language.Parse(lang)
		if err != nil {
			return nil, fmt.Errorf("%q is not a language: %w", lang, err)
		}
		tags = append(tags, tag)
	}
	c.matcher = language.NewMatcher(tags)
	return c, nil
}

// wordsOf are the words of a language, or English.
func wordsOf(lang string) words {
	all := catalogues()
	i := slices.IndexFunc(all, func(c words) bool { return c.Lang == lang })
	return all[max(i, 0)]
}

// Language chooses the language of a page. uiLocales (OpenID Connect Core
// section 3.1.2.1: tags separated by spaces, best first) goes before the
// Accept-Language header. Either may be empty, malformed or too long; it is
// then ignored.
func (p *Pages) Language(uiLocales, acceptLanguage string) string {
	return p.langs.Choose(uiLocales, acceptLanguage)
}

// Choose is [Pages.Language].
func (c *Chooser) Choose(uiLocales, acceptLanguage string) string {
	var wishes []string
	if len(uiLocales) <= maxLocales {
		wishes = strings.Fields(uiLocales)
	}
	if len(acceptLanguage) <= maxLocales {
		wishes = append(wishes, acceptLanguage)
	}
	_, i := language.MatchStrings(c.matcher, wishes...)
	return c.langs[i]
}

// Text is a text for what is not a page. A language without a catalogue has
// the texts of the default.
func Text(lang, key string, args ...any) (string, error) { return wordsOf(lang).T(key, args...) }

// Minutes is a time in words, for what is not a page.
func Minutes(lang string, n int) (string, error) { return wordsOf(lang).Minutes(n) }

// Device names the browser and the system of a User-Agent header, for what is not
// a page.
func Device(lang, userAgent string) (string, error) { return wordsOf(lang).Device(userAgent) }

// T is the text of a key, with the arguments in place of its verbs. An unknown
// key is an error of ours, not an empty page.
func (w words) T(key string, args ...any) (string, error) {
	return w.format(func(s string) string { return s }, key, args...)
}

func (w words) format(escape func(string) string, key string, args ...any) (string, error) {
	s, ok := w.text[key]
	if !ok {
		return "", fmt.Errorf("no text %q in %s", key, w.Lang)
	}
	s = escape(s)
	if len(args) == 0 {
		return s, nil
	}
	return fmt.Sprintf(s, args...), nil
}

// count is a number with its unit; the key has a form for one and for others.
func (w words) count(unit string, n int) (string, error) {
	if n == 1 {
		return w.T(unit + ".one")
	}
	return w.T(unit+".other", n)
}

// Seconds is a short time in words, rounded up so that waiting is enough.
func (w words) Seconds(n int) (string, error) {
	if n <= 90 {
		return w.count("seconds", n)
	}
	return w.Minutes((n + 59) / 60)
}

// Minutes is a time in words.
func (w words) Minutes(n int) (string, error) {
	const day = 24 * 60
	if n >= 4*day && n%day == 0 {
		return w.count("days", n/day)
	}
	if n >= 60 && n%60 == 0 {
		return w.count("hours", n/60)
	}
	return w.count("minutes", n)
}

// Tries says how often something may be tried.
func (w words) Tries(n int) (string, error) { return w.count("tries", n) }

// Device names the browser and the system of a User-Agent header.
func (w words) Device(userAgent string) (string, error) {
	switch browser, system := useragent.Parse(userAgent); {
	case browser == "":
		return w.T("device.unknown")
	case system == "":
		return browser, nil
	default:
		return w.T("device", browser, system)
	}
}

// The three texts of an error: what happened, in a heading and in a sentence,
// and what to do. Codes that are not in the catalogue, such as words that
// somebody typed into the address bar, get those of "default".

// ErrorHeading is the heading of the error page.
func (w words) ErrorHeading(code string) (string, error) { return w.byCode("heading", code) }

// ErrorText says what happened.
func (w words) ErrorText(code string) (string, error) { return w.byCode("error", code) }

// ErrorHelp says what to do about it.
func (w words) ErrorHelp(code string) (string, error) { return w.byCode("help", code) }

// helpFirst are the codes whose sentence of NextAuth.js says less than the help
// does.
var helpFirst = []string{"Signin", "OAuthSignin", "OAuthCallback", "OAuthCreateAccount", "EmailCreateAccount", "Callback", "OAuthAccountNotLinked"}

// ErrorLines are the sentences about an error in the order in which they help.
// reason, if there is a text for it, says more than the code; provider is the
// name in it.
func (w words) ErrorLines(code, reason, provider string) (lines []string, err error) {
	text, err := w.ErrorText(code)
	if err != nil {
		return nil, err
	}
	help, err := w.ErrorHelp(code)
	if reason == "elsewhere" { // nothing is wrong with what was typed
		help, err = w.T("reason.elsewhere")
		return []string{help}, err
	}
	if _, known := w.text["reason."+reason]; known && err == nil {
		help, err = w.T("reason."+reason, provider)
	}
	switch {
	case help == "":
		return []string{text}, err
	case slices.Contains(helpFirst, code):
		return []string{help, text}, err
	}
	return []string{text, help}, err
}

func (w words) byCode(prefix string, code string) (string, error) {
	if s, ok := w.text[prefix+"."+string(code)]; ok {
		return s, nil
	}
	return w.T(prefix + ".default")
}
