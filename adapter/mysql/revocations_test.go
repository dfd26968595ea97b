package mysql

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

// TestNoRevocationIsMissed checks that a reader that continues from its cursor receives
// every record. A MariaDB snapshot may contain a later commit without an earlier one;
// that happens only if there are as many connections as writers.
func TestNoRevocationIsMissed(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), servertest.MySQL(t), Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	const writers, each = 16, 60
	var writing atomic.Int32
	var all sync.WaitGroup
	for i := range writers {
		writing.Add(1)
		all.Go(func() {
			defer writing.Add(-1)
			for n := range each {
				r := adapter.Revocation{Key: fmt.Sprintf("%d-%d", i, n), NotBefore: time.Unix(1000, 0), Expires: time.Unix(2000, 0)}
				if err := s.Revoke(t.Context(), &r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		all.Go(func() {
			heard, after := 0, int64(0)
			for ended := false; ; {
				ending := writing.Load() == 0
				list, next, err := s.Revocations(t.Context(), after, 7)
				if err != nil {
					t.Error(err)
					return
				}
				heard += len(list) // every key has one number
				if after = next; ended && len(list) == 0 {
					break
				}
				ended = ending
			}
			if heard != writers*each {
				t.Errorf("told of %d of %d", heard, writers*each)
			}
		})
	}
	all.Wait()
}
