// Package openid2 implements the relying party of OpenID Authentication 2.0 with a
// provider that chooses the identifier. It covers the request, the assertion that comes
// back through the browser, and the provider's confirmation of it (§11.4.2). It does
// not support associations, makes no calls and stores nothing.
package openid2

import (
	"errors"
	"net/url"
	"strings"
)

const (
	namespace        = "http://specs.openid.net/auth/2.0"
	identifierSelect = "http://specs.openid.net/auth/2.0/identifier_select"
)

// RequestURL returns the URL to send the browser to for an authentication request
// (§9.1). A query in the endpoint is kept.
func RequestURL(endpoint, returnTo, realm string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("not a url")
	}
	q := u.Query()
	for name, v := range map[string]string{
		"ns": namespace, "mode": "checkid_setup", "claimed_id": identifierSelect, "identity": identifierSelect,
		"return_to": returnTo, "realm": realm,
	} {
		q.Set("openid."+name, v)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// VerificationRequest returns the form that asks the provider whether it made an
// assertion (§11.4.2.1). All parameters except the mode are sent back unchanged.
func (a Assertion) VerificationRequest() url.Values {
	form := url.Values{}
	for name, v := range a {
		form.Set("openid."+name, v)
	}
	form.Set("openid.mode", "check_authentication")
	return form
}

// CheckVerification reads the answer to a VerificationRequest, which is in key-value
// form (§4.1.1). It returns an error unless the provider confirms the assertion.
func CheckVerification(body []byte) error {
	seen := map[string]string{}
	for line := range strings.Lines(string(body)) {
		name, v, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if _, twice := seen[name]; !ok || twice {
			return errors.New("the answer is not in key-value form")
		}
		seen[name] = v
	}
	switch {
	case seen["ns"] != namespace && seen["ns"] != "":
		return errors.New("the answer is not in the format of OpenID Authentication 2.0")
	case seen["is_valid"] != "true":
		return errors.New("the provider did not make this assertion")
	}
	return nil
}
