package engine

import (
	"strings"
	"testing"

	"authsvc/internal/seal"
)

func TestNewCode(t *testing.T) {
	t.Parallel()
	f := &emailFlow{codes: true}
	first := map[byte]int{}
	for range 5000 {
		code := f.newCode()
		if len(code) != codeDigits || strings.Trim(code, "0123456789") != "" {
			t.Fatalf("%q", code)
		}
		first[code[0]]++
	}
	for digit, n := range first { // 500 each; 8 standard deviations away once in 10¹⁵ runs
		if n < 330 || n > 670 {
			t.Errorf("%c came first %d times of 5000", digit, n)
		}
	}
	f.codes = false
	if code := f.newCode(); code != "" || shownCode(code) != "" {
		t.Errorf("without codes: %q", code)
	}
	if shown := shownCode("01234567"); shown != "0123 4567" {
		t.Error(shown)
	}
}

func TestTypedCode(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"01234567": "01234567", " 0123 4567\n": "01234567", "0123-4567": "01234567", "0123\u00a04567": "01234567", "\u200e0123 4567\u2069": "01234567",
		"０１２３４５６７": "01234567", "0 1 2 3 4 5 6 7": "01234567", "0123–4567": "01234567",
		"": "", "0123456": "", "012345678": "", "0123456x": "", "+0123456": "", "٠١٢٣٤٥٦٧": "", "0123,4567": "", strings.Repeat(" ", maxTyped) + "01234567": "",
	} {
		code, ok := typedCode(typed)
		if ok != (want != "") || ok && code != want {
			t.Errorf("%q: %q %v, want %q", typed, code, ok, want)
		}
	}
}

// TestCodeWithoutMail checks that no code is right if no mail was sent, so that a
// client at its limit cannot continue guessing with new requests.
func TestCodeWithoutMail(t *testing.T) {
	t.Parallel()
	ring, err := seal.NewRing("3f8c0e1b6d5a49f7a2c4e6081b3d5f70")
	if err != nil {
		t.Fatal(err)
	}
	key := ring.MAC("email code")
	var sent, withheld, other emailRequest
	sent.bindCode(key, "stored", "01234567", true)
	withheld.bindCode(key, "stored", "01234567", false)
	other.bindCode(key, "another", "01234567", true)
	if !sent.hasCode(key, "01234567") || sent.hasCode(key, "01234568") || sent.hasCode(key, "") {
		t.Error("the code of a mail")
	}
	if withheld.hasCode(key, "01234567") || withheld.hasCode(key, "") || len(withheld.Code) != len(sent.Code) {
		t.Error("a request without a mail has a code")
	}
	if sent.Code == other.Code || strings.Contains(sent.Code, "01234567") {
		t.Error("the digest is not of this request")
	}
	if empty := (&emailRequest{}); empty.hasCode(key, "") {
		t.Error("a request without a code")
	}
}
