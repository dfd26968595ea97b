package seal

import (
	"errors"
	"strings"
	"testing"
)

func box(t *testing.T, secrets ...string) *Box {
	t.Helper()
	r, err := NewRing(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return r.Box("tokens")
}

func TestBox(t *testing.T) {
	t.Parallel()
	old, rotated := box(t, "one secret"), box(t, "another secret", "one secret")
	for _, text := range []string{"", "token", "\x00\xff", strings.Repeat("é", 64<<10)} {
		sealed := old.Seal(text, "github", "1")
		if len(text) > 3 && strings.Contains(sealed, text) || sealed == old.Seal(text, "github", "1") {
			t.Errorf("%.20q is not hidden", text)
		}
		for b, wantStale := range map[*Box]bool{old: false, rotated: true} {
			got, stale, err := b.Open(sealed, "github", "1")
			if got != text || stale != wantStale || err != nil {
				t.Errorf("got %.20q, %v, %v", got, stale, err)
			}
		}
		if _, stale, err := rotated.Open(rotated.Seal(text), ""); err == nil || stale {
			t.Error("no place is a place")
		}
	}
}

func TestBoxRefuses(t *testing.T) {
	t.Parallel()
	b := box(t, "one secret")
	sealed := b.Seal("token", "github", "1")
	kid, body, _ := strings.Cut(sealed, ".")
	flipped := []byte(body)
	flipped[20] ^= 1
	for name, open := range map[string]func() (string, bool, error){
		"another place":       func() (string, bool, error) { return b.Open(sealed, "github", "2") },
		"place cut elsewhere": func() (string, bool, error) { return b.Open(sealed, "githu", "b1") },
		"no place":            func() (string, bool, error) { return b.Open(sealed) },
		"another secret":      func() (string, bool, error) { return box(t, "another secret").Open(sealed, "github", "1") },
		"another key id":      func() (string, bool, error) { return b.Open("A"+kid[1:]+"."+body, "github", "1") },
		"no key id":           func() (string, bool, error) { return b.Open(body, "github", "1") },
		"a bit flipped":       func() (string, bool, error) { return b.Open(kid+"."+string(flipped), "github", "1") },
		"cut":                 func() (string, bool, error) { return b.Open(sealed[:len(sealed)-4], "github", "1") },
		"empty":               func() (string, bool, error) { return b.Open("", "github", "1") },
		"too short":           func() (string, bool, error) { return b.Open(kid+".AAAA", "github", "1") },
		"not base64":          func() (string, bool, error) { return b.Open(kid+".*", "github", "1") },
	} {
		if text, _, err := open(); !errors.Is(err, ErrOpen) || text != "" {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
	r, err := NewRing("one secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Box("mails").Open(sealed, "github", "1"); err == nil {
		t.Error("another purpose opens it")
	}
}
