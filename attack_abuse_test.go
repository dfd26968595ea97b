package authsvc_test

import (
	"testing"
	"testing/synctest"
)

func TestAttackClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine of the bubble is left
		for _, strategy := range both {
			w := enterOffline(t, short(strategy))
			w.browser().post("/api/auth/signin/email", "email", "ada@app.test")
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
