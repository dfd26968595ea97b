package engine_test

import (
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestProviderChanged checks that an attempt which began at an earlier provider with
// the same id is refused, and that the current provider does not get the code.
func TestProviderChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*authsvc.OAuth)
		passes bool
	}{
		"twin: unchanged":        {func(*authsvc.OAuth) {}, true},
		"twin: another scope":    {func(p *authsvc.OAuth) { p.Scope = "more" }, true},
		"twin: another userinfo": {func(p *authsvc.OAuth) { p.Endpoints.UserInfo += "?v=2" }, true},
		"another host":           {func(p *authsvc.OAuth) { p.Endpoints.Token = "https://other.test/token" }, false},
		"another port":           {func(p *authsvc.OAuth) { p.Endpoints.Token = "https://odd.test:8443/token" }, false},
		"another path":           {func(p *authsvc.OAuth) { p.Endpoints.Token = "https://odd.test/elsewhere" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := newOdd(nil).answers["odd.test/token"]
			o := newOdd(map[string]string{"other.test/token": answer, "odd.test:8443/token": answer, "odd.test/elsewhere": answer})
			w := startOdd(t, o, nil)
			b := w.Browser()
			state := arena.MustURL(t, b.Begin("odd")).Query().Get("state")
			before := w.Service
			w.Config.Providers = []authsvc.Provider{oddClient(c.change)}
			next, err := before.Reconfigure(w.Config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { before.Close(t.Context()) })
			w.Service = next
			b.H = next
			a := b.Get("/api/auth/callback/odd?code=c&state=" + state)
			if signedIn := b.Session()["user"] != nil; signedIn != c.passes || signedIn == strings.Contains(a.Location(), "error=") {
				t.Errorf("%s, signed in: %v", a.Location(), signedIn)
			}
			if sent := len(o.hosts()) > 0; sent != c.passes {
				t.Errorf("the code was sent: %v", sent)
			}
		})
	}
}
