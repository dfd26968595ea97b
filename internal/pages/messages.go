package pages

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"
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

// catalogues are all languages. The first one is the default.
func catalogues() []words { return []words{english(), german()} }

// newMatcher prepares the choice of a language.
func newMatcher() ([]string, language.Matcher) {
	var names []string
	var tags []language.Tag
	for _, c := range catalogues() {
		names = append(names, c.Lang)
		tags = append(tags, language.MustParse(c.Lang))
	}
	return names, language.NewMatcher(tags)
}

// wordsOf are the words of a language, or English.
func wordsOf(lang string) words {
	all := catalogues()
	i := slices.IndexFunc(all, func(c words) bool { return c.Lang == lang })
	return all[max(i, 0)]
}

// language chooses the language of a page. uiLocales (OpenID Connect Core
// section 3.1.2.1: tags separated by spaces, best first) goes before the
// Accept-Language header. Either may be empty, malformed or too long; it is
// then ignored.
func (p *Pages) Language(uiLocales, acceptLanguage string) string {
	var wishes []string
	if len(uiLocales) <= maxLocales {
		wishes = strings.Fields(uiLocales)
	}
	if len(acceptLanguage) <= maxLocales {
		wishes = append(wishes, acceptLanguage)
	}
	_, i := language.MatchStrings(p.matcher, wishes...)
	return p.langs[i]
}

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
	if n >= 60 && n%60 == 0 {
		return w.count("hours", n/60)
	}
	return w.count("minutes", n)
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

func (w words) byCode(prefix string, code string) (string, error) {
	if s, ok := w.text[prefix+"."+string(code)]; ok {
		return s, nil
	}
	return w.T(prefix + ".default")
}
