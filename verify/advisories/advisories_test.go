package advisories

import (
	"fmt"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// An advisory is a class of vulnerability published for other products, and a test
// that would show it here.
type advisory struct {
	ids   string // CVE and GHSA numbers, or the issue if there is none
	title string
	run   func(t *testing.T, w *arena.World)
}

// TestAdvisories tries one vulnerability of each class known from other
// authentication products against the default configuration: email, credentials and
// an OpenID provider on a memory store, with rate limits on.
func TestAdvisories(t *testing.T) {
	t.Parallel()
	for _, list := range [][]advisory{redirectAdvisories, mailAdvisories, oauthAdvisories, sessionAdvisories, requestAdvisories} {
		for _, a := range list {
			t.Run(a.ids, func(t *testing.T) {
				t.Parallel()
				t.Log(a.title)
				a.run(t, arena.Start(t, nil))
			})
		}
	}
}

// clients returns browsers with different addresses, because rate limits count by
// address.
func clients(w *arena.World) func() *arena.Browser {
	n := 0
	return func() *arena.Browser {
		n++
		b := w.Browser()
		b.IP = fmt.Sprintf("198.51.%d.%d:4711", n/250, n%250+1)
		return b
	}
}

// jwt creates a second world with strategy jwt, for vulnerabilities of sealed
// cookies.
func jwt(t *testing.T) *arena.World {
	t.Helper()
	return arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = "jwt" })
}
