package seal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func ring(t testing.TB, secrets ...string) *Ring {
	t.Helper()
	r, err := NewRing(secrets...)
	if err != nil {
		t.Fatalf("NewRing: %v", err)
	}
	return r
}

func TestNewRing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		secrets []string
		err     string
	}{
		{name: "one", secrets: []string{"hunter2"}},
		{name: "several", secrets: []string{"hunter2", "hunter1"}},
		{name: "repeated", secrets: []string{"hunter2", "hunter2"}},
		{name: "none", err: "seal: no secret"},
		{name: "empty", secrets: []string{""}, err: "seal: secret 1 is empty"},
		{name: "empty at the end", secrets: []string{"hunter2", ""}, err: "seal: secret 2 is empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, err := NewRing(test.secrets...)
			if test.err == "" {
				if err != nil || r == nil {
					t.Fatalf("NewRing = %v, %v", r, err)
				}
				return
			}
			if err == nil || err.Error() != test.err {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if r != nil {
				t.Error("NewRing returned a ring with the error")
			}
		})
	}
}

func TestRepeatedSecretCountsOnce(t *testing.T) {
	t.Parallel()
	s := ring(t, "new", "new", "old", "new").Sealer("p")
	if len(s.keys) != 2 {
		t.Fatalf("%d keys, want 2", len(s.keys))
	}
}

// TestKeysDiffer checks that derived keys differ between purposes, uses of one purpose,
// formats, salts and secrets.
func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	keys := map[string][]byte{}
	for _, secret := range []string{"one", "two"} {
		for _, purpose := range []string{"", "session", "csrf", "kid session", "mac session", "mac"} {
			keys["seal "+secret+" "+purpose] = derive(secret, "", infoSeal+purpose, 32)
			keys["kid "+secret+" "+purpose] = derive(secret, "", infoKID+purpose, 32)
			keys["mac "+secret+" "+purpose] = derive(secret, "", infoMAC+purpose, 32)
			keys["derive "+secret+" "+purpose] = ring(t, secret).Derive(purpose, 32)[0]
			keys["v4 "+secret+" "+purpose] = nextAuthV4Key(secret, purpose)
			keys["v5 gcm "+secret+" "+purpose] = authJSV5Key(secret, purpose, a256gcm)
		}
	}
	seen := map[string]string{}
	for name, k := range keys {
		if len(k) != 32 {
			t.Errorf("%s: %d bytes", name, len(k))
		}
		if other, ok := seen[string(k)]; ok {
			t.Errorf("%s and %s share a key", name, other)
		}
		seen[string(k)] = name
	}
}

func TestSecretsStayOutOfLogs(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2-hunter2-hunter2"
	r := ring(t, secret)
	macKey := derive(secret, "", infoMAC+"p", 32)
	for _, v := range []any{r, *r, r.Sealer("p"), r.NextAuthV4(""), r.AuthJSV5("c"), r.MAC("p"), *r.MAC("p")} {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
		marshaled, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%T: %v", v, err)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if got := fmt.Sprintf(verb, v); got != "[secret]" {
				t.Errorf("%T: %s prints %q", v, verb, got)
			}
		}
		for _, text := range []string{log.String(), string(marshaled)} {
			if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprint(macKey)) || strings.Contains(text, b64.EncodeToString(macKey)) {
				t.Errorf("%T prints as %s", v, text)
			}
		}
	}
}

func TestNamesOther(t *testing.T) {
	t.Parallel()
	ring := func(secrets ...string) *Ring {
		r, err := NewRing(secrets...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const one, two = "aVeryLongFirstSecretThatNobodyKnows!", "aVeryLongSecondSecretThatNobodyKnows"
	for name, make := range map[string]func(*Ring) *Sealer{
		"own": func(r *Ring) *Sealer { return r.Sealer("session") },
		"v5":  func(r *Ring) *Sealer { return r.AuthJSV5("cookie") },
	} {
		token, err := make(ring(one)).Seal([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if make(ring(one)).NamesOther(token) || make(ring(two, one)).NamesOther(token) {
			t.Errorf("%s: its own key is another's", name)
		}
		if !make(ring(two)).NamesOther(token) {
			t.Errorf("%s: another's key is its own", name)
		}
		if make(ring(two)).NamesOther("x"+token) || make(ring(two)).NamesOther("") || make(ring(one)).NamesOther(token+"x") {
			t.Errorf("%s: an invalid token names a key", name)
		}
	}
	token, err := ring(one).AuthJSV5("cookie").Seal([]byte("{}"))
	if err != nil || ring(two).NextAuthV4("").NamesOther(token) {
		t.Errorf("v4 tries its keys on every name: %v", err)
	}
	mine := ring(two).Sealer("session")
	h := fmt.Sprintf(`{"alg":"dir","enc":%q,"kid":%q}`, a256cbcHS512.name, mine.keys[0].header.kid)
	_, rest, _ := strings.Cut(token, ".")
	if mine.NamesOther(b64.EncodeToString([]byte(h)) + "." + rest) {
		t.Error("its own key in another encryption is another's")
	}
	token, err = ring(one).NextAuthV4("").Seal([]byte("{}"))
	if err != nil || ring(two).NextAuthV4("").NamesOther(token) {
		t.Errorf("v4 names no keys: %v", err)
	}
}
