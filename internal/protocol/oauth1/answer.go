package oauth1

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxToken limits a token and its secret, in bytes; real ones are shorter than 100.
// Both of a request must fit into a cookie.
const maxToken = 512

// An Answer is the answer of a token endpoint.
type Answer struct {
	Token, Secret string
	Confirmed     bool // oauth_callback_confirmed is true, as OAuth 1.0a requires
	Fields        map[string]string
}

// ParseAnswer reads an answer with status 200 (RFC 5849 §2.1 and §2.3). It ignores the
// content type, since services do not agree on one. It refuses duplicate parameters.
// Errors never quote the answer.
func ParseAnswer(body []byte) (Answer, error) {
	values, err := url.ParseQuery(strings.TrimSpace(string(body)))
	if err != nil {
		return Answer{}, errors.New("the answer is not a form")
	}
	a := Answer{Fields: make(map[string]string, len(values))}
	for name, list := range values {
		if len(list) > 1 {
			return Answer{}, errors.New("the answer repeats a parameter")
		}
		if !utf8.ValidString(name) || !utf8.ValidString(list[0]) {
			return Answer{}, errors.New("the answer is not UTF-8")
		}
		a.Fields[name] = list[0]
	}
	a.Token, a.Secret = a.Fields["oauth_token"], a.Fields["oauth_token_secret"]
	a.Confirmed = a.Fields["oauth_callback_confirmed"] == "true"
	if !Usable(a.Token) || !Usable(a.Secret) {
		return Answer{}, errors.New("the answer has no usable oauth_token and oauth_token_secret")
	}
	return a, nil
}

// Usable reports whether s may be a token, a secret or a verifier: printable ASCII, not
// empty, at most 512 bytes.
func Usable(s string) bool {
	return s != "" && len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
