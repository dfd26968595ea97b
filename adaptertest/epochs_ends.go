package adaptertest

import (
	"fmt"
	"testing"

	"authsvc/adapter"
)

// epochRaceEnds begins sessions and refreshes an account, all at one epoch, until the store
// refuses them because EndSessions has run meanwhile. No session outlives EndSessions.
func epochRaceEnds(t *testing.T, a adapter.Adapter) {
	const callers, most = 8, 30
	for round := range 4 {
		ann := signUp(t, a, numbered("ann", round))
		nWin(t, race(callers, func(i int) error {
			if i == round {
				_, err := a.EndSessions(t.Context(), ann.user.ID, about(ann.user.ID))
				return err
			}
			for n := range most {
				s := session(fmt.Sprint("try ", n, " of caller ", i, " in round ", round))
				s.UserID = ann.user.ID
				if i%2 > 0 {
					s.SessionToken = "" // only listed
				}
				begin := func() error { return second(a.CreateSession(t.Context(), s)) }
				if i%4 == 0 {
					begin = func() error { return a.RefreshAccount(t.Context(), ann.account, 0) }
				}
				if err := begin(); err != nil {
					return unless(adapter.ErrStale, err)
				}
			}
			return nil
		}), callers, nil)
		list, err := a.ListSessions(t.Context(), ann.user.ID)
		ok(t, err)
		if len(list) > 0 {
			t.Errorf("round %d: %d sessions outlive EndSessions", round, len(list))
		}
		is(t, a.RefreshAccount(t.Context(), ann.account, 0), adapter.ErrStale)
	}
}
