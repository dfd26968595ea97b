package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// formats lists the ways to make a sealer, for tests that apply to all of them.
var formats = []struct {
	name string
	new  func(r *Ring, label string) *Sealer
}{
	{"own", (*Ring).Sealer},
	{"next-auth v4", (*Ring).NextAuthV4},
	{"auth.js v5", (*Ring).AuthJSV5},
}

func mustSeal(t testing.TB, s *Sealer, plaintext string) string {
	t.Helper()
	token, err := s.Seal([]byte(plaintext))
	if err != nil {
		t.Fatalf("Seal: %v", err)
	}
	return token
}

func wantOpen(t testing.TB, s *Sealer, token, plaintext string, stale bool) {
	t.Helper()
	got, gotStale, err := s.Open(token)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if string(got) != plaintext {
		t.Errorf("plaintext %q, want %q", got, plaintext)
	}
	if gotStale != stale {
		t.Errorf("stale = %t, want %t", gotStale, stale)
	}
}

func wantRefused(t testing.TB, s *Sealer, token string) {
	t.Helper()
	plaintext, stale, err := s.Open(token)
	if err != ErrOpen {
		t.Errorf("Open(%.200q): error %v, want ErrOpen itself", token, err)
	}
	if plaintext != nil || stale {
		t.Errorf("Open(%.200q) = %q, %t beside an error", token, plaintext, stale)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			s := format.new(ring(t, "s3cret"), "purpose")
			// Sizes around the AES block, and a few larger ones.
			for _, n := range []int{0, 1, 2, 3, 14, 15, 16, 17, 31, 32, 33, 250, 4096, 17000} {
				plaintext := strings.Repeat("a", n)
				wantOpen(t, s, mustSeal(t, s, plaintext), plaintext, false)
			}
			wantOpen(t, s, mustSeal(t, s, "\x00\xff{}\n"), "\x00\xff{}\n", false)
		})
	}
}

func TestOpenLeavesPlaintextToTheCaller(t *testing.T) {
	t.Parallel()
	s := ring(t, "s3cret").Sealer("p")
	token := mustSeal(t, s, "hello")
	first, _, err := s.Open(token)
	if err != nil {
		t.Fatal(err)
	}
	copy(first, "?????")
	wantOpen(t, s, token, "hello", false)
}

func TestSealDoesNotTouchPlaintext(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		plaintext := bytes.Repeat([]byte("x"), 33)[:20]
		if _, err := format.new(ring(t, "s3cret"), "p").Seal(plaintext); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(plaintext[:33], bytes.Repeat([]byte("x"), 33)) {
			t.Errorf("%s: Seal wrote to its argument", format.name)
		}
	}
}

func TestSealedHeader(t *testing.T) {
	t.Parallel()
	r := ring(t, "s3cret", "older")
	own := r.Sealer("session")
	v5 := r.AuthJSV5("authjs.session-token")
	tests := []struct {
		name   string
		sealer *Sealer
		want   string
	}{
		{"own", own, `{"alg":"dir","enc":"A256GCM","kid":"` + own.keys[0].header.kid + `"}`},
		{"v4", r.NextAuthV4(""), `{"alg":"dir","enc":"A256GCM"}`},
		{"v5", v5, `{"alg":"dir","enc":"A256CBC-HS512","kid":"` + v5.keys[0].header.kid + `"}`},
	}
	for _, test := range tests {
		segment, _, _ := strings.Cut(mustSeal(t, test.sealer, "{}"), ".")
		got, err := b64.DecodeString(segment)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != test.want {
			t.Errorf("%s: header %s, want %s", test.name, got, test.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s: header %s is not JSON", test.name, got)
		}
	}
	if n := len(own.keys[0].header.kid); n != 12 {
		t.Errorf("own kid has %d characters, want 12", n)
	}
	if n := len(v5.keys[0].header.kid); n != 86 {
		t.Errorf("v5 kid has %d characters, want 86", n)
	}
}

// TestNothingReadable checks that a token reveals only the length of the plaintext.
func TestNothingReadable(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		token := mustSeal(t, format.new(ring(t, "s3cret"), "p"), `{"email":"ada@example.com"}`)
		for _, part := range strings.Split(token, ".") {
			raw, err := b64.DecodeString(part)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(raw, []byte("ada")) || bytes.Contains(raw, []byte("s3cret")) {
				t.Errorf("%s: readable: %q", format.name, raw)
			}
		}
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			before := format.new(ring(t, "old"), "p")
			during := format.new(ring(t, "new", "older", "old"), "p")
			after := format.new(ring(t, "new"), "p")

			token := mustSeal(t, before, "x")
			wantOpen(t, before, token, "x", false)
			wantOpen(t, during, token, "x", true)
			wantRefused(t, after, token)

			resealed := mustSeal(t, during, "x")
			wantOpen(t, during, resealed, "x", false)
			wantOpen(t, after, resealed, "x", false)
			wantRefused(t, before, resealed)
		})
	}
}

