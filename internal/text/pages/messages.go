package pages

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	"authsvc/internal/text/useragent"
)

// maxLocales is the longest Accept-Language or ui_locales that is read, in bytes.
const maxLocales = 512

// words holds the texts of the pages in one language. To add a language, add a file
// with a function that returns its words, and name it in catalogues.
type words struct {
	Lang string // BCP 47
	Dir  string // ltr or rtl
	text map[string]string
}

// features lists the features with texts in files of their own. Each function returns
// the texts by language, then by key.
var features = []func() map[string]map[string]string{mailTexts, tokenTexts}

// catalogues returns all languages, the default first. Callers must not change them.
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

// mailTexts returns the texts of mails.
func mailTexts() map[string]map[string]string {
	return map[string]map[string]string{"en": englishMails(), "de": germanMails()}
}

// News lists the words for notices. Each is the key of a text after "news."; the text
// may contain a name.
func News() []string {
	return []string{"linked", "unlinked", "ended", "browser", "address", "restored", "noaddress", "token", "deletion", "deleted", "kept", "blocked"}
}

// A Chooser chooses a language for a page or a mail.
type Chooser struct {
	langs   []string // by index of matcher
	matcher language.Matcher
}

// NewChooser returns a chooser for the languages of the pages, the default first, and
// for more, which are BCP 47 tags.
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

// wordsOf returns the words of a language, or of English.
func wordsOf(lang string) words {
	all := catalogues()
	i := slices.IndexFunc(all, func(c words) bool { return c.Lang == lang })
	return all[max(i, 0)]
}

// Language chooses the language of a page. uiLocales (OpenID Connect Core section
// 3.1.2.1: tags separated by spaces, best first) takes precedence over the
// Accept-Language header. If either is empty, malformed or too long, it is ignored.
func (p *Pages) Language(uiLocales, acceptLanguage string) string {
	return p.langs.Choose(uiLocales, acceptLanguage)
}

// Choose chooses a language as [Pages.Language] does.
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

// Text returns a text for use outside a page. A language without a catalogue uses the
// texts of the default language.
func Text(lang, key string, args ...any) (string, error) { return wordsOf(lang).T(key, args...) }

// Minutes returns a time in words, for use outside a page.
func Minutes(lang string, n int) (string, error) { return wordsOf(lang).Minutes(n) }

// Time writes a time in UTC in words, for use outside a page: the reader's time zone is
// unknown.
func Time(lang string, t time.Time) (string, error) { return wordsOf(lang).Time(t) }

// Device names the browser and the system of a User-Agent header, for use outside a
// page.
func Device(lang, userAgent string) (string, error) { return wordsOf(lang).Device(userAgent) }

// T returns the text of a key, with args in place of its verbs. An unknown key is an
// error, so that it never results in an empty page.
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

// count returns a number with its unit. The key has one form for one and one for other
// numbers.
func (w words) count(unit string, n int) (string, error) {
	if n == 1 {
		return w.T(unit + ".one")
	}
	return w.T(unit+".other", n)
}

// Seconds returns a short time in words, rounded up so that waiting that long is
// enough.
func (w words) Seconds(n int) (string, error) {
	if n <= 90 {
		return w.count("seconds", n)
	}
	return w.Minutes((n + 59) / 60)
}

// Minutes returns a time in words.
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

// Tries returns the number of remaining tries in words.
func (w words) Tries(n int) (string, error) { return w.count("tries", n) }

// Called returns the name of a provider. It translates the default names of providers
// that are not services with a name of their own.
func (w words) Called(name string) string {
	if s, ok := w.text["provider."+name]; ok {
		return s
	}
	return name
}

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

// An error has three texts: a heading and a sentence about the problem, and help. Codes
// that are not in the catalogue, such as words typed into the address bar, use the
// texts of "default".

// ErrorHeading returns the heading of the error page.
func (w words) ErrorHeading(code string) (string, error) { return w.byCode("heading", code) }

