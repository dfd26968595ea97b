package provider_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"testing"

	"authsvc/provider"
)

// signCallback sets the parameter hmac if the recording contains {{hmac}}: the
// HMAC-SHA256 of the other parameters, as Shopify signs its callback. {{forged hmac}}
// is signed without knowledge of the secret.
func signCallback(v url.Values) {
	key := map[string]string{"{{hmac}}": clientSecret, "{{forged hmac}}": "not " + clientSecret}[v.Get("hmac")]
	if key != "" {
		v.Set("hmac", hmacOf(v, key))
	}
}

func hmacOf(v url.Values, key string) string {
	rest := maps.Clone(v)
	rest.Del("hmac")
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(rest.Encode()))
	return hex.EncodeToString(mac.Sum(nil))
}

// TestSignedCallback checks that a genuine signature does not cover parameters changed
// afterwards. In that case, no request is sent to the shop.
func TestSignedCallback(t *testing.T) {
	t.Parallel()
	entry, _ := provider.Lookup("shopify")
	a := newAttempt(t, entry, firstCase(t, entry.ID))
	for name, change := range map[string]map[string]string{
		"nothing":      {},
		"code":         {"code": codeGiven + "0"},
		"host":         {"host": "ZXZpbA"},
		"no host":      {"host": ""},
		"shop":         {"shop": "evil.myshopify.com"},
		"timestamp":    {"timestamp": "1788000001"},
		"no timestamp": {"timestamp": ""},
		"no code":      {"code": ""},
	} {
		t.Run(name, func(t *testing.T) {
			a.again(t, firstCase(t, entry.ID))
			a.start()
			signed := url.Values{"code": {codeGiven}, "state": {a.asked.Get("state")}}
			for name, v := range a.rec.Callback {
				signed.Set(name, v)
			}
			sent := map[string]string{"hmac": hmacOf(signed, clientSecret)}
			maps.Copy(sent, change)
			word := a.comeBack(sent)
			if genuine := len(change) == 0; (a.stored != nil) != genuine || (word == "") != genuine || (len(a.called) > 0) != genuine {
				t.Errorf("signed in: %v, the page says %q, calls %v\n%s", a.stored, word, a.called, a.log)
			}
			a.secretless()
		})
	}
}
