package memory_test

import (
	"errors"
	"testing"

	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
)

func TestAdapter(t *testing.T) {
	t.Parallel()
	// docs: a store
	adaptertest.Run(t, func(*testing.T) adapter.Adapter { return memory.New() })
	// docs
}

func TestUserColumns(t *testing.T) {
	t.Parallel()
	s := memory.New("role", "level", "missing")
	adaptertest.RunColumns(t, adaptertest.Columns{Adapter: s, Want: map[string]any{"role": "admin", "level": int64(7), "missing": nil},
		Set: func(t *testing.T, userID string) {
			t.Helper()
			if err := s.SetExtra(t.Context(), userID, map[string]any{"role": "admin", "level": int64(7), "other": true}); err != nil {
				t.Error(err)
			}
		}})
	if err := s.SetExtra(t.Context(), "u-none", nil); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("an unknown user: %v", err)
	}
}
