package authsvc_test

import "testing"

func TestAttackForeignStart(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	t.Run("oauth2-27 authorization URL of another browser", func(t *testing.T) {
		start := w.browser().begin("op")
		victim := w.browser()
		victim.begin("op")
		w.mustRefuse(t, func() *answer { return victim.get(victim.approve(w.op, start, "ada")) })
	})
}
