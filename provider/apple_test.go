package provider_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/provider"
)

// appleKey returns the key in the recording.
func appleKey(t *testing.T) string { return recordings(t, "apple")["later"].Options["private_key"] }

// TestAppleSecret checks a client secret as Apple would.
func TestAppleSecret(t *testing.T) {
	t.Parallel()
	o, err := provider.Apple(authsvc.Client{ID: "com.example.web"}, provider.AppleOptions{TeamID: "TEAM", KeyID: "KEY", PrivateKey: appleKey(t)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	text, expires, err := o.Hooks.ClientSecret(o.Client, now)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	if id := jws.Signatures[0].Protected.KeyID; id != "KEY" {
		t.Errorf("kid is %q", id)
	}
	// The public key for the private number 1, as Apple's key set would contain it.
	var public jose.JSONWebKey
	if err := json.Unmarshal([]byte(`{"kty": "EC", "crv": "P-256", "x": "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
		"y": "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}`), &public); err != nil {
		t.Fatal(err)
	}
	payload, err := jws.Verify(public)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jws.Verify(ecKey().Public()); err == nil {
		t.Error("another key verifies it as well")
	}
	var got map[string]any
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"iss": "TEAM", "sub": "com.example.web", "aud": "https://appleid.apple.com",
		"iat": float64(now.Unix()), "exp": float64(expires.Unix())}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if life := expires.Sub(now); life <= 0 || life > 24*time.Hour {
		t.Errorf("it is valid for %v", life)
	}
}

// TestAppleKey checks that an unreadable key is refused, and that the error does not
// quote it.
func TestAppleKey(t *testing.T) {
	t.Parallel()
	e, _ := provider.Lookup("apple")
	good := appleKey(t)
	for name, one := range map[string]struct {
		key string
		ok  bool
	}{
		"as it came":   {good, true},
		"in one line":  {strings.ReplaceAll(good, "\n", `\n`), true},
		"not PEM":      {"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEH", false},
		"half":         {good[:len(good)/2], false},
		"other":        {strings.ReplaceAll(good, "MIGH", "AAAA"), false},
		"a public key": {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", false},
		"Ed25519":      {"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n", false},
	} {
		_, err := e.New(authsvc.Client{ID: "x"}, map[string]string{"team_id": "T", "key_id": "K", "private_key": one.key})
		var wrong *provider.OptionError
		switch {
		case one.ok && err != nil:
			t.Errorf("%s: %v", name, err)
		case !one.ok && (!errors.As(err, &wrong) || wrong.Key != "private_key" || !strings.Contains(wrong.Fix, ".p8")):
			t.Errorf("%s: %v", name, err)
		case !one.ok && strings.Contains(err.Error(), one.key[len(one.key)/2:]):
			t.Errorf("%s: the key is in the error", name)
		}
	}
}

// TestAppleSecretUnlogged checks that neither key nor secret is in the log, whether
// Apple accepts the secret or not.
func TestAppleSecretUnlogged(t *testing.T) {
	t.Parallel()
	e, _ := provider.Lookup("apple")
	for _, name := range []string{"later", "refused"} {
		rec := recordings(t, "apple")["later"]
		a := newAttempt(t, e, rec)
		if name == "refused" {
			a.fail = &fault{step: "token", status: 400, contentType: "application/json", body: `{"error": "invalid_client"}`}
		}
		a.start()
		a.comeBack(nil)
		if (a.stored != nil) != (name == "later") {
			t.Errorf("%s: stored %+v", name, a.stored)
		}
		if log := a.log.String(); strings.Contains(log, "eyJ") || strings.Contains(log, "MIGH") {
			t.Errorf("%s: the log has a secret:\n%s", name, log)
		}
	}
}
