// Package oauth1 signs requests of OAuth 1.0a (RFC 5849) with HMAC-SHA1, and reads the
// answers of its two token endpoints. It makes no calls.
package oauth1

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- the protocol has no other; HMAC does not rest on collisions
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Request holds the parts of a request that the signature covers.
type Request struct {
	Method string
	URL    string     // absolute; its query is covered
	Form   url.Values // of the body, if it is a form
	// Protocol holds further protocol parameters, such as oauth_callback.
	Protocol map[string]string
}

// Credentials holds the credentials of the client and, except in the first request, of
// a token (RFC 5849 §1.1).
type Credentials struct {
	ClientID, ClientSecret string
	Token, TokenSecret     string
}

// Authorization returns the Authorization header of r (RFC 5849 §3.5.1). The nonce must
// be new for every call.
func (c Credentials) Authorization(r Request, nonce string, at time.Time) (string, error) {
	protocol := []Param{
		{"oauth_consumer_key", c.ClientID},
		{"oauth_nonce", nonce},
		{"oauth_signature_method", "HMAC-SHA1"},
		{"oauth_timestamp", strconv.FormatInt(at.Unix(), 10)},
		{"oauth_version", "1.0"},
	}
	if c.Token != "" {
		protocol = append(protocol, Param{"oauth_token", c.Token})
	}
	for name, value := range r.Protocol {
		protocol = append(protocol, Param{name, value})
	}
	base, err := BaseString(r.Method, r.URL, append(slices.Clone(protocol), Params(r.Form)...))
	if err != nil {
		return "", err
	}
	protocol = append(protocol, Param{"oauth_signature", Signature(base, c.ClientSecret, c.TokenSecret)})
	slices.SortFunc(protocol, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
	parts := make([]string, len(protocol))
	for i, p := range protocol {
		parts[i] = Escape(p.Name) + `="` + Escape(p.Value) + `"`
	}
	return "OAuth " + strings.Join(parts, ", "), nil
}

// Signature returns the signature of a base string (RFC 5849 §3.4.2).
func Signature(base, clientSecret, tokenSecret string) string {
	mac := hmac.New(sha1.New, []byte(Escape(clientSecret)+"&"+Escape(tokenSecret)))
	mac.Write([]byte(base))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// A Param is an unescaped parameter.
type Param struct{ Name, Value string }

// Params lists the values of a form.
func Params(v url.Values) []Param {
	var list []Param
	for name, values := range v {
		for _, value := range values {
			list = append(list, Param{name, value})
		}
	}
	return list
}

// BaseString returns the text to sign (RFC 5849 §3.4.1): the method, the address and
// all parameters, including the address's own.
func BaseString(method, address string, params []Param) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return "", errors.New("oauth1: not a plain http or https address")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", errors.New("oauth1: the address has a malformed query")
	}
	all := Normalise(append(Params(query), params...))
	return strings.ToUpper(method) + "&" + Escape(baseURI(u)) + "&" + Escape(all), nil
}

// baseURI returns the address without its query, in canonical spelling (RFC 5849
// §3.4.1.2).
func baseURI(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if name, ok := strings.CutSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme]); ok {
		host = name
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return u.Scheme + "://" + host + path
}

// Normalise joins parameters (RFC 5849 §3.4.1.3.2). It escapes them and sorts them by
// name, then by value.
func Normalise(params []Param) string {
	escaped := make([]Param, len(params))
	for i, p := range params {
		escaped[i] = Param{Escape(p.Name), Escape(p.Value)}
	}
	slices.SortFunc(escaped, func(a, b Param) int {
		if n := strings.Compare(a.Name, b.Name); n != 0 {
			return n
		}
		return strings.Compare(a.Value, b.Value)
	})
	pairs := make([]string, len(escaped))
	for i, p := range escaped {
		pairs[i] = p.Name + "=" + p.Value
	}
	return strings.Join(pairs, "&")
}

// Escape percent-encodes s as RFC 5849 §3.6 requires: everything except letters, digits
// and -._~ becomes %XX. This differs from the encoding of forms.
func Escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
