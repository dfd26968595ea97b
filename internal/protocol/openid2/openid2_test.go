package openid2

import (
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestCheck checks that an assertion is refused if any part of it does not fit this
// attempt.
func TestCheck(t *testing.T) {
	t.Parallel()
	const endpoint, returnTo = "https://old.test/openid", "https://app.test/callback/old?state=s"
	good := Assertion{"ns": namespace, "mode": "id_res", "op_endpoint": endpoint, "return_to": returnTo, "response_nonce": "2026-03-01T12:00:00Zx",
		"claimed_id": "https://old.test/id/7", "identity": "https://old.test/id/7", "assoc_handle": "h", "sig": "x",
		"signed": "signed,op_endpoint,return_to,response_nonce,assoc_handle,claimed_id,identity"}
	if err := good.Check(endpoint, returnTo); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"ns": "http://openid.net/signon/1.1", "mode": "setup_needed", "op_endpoint": "https://evil.test/openid", "return_to": returnTo + "2",
		"claimed_id": "https://old.test/id/8", "identity": "https://old.test/id/8", "assoc_handle": "", "sig": "", "signed": "",
	} {
		a := maps.Clone(good)
		a[name] = value
		if err := a.Check(endpoint, returnTo); err == nil {
			t.Errorf("%s may be %q", name, value)
		}
		delete(a, name)
		if err := a.Check(endpoint, returnTo); err == nil {
			t.Errorf("%s may be missing", name)
		}
	}
	for _, name := range signedFields {
		a := maps.Clone(good)
		a["signed"] = strings.ReplaceAll(a["signed"], ","+name, "")
		if err := a.Check(endpoint, returnTo); err == nil {
			t.Errorf("%s need not be signed", name)
		}
	}
	a := maps.Clone(good)
	a["signed"] += ",sreg.email"
	if err := a.Check(endpoint, returnTo); err == nil {
		t.Error("an absent field counts as signed")
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	to, err := RequestURL("https://old.test/openid?a=1", "https://app.test/callback/old?state=s", "https://app.test")
	u, err2 := url.Parse(to)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	want := url.Values{"a": {"1"}, "openid.ns": {namespace}, "openid.mode": {"checkid_setup"}, "openid.claimed_id": {identifierSelect},
		"openid.identity": {identifierSelect}, "openid.return_to": {"https://app.test/callback/old?state=s"}, "openid.realm": {"https://app.test"}}
	if got := u.Query(); got.Encode() != want.Encode() {
		t.Errorf("%v", got)
	}
	if _, err := RequestURL("https://old.test/%zz", "", ""); err == nil {
		t.Error("an invalid endpoint was accepted")
	}
	want = url.Values{"openid.mode": {"check_authentication"}, "openid.sig": {"x+/="}}
	if got := (Assertion{"mode": "id_res", "sig": "x+/="}).VerificationRequest(); got.Encode() != want.Encode() {
		t.Errorf("%v", got)
	}
}

func TestNonceExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for nonce, fresh := range map[string]bool{
		"2026-03-01T12:00:00Zabc": true, "2026-03-01T12:00:00Z": true, "2026-03-01T11:55:00Zx": true, "2026-03-01T12:05:00Zx": true,
		"2026-03-01T11:54:59Zx": false, "2026-03-01T12:05:01Zx": false, "": false, "abc": false, "2026-03-01T12:00:00": false,
		"2026-03-01 12:00:00Zx": false, "2026-03-01T12:00:00+00:00": false, "2026-13-01T12:00:00Zx": false, "2026-03-01T12:00:00Za b": false,
		"2026-03-01T12:00:00Zé": false, "2026-03-01T12:00:00Z" + strings.Repeat("x", 235): true, "2026-03-01T12:00:00Z" + strings.Repeat("x", 236): false,
	} {
		over, err := NonceExpiry(nonce, now)
		if (err == nil) != fresh {
			t.Errorf("%q: %v", nonce, err)
		}
		// A caller that remembers the nonce until then remembers it as long as it is
		// accepted.
		if _, again := NonceExpiry(nonce, over); err == nil && again == nil {
			t.Errorf("%q is fresh until after %s", nonce, over)
		}
	}
}

func TestCheckVerification(t *testing.T) {
	t.Parallel()
	const ns = "ns:http://specs.openid.net/auth/2.0\n"
	for body, valid := range map[string]bool{
		ns + "is_valid:true\n": true, "is_valid:true": true, ns + "is_valid:true\r\n": true, ns + "is_valid:true\ninvalidate_handle:a:b\n": true,
		"": false, ns: false, ns + "is_valid:false\n": false, ns + "is_valid:TRUE\n": false, ns + "is_valid: true\n": false, ns + " is_valid:true\n": false,
		"is_valid:true\nis_valid:true\n": false, "ns:other\nis_valid:true\n": false, "is_valid:true\nnothing\n": false, "is_valid:true\n\n": false, "is_valid=true": false,
	} {
		if err := CheckVerification([]byte(body)); (err == nil) != valid {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestParseAssertion(t *testing.T) {
	t.Parallel()
	many := url.Values{}
	for i := range maxParams + 1 {
		many.Set("openid."+strings.Repeat("x", i+1), "1")
	}
	for name, c := range map[string]struct {
		q  url.Values
		ok bool
	}{
		"one": {url.Values{"openid.mode": {"id_res"}, "state": {"a", "b"}}, true}, "none": {url.Values{}, true},
		"twice": {url.Values{"openid.mode": {"id_res", "id_res"}}, false}, "empty list": {url.Values{"openid.mode": {}}, false},
		"line break": {url.Values{"openid.mode": {"a\nb"}}, false}, "line break in name": {url.Values{"openid.a\r": {"a"}}, false},
		"colon in name": {url.Values{"openid.a:b": {"a"}}, false}, "comma in name": {url.Values{"openid.a,b": {"a"}}, false}, "upper case in name": {url.Values{"openid.Mode": {"a"}}, false},
		"no name": {url.Values{"openid.": {"a"}}, false}, "extension": {url.Values{"openid.sreg.e-mail": {"a"}}, false}, "extension, right": {url.Values{"openid.ns.ext1_a": {"a"}}, true},
		"not UTF-8": {url.Values{"openid.mode": {"\xff"}}, false}, "long": {url.Values{"openid.mode": {strings.Repeat("x", maxValue+1)}}, false},
		"many": {many, false},
	} {
		a, err := ParseAssertion(c.q)
		if (err == nil) != c.ok || c.ok && len(a) != min(1, len(c.q)) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}
