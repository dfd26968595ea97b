package oauth1

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxToken bounds a token and its secret, in bytes; real ones are below 100.
// Both of a request have to fit into a cookie.
const maxToken = 512

// An Answer is that of a token endpoint.
type Answer struct {
	Token, Secret string
	Confirmed     bool // oauth_callback_confirmed is true, which makes it 1.0a
	Fields        map[string]string
}

// ParseAnswer reads an answer with status 200 (RFC 5849 §2.1 and §2.3),
// whatever its content type: services do not agree on one. A parameter that
// comes twice is refused. No error quotes the answer.
func ParseAnswer(body []byte) (Answer, error) {
	values, err := url.ParseQuery(strings.TrimSpace(string(body)))
	if err != nil {
		return Answer{}, errors.New("the answer is not a form")
	}
	a := Answer{Fields: make(map[string]string, len(values))}
	for name, list := range values {
		if len(list) > 1 {
			return Answer{}, errors.New("the answer has a parameter twice")
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

// Usable reports whether s may be a token, a secret or a verifier: printable
// ASCII, not empty and not over 512 bytes.
func Usable(s string) bool {
	return s != "" && len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
