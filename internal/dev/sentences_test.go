package dev

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
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
		{authsvc.AuditEvent{Name: "sign_in.failed", RequestID: "0426489a053d"}, "", "a sign-in failed (request 0426489a053d)"},
		{authsvc.AuditEvent{Name: "sign_in.failed", RequestID: "0426489a053d"}, "x", "a sign-in failed: x (request 0426489a053d)"},
		{authsvc.AuditEvent{Name: "new.event"}, "x", "something was refused or failed (new.event): x"},
	} {
		if got := sentence(tt.e, tt.cause); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestTellRepeats: the line about repetitions of a refusal names the request whose line
// has the cause.
func TestTellRepeats(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := &world{Options: Options{Out: &out}}
	for _, reason := range []string{"the log line of request 5f0c6ad01b7e says why (2 more from there within a minute)", "no such user (1 more from there within a minute)"} {
		w.tell(t.Context(), authsvc.AuditEvent{Name: "sign_in.refused", Outcome: authsvc.AuditRefused, Reason: reason, RequestID: "0426489a053d"})
	}
	got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  `).ReplaceAllString(out.String(), "")
	want := "a sign-in was refused: as in request 5f0c6ad01b7e (2 more from there within a minute) (request 0426489a053d)\n" +
		"a sign-in was refused: no such user (1 more from there within a minute) (request 0426489a053d)\n"
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}
