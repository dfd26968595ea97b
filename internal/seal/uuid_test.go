package seal_test

import (
	"regexp"
	"testing"

	"authsvc/internal/seal"
)

// TestUUIDs checks that both kinds have the version and the variant of RFC 9562 §4,
// that all differ, and that version 7 never goes back in time.
func TestUUIDs(t *testing.T) {
	t.Parallel()
	for version, made := range map[string]func() string{"4": seal.UUIDv4, "7": seal.UUIDv7} {
		form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-` + version + `[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
		seen := map[string]bool{}
		before := ""
		for range 1000 {
			id := made()
			if !form.MatchString(id) || !seal.IsUUID(id) || seen[id] {
				t.Fatalf("version %s: %s", version, id)
			}
			if version == "7" && id[:13] < before {
				t.Fatalf("%s came after %s", id, before)
			}
			seen[id], before = true, id[:13]
		}
	}
}

func TestIsUUID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"0190a000-0000-7000-8000-000000000001":   true,
		"0190A000-0000-7000-8000-000000000001":   false, // not as databases write it
		"0190a000-0000-7000-8000-0000000000012":  false,
		"0190a000-0000-7000-8000-000000000001\n": false,
		"0190a0000000700080000000000000000001":   false,
		"u":                                      false, "7": false, "": false,
	} {
		if seal.IsUUID(id) != want {
			t.Errorf("IsUUID(%q) is not %v", id, want)
		}
	}
}
