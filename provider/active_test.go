package provider_test

import (
	"testing"

	"authsvc/provider"
)

// TestInUse: an account that the provider has locked is denied, and one of
// which it does not say whether it has is no sign-in either. TestSignIn is the
// positive twin.
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
