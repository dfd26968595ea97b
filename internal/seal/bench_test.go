package seal

import (
	"testing"

	"authsvc/internal/test/allocs"
)

func BenchmarkSeal(b *testing.B) {
	for _, format := range formats {
		b.Run(format.name, func(b *testing.B) {
			s := format.new(ring(b, "s3cret"), "p")
			plaintext := []byte(v4SessionPlaintext)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Seal(plaintext); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, format := range formats {
		b.Run(format.name, func(b *testing.B) {
			s := format.new(ring(b, "s3cret"), "p")
			token := mustSeal(b, s, v4SessionPlaintext)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Open(token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpenRefused measures the cost of garbage that any client can send.
func BenchmarkOpenRefused(b *testing.B) {
	for _, format := range formats {
		b.Run(format.name, func(b *testing.B) {
			s := format.new(ring(b, "s3cret"), "p")
			token := forge(&s.keys[0], `{"alg":"dir","enc":"A256GCM","kid":"unknown","zip":"DEF"}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Open(token); err == nil {
					b.Fatal("opened")
				}
			}
		})
	}
}

func BenchmarkMAC(b *testing.B) {
	m := ring(b, "s3cret").MAC("csrf")
	parts := []string{Token(), Token()}
	sum := m.Sum(parts...)
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := m.Verify(sum, parts...); !ok {
			b.Fatal("refused")
		}
	}
}

// TestOpenAllocations checks that Open allocates only the decoded token and the
// plaintext.
func TestOpenAllocations(t *testing.T) {
	for _, format := range formats[:2] {
		s := format.new(ring(t, "s3cret"), "p")
		token := mustSeal(t, s, v4SessionPlaintext)
		if n := allocs.PerRun(func() { s.Open(token) }); n > 2 {
			t.Errorf("%s: %v allocations", format.name, n)
		}
	}
}
