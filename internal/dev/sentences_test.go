package dev

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"authsvc"
)

// TestSentences checks that every event that is not a success has a sentence, and that
// no sentence contains the name of an event.
func TestSentences(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| (?:refused|failed) \\|").FindAllStringSubmatch(string(page), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	if got := slices.Sorted(maps.Keys(happened())); !slices.Equal(got, slices.Compact(names)) {
		t.Errorf("events with a sentence\n%q\nevents of docs/audit.md\n%q", got, names)
	}
	for name, text := range happened() {
		if regexp.MustCompile(`[._:]|^[^a-z]`).MatchString(text) {
			t.Errorf("%s: %q", name, text)
		}
	}
	for _, tt := range []struct {
		e           authsvc.AuditEvent
		cause, want string
	}{
		{authsvc.AuditEvent{Name: "sign_in.refused"}, "the link is unknown or was used", "a sign-in was refused: the link is unknown or was used"},
		{authsvc.AuditEvent{Name: "sign_in.failed"}, "", "a sign-in failed"},
		{authsvc.AuditEvent{Name: "new.event"}, "x", "something was refused or failed (new.event): x"},
	} {
		if got := sentence(tt.e, tt.cause); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
