package seal

import (
	"runtime"
	"strings"
	"testing"

	"authsvc/internal/test/quiet"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func TestTamper(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			s := format.new(ring(t, "s3cret", "older"), "p")
			token := mustSeal(t, s, `{"sub":"7"}`)
			wantOpen(t, s, token, `{"sub":"7"}`, false)
			for i := range len(token) {
				for _, c := range []byte{'A', 'B', '_', '.', token[i] ^ 1, token[i] ^ 0x20, token[i] ^ 0x80, 0} {
					if c != token[i] {
						wantRefused(t, s, token[:i]+string([]byte{c})+token[i+1:])
					}
				}
				wantRefused(t, s, token[:i])               // cut off
				wantRefused(t, s, token[:i]+token[i+1:])   // one character fewer
				wantRefused(t, s, token[:i]+"A"+token[i:]) // one more
			}
			wantRefused(t, s, token+"A")
		})
	}
}

// TestTamperBits checks that each bit of each decoded part counts, not just the
// characters.
func TestTamperBits(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			s := format.new(ring(t, "s3cret"), "p")
			parts := strings.Split(mustSeal(t, s, `{"sub":"7"}`), ".")
			for p, part := range parts {
				raw, err := b64.DecodeString(part)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 8 * len(raw) {
					raw[i/8] ^= 1 << (i % 8)
					parts[p] = b64.EncodeToString(raw)
					wantRefused(t, s, strings.Join(parts, "."))
					raw[i/8] ^= 1 << (i % 8)
				}
				parts[p] = part
			}
			wantOpen(t, s, strings.Join(parts, "."), `{"sub":"7"}`, false)
		})
	}
}

// TestParts removes, adds and exchanges whole parts.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			s := format.new(ring(t, "s3cret"), "p")
			a := strings.Split(mustSeal(t, s, "first one"), ".")
			b := strings.Split(mustSeal(t, s, "secondone"), ".")
			wantOpen(t, s, strings.Join(a, "."), "first one", false)

			for i := range a {
				mixed := append([]string(nil), a...)
				mixed[i] = ""
				if a[i] != "" {
					wantRefused(t, s, strings.Join(mixed, "."))
				}
				mixed[i] = b[i]
				if a[i] != b[i] {
					wantRefused(t, s, strings.Join(mixed, "."))
				}
			}
			key := append([]string(nil), a...)
			key[1] = "AAAA"
			for _, token := range []string{
				"", ".", "....", ".....", a[0], a[0] + "....",
				strings.Join(a[:4], "."), strings.Join(a, ".") + ".", "." + strings.Join(a, "."),
				strings.Join(a, "..."), strings.Join(key, "."), strings.Join(a, ". "),
				a[0] + "." + a[2] + "." + a[3], // three parts, like a JWS
				"eyJhbGciOiJub25lIn0.eyJzdWIiOiI3In0.",
				"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
			} {
				wantRefused(t, s, token)
			}
		})
	}
}

// TestMalleability checks that a token has only one spelling.
func TestMalleability(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			s := format.new(ring(t, "s3cret"), "p")
			// Find a token with both characters that the base64 alphabets spell
			// differently, and with unused bits at the end of a ciphertext of 3n+1
			// bytes.
			var token string
			for plaintext := "0123456789012345"; !strings.ContainsRune(token, '-') || !strings.ContainsRune(token, '_'); {
				token = mustSeal(t, s, plaintext)
			}
			wantOpen(t, s, token, "0123456789012345", false)

			wantRefused(t, s, strings.ReplaceAll(token, "-", "+"))
			wantRefused(t, s, strings.ReplaceAll(token, "_", "/"))
			for i := range len(token) + 1 {
				for _, c := range []string{"\n", "\r", "\r\n", "\n\n", "\n\n\n\n", " ", "\t", "\v", "\u00a0", "\u2028", "=", "==", "%3D", "\x00"} {
					wantRefused(t, s, token[:i]+c+token[i:])
				}
			}
			// Trailing bits: every other last character of every part.
			parts := strings.Split(token, ".")
			for p, part := range parts {
				if part == "" {
					continue
				}
				for _, c := range alphabet {
					if parts[p] = part[:len(part)-1] + string(c); parts[p] != part {
						wantRefused(t, s, strings.Join(parts, "."))
					}
				}
				parts[p] = part
			}
		})
	}
}

// TestFloods checks that garbage of any length costs almost nothing. It is not
// parallel, because it reads the allocation counters of the process.
func TestFloods(t *testing.T) {
	for _, format := range formats {
		s := format.new(ring(t, "s3cret"), "p")
		header, _, _ := strings.Cut(mustSeal(t, s, "x"), ".")
		for name, token := range map[string]string{
			"dots":          strings.Repeat(".", 1<<20),
			"a few dots":    strings.Repeat(".", MaxToken),
			"one part":      strings.Repeat("A", 1<<20),
			"long header":   strings.Repeat("A", 1<<20) + "..AAAAAAAAAAAAAAAA.A.AAAAAAAAAAAAAAAAAAAAAA",
			"header at cap": strings.Repeat("A", MaxToken-60) + "..AAAAAAAAAAAAAAAA.A.AAAAAAAAAAAAAAAAAAAAAA",
			"long body":     header + "..AAAAAAAAAAAAAAAA." + strings.Repeat("A", 1<<20) + ".AAAAAAAAAAAAAAAAAAAAAA",
			"long IV":       header + ".." + strings.Repeat("A", 20000) + ".AAAA.AAAAAAAAAAAAAAAAAAAAAA",
			"long tag":      header + "..AAAAAAAAAAAAAAAA.AAAA." + strings.Repeat("A", 20000),
		} {
			if n := bytesAllocated(func() { wantRefused(t, s, token) }); quiet.Full && n > 2048 {
				t.Errorf("%s, %s: %d bytes allocated", format.name, name, n)
			}
		}
	}
}

// bytesAllocated returns the minimum that f allocates in several runs, because other
// goroutines allocate too.
func bytesAllocated(f func()) uint64 {
	var least uint64 = 1 << 63
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
