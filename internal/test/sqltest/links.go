package sqltest

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
)

// LinksAtOnce takes different links of an address at once, while others void them. One
// caller gets its link, or none if all were void before, and no caller waits for a
// deadlock to end. open returns an empty store.
func LinksAtOnce(t *testing.T, open func(*testing.T, sqladapter.TestHooks) adapter.Adapter) {
	t.Parallel()
	const rounds, callers = 10, 8
	var repeated atomic.Int32
	s := open(t, sqladapter.TestHooks{Dialect: func(d *sqladapter.Dialect) {
		retryable := d.Retryable
		d.Retryable = func(err error) bool {
			if !retryable(err) {
				return false
			}
			t.Logf("repeated after: %v", err)
			repeated.Add(1)
			return true
		}
	}})
	now := time.Now()
	for round := range rounds {
		address, voids := strconv.Itoa(round)+"@example.com", round%2 == 1
		putLinks(t, s, address, callers, now)
		var won atomic.Int32
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range callers {
			wg.Go(func() {
				<-start
				if voids && i%4 == 3 {
					if err := s.VoidTokens(t.Context(), address); err != nil {
						t.Error(err)
					}
					return
				}
				switch _, _, err := s.TakeToken(t.Context(), address, address+strconv.Itoa(callers-1-i), now); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, adapter.ErrNotFound):
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		if n := won.Load(); n > 1 || n == 0 && !voids {
			t.Errorf("round %d: %d callers got a link", round, n)
		}
		checkNoLinks(t, s, address, callers, now)
	}
	if n := repeated.Load(); n > 0 {
		t.Errorf("%d steps were repeated", n)
	}
}

func putLinks(t *testing.T, s adapter.Adapter, address string, n int, now time.Time) {
	t.Helper()
	for i := range n {
		link := adapter.VerificationToken{Identifier: address, Token: address + strconv.Itoa(i), Expires: now.Add(time.Hour)}
		if err := s.PutToken(t.Context(), link, adapter.Mail{ID: link.Token, Due: now, Expires: link.Expires}, n); err != nil {
			t.Fatal(err)
		}
	}
}

// checkNoLinks checks that no link of an address is stored, and that no mail is queued.
func checkNoLinks(t *testing.T, s adapter.Adapter, address string, n int, now time.Time) {
	t.Helper()
	for i := range n {
		if _, err := s.GetToken(t.Context(), address, address+strconv.Itoa(i)); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%s: link %d is still stored: %v", address, i, err)
		}
	}
	if m, err := s.ClaimMail(t.Context(), now, now); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("%s: the mail %q is still queued: %v", address, m.ID, err)
	}
}
