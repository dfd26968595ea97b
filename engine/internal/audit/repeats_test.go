package audit

import (
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
			record, summaries := r.add(fmt.Sprint(i), e, now)
			counts += len(summaries)
			if record && r.order.Len() == 0 {
				t.Fatal("recorded, and no window is open")
			}
		}
	}
	if r.order.Len() != maxRepeats || len(r.all) != maxRepeats {
		t.Errorf("%d and %d windows", r.order.Len(), len(r.all))
	}
	summaries, more := r.flush(now.Add(repeatWindow), false)
	if counts += len(summaries); counts != 3*maxRepeats || more || len(r.all) != 0 {
		t.Errorf("%d of %d summaries, %d windows are left", counts, 3*maxRepeats, len(r.all))
	}
}
