package provider_test

import (
	"testing"

	"authsvc"
)

// TestGitLabOptIn checks that an address of a self-hosted server counts as verified
// only if the operator opts in and the server has confirmed it.
func TestGitLabOptIn(t *testing.T) {
	t.Parallel()
	const user = "GET https://example.com/gitlab/api/v4/user"
	believe := func(o *authsvc.OAuth) { o.Fields.EmailVerified = "email_verified" }
	for confirmed, verified := range map[string]bool{`"2012-05-23T09:05:22.000Z"`: true, `null`: false, `""`: false, `true`: false} {
		rec := recordings(t, "gitlab")["self-hosted server"]
		rec.Calls[user].Answer = []byte(`{"id": 7, "state": "active", "email": "ada@example.com", "confirmed_at": ` + confirmed + `}`)
		a := newAttempt(t, changed(t, "gitlab", believe), rec)
		a.start()
		a.comeBack(nil)
		if a.stored == nil || a.stored.Verified != verified {
			t.Errorf("confirmed_at %s: stored %+v", confirmed, a.stored)
		}
	}
}