// TestPurposesAreApart checks that a token of one purpose, salt or format opens nowhere
// else (in CVE-2023-48309 a state cookie was used as a session).
func TestPurposesAreApart(t *testing.T) {
	t.Parallel()
	r := ring(t, "s3cret")
	sealers := map[string]*Sealer{
		"own session":  r.Sealer("session"),
		"own state":    r.Sealer("state"),
		"own empty":    r.Sealer(""),
		"v4 session":   r.NextAuthV4(""),
		"v4 state":     r.NextAuthV4("next-auth.state"),
		"v4 s. state":  r.NextAuthV4("__Secure-next-auth.state"),
		"v5 session":   r.AuthJSV5("authjs.session-token"),
		"v5 s. sess.":  r.AuthJSV5("__Secure-authjs.session-token"),
		"v5 empty":     r.AuthJSV5(""),
		"other secret": ring(t, "another").Sealer("session"),
	}
	for from, sealer := range sealers {
		token := mustSeal(t, sealer, "x")
		for to, opener := range sealers {
			if from == to {
				wantOpen(t, opener, token, "x", false)
			} else {
				wantRefused(t, opener, token)
			}
		}
	}
}

func TestSealTooLong(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			s := format.new(ring(t, "s3cret"), "p")
			// Find the longest plaintext that fits by trying.
			n := MaxToken
			for ; n > 0; n-- {
				if _, err := s.Seal(make([]byte, n)); err == nil {
					break
				} else if errors.Is(err, ErrOpen) {
					t.Fatal("Seal returns the error of Open")
				}
				n -= n / 1000 // close enough
			}
			if n < MaxToken/2 {
				t.Fatalf("no more than %d bytes fit", n)
			}
			plaintext := strings.Repeat("x", n)
			wantOpen(t, s, mustSeal(t, s, plaintext), plaintext, false)
			wantRefused(t, s, strings.Repeat("x", MaxToken+1))
		})
	}
}

func TestIVsDoNotRepeat(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			s := format.new(ring(t, "s3cret"), "p")
			seen := map[string]bool{}
			for range 5000 {
				iv := strings.Split(mustSeal(t, s, "x"), ".")[2]
				if seen[iv] {
					t.Fatalf("IV %s twice", iv)
				}
				seen[iv] = true
			}
		})
	}
}

// TestAtMostOneKeyTried checks that, with many secrets, a kid selects one key and the
// others are not tried.
func TestAtMostOneKeyTried(t *testing.T) {
	t.Parallel()
	secrets := make([]string, 1000)
	for i := range secrets {
		secrets[i] = fmt.Sprintf("secret %d", i)
	}
	many := ring(t, secrets...)
	for _, format := range formats {
		if format.name == "next-auth v4" {
			continue // no kid
		}
		s := format.new(many, "p")
		token := mustSeal(t, format.new(ring(t, "secret 700"), "p"), "x")
		wantOpen(t, s, token, "x", true)
		c, _ := split(token)
		h, _, ok := s.readHeader(c.header)
		if !ok {
			t.Fatal("header not recognised")
		}
		selected := 0
		for i := range s.keys {
			if h.selects(&s.keys[i]) {
				selected++
			}
		}
		if selected != 1 {
			t.Errorf("%d keys selected, want 1", selected)
		}
	}
}