// ErrorText returns the sentence about the problem.
func (w words) ErrorText(code string) (string, error) { return w.byCode("error", code) }

// ErrorHelp returns the advice for the problem.
func (w words) ErrorHelp(code string) (string, error) { return w.byCode("help", code) }

// helpFirst lists the codes whose help comes before the sentence of NextAuth.js.
var helpFirst = []string{"Signin", "OAuthSignin", "OAuthCallback", "OAuthCreateAccount", "EmailCreateAccount", "Callback", "OAuthAccountNotLinked"}

// faults lists the codes of sign-ins that failed without a mistake of the person.
var faults = []string{"OAuthSignin", "OAuthCallback", "OAuthCreateAccount", "EmailCreateAccount", "Callback"}

// codeReasons lists the reasons why a mailed code does not sign anyone in.
var codeReasons = []string{"elsewhere", "expired", "used"}

// faultReasons lists the reasons for which no other account helps. Their sentences
// replace those of the code.
var faultReasons = []string{"unavailable", "stale", "misconfigured"}

// ErrorLines returns the sentences about an error, the most helpful first.
func (w words) ErrorLines(code string) ([]string, error) {
	return w.errorLines(code, "", "", "", true)
}

// SignInLines is ErrorLines for an error of a sign-in. A reason with a text replaces the
// sentences about the code; provider is the name in that text. If the people who run the
// site must know, a last sentence refers to request, the id on the page.
func (w words) SignInLines(code, reason, provider, request string) ([]string, error) {
	return w.errorLines(code, reason, provider, request, true)
}

// errorLines is SignInLines. If another is false, no sentence advises to use a different
// account.
func (w words) errorLines(code, reason, provider, request string, another bool) (lines []string, err error) {
	say := func(key string, args ...any) {
		s, missing := w.T(key, args...)
		if missing != nil {
			err = missing
		}
		if s != "" {
			lines = append(lines, s)
		}
	}
	text, help := w.keyOf("error", code), w.keyOf("help", code)
	fault, sentenceFirst := slices.Contains(faultReasons, reason), !slices.Contains(helpFirst, code)
	if slices.Contains(codeReasons, reason) { // the sentence for the code is about links
		say("reason." + reason)
		return lines, err
	}
	if sentenceFirst && !(fault && code == "EmailSignin") && !(reason == "unavailable" && (code == "AccessDenied" || code == "Configuration")) { // these blame the person or the operator
		say(text)
	}
	switch {
	case !fault:
		say(help)
	case reason != "unavailable" || provider != "":
		say("reason."+reason, w.Called(provider))
	case code == "EmailSignin": // the store of this service
		say("reason.mail")
	case code == "Configuration":
		say("reason.service")
	default:
		say("reason.store")
	}
	if !sentenceFirst && another && !fault {
		say(text)
	}
	if request != "" && reason != "misconfigured" && (fault || slices.Contains(faults, code)) {
		say("error.report")
	}
	return lines, err
}

func (w words) byCode(prefix, code string) (string, error) { return w.T(w.keyOf(prefix, code)) }

// keyOf returns the key of a text about a code.
func (w words) keyOf(prefix, code string) string {
	if _, ok := w.text[prefix+"."+code]; ok {
		return prefix + "." + code
	}
	return prefix + ".default"
}

// Date returns the day of t, in UTC, in words.
func (w words) Date(t time.Time) (string, error) {
	t = t.UTC()
	month, err := w.T("month." + strconv.Itoa(int(t.Month())))
	if err != nil {
		return "", err
	}
	return w.T("date", t.Day(), month, t.Year())
}

// Time returns the day and the minute of t, in UTC, in words.
func (w words) Time(t time.Time) (string, error) {
	day, err := w.Date(t)
	if err != nil {
		return "", err
	}
	return w.T("time", day, t.UTC().Format("15:04"))
}
