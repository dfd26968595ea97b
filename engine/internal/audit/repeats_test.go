package audit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"authsvc"
)

// The number of windows is limited, and so is the size of each.
func TestRepeatedRefusalsMemory(t *testing.T) {
	t.Parallel()
	r, now := newRepeats(false), time.Now()
	header := strings.Repeat("x", 32<<10)
	counts := 0
	for i := range 3 * maxRepeats {
		e := authsvc.AuditEvent{Name: "csrf.refused", UserAgent: header[:MaxAgent]}
		for range 2 {
			record, summaries := r.add(r.keyOf(fmt.Sprint(i), e, nil), e, now)
			counts += len(summaries)
			if record && r.order.Len() == 0 {
				t.Fatal("recorded, and no window is open")
			}
		}
	}
	if r.order.Len() != maxRepeats || len(r.all) != maxRepeats || len(r.causes) != maxRepeats {
		t.Errorf("%d and %d windows of %d groups", r.order.Len(), len(r.all), len(r.causes))
	}
	summaries, more := r.flush(now.Add(repeatWindow), false)
	if counts += len(summaries); counts != 3*maxRepeats || more || len(r.all) != 0 || len(r.causes) != 0 {
		t.Errorf("%d of %d summaries, %d windows of %d groups are left", counts, 3*maxRepeats, len(r.all), len(r.causes))
	}
}

// quoted is a cause that a client makes up.
type quoted string

func (q quoted) Error() string { return string(q) }
func (quoted) QuotesRequest()  {}

// TestCauses checks that every cause is recorded the first time, that a client that
// makes up causes fills neither the log nor the memory, and that it hides no cause that
// the service found out.
func TestCauses(t *testing.T) {
	t.Parallel()
	r, now := newRepeats(false), time.Now()
	refused := func(request string, cause error) bool {
		e := authsvc.AuditEvent{Name: "sign_in.refused", Code: "OAuthCallback", Reason: InLog, RequestID: request}
		record, _ := r.add(r.keyOf("203.0.113.0", e, cause), e, now)
		return record
	}
	lines := 0
	for i := range 1000 {
		if refused(fmt.Sprint("made-up-", i), fmt.Errorf("answer: %w", quoted(fmt.Sprint("cause ", i)))) {
			lines++
		}
	}
	if lines != maxCauses+1 || len(r.all) != maxCauses+1 {
		t.Errorf("1000 causes that were made up have %d lines and %d windows, want %d", lines, len(r.all), maxCauses+1)
	}
	for _, tt := range []struct {
		request string
		cause   error
		want    bool
	}{
		{"a1", errors.New("invalid_client"), true},
		{"a2", errors.New("invalid_client"), false},
		{"b1", errors.New("invalid_scope"), true},
		{"b2", errors.New("invalid_scope"), false},
		{"b3", errors.New("invalid_scope"), false},
		{"c1", nil, true},
	} {
		if got := refused(tt.request, tt.cause); got != tt.want {
			t.Errorf("%s: recorded is %v", tt.request, got)
		}
	}
	other := authsvc.AuditEvent{Name: "sign_in.refused", Code: "OAuthCallback", Reason: "no state"}
	if record, _ := r.add(r.keyOf("203.0.113.0", other, nil), other, now); !record {
		t.Error("another reason is not recorded")
	}
	summaries, _ := r.flush(now.Add(repeatWindow), false)
	var got []string
	for _, e := range summaries {
		got = append(got, e.RequestID+": "+e.Reason)
	}
	want := []string{
		fmt.Sprintf("made-up-999: more than %d different causes (%d more from there within a minute)", maxCauses, 1000-maxCauses-1),
		"a2: the log line of request a1 says why (1 more from there within a minute)",
		"b3: the log line of request b1 says why (2 more from there within a minute)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("summaries:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(r.causes) != 0 || len(r.all) != 0 {
		t.Errorf("%d groups and %d windows are left", len(r.causes), len(r.all))
	}
	if !refused("d1", errors.New("invalid_client")) {
		t.Error("a cause is not recorded again after a minute")
	}
}
