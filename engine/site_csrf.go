package engine

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"strings"

	"authsvc/engine/internal/cookie"
	"authsvc/internal/seal"
	"authsvc/internal/text"
)

// csrfTokens makes and checks the signed double-submit cookie.
type csrfTokens interface {
	// make returns a new token and the cookie value that vouches for it. The token
	// begins with browser, unless that is "".
	make(browser, sid string) (token, cookie string)
	// verify reports whether a cookie value is valid for the session sid. It also
	// returns the token of a cookie that was made for another session.
	verify(cookie, sid string) (token string, ok bool)
}

// browserPart returns the first half of a token. The browser's next token begins with
// it: attempts that wait for a provider are bound to it, and so outlive the session.
// The second half is new in every token. Each half has at least 126 random bits.
func browserPart(token string) string { return token[:len(token)/2] }

// boundCSRF signs tokens with a key of its own and binds them to the session.
type boundCSRF struct{ mac *seal.MAC }

func (c boundCSRF) make(browser, sid string) (token, cookie string) {
	token = browser + seal.Token()[len(browser):]
	return token, token + "." + b64(c.mac.Sum(token, sid))
}

func (c boundCSRF) verify(cookie, sid string) (string, bool) {
	token, sum, ok := strings.Cut(cookie, ".")
	if !ok || len(token) != 43 || len(sum) != 43 {
		return "", false
	}
	var raw [sha256.Size]byte
	if n, err := strictBase64.Decode(raw[:], []byte(sum)); err != nil || n != len(raw) {
		return "", false
	}
	ok, _ = c.mac.Verify(raw[:], token, sid)
	return token, ok
}

// nextAuthCSRF is the format of NextAuth.js: token|sha256hex(token+secret). The token
// is not bound to a session; doc.go lists this among the deviations of compat.
type nextAuthCSRF struct{ secrets []string }

func (c nextAuthCSRF) make(browser, _ string) (token, cookie string) {
	token = browser + hex.EncodeToString(seal.Random(32))[len(browser):]
	return token, token + "%7C" + hashHex(token, c.secrets[0])
}

func (c nextAuthCSRF) verify(cookie, _ string) (string, bool) {
	if strings.IndexByte(cookie, '%') >= 0 {
		plain, err := url.PathUnescape(cookie)
		if err != nil {
			return "", false
		}
		cookie = plain
	}
	token, rest, ok := strings.Cut(cookie, "|")
	if !ok || len(token) != 64 {
		return "", false
	}
	hash, _, _ := strings.Cut(rest, "|")
	valid := 0
	for _, s := range c.secrets {
		valid |= subtle.ConstantTimeCompare([]byte(hash), []byte(hashHex(token, s)))
	}
	if valid != 1 {
		return "", false
	}
	return token, true
}

// csrfToken returns the request's verified CSRF token, "" if there is none.
func (rq *request) csrfToken() string {
	if !rq.csrfRead {
		rq.csrfRead = true
		if v, ok := rq.jar.Get(rq.names.CSRF); ok {
			token, ok := rq.csrf.verify(v, rq.sid())
			if rq.csrfClaim = token; ok {
				rq.csrfValue = token
			}
		}
	}
	return rq.csrfValue
}

// ensureCSRF returns the request's CSRF token, and sets a new one if there is none.
func (rq *request) ensureCSRF() string {
	if token := rq.csrfToken(); token != "" {
		return token
	}
	rq.setCSRF(rq.sid())
	return rq.csrfValue
}

func (rq *request) setCSRF(sid string) {
	token, value := rq.csrf.make(csrfBrowserPart(rq), sid)
	rq.csrfRead, rq.csrfValue = true, token
	rq.setCookie(cookie.Cookie{Name: rq.names.CSRF, Value: value})
}

// csrfBrowserPart returns the part that the browser's next token begins with, "" for a
// new one. If the request's token does not verify, it may have been planted: its part
// is used only if a pending attempt is bound to it.
func csrfBrowserPart(rq *request) string {
	if token := rq.csrfToken(); token != "" {
		return browserPart(token)
	}
	if rq.csrfClaim == "" {
		return ""
	}
	if rq.hooks.waits(rq) {
		return browserPart(rq.csrfClaim)
	}
	return ""
}

// csrfOK reports whether the body has the token of the signed cookie (double submit).
// Tokens in query strings and headers never count.
func (rq *request) csrfOK() bool {
	token := rq.csrfToken()
	return token != "" && rq.body != nil &&
		text.Same(token, rq.body.get("csrfToken"))
}

// getCSRF answers GET csrf with {"csrfToken": …}.
func getCSRF(rq *request) outcome {
	body := append(rq.buf[:0], `{"csrfToken":`...)
	body = text.AppendString(body, rq.ensureCSRF())
	return rq.json(append(body, '}'))
}
