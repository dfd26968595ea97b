package postgres

import (
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
)

// TestSweepSkipsHeld checks that a sweep does not wait for a record that another step
// holds, since the step could wait for a record that the sweep holds. The next sweep
// deletes it.
func TestSweepSkipsHeld(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	ctx, now := t.Context(), time.Now()
	for _, key := range []string{"held", "free"} {
		if _, _, err := s.Permit(ctx, now.Add(-time.Hour), adapter.Quota{Key: key, Interval: time.Minute, Burst: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	step, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer step.Rollback() //nolint:errcheck // does nothing after the end
	if _, err := step.ExecContext(ctx, `UPDATE authsvc_permit SET expires = expires WHERE id = 'held'`); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Sweep(ctx, now, 10); n != 1 || err != nil {
		t.Errorf("swept %d beside the step, %v", n, err)
	}
	if _, err := step.ExecContext(ctx, `INSERT INTO authsvc_permit VALUES ('free', 0)`); err != nil {
		t.Errorf("the step cannot write the key that was swept: %v", err)
	}
	if err := step.Rollback(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Sweep(ctx, now, 10); n != 1 || err != nil {
		t.Errorf("swept %d after the step, %v", n, err)
	}
}
