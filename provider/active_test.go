package provider_test

import (
	"testing"

	"authsvc/provider"
)

// TestInUse checks that an account locked by the provider is denied, and that a profile
// that does not say whether the account is locked is refused too. TestSignIn covers
// success.
func TestInUse(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"bitbucket", "box", "codeberg", "digitalocean", "gitea", "mailcow", "planningcenter"} {
		entry, ok := provider.Lookup(id)
		if !ok {
			t.Fatalf("%s is not in the table", id)
		}
		for name, want := range map[string]string{"not in use": "AccessDenied", "use unknown": "OAuthCallback"} {
			t.Run(id+"/"+name, func(t *testing.T) {
				t.Parallel()
				rec := recordings(t, id)[name]
				if rec == nil {
					t.Fatal("no such case is recorded")
				}
				a := newAttempt(t, entry, rec)
				a.start()
				if word := a.comeBack(nil); word != want || a.stored != nil {
					t.Errorf("%q, not %q; signed in is %v\n%s", word, want, a.stored, a.log)
				}
			})
		}
	}
}
